package records

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Due yields the records of a kind that are due until a time, at most limit of them, the earliest
// first.
func (s *Records) Due(
	ctx context.Context, kind andon.RecordKind, until andon.Time, limit int,
) iter.Seq2[andon.Record, error] {
	return seq.Of(func(yield func(andon.Record) bool) error {
		it, err := s.firstDue(ctx, kind)
		if err != nil {
			return err
		}
		defer it.Release()
		yield = seq.UpTo(limit, yield)
		for ok := it.Valid(); ok; ok = it.Next() {
			r, current, err := s.recordOf(it)
			switch {
			case err != nil || r.Due > until:
				return err
			case !current:
				s.removeUnowned(it.Key())
			case !yield(r):
				return nil
			}
		}
		return it.Error()
	})
}

// firstDue returns an iterator at the first record of a kind that is ever due, and remembers its
// key.
func (s *Records) firstDue(ctx context.Context, kind andon.RecordKind) (*engine.Iterator, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix := layout.Key{layout.TableDue}.Text(string(kind))
	from, end := s.from[kind], prefix.End()
	if from == nil {
		from = prefix
	}
	it, err := engine.NewIterator(ctx, s.db, from, end)
	if err != nil {
		return nil, err
	}
	if s.from[kind] = end; it.First() {
		s.from[kind] = bytes.Clone(it.Key())
	} else if err := it.Error(); err != nil {
		s.from[kind] = from
		it.Release()
		return nil, err
	}
	return it, nil
}

// recordOf reads the record that a row of the index is about. It is not current where the record
// was changed meanwhile, or where its tenant was deleted.
func (s *Records) recordOf(it *engine.Iterator) (r andon.Record, current bool, err error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return r, false, err
	}
	r, ok := layout.SplitDue(it.Key())
	number, _, whole := layout.TakeNumber(value)
	if !ok || !whole {
		return r, false, layout.ErrDamaged
	}
	if !s.owners.Owns(r.Tenant, number) {
		return r, false, nil
	}
	found := r
	err = s.Read(number, &found)
	return found, found.Version != 0 && found.Due == r.Due, err
}

// removeUnowned removes a row of the index whose tenant was deleted, unless the row was changed
// meanwhile. Where the row comes back after a crash, it is removed the next time.
func (s *Records) removeUnowned(k layout.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, err := engine.Get(s.db, k)
	number, _, ok := layout.TakeNumber(value)
	r, whole := layout.SplitDue(k)
	if err != nil || !ok || !whole || s.owners.Owns(r.Tenant, number) ||
		s.owners.Failed() != nil {
		return
	}
	if err := s.db.Delete(k, pebble.NoSync); err != nil {
		_ = s.owners.Fatal(fmt.Errorf("write store: %w", err)) // no caller waits for it
	}
}
