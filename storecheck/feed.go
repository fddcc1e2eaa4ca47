package storecheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// feedChecks: the feed of changes.
func feedChecks() []Check {
	feed := func(c andon.Capabilities) bool { return c.Changes }
	return []Check{
		check("2.17", "the feed continues a snapshot without a gap",
			snapshotGoesOn).needing(feed).concurrent(),
		check("2.17", "a change has what its newest entry said, also once others followed",
			shownByChange).needing(feed),
		check("2.17", "a reader that waits for a change is woken by it",
			wokenByChange).needing(feed).concurrent(),
		check("2.17", "a position of another feed is gone", foreignPosition).needing(feed),
		check("2.17", "a deleted tenant's feed ends", deletedFeed).needing(feed),
	}
}

// changeText writes a change as d1:WARNING1/Liz/Sara>-:retirement, with operator and supervisor,
// and one of the tenant as tenant.
func changeText(c *andon.Change) string {
	if c.Kind == andon.OfTenant {
		return c.Kind.String()
	}
	side := func(d *andon.Device) string {
		if d == nil {
			return "-"
		}
		words := []string{string(d.State), string(d.Operator), string(d.EscalatedTo)}
		absent := func(s string) bool { return s == "" }
		return strings.Join(slices.DeleteFunc(words, absent), "/")
	}
	return fmt.Sprintf("%s:%s>%s:%s", c.Device, side(c.Before), side(c.After), c.Kind)
}

// newest returns the position after all changes of a tenant.
func (e *Env) newest(ctx context.Context, id andon.TenantID) andon.Position {
	_, at, err := e.Store.ChangesKept(ctx, id)
	require(err)
	return at
}

// changes reads the feed from a position on, and returns where it ends.
func (e *Env) changes(
	ctx context.Context, id andon.TenantID, at andon.Position,
) (all []string, positions []andon.Position, err error) {
	for c, err := range e.Store.Changes(ctx, id, at) {
		if err != nil {
			return all, positions, err
		}
		all, positions = append(all, changeText(&c)), append(positions, c.Position)
	}
	return all, positions, nil
}

// expectChanges expects what changed since the feed was read last, in an order; the first time it
// only reads. Each position of a change must resume after it.
func (t turn) expectChanges(want []string, arrange func([]string) []string) error {
	at, read := t.feeds[t.id]
	if !read {
		_, newest, err := t.Store.ChangesKept(t, t.id)
		if err = t.servesFeed(err); err == nil || isNotAsked(err) {
			t.feeds[t.id] = newest
		}
		return err
	}
	if !t.Store.Capabilities().Changes {
		return t.servesFeed(errOf(t.Store.Changes(t, t.id, at)))
	}
	return t.Eventually(t, func() error {
		got, positions, err := t.changes(t, t.id, at)
		if err == nil && !slices.Equal(arrange(got), arrange(want)) {
			err = fmt.Errorf("it is %s", show(got))
		}
		for i := 0; i < len(positions) && err == nil; i++ {
			var rest []string
			rest, _, err = t.changes(t, t.id, positions[i])
			if err == nil && !slices.Equal(rest, got[i+1:]) {
				err = fmt.Errorf("after change %d of %s come %s", i, show(got), show(rest))
			}
		}
		if err == nil && len(positions) > 0 {
			t.feeds[t.id] = positions[len(positions)-1]
		}
		return err
	})
}

func (t turn) servesFeed(err error) error {
	return declared(t.Store.Capabilities().Changes, err)
}

type snapshot struct {
	devices map[andon.DeviceID]andon.Device
	at      andon.Position
}

// shown returns what a device shows; nil: nothing.
func (s *snapshot) shown(id andon.DeviceID) *andon.Device {
	if d, ok := s.devices[id]; ok {
		return &d
	}
	return nil
}

// snapshotGoesOn takes snapshots while devices change, and folds the feed onto each.
func snapshotGoesOn(ctx context.Context, e *Env, id andon.TenantID) error {
	const goroutines, each = 3, 15
	// Where writes are not visible at once, a device may show a change before the feed has it. Then
	// the change is folded twice.
	early := !e.Store.Capabilities().Immediate
	var snapshots []snapshot
	require(concurrently(goroutines+1, func(g int) error {
		for i := range each {
			var err error
			if g < goroutines {
				err = e.append(ctx, id, e.dealt(g, i)...)
			} else {
				s := snapshot{}
				s.devices, s.at, err = andon.Snapshot(ctx, e.Store, id)
				snapshots = append(snapshots, s)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
	now, _, err := andon.Snapshot(ctx, e.Store, id)
	require(err)
	for i, s := range snapshots {
		for c, err := range e.Store.Changes(ctx, id, s.at) {
			require(err)
			before := s.shown(c.Device)
			twice := early && andon.ShowAlike(before, c.After)
			if !andon.ShowAlike(before, c.Before) && !twice {
				return fmt.Errorf("snapshot %d: %q was %+v, and then begins with %+v",
					i, c.Device, before, c.Before)
			}
			c.Fold(s.devices)
		}
		alike := func(a, b andon.Device) bool { return andon.ShowAlike(&a, &b) }
		if !maps.EqualFunc(s.devices, now, alike) {
			return fmt.Errorf("snapshot %d leads to %+v, and %+v is shown", i, s.devices, now)
		}
	}
	return nil
}

// shownByChange reads what changes showed after the device shows something else.
func shownByChange(ctx context.Context, e *Env, id andon.TenantID) error {
	at := e.newest(ctx, id)
	said := func(t andon.Time) string { return fmt.Sprint("at ", t) }
	for i, states := range [][]andon.State{{"A"}, {"B"}, {"A", "B"}, {"C"}} {
		var events []andon.Event
		for n, state := range states {
			is := andon.Event{Device: "d1", Time: e.Base + andon.Time(10*i+n), State: state}
			is.Message = said(is.Time)
			events = append(events, is)
		}
		require(e.append(ctx, id, events...))
	}
	found := 0
	for c, err := range e.Store.Changes(ctx, id, at) {
		require(err)
		shown := must(andon.Shown(ctx, e.Store, id, &c))
		if found++; shown.Message != said(shown.Time) {
			return fmt.Errorf("%s says %q, and not %q", changeText(&c), shown.Message,
				said(shown.Time))
		}
	}
	if found < 4 {
		return fmt.Errorf("4 writes made %d changes", found)
	}
	return nil
}

// wokenByChange waits after the newest position while something happens that is no change, and
// then something that is one.
func wokenByChange(ctx context.Context, e *Env, id andon.TenantID) error {
	ctx, end := context.WithTimeout(ctx, timeout)
	defer end()
	at := e.newest(ctx, id)
	woken := make(chan error, 1)
	go func() {
		changes, err := []string(nil), error(nil)
		for len(changes) == 0 && err == nil {
			if err = e.Store.AwaitChange(ctx, id, at); err == nil {
				changes, _, err = e.changes(ctx, id, at)
			}
		}
		woken <- err
	}()
	require(e.append(ctx, id, andon.Event{Device: "d1", Time: e.Base, State: "A"}))
	require(<-woken)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if e.Store.AwaitChange(ended, id, e.newest(ctx, id)) == nil {
		return errors.New("a wait whose context has ended returned no error")
	}
	return nil
}

func foreignPosition(ctx context.Context, e *Env, id andon.TenantID) error {
	other := must(e.Tenant(ctx, "other"))
	at := e.newest(ctx, other)
	future := at
	future.Sequence += 1 << 40
	for _, err := range []error{
		errOf(e.Store.Changes(ctx, id, at)), e.Store.AwaitChange(ctx, id, at),
		errOf(e.Store.Changes(ctx, other, andon.Position{})),
		errOf(e.Store.Changes(ctx, other, future)),
	} {
		require(wantKind(andon.Gone, err))
	}
	if !e.Store.Capabilities().Arrivals {
		return nil
	}
	for tenant, at := range map[andon.TenantID]andon.Position{id: at, other: future} {
		_, err := e.Store.Arrivals(ctx, tenant, andon.ArrivalQuery{After: &at, Limit: 1})
		require(wantKind(andon.Gone, err))
	}
	return nil
}

// deletedFeed deletes a tenant while someone waits for its next change, and makes it again.
func deletedFeed(ctx context.Context, e *Env, _ andon.TenantID) error {
	id := must(e.Tenant(ctx, "deleted"))
	at := e.newest(ctx, id)
	ctx, end := context.WithTimeout(ctx, timeout)
	defer end()
	woken := make(chan error, 1)
	go func() { woken <- e.Store.AwaitChange(ctx, id, at) }()
	require(e.Store.DeleteTenant(ctx, id))
	require(wantKind(andon.NotFound, <-woken))
	must(e.Store.PutTenant(ctx, andon.NewTenant(id)))
	return wantKind(andon.Gone, errOf(e.Store.Changes(ctx, id, at)))
}
