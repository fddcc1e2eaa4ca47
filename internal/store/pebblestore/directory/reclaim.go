package directory

import (
	"bytes"
	"context"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// Reclaimer gives the space of what was deleted back to the disk. Pebble does by itself what costs
// it nothing: while a deletion is in memory, or covers tables in part only, nothing is removed.
type Reclaimer struct {
	engine.Job
	mu     sync.Mutex
	spans  []pebble.KeyRange
	cancel context.CancelFunc
}

// Start starts it for a directory that is open.
func (r *Reclaimer) Start(d *Directory) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.Job.Start(func() {
		if err := r.work(ctx, d); err != nil && ctx.Err() == nil {
			d.Log.Error("the space of what was deleted is not given back yet",
				"error", engine.ReadError(err))
		}
	})
}

// Add asks for the space of a span whose rows were deleted, without waiting.
func (r *Reclaimer) Add(deleted pebble.KeyRange) {
	if bytes.Compare(deleted.Start, deleted.End) >= 0 {
		return
	}
	r.mu.Lock()
	r.spans = append(r.spans, deleted)
	r.mu.Unlock()
	r.Job.Want()
}

// work compacts the spans that were added. A small one costs more than it gives back, so it is left
// to Pebble, unless the disk is full.
func (r *Reclaimer) work(ctx context.Context, d *Directory) error {
	const little = 16 << 20
	r.mu.Lock()
	spans := r.spans
	r.spans = nil
	r.mu.Unlock()
	for _, deleted := range spans {
		bytes, err := d.DB.EstimateDiskUsage(deleted.Start, deleted.End)
		if err == nil && (bytes >= little || d.Disk.Check() != nil) {
			err = d.DB.Compact(ctx, deleted.Start, deleted.End, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Stop ends it.
func (r *Reclaimer) Stop() {
	r.cancel()
	r.Job.Stop()
}
