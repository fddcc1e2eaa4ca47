package storetest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/andonhq/andon"
)

// follower reads the feed of one tenant: from a snapshot on it folds what devices show.
type follower struct {
	at      andon.Position
	devices map[andon.DeviceID]andon.Device
	ended   bool // the position must be gone: its tenant was deleted, or its process ended
	// reordered is which devices have had no change since the severities changed: their next one
	// begins as the new ones have it.
	reordered map[andon.DeviceID]bool
}

// mostFollowers is how many positions of a tenant are followed at once.
const mostFollowers = 4

// restarted says that the store was opened again.
func (w *world) restarted() {
	if w.store.store.Capabilities().ChangesDurable {
		return
	}
	for _, all := range w.followers {
		for _, f := range all {
			f.ended = true
		}
	}
	for _, all := range w.arriving {
		for _, a := range all {
			a.ended = true
		}
	}
}

// deleted says that a tenant was deleted, and perhaps made again.
func (w *world) deleted(tenant andon.TenantID) {
	for _, f := range w.followers[tenant] {
		f.ended = true
	}
	for _, a := range w.arriving[tenant] {
		a.ended = true
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
			devices, at, err := andon.Snapshot(ctx, w.store.store, tenant)
			if err != nil {
				return fmt.Errorf("a snapshot of %s: %w", short(tenant), err)
			}
			all = append(all, &follower{at: at, devices: devices})
		}
		for i, f := range all {
			if err := f.follow(ctx, w.store.raw, tenant, r); err != nil {
				return fmt.Errorf("the feed of %s, reader %d: %w", short(tenant), i, err)
			}
		}
		w.followers[tenant] = slices.DeleteFunc(all, func(f *follower) bool {
			return f.ended || r.IntN(20) == 0
		})
	}
	return nil
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
