package pebblestore

import (
	"bytes"
	"context"
	"sync"

	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// reclaim gives the space of what was deleted back to the disk. Pebble does by itself what costs it
// nothing: while a deletion is in memory, or covers tables in part only, nothing is removed.
type reclaim struct {
	errand
	mu     sync.Mutex
	spans  []span
	cancel context.CancelFunc
}

// span is the keys from one to another, which is not in it.
type span struct{ from, to layout.Key }

func (s span) holds(part span) bool {
	return bytes.Compare(s.from, part.from) <= 0 && bytes.Compare(part.to, s.to) <= 0
}

func (r *reclaim) start(s *Store) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.errand.start(func() {
		if err := r.work(ctx, s); err != nil && ctx.Err() == nil {
			s.options.Log.Error("the space of what was deleted is not given back yet",
				"error", readError(err))
		}
	})
}

// want asks for the space of a span whose rows were deleted, without waiting.
func (r *reclaim) want(deleted span) {
	if bytes.Compare(deleted.from, deleted.to) >= 0 {
		return
	}
	r.mu.Lock()
	r.spans = append(r.spans, deleted)
	r.mu.Unlock()
	r.errand.want()
}

// work compacts the spans that are wanted. One that gives little back costs more than that, so it
// waits until Pebble comes to it, unless the disk is full.
func (r *reclaim) work(ctx context.Context, s *Store) error {
	const little = 16 << 20
	r.mu.Lock()
	spans := r.spans
	r.spans = nil
	r.mu.Unlock()
	for _, deleted := range spans {
		bytes, err := s.db.EstimateDiskUsage(deleted.from, deleted.to)
		if err == nil && (bytes >= little || s.disk.check() != nil) {
			err = s.db.Compact(ctx, deleted.from, deleted.to, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reclaim) stop() {
	r.cancel()
	r.errand.stop()
}
