package storecheck

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/andonhq/andon"
)

// arrivalChecks: entries in the order of their arrival.
func arrivalChecks() []Check {
	return []Check{
		ofArrivals("entries come in the order of their arrival", inOrderOfArrival),
		ofArrivals("each position goes on in the order of arrival", eachArrival),
		ofArrivals("what is withdrawn or purged is not among what arrived", goneArrivals),
		ofArrivals("a position of another feed has no arrivals", foreignArrivals),
		check("2.14", "what keeps no order of arrival says so", undeclaredArrivals),
	}
}

// ofArrivals makes a check of a store that keeps the order of arrival.
func ofArrivals(name string, run func(context.Context, *Env, andon.TenantID) error) Check {
	return ofDeclared(name, func(c andon.Capabilities) bool { return c.Arrivals }, run)
}

func undeclaredArrivals(ctx context.Context, e *Env, id andon.TenantID) error {
	_, err := e.Store.Arrivals(ctx, id, andon.ArrivalQuery{Limit: 1})
	return declared(e.Store.Capabilities().Arrivals, err)
}

// Arrivals reads entries in the order of their arrival after a position until there are no more, a
// page at a time, and returns where to continue. The positions must rise, and those of pages must
// be those of items.
func Arrivals(
	ctx context.Context, s andon.Feed, id andon.TenantID, q andon.ArrivalQuery,
) (all []andon.Arrival, next andon.Position, err error) {
	for more := true; more; {
		part, err := s.Arrivals(ctx, id, q)
		if err != nil {
			return all, next, err
		}
		if len(part.Items) > q.Limit {
			return all, next, fmt.Errorf("%d items of at most %d", len(part.Items), q.Limit)
		}
		for _, item := range part.Items {
			if item.Position.Compare(next) <= 0 || item.Position.Compare(part.Next) > 0 {
				return all, next, fmt.Errorf("position %s comes after %s, and continues at %s",
					item.Position, next, part.Next)
			}
			next = item.Position
			all = append(all, item)
		}
		if part.More && q.After != nil && part.Next == *q.After {
			return all, next, fmt.Errorf("position %s does not continue", part.Next)
		}
		next, more = part.Next, part.More
		q.After = new(next)
	}
	return all, next, nil
}

// arrived writes what arrived as d1/A@5m/Liz/Sara:text.
func (e *Env) arrived(all []andon.Arrival) (texts []string) {
	for _, a := range all {
		text := e.deviceEntryText(a.Event)
		for _, person := range []andon.PersonID{a.Operator, a.EscalatedTo} {
			if person != "" {
				text += "/" + string(person)
			}
		}
		if a.Message != "" {
			text += ":" + a.Message
		}
		texts = append(texts, text)
	}
	return texts
}

// wantArrived expects what arrived after a position.
func (e *Env) wantArrived(
	ctx context.Context, id andon.TenantID, q andon.ArrivalQuery, want ...string,
) (next andon.Position, err error) {
	all, next, err := Arrivals(ctx, e.Store, id, q)
	if got := e.arrived(all); err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("after %v arrived %s, want %s", q.After, show(got), show(want))
	}
	return next, err
}

// at returns an event of a device some minutes after the base.
func (e *Env) at(device andon.DeviceID, minutes int, state andon.State) andon.Event {
	const minute = 60_000_000
	return andon.Event{
		Device: device, Time: e.Base.Add(andon.Duration(minutes * minute)), State: state,
	}
}

// sendAll appends batches one after the other.
func (e *Env) sendAll(ctx context.Context, id andon.TenantID, batches ...[]andon.Event) {
	for _, batch := range batches {
		require(e.append(ctx, id, batch...))
	}
}

func inOrderOfArrival(ctx context.Context, e *Env, id andon.TenantID) error {
	before := e.newest(ctx, id)
	must(e.Store.Assign(ctx, id, e.Base, []andon.Assignment{{Device: "d1", Operator: "Liz"}}))
	again := e.at("d1", 5, "A")
	again.Message = "again"
	e.sendAll(ctx, id,
		[]andon.Event{e.at("d1", 5, "A"), e.at("d2", 4, "B"), e.at("d2", 6, "A")},
		[]andon.Event{e.at("d3", 1, "A")}, // late
		[]andon.Event{again},
	)
	_, _, err := e.Store.Escalate(ctx, id, andon.Escalation{
		Device: "d3", Time: e.at("d3", 1, "A").Time, State: "A", At: e.Now(), To: "Sara",
	})
	require(err)
	all := []string{"d1/A@5m/Liz", "d2/B@4m", "d2/A@6m", "d3/A@1m/Sara", "d1/A@5m/Liz:again"}
	q := andon.ArrivalQuery{After: &before, Limit: 2}
	next := must(e.wantArrived(ctx, id, q, all...))
	must(e.wantArrived(ctx, id, andon.ArrivalQuery{After: &next, Limit: 2}))
	q.After = nil // nothing of this tenant is too old
	must(e.wantArrived(ctx, id, q, all...))
	q.States = must(andon.ParseStateFilter("B"))
	must(e.wantArrived(ctx, id, q, "d2/B@4m"))
	q.States, q.Span = andon.StateFilter{}, andon.Span{To: e.at("", 4, "").Time}
	must(e.wantArrived(ctx, id, q, "d2/B@4m", "d3/A@1m/Sara"))
	return nil
}

// eachArrival resumes after each entry, and at each position of the changes.
func eachArrival(ctx context.Context, e *Env, id andon.TenantID) error {
	before := e.newest(ctx, id)
	for i := range 3 {
		require(e.append(ctx, id, e.dealt(1, i*5)...))
	}
	q := andon.ArrivalQuery{After: &before, Limit: 100}
	all, end, err := Arrivals(ctx, e.Store, id, q)
	require(err)
	if len(all) == 0 {
		return errors.New("nothing arrived")
	}
	for i, a := range all {
		q := andon.ArrivalQuery{After: &a.Position, Limit: 1 + i%3}
		if next := must(e.wantArrived(ctx, id, q, e.arrived(all[i+1:])...)); next != end {
			return fmt.Errorf("after entry %d it ends at %s, not at %s", i, next, end)
		}
		// The changes continue there too, and none is left out.
		_, _, err := e.changes(ctx, id, a.Position)
		require(err)
	}
	_, positions, err := e.changes(ctx, id, before)
	require(err)
	last := len(all)
	for _, at := range slices.Backward(positions) {
		rest, _, err := Arrivals(ctx, e.Store, id, andon.ArrivalQuery{After: &at, Limit: 100})
		require(err)
		n := len(all) - len(rest)
		if n < 0 || n > last || !slices.Equal(e.arrived(rest), e.arrived(all[n:])) {
			return fmt.Errorf("after the change at %s arrived %s", at, show(e.arrived(rest)))
		}
		last = n
	}
	return nil
}

func goneArrivals(ctx context.Context, e *Env, id andon.TenantID) error {
	before := e.newest(ctx, id)
	e.sendAll(ctx, id,
		[]andon.Event{e.at("d1", 1, "A"), e.at("d2", 2, "A"), e.at("d2", 3, "B")},
		[]andon.Event{e.at("d3", 1, "A")},
	)
	want := []string{"d1/A@1m"}
	if e.Store.Capabilities().Withdraw {
		wrong := andon.Withdrawal{Device: "d2", Time: e.at("", 2, "").Time, State: "A"}
		_, _, err := e.Store.Withdraw(ctx, id, wrong)
		require(err)
	} else {
		want = append(want, "d2/A@2m")
	}
	want = append(want, "d2/B@3m")
	if e.Store.Capabilities().Purge {
		// The device is a new one then.
		require(e.Store.Purge(ctx, id, "d3"))
		require(e.append(ctx, id, e.at("d3", 7, "A")))
		want = append(want, "d3/A@7m")
	} else {
		want = append(want, "d3/A@1m")
	}
	must(e.wantArrived(ctx, id, andon.ArrivalQuery{After: &before, Limit: 1}, want...))
	return nil
}

func foreignArrivals(ctx context.Context, e *Env, id andon.TenantID) error {
	other := must(e.Tenant(ctx, "other"))
	require(e.append(ctx, other, e.at("d1", 1, "A")))
	at := e.newest(ctx, other)
	must(e.wantArrived(ctx, id, andon.ArrivalQuery{Limit: 10}))
	future := at
	future.Sequence += 1 << 40
	for tenant, at := range map[andon.TenantID]andon.Position{id: at, other: future} {
		_, err := e.Store.Arrivals(ctx, tenant, andon.ArrivalQuery{After: &at, Limit: 1})
		require(wantKind(andon.Gone, err))
	}
	return nil
}
