package dynamostore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// swepts is a fleet of which a part has expired: each device has three entries and two readings
// before the horizon, and one of each after it.
type swepts struct {
	*testing.T
	p       *proxy
	s       *Store
	horizon andon.Horizon
}

const (
	sweptDevices = 3
	sweptOfEach  = 3 + 1 + 2 // entries, an escalation, readings
	sweptQueries = 2*4 + 1   // four of each state, one of the readings
)

func newSwepts(t *testing.T) *swepts {
	t.Helper()
	p, o := behindProxy(t)
	o.sweepPage, o.SweepRate = 1, 100
	w := &swepts{T: t, p: p, s: open(t, o)}
	w.horizon = andon.Horizon{Events: minute(10), Readings: minute(10)}
	ctx, id := t.Context(), andon.DefaultTenant
	var events []andon.Event
	var readings []andon.Reading
	for d := range sweptDevices {
		device := andon.DeviceID(fmt.Sprint("press-", d))
		for n, state := range []andon.State{"NORMAL", "WARNING1", "NORMAL", "NORMAL"} {
			e := andon.Event{Device: device, Time: minute(7 + n), State: state}
			if n == 1 {
				e.EscalatedTo = "Sara"
			}
			events = append(events, e)
		}
		for _, n := range []int{8, 9, 10} {
			readings = append(readings, andon.Reading{Device: device, Time: minute(n),
				Metrics: andon.Metrics{{Name: "a", Value: 1}}})
		}
	}
	if err := w.s.Append(ctx, id, minute(10), events); err != nil {
		t.Fatal(err)
	}
	if err := w.s.AppendReadings(ctx, id, minute(10), readings); err != nil {
		t.Fatal(err)
	}
	return w
}

// left: of each device only the newest entry and reading are there, and what it shows is as before.
func (w *swepts) left() {
	w.Helper()
	ctx, id := w.Context(), andon.DefaultTenant
	for d := range sweptDevices {
		device := andon.DeviceID(fmt.Sprint("press-", d))
		q := andon.EventQuery{Limit: 9}
		events := listOf(w.T, w.s.DeviceEvents(ctx, id, device, q))
		readings := listOf(w.T, w.s.DeviceReadings(ctx, id, device, andon.ReadingQuery{Limit: 9}))
		if len(events) != 1 || events[0].Time != minute(10) ||
			len(readings) != 1 || readings[0].Time != minute(10) {
			w.Errorf("%s still has %v and %v, want those of %s", device, events, readings,
				minute(10))
		}
		is, err := w.s.Device(ctx, id, device)
		if err != nil || is.State != "NORMAL" || is.Since != minute(9) {
			w.Errorf("%s shows %+v, %v, want NORMAL since %s", device, is, err, minute(9))
		}
	}
}

// TestSweep: a sweep deletes what is older than the horizon, and nothing else, no faster than it
// may; one that was interrupted continues after the devices that are done.
func TestSweep(t *testing.T) {
	w := newSwepts(t)
	ctx, id := t.Context(), andon.DefaultTenant
	begun := time.Now()
	// Four batches of the first device, one of where the sweep is, two of the second device.
	w.p.inject(fault{operation: "BatchWriteItem", after: 7, times: 6, do: serverError})
	first, err := w.s.Sweep(ctx, id, w.horizon)
	if err == nil || first < sweptOfEach {
		t.Fatalf("a sweep that meets errors: %d, %v", first, err)
	}
	asked := w.p.called("Query")
	second, err := w.s.Sweep(ctx, id, w.horizon)
	if err != nil || first+second != sweptDevices*sweptOfEach {
		t.Errorf("it deleted %d items, then %d, %v; want %d", first, second, err,
			sweptDevices*sweptOfEach)
	}
	if again := w.p.called("Query") - asked; again != (sweptDevices-1)*sweptQueries {
		t.Errorf("it asked %d times, want %d of each device that was left", again, sweptQueries)
	}
	most := time.Duration(w.s.options.SweepRate)
	if least := time.Duration(first+second) * time.Second / most; time.Since(begun) < least {
		t.Errorf("%d deletions took %s, want %s", first+second, time.Since(begun), least)
	}
	w.left()
	if third, err := w.s.Sweep(ctx, id, w.horizon); third != 0 || err != nil {
		t.Errorf("once more it deleted %d items, %v", third, err)
	}
}

// TestSweepsAtOnce: of two sweeps of one tenant at once each ends, all that has expired is gone and
// nothing else, and where they were is written down no more.
func TestSweepsAtOnce(t *testing.T) {
	w := newSwepts(t)
	ctx, id := t.Context(), andon.DefaultTenant
	both := make(chan error)
	for range 2 {
		go func() {
			_, err := w.s.Sweep(ctx, id, w.horizon)
			both <- err
		}()
	}
	if err := errors.Join(<-both, <-both); err != nil {
		t.Fatal(err)
	}
	w.left()
	tenant, err := w.s.tenant(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if i, err := w.s.db.Get(ctx, items.TableRecords, sweptKey(tenant)); i != nil || err != nil {
		t.Errorf("a sweep is still under way: %v, %v", i, err)
	}
	if n, err := w.s.Sweep(ctx, id, w.horizon); n != 0 || err != nil {
		t.Errorf("once more it deleted %d items, %v", n, err)
	}
}

// TestSweepIncident: the escalations of an incident that is open stay, and so does what the device
// shows. Who answers for that can change, though its entries are gone.
func TestSweepIncident(t *testing.T) {
	_, o := behindProxy(t)
	s := open(t, o)
	ctx, id := t.Context(), andon.DefaultTenant
	sendUntil(t, s, []andon.Event{
		{Device: "d", Time: minute(0), State: "WARNING1", EscalatedTo: "Sara"},
		{Device: "d", Time: minute(1), State: "WARNING2"},
	})
	if n, err := s.Sweep(ctx, id, andon.Horizon{Events: minute(5)}); n != 2 || err != nil {
		t.Errorf("the sweep deleted %d items, %v, want its 2 entries", n, err)
	}
	d, err := s.Device(ctx, id, "d")
	if err != nil || d.State != "WARNING2" || d.EscalatedTo != "Sara" {
		t.Errorf("the device shows %+v, %v, want WARNING2, escalated to Sara", d, err)
	}
	if log := entryList(t, s.DeviceEvents(ctx, id, "d", andon.EventQuery{Limit: 9})); log != nil {
		t.Errorf("the log still has %q", log)
	}
	record := func(n int, state andon.State, to andon.PersonID) andon.Escalation {
		return andon.Escalation{
			Device: "d", Time: minute(n), State: state, At: minute(5), To: to,
		}
	}
	for _, test := range []struct {
		escalate *andon.Escalation
		restore  andon.History
		shown    andon.PersonID
	}{
		{escalate: new(record(1, "WARNING2", "Max")), shown: "Max"},
		{escalate: new(record(1, "WARNING2", "")), shown: "Sara"},
		{restore: andon.History{Escalations: []andon.Escalation{
			record(0, "WARNING1", "Kim"), record(2, "WARNING2", "Bob"),
		}}, shown: "Kim"},
	} {
		err := s.Restore(ctx, id, test.restore)
		if test.escalate != nil {
			_, _, err = s.Escalate(ctx, id, *test.escalate)
		}
		d, err2 := s.Device(ctx, id, "d")
		if err != nil || err2 != nil || d.EscalatedTo != test.shown {
			t.Errorf("%+v: escalated to %q, %v, %v; want %q", test, d.EscalatedTo, err, err2,
				test.shown)
		}
	}
	nothing := record(2, "WARNING2", "Max")
	if _, _, err := s.Escalate(ctx, id, nothing); andon.KindOf(err) != andon.NotFound {
		t.Errorf("an entry that was never there: %v", err)
	}
}
