package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/sleep"
)

// follower takes in the changes of one tenant, while this process has its lease.
type follower struct {
	*Keeper
	tenant andon.TenantID
	lease  *lease.Lease
	at     andon.Position // the zero Position: none is known
	// fleet is compared with the incidents once all changes before it are taken in; nil: nothing is
	// to be compared.
	fleet *fleet
}

// fleet is what all devices show at a position.
type fleet struct {
	devices map[andon.DeviceID]andon.Device
	at      andon.Position
}

// run follows until the context ends, the lease is lost or the tenant is deleted.
func (f *follower) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { f.reviews(ctx) })
	others.Go(func() { f.listen(ctx) })
	defer others.Wait()
	defer cancel()
	f.lost.Delete(f.tenant)
	err := f.changes(ctx)
	if errors.Is(context.Cause(ctx), lease.ErrLost) {
		f.lost.Store(f.tenant, string(f.lease.Position()))
	} else {
		f.noteLag(f.tenant, false)
	}
	return err
}

// changes takes in what changes, again and again.
func (f *follower) changes(ctx context.Context) error {
	var p place
	if json.Unmarshal([]byte(f.lease.Position()), &p) == nil {
		f.at = p.At
		f.Failures.Note(string(f.tenant), nil) // it has the lease again
	}
	for {
		err := f.step(ctx)
		switch {
		case ctx.Err() != nil, andon.KindOf(err) == andon.NotFound && err != nil,
			errors.Is(err, lease.ErrLost):
			return err
		case andon.KindOf(err) == andon.Gone && err != nil:
			err = f.begin(ctx)
		}
		f.Failures.Note(string(f.tenant), err)
		if err != nil {
			_ = sleep.For(ctx, time.Second)
		}
	}
}

// step takes in the next changes, or waits for some.
func (f *follower) step(ctx context.Context) error {
	if f.at == (andon.Position{}) {
		return f.begin(ctx)
	}
	began := f.Now()
	all, err := seq.Collect(seq.First(batch, f.Store.Changes(ctx, f.tenant, f.at)))
	if err != nil {
		return err
	}
	f.noteLag(f.tenant, len(all) > 0)
	if len(all) == 0 && f.fleet == nil {
		return f.Store.AwaitChange(ctx, f.tenant, f.at)
	}
	by, order := map[andon.DeviceID][]*andon.Change{}, []andon.DeviceID{}
	for i := range all {
		c := &all[i]
		if c.Kind == andon.OfTenant {
			continue
		}
		if by[c.Device] == nil {
			order = append(order, c.Device)
		}
		by[c.Device] = append(by[c.Device], c)
	}
	// What was put before an incident opens counts for it, whichever process took it.
	isConcerned := func(c andon.Change) bool { return concerns(&c) }
	if f.Forget != nil && slices.ContainsFunc(all, isConcerned) {
		f.Forget(f.tenant)
	}
	if err := f.takeIn(ctx, order, by); err != nil {
		return err
	}
	if err := f.proceed(ctx, all); err != nil {
		return err
	}
	return f.rest(ctx, f.Now().Sub(began))
}

// proceed moves on after changes that are taken in. Where one is of the tenant, states may have
// other severities, which changes of devices do not tell: all devices are compared with their
// incidents, once what changed before that is taken in. Until then the position is not saved, so
// that a process that follows later compares them, too.
func (f *follower) proceed(ctx context.Context, changes []andon.Change) (err error) {
	if slices.ContainsFunc(changes, func(c andon.Change) bool { return c.Kind == andon.OfTenant }) {
		if f.fleet, err = f.snapshot(ctx); err != nil {
			return err
		}
	}
	at := f.at
	if len(changes) > 0 {
		at = changes[len(changes)-1].Position
	}
	switch {
	case f.fleet == nil:
		return f.save(ctx, at)
	case len(changes) > 0 && at.Compare(f.fleet.at) < 0:
		f.at = at
		return nil
	}
	return f.compare(ctx, at)
}

// justBegun is how long ago a feed may have begun whose first changes are news. What was over
// before is late news, of which nobody is told.
const justBegun = andon.Duration(60_000_000)

// begin compares all devices of the tenant with its open incidents, where changes do not tell. In a
// feed that nobody has followed and that has just begun, what changed before is taken in first.
func (f *follower) begin(ctx context.Context) (err error) {
	if f.fleet, err = f.snapshot(ctx); err != nil {
		return err
	}
	oldest, _, err := f.Store.ChangesKept(ctx, f.tenant)
	if err != nil {
		return err
	}
	for c, err := range f.Store.Changes(ctx, f.tenant, oldest) {
		switch {
		case err != nil:
			return err
		case c.After == nil:
			continue
		case oldest.Feed != f.at.Feed && f.Now().Sub(c.After.Received) < justBegun:
			f.at = oldest
			return nil
		}
		break
	}
	return f.compare(ctx, f.fleet.at)
}

// snapshot reads what all devices show.
func (f *follower) snapshot(ctx context.Context) (*fleet, error) {
	devices, at, err := andon.Snapshot(ctx, f.Store, f.tenant)
	if err != nil {
		return nil, err
	}
	return &fleet{devices, at}, nil
}

// takeIn takes in changes by device, and does what is due at once.
func (f *follower) takeIn(
	ctx context.Context, devices []andon.DeviceID, by map[andon.DeviceID][]*andon.Change,
) error {
	// One that appears may show only then what it is grouped by.
	news := slices.DeleteFunc(slices.Clone(devices), func(device andon.DeviceID) bool {
		return !slices.ContainsFunc(by[device], func(c *andon.Change) bool {
			return c.Before == nil || concerns(c)
		})
	})
	if err := f.learn(ctx, news); err != nil {
		return err
	}
	opening := make([]*people.Observation, len(devices)) // of incidents that are not stored
	held, err := f.decide(ctx, len(devices),
		func(ctx context.Context, i int) (last *records.Held, _ error) {
			changes := by[devices[i]]
			for n, c := range changes {
				var later **people.Observation
				if n == len(changes)-1 {
					later = &opening[i]
				}
				h, err := f.change(ctx, c, later)
				if err != nil {
					return nil, err
				}
				if h != nil {
					last = h
				}
			}
			return last, nil
		})
	if err == nil {
		held, err = f.store(ctx, held, opening)
	}
	f.effects(ctx, held...)
	return err
}

// learn has groups follow what devices show before anything is decided by them. Whoever stores an
// entry does so only once it is in the feed, and may end in between. Where a group can't be stored,
// because there is no room, what is known counts: others must be told all the same.
func (f *follower) learn(ctx context.Context, devices []andon.DeviceID) error {
	for some := range slices.Chunk(devices, batch) {
		if f.Learn == nil {
			break
		}
		err := f.Learn(ctx, f.tenant, some)
		if err != nil && andon.KindOf(err) != andon.Full {
			return err
		}
	}
	return nil
}

// store stores incidents that have opened, those that have an observation, and returns all. Who is
// told of an incident is told before it is stored, so that it is stored once. Where it is never
// stored, its change comes again, and the keys of its notices are known.
func (f *follower) store(
	ctx context.Context, held []*records.Held, opening []*people.Observation,
) ([]*records.Held, error) {
	var told []*records.Held
	for i, h := range held {
		if opening[i] != nil && !slices.ContainsFunc(h.Doing, func(e people.Effect) bool {
			return e.Do != people.Notify
		}) {
			told = append(told, h)
		}
	}
	if f.tell(ctx, f.tenant, told...) == nil { // else it is tried again once they are stored
		for _, h := range told {
			h.Doing = nil
		}
	}
	return f.decide(ctx, len(held), func(ctx context.Context, i int) (*records.Held, error) {
		h := held[i]
		if opening[i] == nil {
			return h, nil
		}
		err := f.Incidents.Put(ctx, f.tenant, h)
		if andon.KindOf(err) == andon.Conflict && err != nil {
			return f.observe(ctx, h.Device, h.Kind, opening[i], nil, nil)
		}
		return h, err
	})
}

const (
	// restFactor is how much longer than it worked a follower rests while writes want the
	// processors. In a storm devices are stored first, and so shown; incidents of them follow.
	restFactor = 3
	// longestRest is for a store that makes a follower wait, which takes no processor.
	longestRest = 2 * time.Second
)

// rest rests after some work, unless the processors are free.
func (f *follower) rest(ctx context.Context, worked andon.Duration) error {
	if f.Busy == nil || !f.Busy() {
		return nil
	}
	return sleep.For(ctx, min(restFactor*worked.Std(), longestRest))
}

// noteLag takes note of whether there are changes of a tenant that are not taken in.
func (k *Keeper) noteLag(tenant andon.TenantID, is bool) {
	if is {
		k.since.LoadOrStore(tenant, k.Now())
	} else {
		k.since.Delete(tenant)
	}
}

// noteLost is noteLag of a tenant whose lease this process could not keep, until a process goes on.
func (k *Keeper) noteLost(ctx context.Context, tenant andon.TenantID, position andon.JSON) {
	was, is := k.lost.Load(tenant)
	if !is {
		return
	}
	var p place
	if was != string(position) || json.Unmarshal([]byte(position), &p) != nil {
		k.lost.Delete(tenant)
		k.noteLag(tenant, false)
		return
	}
	waiting := false
	for _, err := range k.Store.Changes(ctx, tenant, p.At) {
		waiting = err == nil || andon.KindOf(err) == andon.Gone
		break
	}
	k.noteLag(tenant, waiting)
}

func (f *follower) save(ctx context.Context, at andon.Position) error {
	f.at = at
	text, _ := json.Marshal(place{at})
	return f.lease.Save(ctx, andon.JSON(text))
}

// each does something that changes incidents, many at once, and then their effects together.
func (f *follower) each(
	ctx context.Context, n int, do func(context.Context, int) (*records.Held, error),
) error {
	held, err := f.decide(ctx, n, do)
	f.effects(ctx, held...)
	return err
}

// decide is each without the effects. It returns the incidents that have some.
func (f *follower) decide(
	ctx context.Context, n int, do func(context.Context, int) (*records.Held, error),
) ([]*records.Held, error) {
	held := make([]*records.Held, n)
	err := parallel.Do(ctx, n, writers, func(ctx context.Context, i int) (err error) {
		held[i], err = do(ctx, i)
		if andon.KindOf(err) == andon.Damaged && err != nil {
			f.Log.Error("an incident can't be kept", "tenant", f.tenant, "error", err)
			return nil
		}
		return err
	})
	return held, err
}

// effects does effects of incidents that are stored. Those that can't be done are tried again by
// the timers: they hold up nothing.
func (f *follower) effects(ctx context.Context, held ...*records.Held) {
	var some []*records.Held
	for _, h := range held {
		if h != nil && h.Version > 0 && len(h.Doing) > 0 {
			some = append(some, h)
		}
	}
	if len(some) == 0 {
		return
	}
	if err := f.Effects(ctx, f.tenant, some...); ctx.Err() == nil {
		f.Undone.Note(string(f.tenant), err)
	}
}

// change takes in one change. Where later is not nil, an incident that opens by it is not stored,
// as a rule, and later gets what opens it.
func (f *follower) change(
	ctx context.Context, c *andon.Change, later **people.Observation,
) (*records.Held, error) {
	h, err := f.decideOn(ctx, c, later)
	able := f.Store.Capabilities()
	if err != nil || c.Kind != andon.ByRetirement || !able.Immediate && !able.Consistency {
		return h, err
	}
	// The feed does not say that a device was purged that showed nothing then.
	strong := andon.WithConsistency(ctx, andon.Strong)
	retired, err := f.Store.Retirements(strong, f.tenant, c.Device)
	if err != nil || len(retired) > 0 {
		return h, err
	}
	at := c.Position
	at.Index++ // what knows of the retirement goes, too
	return nil, f.Incidents.Forget(ctx, f.tenant, c.Device, at)
}

// decideOn is change, unless the device was purged after it was retired.
func (f *follower) decideOn(
	ctx context.Context, c *andon.Change, later **people.Observation,
) (*records.Held, error) {
	if c.Kind == andon.ByPurge {
		return nil, f.Incidents.Forget(ctx, f.tenant, c.Device, c.Position)
	}
	if c.Kind == andon.ByRetirement && f.Retired != nil {
		if err := f.Retired(ctx, f.tenant, c.Device); err != nil {
			return nil, err
		}
	}
	if c.Kind == andon.ByAssignment {
		err := f.operate(ctx, c.Device, people.SilentKind)
		if err == nil && !concerns(c) {
			err = f.operate(ctx, c.Device, people.StateKind)
		}
		if err != nil {
			return nil, err
		}
	}
	if !concerns(c) {
		return nil, nil
	}
	o, err := f.observation(ctx, c)
	if err != nil {
		return nil, err
	}
	if !f.opens(c) {
		return f.observe(ctx, c.Device, people.StateKind, o, nil, later)
	}
	if later == nil {
		return f.observe(ctx, c.Device, people.StateKind, o, &records.Held{}, nil)
	}
	s, err := f.SettingNow(ctx, f.tenant)
	if err != nil {
		return nil, err
	}
	is, err := f.opening(ctx, s, c.Device, people.StateKind, o)
	if err != nil || is == nil {
		return nil, err
	}
	*later = o
	return &records.Held{Incident: is}, nil
}

// shows reports whether what a device shows is an incident.
func shows(d *andon.Device) bool { return d != nil && d.IncidentSince != 0 }

// concerns reports whether a change may be of an incident.
func concerns(c *andon.Change) bool { return shows(c.Before) || shows(c.After) }

// opens reports whether a change opens an incident where none is known to be open. To read that
// would be a fifth of the work.
func (f *follower) opens(c *andon.Change) bool {
	return c.Kind != andon.ByPurge && !shows(c.Before) && shows(c.After) &&
		!f.Incidents.MayBeOpen(f.tenant, records.Place(c.Device, people.StateKind))
}

// observation is what is true of a device after a change.
func (f *follower) observation(
	ctx context.Context, c *andon.Change,
) (*people.Observation, error) {
	o := &people.Observation{Why: c.Kind.String()}
	if c.After != nil {
		shown := *c.After
		if shows(c.After) && c.Kind == andon.ByEntry {
			var err error
			if shown, err = andon.Shown(ctx, f.Store, f.tenant, c); err != nil {
				return nil, err
			}
		}
		o = observe(&shown)
		o.Arrived, o.Assigned = c.After.Received, c.Kind == andon.ByAssignment
	}
	o.At = c.Position
	return o, nil
}

// compare compares what all devices showed with the open incidents. An incident that knows of a
// later change stays as it is. The position is then at, or that of the fleet, whichever is later.
func (f *follower) compare(ctx context.Context, at andon.Position) error {
	devices := f.fleet.devices
	want := map[andon.DeviceID]*people.Observation{}
	for id, d := range devices {
		if d.IncidentSince != 0 {
			want[id] = observe(&d)
		}
	}
	for in, err := range f.Incidents.EachOpen(ctx, f.tenant, people.StateKind) {
		if err != nil {
			return err
		}
		if want[in.Device] != nil {
			continue
		}
		want[in.Device] = &people.Observation{Why: "the device is gone"}
		if d, there := devices[in.Device]; there {
			want[in.Device] = observe(&d)
		}
	}
	ids := make([]andon.DeviceID, 0, len(want))
	for id, o := range want {
		o.At = f.fleet.at
		ids = append(ids, id)
	}
	err := f.learn(ctx, ids)
	if err == nil {
		err = f.each(ctx, len(ids), func(ctx context.Context, i int) (*records.Held, error) {
			return f.observe(ctx, ids[i], people.StateKind, want[ids[i]], nil, nil)
		})
	}
	if err != nil {
		return err
	}
	if at.Compare(f.fleet.at) < 0 {
		at = f.fleet.at
	}
	f.fleet = nil
	return f.save(ctx, at)
}
