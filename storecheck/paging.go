package storecheck

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bydevice"
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

// eachWhile reads a list while change changes something after each item that was there all the
// time. It reports those that are not read in order, and any that is read twice.
func eachWhile[T any](
	list iter.Seq2[T, error], text func(T) string, there []string, change func(T),
) error {
	var read []string
	seen := map[string]bool{}
	for item, err := range list {
		require(err)
		is := text(item)
		if seen[is] {
			return fmt.Errorf("%s was returned twice", is)
		}
		if seen[is] = true; slices.Contains(there, is) {
			read = append(read, is)
			change(item)
		}
	}
	if !slices.Equal(read, there) {
		return fmt.Errorf("of %s the pages returned %s", show(there), show(read))
	}
	return nil
}

// pageEventsWhileWriting reads pages of two, in both orders, and appends an entry on each side of
// each.
func pageEventsWhileWriting(ctx context.Context, e *Env) error {
	for _, order := range []andon.Order{andon.Desc, andon.Asc} {
		require(e.Renew(ctx))
		id := must(e.Here(ctx))
		there := e.fill(ctx, id, 20)
		if order == andon.Desc {
			slices.Reverse(there)
		}
		q := andon.EventQuery{Order: order, Limit: 2}
		list := Whole{e.Store}.OperatorEvents(ctx, id, "Liz", q)
		require(eachWhile(list, e.deviceEntryText, there, func(at andon.Event) {
			require(e.append(ctx, id,
				andon.Event{Device: "d1", Operator: "Liz", State: "WARNING1", Time: at.Time - 1},
				andon.Event{Device: "d2", Operator: "Liz", State: "NORMAL", Time: at.Time + 1},
			))
		}))
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
	n := andon.Time(0)
	list := Whole{e.Store}.Devices(ctx, id, andon.DeviceQuery{Limit: 2})
	return eachWhile(list, deviceID, there, func(at andon.Device) {
		n++
		require(e.append(ctx, id,
			andon.Event{Device: "d00", Time: e.Base + n, State: "WARNING1"},
			andon.Event{Device: "d19", Time: e.Base + n, State: "WARNING2"},
			andon.Event{Device: at.ID + "x", Time: e.Base, State: "NORMAL"},
			andon.Event{Device: at.ID, Time: e.Base + n, State: "WARNING3"},
		))
	})
}

func deviceID(d andon.Device) string { return string(d.ID) }

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
			measured = append(measured, e.deviceReadingText(reading))
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

// turnsOver turns two of some devices over, others each time.
func (e *Env) turnsOver(ctx context.Context, id andon.TenantID, there []string) func() {
	n := 0
	return func() {
		n++
		e.turnOver(ctx, id, there[(7*n)%len(there)], n)
		e.turnOver(ctx, id, there[len(there)-1-n%3], n)
	}
}

func pageAllWhileRetiring(ctx context.Context, e *Env, id andon.TenantID) error {
	there, _, _ := e.someDevices(ctx, id)
	change := e.turnsOver(ctx, id, there)
	all := Whole{e.Store}.Devices(ctx, id, andon.DeviceQuery{Kind: andon.AllDevices, Limit: 2})
	return eachWhile(all, deviceID, there, func(andon.Device) { change() })
}

func readWhileRetiring(ctx context.Context, e *Env, id andon.TenantID) error {
	there, sent, measured := e.someDevices(ctx, id)
	change := e.turnsOver(ctx, id, there)
	events := bydevice.Events(ctx, e.Store, id, bydevice.Query{})
	require(eachWhile(events, e.deviceEntryText, sent, func(andon.Event) { change() }))
	readings := bydevice.Readings(ctx, e.Store, id, bydevice.Query{})
	return eachWhile(readings, e.deviceReadingText, measured, func(andon.Reading) { change() })
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
