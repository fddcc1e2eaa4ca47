package sink

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/sleep"
)

// delivery is the feed of one tenant on its way, while this process has its lease.
type delivery struct {
	feed   *Feed
	tenant andon.TenantID
	lease  *lease.Lease

	place place  // what is before it is delivered
	page  *page  // devices that are to be sent next, unless they change
	batch *Batch // that is being sent; nil: none
	next  place  // after it

	waited bool // for changes to be sent together
}

// run delivers until the context ends or the tenant is deleted. What fails is tried again here,
// with the same batch, so that nothing overtakes it.
func (d *delivery) run(ctx context.Context) error {
	for failures := 0; ; {
		err := d.step(ctx)
		failure, delivering := errors.AsType[*Failure](err)
		switch {
		case ctx.Err() != nil:
			return err
		case delivering && failure.Stop:
			d.feed.Failures.Count.Add(1)
			d.warn("a feed has ended: its receiver wants no more", err)
			<-ctx.Done() // with the lease: other processes would ask again
			return nil
		case delivering: // whatever kind of error it is
		case andon.KindOf(err) == andon.Gone:
			d.warn("a feed begins again with all devices", err)
			err = d.begin(ctx, true)
		case andon.KindOf(err) == andon.NotFound || errors.Is(err, lease.ErrLost):
			return err
		}
		d.feed.Failures.Note(string(d.tenant), err)
		if failures++; err == nil {
			failures = 0
			continue
		}
		after := pause(failures)
		if failure != nil {
			after = max(after, failure.After)
		}
		_ = sleep.For(ctx, after)
	}
}

func (d *delivery) warn(text string, err error) {
	d.feed.Log.Warn(text, "feed", d.feed.Name, "tenant", d.tenant, "error", err)
}

// pause is how long to wait after so many failures.
func pause(failures int) time.Duration {
	return min(time.Second<<min(failures-1, 6), time.Minute)
}

// step makes a batch, unless there is one, and delivers it. Where there are no changes it waits.
func (d *delivery) step(ctx context.Context) error {
	if d.batch == nil {
		if err := d.prepare(ctx); err != nil || d.batch == nil {
			return err
		}
	}
	if err := d.feed.Destination.Deliver(ctx, d.batch); err != nil {
		failure, _ := errors.AsType[*Failure](err)
		return cmp.Or(failure, &Failure{Err: err})
	}
	d.feed.Delivered.Add(int64(len(d.batch.Messages)))
	d.place, d.batch = d.next, nil
	return nil
}

// prepare makes the next batch, or waits for what will be in it. How far it goes is saved before it
// is sent, so that after a kill the same changes are sent as the same batch.
func (d *delivery) prepare(ctx context.Context) error {
	ctx = andon.CollectEscalations(ctx)
	if err := d.open(ctx); err != nil {
		return err
	}
	// What changes while devices are listed is sent before them, so that none goes back to what it
	// showed before.
	changes, err := d.changes(ctx)
	if err != nil {
		return err
	}
	few := len(changes) < d.feed.Batch && d.place.Sending == nil && !d.waited
	if d.page == nil && (few || len(changes) == 0) {
		return d.await(ctx)
	}
	d.waited = false
	w, err := d.writer(ctx)
	if err != nil {
		return err
	}
	now, next := d.place, place{}
	if len(changes) > 0 {
		next, err = d.addChanges(ctx, w, changes)
		now.Sending = &next.At
	} else {
		next, err = d.addPage(w)
	}
	if err == nil && len(w.batch.Messages) > 0 {
		err = d.save(ctx, now)
	}
	if err != nil {
		d.page = nil // what was taken from it is not sent
		return err
	}
	if len(w.batch.Messages) == 0 {
		d.place = next
		return nil
	}
	w.batch.identify()
	d.batch, d.next = w.batch, next
	return nil
}

// changes returns the next changes: those of the batch that was being sent, or as many as a batch
// may have.
func (d *delivery) changes(ctx context.Context) (all []andon.Change, err error) {
	to := d.place.Sending
	for c, err := range d.feed.Store.Changes(ctx, d.tenant, d.place.At) {
		if err != nil {
			return nil, err
		}
		all = append(all, c)
		if to != nil && c.Position.Compare(*to) >= 0 || to == nil && len(all) == d.feed.Batch {
			break
		}
	}
	return all, nil
}

func (d *delivery) await(ctx context.Context) error {
	if err := d.save(ctx, d.place); err != nil {
		return err
	}
	d.feed.waits(d.tenant, 0)
	d.feed.Failures.Note(string(d.tenant), nil)
	err := d.feed.Store.AwaitChange(ctx, d.tenant, d.place.At)
	if err == nil {
		err = sleep.For(ctx, d.feed.Wait)
	}
	d.waited = true
	return err
}
