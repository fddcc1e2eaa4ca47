package peer

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bench"
)

// Raw is the name of the peer that NewRaw makes.
const Raw = "raw Pebble"

// NewRaw makes the peer that is no server: Pebble in this process, which gets events as they are
// and keeps what the peer "key" keeps. It can't tell its processor time from that of who measures.
func NewRaw(db *pebble.DB) bench.Server {
	return bench.Server{
		Name: Raw,
		Dial: func(context.Context) (bench.Conn, error) { return raw{db}, nil },
		Usage: func(context.Context) (bench.Usage, error) {
			kept, written := filesOf(db)
			return bench.Usage{Kept: int64(kept), Written: int64(written)}, nil
		},
	}
}

// raw is a bench.Keeper.
type raw struct{ db *pebble.DB }

// Keep is of bench.Keeper.
func (r raw) Keep(_ context.Context, events []andon.Event) error {
	b := r.db.NewBatch()
	defer b.Close()
	return keepOne(b, func(yield func(*andon.Event) bool) {
		for i := range events {
			if !yield(&events[i]) {
				return
			}
		}
	})
}

// Do is of bench.Conn.
func (raw) Do(_ context.Context, method, path string, _ []byte) ([]byte, error) {
	return nil, andon.Errorf(andon.Unsupported, "raw Pebble answers no %s %s", method, path)
}

// Close is of bench.Conn.
func (raw) Close() error { return nil }
