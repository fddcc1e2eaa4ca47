// Package keeper opens, changes and closes incidents by the feed of changes, does what is due about
// them, and has effects done: it notifies, escalates and assigns.
//
// One process at a time follows the feed of a tenant, under a lease. All processes do what is due:
// a step is decided with a compare-and-swap of the incident, so it is in its log once. Its effects
// are stored with it until they are done, and are done at least once. Who is told as an incident
// opens is told first: the change that opens it comes again until it is stored.
package keeper

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/outage"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/wallclock"
)

// Doer does what is decided about devices; it is written down who asked for it.
type Doer interface {
	Assign(context.Context, andon.TenantID, []andon.Assignment) ([]andon.Assignment, error)
	Escalate(context.Context, andon.TenantID, andon.Escalation) (andon.Escalation, bool, error)
}

// Keeper keeps the incidents of all tenants.
type Keeper struct {
	Store     andon.Store
	Incidents *records.Incidents
	Setting   func(context.Context, andon.TenantID) (*people.Setting, error)
	Doer      Doer
	Notifier  notify.Notifier
	// Retired takes in that a device was retired, as far as incidents do not follow from the feed;
	// nil: nobody wants to know.
	Retired func(context.Context, andon.TenantID, andon.DeviceID) error
	// Learn has the groups of devices follow what they show; nil: they do not depend on it.
	Learn func(context.Context, andon.TenantID, []andon.DeviceID) error
	// Forget has Setting read documents again; nil: no other process changes them.
	Forget func(andon.TenantID)
	Leases *lease.Holder
	Made   chan struct{} // wakes it when this process has made a tenant; nil: nothing does
	Busy   func() bool   // reports whether writes want the processors; nil: never
	Now    func() andon.Time
	Clock  *wallclock.Clock
	Log    *slog.Logger

	Late     atomic.Int64 // steps done more than a second after they were due
	Failures outage.Log   // by tenant; "" is what is of all
	Undone   outage.Log   // effects, by tenant

	started   andon.Time // before it nothing was heard
	calendars records.Calendars
	since     sync.Map // andon.Time by andon.TenantID: when changes began to wait to be taken in
	lost      sync.Map // string by andon.TenantID: the position of a lease that was not kept
}

const (
	lookEvery = 250 * time.Millisecond // for what is due
	batch     = 1000                   // changes, or due records, at once
	writers   = 64                     // of records at once
	batches   = 2                      // whose effects are done at once
	queued    = 4 * time.Second        // a batch waits for that; later its effects are due again
)

// Run keeps incidents until the context ends. A store without a feed or records has none.
func (k *Keeper) Run(ctx context.Context) error {
	if able := k.Store.Capabilities(); !able.Changes || !able.Whole {
		<-ctx.Done()
		return nil
	}
	ctx, k.started = andon.Urgent(ctx), k.Now()
	k.Failures.Logger, k.Failures.Part = k.Log, "tenant"
	k.Failures.Begins = "incidents can't be kept: it is tried again and again"
	k.Failures.Ends = "incidents are kept again"
	k.Undone.Logger, k.Undone.Part = k.Log, "tenant"
	k.Undone.Begins = "what follows from an incident can't be done: it is tried again"
	k.Undone.Ends = "what follows from incidents is done again"
	g := lease.Group{
		Holder: k.Leases, Name: "incidents", Parts: k.parts, Wake: k.Made,
		Failed: func(part string, err error) {
			of, is := strings.CutPrefix(part, partOf)
			if !is { // else timers, which need no lease, would say that it works again
				of = "all, leases"
			}
			if andon.KindOf(err) != andon.NotFound || err == nil {
				k.Failures.Note(of, err)
			}
		},
		Work: func(ctx context.Context, part string, l *lease.Lease) error {
			id := andon.TenantID(strings.TrimPrefix(part, partOf))
			defer k.Failures.Forget(string(id))
			defer k.Incidents.Leave(id)
			return (&follower{Keeper: k, tenant: id, lease: l}).run(ctx)
		},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.timers(ctx)
	}()
	g.Run(ctx)
	<-done
	return nil
}

// Lag returns for how long there have been changes that are not taken in, at most of all tenants
// that this process follows, or followed until it could not keep their leases.
func (k *Keeper) Lag() (most andon.Duration) {
	k.since.Range(func(_, since any) bool {
		most = max(most, k.Now().Sub(since.(andon.Time)))
		return true
	})
	return most
}

// partOf precedes the tenant in a part of a lease.Group, whose other leases have other names.
const partOf = "of "

func (k *Keeper) parts(
	ctx context.Context, positions map[string]andon.JSON,
) (ready, gone []string, err error) {
	all, err := k.Store.Tenants(ctx)
	there := map[string]bool{}
	for _, t := range all {
		part := partOf + string(t.ID)
		ready, there[part] = append(ready, part), true
		k.noteLost(ctx, t.ID, positions[part])
	}
	for part := range positions {
		if !there[part] {
			gone = append(gone, part)
		}
	}
	return ready, gone, err
}

// timers does what is due, until the context ends.
func (k *Keeper) timers(ctx context.Context) {
	var doing sync.WaitGroup
	defer doing.Wait()
	slots := make(chan struct{}, batches)
	start := func(do func()) { // it never waits: steps are due
		doing.Go(func() {
			within, cancel := context.WithTimeout(ctx, queued)
			defer cancel()
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
				do()
			case <-within.Done():
			}
		})
	}
	for ctx.Err() == nil {
		n, err := k.due(ctx, start)
		if ctx.Err() == nil {
			k.Failures.Note("", err)
		}
		if n < batch || err != nil {
			_ = sleep.For(ctx, lookEvery)
		}
	}
}

// due does what is due now, and returns about how many incidents that was. Effects are done by
// functions that start gets: what is due next does not wait for them.
func (k *Keeper) due(ctx context.Context, start func(func())) (int, error) {
	all, err := seq.Collect(k.Store.DueRecords(ctx, records.OpenKind, k.Now(), batch))
	if err != nil {
		return 0, err
	}
	held := make([]*records.Held, len(all))
	err = parallel.Do(ctx, len(all), writers, func(ctx context.Context, i int) (err error) {
		held[i], err = k.advance(ctx, &all[i])
		if err = andon.Ignore(err, andon.NotFound); err != nil {
			k.Failures.Note(string(all[i].Tenant), err)
			k.Incidents.Postpone(ctx, all[i])
		}
		return ctx.Err()
	})
	by := map[andon.TenantID][]*records.Held{}
	for i, h := range held {
		if h != nil && len(h.Doing) > 0 {
			by[all[i].Tenant] = append(by[all[i].Tenant], h)
		}
	}
	for tenant, some := range by {
		start(func() {
			if err := k.Effects(ctx, tenant, some...); ctx.Err() == nil {
				k.Undone.Note(string(tenant), err)
			}
		})
	}
	return len(all), err
}

// advance does what is due of an incident. The result is nil where another process does it, or has
// done so. While effects are done the record is due later, so nobody else does them.
func (k *Keeper) advance(ctx context.Context, r *andon.Record) (held *records.Held, err error) {
	s, err := k.SettingNow(ctx, r.Tenant)
	if err != nil {
		return nil, err
	}
	mine, late := false, false
	decide := func(h *records.Held) (bool, error) {
		if mine = false; h.Incident == nil {
			return false, nil
		}
		late = h.Due() != 0 && h.Due().Add(1_000_000) < s.Now
		mine = h.Advance(s)
		late = late && mine
		switch {
		case mine:
		case h.Version != r.Version:
		case len(h.Doing) > 0:
			mine = true
		case h.Ended != 0:
			return false, k.Incidents.Move(ctx, r.Tenant, h) // it was cut off
		default: // what was due was decided by documents that have changed since
			return true, nil
		}
		return mine, nil
	}
	h, err := k.Incidents.DecideFrom(ctx, r.Tenant, r.ID, records.HeldIn(r), decide)
	if late && err == nil {
		k.Late.Add(1)
	}
	if !mine {
		return nil, err
	}
	return h, err
}

// Effects does the effects of incidents, and takes note that they are done. It returns the first
// error.
func (k *Keeper) Effects(
	ctx context.Context, tenant andon.TenantID, all ...*records.Held,
) error {
	if err := k.tell(ctx, tenant, all...); err != nil && len(all) > 1 {
		// One that can't be told does not keep the others from it.
		return parallel.Each(ctx, len(all), 1, func(ctx context.Context, i int) error {
			return k.Effects(ctx, tenant, all[i])
		})
	} else if err != nil {
		return err
	}
	return parallel.Each(ctx, len(all), writers, func(ctx context.Context, i int) error {
		return k.finish(ctx, tenant, all[i])
	})
}

// tell has people told of what was decided.
func (k *Keeper) tell(ctx context.Context, tenant andon.TenantID, all ...*records.Held) error {
	var notices []notify.Notice
	for _, h := range all {
		for _, e := range h.Doing {
			if e.Do != people.Assign {
				notices = append(notices, notify.Notice{
					Key: e.Key, To: e.To, Why: e.Text(), Due: e.Time, Incident: h.Incident,
				})
			}
		}
	}
	if len(notices) == 0 {
		return nil
	}
	return k.Notifier.Notify(ctx, tenant, notices)
}

// givenUp is after how long an effect that can't be done is not tried again.
const givenUp = andon.Duration(24 * 60 * 60 * 1_000_000)

// finish does the other effects of an incident, and takes note that all are done, or failed for
// good.
func (k *Keeper) finish(ctx context.Context, tenant andon.TenantID, h *records.Held) error {
	done, failed := map[string]bool{}, map[string]string{}
	for i := range h.Doing {
		e := &h.Doing[i]
		err, old := k.effect(ctx, tenant, h.Incident, e), k.Clock.Sure().Sub(e.Time) >= givenUp
		if err == nil && old && e.Do != people.Assign {
			err = errors.New("it is more than a day old, so nobody is told any more")
		}
		if err != nil {
			// A person was faster than the policy: the feed says who it was.
			overtaken := e.Over != nil && andon.KindOf(err) == andon.Conflict
			if !old && !overtaken && andon.KindOf(err) != andon.Invalid {
				return err
			}
			if !overtaken {
				k.Log.Warn("an incident could not be passed on", "incident", h.ID, "to", e.To,
					"error", err)
			}
			failed[e.Key] = err.Error()
		}
		done[e.Key] = true
	}
	if len(done) == 0 {
		return nil
	}
	known := &records.Held{Incident: h.Clone(), Version: h.Version}
	_, err := k.Incidents.DecideFrom(ctx, tenant, records.Place(h.Device, h.Kind), known,
		func(is *records.Held) (bool, error) {
			if is.Incident == nil || is.ID != h.ID {
				return false, nil
			}
			is.Failed(k.Now(), failed)
			return is.Done(done), nil
		})
	return andon.Ignore(err, andon.NotFound)
}

// effect does what is not told: it escalates and assigns. What its device or entry does not allow
// any more is done.
func (k *Keeper) effect(
	ctx context.Context, tenant andon.TenantID, in *people.Incident, e *people.Effect,
) (err error) {
	switch e.Do {
	case people.Assign:
		_, err = k.Doer.Assign(ctx, tenant, []andon.Assignment{
			{Device: in.Device, Operator: e.To, Over: e.Over},
		})
	case people.Escalate:
		is := andon.Escalation{
			Device: in.Device, Time: in.Entry.Time, State: in.Entry.State, To: e.To, By: e.By,
			Note: e.Why,
		}
		_, _, err = k.Doer.Escalate(ctx, tenant, is)
		if err == nil || andon.KindOf(err) != andon.NotFound {
			break
		}
		// It has expired while the device stayed in its state: a later one says the same.
		d, gone := k.Store.Device(ctx, tenant, in.Device)
		if gone == nil && d.IncidentSince != 0 {
			is.Time, is.State = d.Time, d.State
			_, _, err = k.Doer.Escalate(ctx, tenant, is)
		}
	}
	return andon.Ignore(err, andon.NotFound)
}

// place is how far the changes of a tenant are taken in: the position of its lease.
type place struct {
	At andon.Position `json:"at"`
}
