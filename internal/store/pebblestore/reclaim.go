package pebblestore

import (
	"bytes"
	"context"
	"sync"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// reclaim gives the space of what was deleted back to the disk. Pebble does by itself what costs it
// nothing: while a deletion is in memory, or covers tables in part only, nothing is removed.
type reclaim struct {
	engine.Job
	mu     sync.Mutex
	spans  []engine.Span
	cancel context.CancelFunc
}

func (r *reclaim) start(s *Store) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.Job.Start(func() {
		if err := r.work(ctx, s); err != nil && ctx.Err() == nil {
			s.options.Log.Error("the space of what was deleted is not given back yet",
				"error", engine.ReadError(err))
		}
	})
}

// want asks for the space of a span whose rows were deleted, without waiting.
func (r *reclaim) want(deleted engine.Span) {
	if bytes.Compare(deleted.From, deleted.To) >= 0 {
		return
	}
	r.mu.Lock()
	r.spans = append(r.spans, deleted)
	r.mu.Unlock()
	r.Job.Want()
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
		bytes, err := s.db.EstimateDiskUsage(deleted.From, deleted.To)
		if err == nil && (bytes >= little || s.dir.Disk.Check() != nil) {
			err = s.db.Compact(ctx, deleted.From, deleted.To, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reclaim) stop() {
	r.cancel()
	r.Job.Stop()
}
