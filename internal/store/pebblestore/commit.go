package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/pipeline"
)

// pending is a write that is in the log but perhaps not on the disk yet.
type pending struct {
	tenant  *tenant
	changes *current.Changes // nil: of the tenant's record only
	fed     uint64           // the sequence after its last changes for the feed; 0: it has none
}

func (s *Store) publishing() pipeline.Config[pending] {
	return pipeline.Config[pending]{
		Shown: &s.mu, Fatal: s.options.Fatal, Entered: s.options.Ordered, Stuck: stuckAfter,
		Show: func(p pending) {
			if p.changes != nil {
				p.tenant.fleet.Publish(p.changes)
			}
		},
		Notify: func(p pending) {
			if p.fed > 0 {
				p.tenant.feed.Notify(p.fed)
			}
		},
	}
}

// stuckAfter is how long one write may be in the ordered section before the store is not ready.
const stuckAfter = 15 * time.Second

// ordered calls a function in the ordered section.
func (s *Store) ordered(ctx context.Context, do func() error) error {
	return s.pipe.Do(ctx, false, do)
}

// commit brings a write through the ordered section and onto the disk, and shows it. Where it
// returns an error that is not fatal, nothing of the write is left.
func (s *Store) commit(w *writing) error {
	const large = 64 << 10 // bytes
	sequence, err := uint64(0), errOvertaken
	for attempts := 0; err == errOvertaken; attempts++ {
		err = s.pipe.Do(w.ctx, w.batch.Len() > large, func() (err error) {
			if err = s.admit(w, attempts); err == nil {
				sequence, err = s.stage(w)
			}
			return err
		})
		if err == errOvertaken {
			if again := w.refold(w.overtaken); again != nil {
				return again
			}
		}
	}
	if err != nil {
		return err
	}
	if err := w.batch.SyncWait(); err != nil {
		return s.pipe.End(fmt.Errorf("write store to disk: %w", err))
	}
	s.pipe.Publish(sequence + 1)
	s.checkpoints.grow(s, w.recorded)
	s.arrivals.Arrived(w.received)
	s.feed.Grow(w.received, len(w.feed), sequence)
	w.remember()
	return nil
}

// errOvertaken says that so much has changed since a write was worked out that it would keep the
// others waiting for too long.
var errOvertaken = errors.New("overtaken by other writes")

// admit makes a write what it should be now. What was overtaken is folded again outside the ordered
// section, where that takes long, unless it was overtaken a few times already. Nothing outside the
// write is changed.
func (s *Store) admit(w *writing, attempts int) error {
	const expensive, most = 1000, 3
	if w.tenant.gone {
		return andon.NoTenant(w.tenant.record.Load().ID)
	}
	if err := s.dir.Disk.Admit(w.ctx, w.frees); err != nil {
		return err
	}
	w.overtaken = w.old()
	if attempts < most && w.cost(w.overtaken) > expensive {
		return errOvertaken
	}
	if err := w.refold(w.overtaken); err != nil {
		return err
	}
	if w.rows != nil {
		w.rows()
	}
	return w.batch.Err
}

// stage puts a write into the log and makes it pending, so that the next one is computed from it.
// It can not be taken back. It returns the sequence of its last row.
func (s *Store) stage(w *writing) (sequence uint64, err error) {
	w.place()
	sequence, p := w.setRows(s.pipe.Next)
	if err = w.batch.Err; err == nil {
		err = s.db.ApplyNoSyncWait(w.batch.Batch, pebble.Sync)
	}
	if err != nil {
		return 0, s.pipe.End(fmt.Errorf("write store: %w", err))
	}
	if err := s.log.Memory.Add(w.added()); err != nil {
		return 0, s.pipe.End(fmt.Errorf("read what was just written: %w", err))
	}
	if w.ordered != nil {
		w.ordered()
	}
	w.changes.Stage(w.tenant.fleet)
	s.pipe.Add(sequence, p)
	return sequence, nil
}
