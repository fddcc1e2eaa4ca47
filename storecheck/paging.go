package storecheck

import (
	"context"
	"fmt"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bydevice"
	"github.com/andonhq/andon/internal/seq"
)

// pagingChecks: each entry that is there from the first page to the last is returned exactly once.
// That pages agree with the whole list is checked with every list of a scenario.
func pagingChecks() []Check {
	whole := func(c andon.Capabilities) bool { return c.Whole }
	return []Check{
		{
			Name: "a list of entries is read while it grows", Section: "2.13",
			Run: pageEventsWhileWriting,
		},
		check("2.13", "devices by id are read while they change", pageDevicesWhileWriting),
		check("2.13", "all devices are read while they are retired and come back",
			pageAllWhileRetiring).needing(whole),
		check("2.13", "all that devices sent is read while they send more and are retired",
			readWhileRetiring).needing(whole),
		check("2.13", "a store may be called from within its own list", callFromWithin),
	}
}

// pageEventsWhileWriting reads pages of two, in both orders, and appends an entry on each side of
// the place after each.
func pageEventsWhileWriting(ctx context.Context, e *Env) error {
	for _, order := range []andon.Order{andon.Desc, andon.Asc} {
		require(e.Renew(ctx))
		id := must(e.Here(ctx))
		there := e.fill(ctx, id, 20)
		read := e.pagesWhileWriting(ctx, id, order)
		if order == andon.Desc {
			slices.Reverse(there)
		}
		require(eachOnce(read, there))
	}
	return nil
}

// fill appends n entries a second apart and waits until all are visible.
func (e *Env) fill(ctx context.Context, id andon.TenantID, n int) (want []string) {
	var events []andon.Event
	for i := range n {
		event := andon.Event{
			Device: "d1", Operator: "Liz", State: "NORMAL",
			Time: e.Base + andon.Time(i)*1_000_000,
		}
		events = append(events, event)
		want = append(want, e.deviceEntryText(event))
	}
	require(e.append(ctx, id, events...))
	require(e.wantList(ctx, id, operatorLog("Liz", options{order: andon.Asc}), want))
	return want
}

func (e *Env) pagesWhileWriting(
	ctx context.Context, id andon.TenantID, order andon.Order,
) (read []string) {
	q := andon.EventQuery{Order: order, Limit: 2}
	states := andon.DefaultStates()
	for n := andon.Time(0); ; n++ {
		page := must(seq.Collect(e.Store.OperatorEvents(ctx, id, "Liz", q)))
		for _, event := range page {
			read = append(read, e.deviceEntryText(event))
		}
		if len(page) < q.Limit || n > 100 {
			return read
		}
		place := page[len(page)-1].Key(states)
		q.After = &place
		require(e.append(ctx, id,
			andon.Event{Device: "d1", Operator: "Liz", State: "WARNING1", Time: place.Time - 1},
			andon.Event{Device: "d2", Operator: "Liz", State: "NORMAL", Time: place.Time + 1},
		))
	}
}

// eachOnce reports items that were there all the time and are not in what was read exactly once and
// in order.
func eachOnce(read, there []string) error {
	seen := map[string]int{}
	for _, item := range read {
		seen[item]++
		if seen[item] > 1 {
			return fmt.Errorf("%s was returned twice", item)
		}
	}
	old := slices.DeleteFunc(slices.Clone(read), func(item string) bool {
		return !slices.Contains(there, item)
	})
	if !slices.Equal(old, there) {
		return fmt.Errorf("of %s the pages returned %s", show(there), show(old))
	}
	return nil
}

// pageDevicesWhileWriting reads pages of two while devices change their state, come and go.
func pageDevicesWhileWriting(ctx context.Context, e *Env, id andon.TenantID) error {
	var there []string
	for i := range 20 {
		device := fmt.Sprintf("d%02d", i)
		there = append(there, device)
		event := andon.Event{Device: andon.DeviceID(device), Time: e.Base, State: "NORMAL"}
		require(e.append(ctx, id, event))
	}
	require(e.wantList(ctx, id, devicesIn(andon.StateFilter{}, options{}), there))
	var read []string
	q := andon.DeviceQuery{Limit: 2}
	for n := andon.Time(1); n < 100; n++ {
		page := must(seq.Collect(e.Store.Devices(ctx, id, q)))
		for _, d := range page {
			read = append(read, string(d.ID))
		}
		if len(page) < q.Limit {
			break
		}
		place := page[len(page)-1].Position()
		q.After = &place
		require(e.append(ctx, id,
			andon.Event{Device: "d00", Time: e.Base + n, State: "WARNING1"},
			andon.Event{Device: "d19", Time: e.Base + n, State: "WARNING2"},
			andon.Event{Device: place.Device + "x", Time: e.Base, State: "NORMAL"},
			andon.Event{Device: place.Device, Time: e.Base + n, State: "WARNING3"},
		))
	}
	return eachOnce(read, there)
}

// someDevices makes devices, each with an entry and a reading, or only one of them, and waits until
// all are visible.
func (e *Env) someDevices(ctx context.Context, id andon.TenantID) (ids, sent, measured []string) {
	for i := range 20 {
		device := fmt.Sprintf("d%02d", i)
		ids = append(ids, device)
		if i%4 != 1 {
			event := andon.Event{Device: andon.DeviceID(device), Time: e.Base, State: "NORMAL"}
			require(e.append(ctx, id, event))
			sent = append(sent, e.deviceEntryText(event))
		}
		if i%4 != 2 {
			reading := andon.Reading{Device: andon.DeviceID(device), Time: e.Base}
			reading.Metrics = andon.Metrics{{Name: "a", Value: 1}}
			require(e.Store.AppendReadings(ctx, id, e.Now(), []andon.Reading{reading}))
			measured = append(measured, device+"/"+e.readingText(reading))
		}
	}
	require(e.wantList(ctx, id, devicesOf(andon.AllDevices)(options{}), ids))
	require(e.wantList(ctx, id, sentBy(options{}), sent))
	require(e.wantList(ctx, id, measuredBy(options{}), measured))
	return ids, sent, measured
}

// turnOver retires a device that shows a state, and has any other send a new entry, so that both
// change the lists that they are in.
func (e *Env) turnOver(ctx context.Context, id andon.TenantID, device string, n int) {
	at := e.Base + andon.Time(2*n+1)
	_, err := e.Store.Retire(ctx, id, andon.DeviceID(device), at)
	if andon.KindOf(err) == andon.NotFound {
		err = e.append(ctx, id, andon.Event{
			Device: andon.DeviceID(device), Time: at + 1, State: "WARNING1",
		})
	}
	require(err)
}

// pageAllWhileRetiring reads pages of two.
func pageAllWhileRetiring(ctx context.Context, e *Env, id andon.TenantID) error {
	there, _, _ := e.someDevices(ctx, id)
	var read []string
	q := andon.DeviceQuery{Kind: andon.AllDevices, Limit: 2}
	for n := range 100 {
		page := must(seq.Collect(e.Store.Devices(ctx, id, q)))
		for _, d := range page {
			read = append(read, string(d.ID))
		}
		if len(page) < q.Limit {
			break
		}
		q.After = new(page[len(page)-1].Position())
		for i := range there {
			if (i+n)%3 == 0 {
				e.turnOver(ctx, id, there[i], n)
			}
		}
	}
	return eachOnce(read, there)
}

func readWhileRetiring(ctx context.Context, e *Env, id andon.TenantID) error {
	there, sent, measured := e.someDevices(ctx, id)
	n := 0
	change := func() {
		n++
		e.turnOver(ctx, id, there[(7*n)%len(there)], n)
		e.turnOver(ctx, id, there[len(there)-1-n%3], n)
	}
	var read []string
	for event, err := range bydevice.Events(ctx, e.Store, id, bydevice.Query{}) {
		require(err)
		read = append(read, e.deviceEntryText(event))
		change()
	}
	require(eachOnce(read, sent))
	read = nil
	for r, err := range bydevice.Readings(ctx, e.Store, id, bydevice.Query{}) {
		require(err)
		read = append(read, string(r.Device)+"/"+e.readingText(r))
		change()
	}
	return eachOnce(read, measured)
}

// callFromWithin would wait for ever in a store that holds a lock while it yields.
func callFromWithin(ctx context.Context, e *Env, id andon.TenantID) error {
	e.fill(ctx, id, 3)
	for event, err := range e.Store.DeviceEvents(ctx, id, "d1", andon.EventQuery{Limit: 2}) {
		if err != nil {
			return err
		}
		event.State = "WARNING1"
		if err := e.append(ctx, id, event); err != nil {
			return err
		}
		for _, err := range e.Store.Devices(ctx, id, andon.DeviceQuery{Limit: 10}) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}
