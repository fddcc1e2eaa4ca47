package storetest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/storecheck"
)

// follower reads the feed of one tenant: from a snapshot on it folds what devices show. It also
// reads on in the order of arrival, on the store and on the reference, from positions that mean one
// moment.
type follower struct {
	at      andon.Position
	devices map[andon.DeviceID]andon.Device
	// reordered is which devices have had no change since the severities changed: their next one
	// begins as the new ones have it.
	reordered    map[andon.DeviceID]bool
	came, wanted andon.Position
	ended        bool // the positions must be gone: the tenant was deleted, or the process ended
}

// mostFollowers is how many positions of a tenant are followed at once.
const mostFollowers = 4

// restarted says that the store was opened again.
func (w *world) restarted() {
	if w.store.store.Capabilities().ChangesDurable {
		return
	}
	for tenant := range w.followers {
		w.deleted(tenant)
	}
}

// deleted says that a tenant was deleted, and perhaps made again.
func (w *world) deleted(tenant andon.TenantID) {
	for _, f := range w.followers[tenant] {
		f.ended = true
	}
}

// follow folds the feed of each tenant from several positions on, and holds what comes of it
// against what devices show. Now and then another one begins.
func (w *world) follow(ctx context.Context, h history, r *rand.Rand) error {
	if !w.store.store.Capabilities().Changes {
		return nil
	}
	for _, tenant := range h.tenants {
		all := w.followers[tenant]
		if len(all) < mostFollowers && (len(all) == 0 || r.IntN(3) == 0) {
			f := &follower{}
			var err error
			if f.devices, f.at, err = andon.Snapshot(ctx, w.store.store, tenant); err == nil {
				_, f.wanted, err = w.want.store.ChangesKept(ctx, tenant)
			}
			if err != nil {
				return fmt.Errorf("a snapshot of %s: %w", short(tenant), err)
			}
			f.came = f.at
			all = append(all, f)
		}
		for i, f := range all {
			err := w.arrived(ctx, tenant, f, r)
			if err == nil {
				err = f.follow(ctx, w.store.raw, tenant, r)
			}
			if err != nil {
				return fmt.Errorf("the feed of %s, reader %d: %w", short(tenant), i, err)
			}
		}
		w.followers[tenant] = slices.DeleteFunc(all, func(f *follower) bool {
			return f.ended || r.IntN(20) == 0
		})
	}
	return nil
}

// arrived compares what arrived. Requests that are sent at the same time arrive in any order, and
// positions of the two stores can not be compared, so what arrived is compared without its order,
// which the checks look at.
func (w *world) arrived(
	ctx context.Context, tenant andon.TenantID, f *follower, r *rand.Rand,
) error {
	if !w.store.store.Capabilities().Arrivals {
		return nil
	}
	limit := 1 + r.IntN(7)
	read := func(s *subject, at andon.Position) (texts []string, next andon.Position, err error) {
		q := andon.ArrivalQuery{After: &at, Limit: limit}
		all, next, err := storecheck.Arrivals(ctx, s.store, tenant, q)
		for _, a := range all {
			texts = append(texts, fmt.Sprintf("%+v", a.Event))
		}
		slices.Sort(texts)
		return texts, next, err
	}
	got, came, err := read(w.store, f.came)
	if f.ended {
		if andon.KindOf(err) != andon.Gone {
			return fmt.Errorf("its position of arrivals should be gone: %w", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	want, wanted, err := read(w.want, f.wanted)
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("arrived are\n%s\nwant\n%s",
			strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err == nil && r.IntN(2) == 0 { // else it looks at the same once more, after what comes next
		f.came, f.wanted = came, wanted
	}
	return err
}

// follow reads on, sometimes in two parts, and compares.
func (f *follower) follow(
	ctx context.Context, s andon.Store, tenant andon.TenantID, r *rand.Rand,
) error {
	err := f.read(ctx, s, tenant, 1+r.IntN(4))
	if err == nil {
		err = f.read(ctx, s, tenant, math.MaxInt)
	}
	if gone := err != nil && andon.KindOf(err) == andon.Gone; gone || f.ended {
		if gone == f.ended {
			return nil
		}
		return fmt.Errorf("its position should be gone: %t; %w", f.ended, err)
	}
	if err != nil {
		return err
	}
	shown := map[andon.DeviceID]andon.Device{}
	for d, err := range s.Devices(ctx, tenant, andon.DeviceQuery{Limit: math.MaxInt}) {
		if err != nil {
			return err
		}
		shown[d.ID] = d
	}
	for _, id := range slices.Sorted(maps.Keys(shown)) {
		is, folded := shown[id], f.devices[id]
		if !andon.ShowAlike(&is, &folded) || is.Severity != folded.Severity {
			return fmt.Errorf("it leads to\n%+v\nand the device shows\n%+v", folded, is)
		}
	}
	if len(shown) != len(f.devices) {
		return fmt.Errorf("it leads to %d devices, and %d are shown", len(f.devices), len(shown))
	}
	return nil
}

// note keeps which devices have had no change since the severities changed.
func (f *follower) note(c andon.Change) {
	delete(f.reordered, c.Device)
	if c.Tenant != nil {
		f.reordered = map[andon.DeviceID]bool{}
		for id := range f.devices {
			f.reordered[id] = true
		}
	}
}

// read folds some changes, and holds each against the one before it.
func (f *follower) read(
	ctx context.Context, s andon.Store, tenant andon.TenantID, most int,
) error {
	severities := false
	for c, err := range s.Changes(ctx, tenant, f.at) {
		if err != nil {
			return err
		}
		if c.Position.Compare(f.at) <= 0 {
			return fmt.Errorf("position %+v comes after %+v", c.Position, f.at)
		}
		var before *andon.Device
		if d, ok := f.devices[c.Device]; ok {
			before = &d
		}
		severities = severities || c.Tenant != nil
		follows := severities || f.reordered[c.Device]
		if c.Tenant == nil && !follows && !andon.ShowAlike(before, c.Before) {
			return fmt.Errorf("%s of %q began with\n%+v\nand before it was\n%+v",
				c.Kind, c.Device, c.Before, before)
		}
		if c.Kind == andon.ByEntry && c.Entry.Time == 0 {
			return fmt.Errorf("a change by an entry names none: %+v", c)
		}
		f.note(c)
		c.Fold(f.devices)
		soon, end := context.WithTimeout(ctx, time.Minute)
		err := s.AwaitChange(soon, tenant, f.at)
		end()
		if err != nil {
			return fmt.Errorf("a reader that waits before a change is not woken: %w", err)
		}
		f.at = c.Position
		if most--; most == 0 {
			return nil
		}
	}
	return nil
}
