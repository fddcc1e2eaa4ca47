package cassandrastore

import (
	"context"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// reviewsAtOnce is how many devices are reviewed concurrently.
const reviewsAtOnce = 256

// review reviews devices when they are due (see merge.Reviews).
func (s *Store) review(ctx context.Context) {
	for sleep.For(ctx, 100*time.Millisecond) == nil {
		for due := s.dueReviews(); len(due) > 0 && ctx.Err() == nil; due = s.dueReviews() {
			_ = shared.Parallel(ctx, len(due), func(ctx context.Context, i int) error {
				s.reviewOrRetry(ctx, due[i])
				return nil
			})
		}
	}
}

func (s *Store) dueReviews() []merge.DueReview { return s.reviews.Due(s.now(), reviewsAtOnce) }

func (s *Store) reviewOrRetry(ctx context.Context, at merge.DueReview) {
	err := s.reviewDevice(ctx, at)
	if err == nil || andon.KindOf(err) == andon.NotFound || ctx.Err() != nil {
		return
	}
	s.options.Log.Debug("a device can't be reviewed", "device", at.Device, "error", err)
	at.Due = s.now().Add(s.options.Settle)
	s.reviews.Add(at)
}

// reviewDevice reads a device again, and corrects its index rows and its starts.
func (s *Store) reviewDevice(ctx context.Context, at merge.DueReview) error {
	t, err := s.tenant(ctx, at.Tenant)
	if err != nil {
		return err
	}
	if !t.Purged.Present(at.Device) {
		return nil
	}
	t, slots, err := s.take(ctx, t, at.Device)
	if err != nil {
		return err
	}
	defer slots.Give()
	began := s.processes.Now()
	v, err := s.readView(ctx, t, at.Device, true)
	if err != nil {
		return err
	}
	if err := s.rereadNewest(ctx, t, at.Device, v); err != nil {
		return err
	}
	var former []cql.Mutation
	if at.Withdrawn {
		former = s.formerRows(t, at.Device, v)
	}
	at.Quiet = at.Quiet && s.quiet(v) // it may have been heard while this waited
	left := []andon.State{at.Former}
	_, _, err = s.putRight(ctx, t, at.Device, v, &at.Review, left, former...)
	if err != nil || !v.Alive(t.Record.States) {
		return err
	}
	v.read, v.pending = began, nil
	slots.Slots[0].View = v
	n := v.Newest(t.Record.States) // of what landed after the change
	newest := andon.EntryRef{Time: n.Time, State: n.State}
	return s.changedBy(ctx, t, at.Device, andon.ByEntry, newest)
}

func (s *Store) unlist(t *rows.Tenant, device andon.DeviceID, v *view) (index []cql.Mutation) {
	if v.Newest(t.Record.States) == nil {
		return nil // nothing leads to it, or everything was withdrawn
	}
	p := placeOf(t, device, v)
	p.At = v.Retired - 1
	for _, d := range s.working.Load().Writes {
		index = append(index, d.Retire(p, v.Others(""))...)
	}
	return index
}

func placeOf(t *rows.Tenant, device andon.DeviceID, v *view) designs.Place {
	n := v.Newest(t.Record.States)
	return designs.Place{
		Tenant: t.Key, Device: string(device), State: n.State,
		Severity: t.Record.States.Severity(n.State), At: n.Time,
		Gen: v.Generation(t.Gen()),
	}
}

// resolve computes where the run and the incident of a device begin, and puts that into its view.
// It returns what is to be written; nothing for a reader, which passes no review.
func (s *Store) resolve(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, v *view, review *merge.Review,
) (run, incident merge.NewStart, err error) {
	return v.Resolve(t.Gen(), t.Record.States, review,
		func(base andon.EventKey) (andon.Time, error) {
			v.searched = true
			return s.rows.First(ctx, t, device, base)
		})
}

// quiet reports whether no write to a device can still be in progress. A device is heard when its
// request arrives, of which it may be the last device. Every process must know of each withdrawal,
// too.
func (s *Store) quiet(v *view) bool {
	now, longest := s.now(), s.options.Settle+andon.LongestRequest.Std()
	return now.Sub(v.Received.Std()) > longest && now.Sub(v.withdrew) > longest
}
