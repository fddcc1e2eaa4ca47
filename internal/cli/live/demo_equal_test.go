package live

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/pebblestore"
)

// reference takes what the server is sent straight into memstore.
type reference struct {
	intake *intake.Intake
	store  andon.Store

	entries   map[andon.EventKey]bool // all that came, and whether it was ever escalated
	late      int
	withdrawn int
	newest    map[andon.DeviceID]andon.Time
}

func newReference(c *clockwork) *reference {
	store := memstore.New()
	return &reference{
		intake: intake.New(store, intake.Options{Now: c.now}), store: store,
		entries: map[andon.EventKey]bool{}, newest: map[andon.DeviceID]andon.Time{},
	}
}

func resultOf(r intake.Result, err error) (client.Result, error) {
	return client.Result{Accepted: r.Accepted, Rejected: r.Rejected}, err
}

func (r *reference) AppendEvents(ctx context.Context, events []andon.Event) (client.Result, error) {
	for _, e := range events {
		if e.Time < r.newest[e.Device] {
			r.late++
		}
		r.newest[e.Device] = max(r.newest[e.Device], e.Time)
		key := andon.EventKey{Device: e.Device, Time: e.Time, State: e.State} // without severity
		r.entries[key] = r.entries[key] || e.EscalatedTo != ""
	}
	return resultOf(r.intake.Events(ctx, andon.DefaultTenant, intake.RequestOf(events)))
}

func (r *reference) AppendReadings(
	ctx context.Context, readings []andon.Reading,
) (client.Result, error) {
	return resultOf(r.intake.Readings(ctx, andon.DefaultTenant, intake.RequestOf(readings)))
}

func (r *reference) AssignMany(
	ctx context.Context, sent []andon.Assignment,
) (client.Result, error) {
	all := slices.Clone(sent)
	for i := range all {
		all[i].From = 0 // the time is the server's to say
	}
	kept, err := r.intake.Assign(ctx, andon.DefaultTenant, all)
	return client.Result{Accepted: len(kept)}, err
}

func (r *reference) Escalate(
	ctx context.Context, e andon.Escalation,
) (andon.Escalation, bool, error) {
	r.entries[andon.EventKey{Device: e.Device, Time: e.Time, State: e.State}] = true
	if e.To == "" {
		r.withdrawn++
	}
	e.At = 0 // the server's to say
	return r.intake.Escalate(ctx, andon.DefaultTenant, e)
}

func (r *reference) Restore(ctx context.Context, h andon.History) (client.Result, error) {
	for _, e := range h.Escalations {
		r.entries[andon.EventKey{Device: e.Device, Time: e.Time, State: e.State}] = true
	}
	return resultOf(r.intake.Restore(ctx, andon.DefaultTenant, h))
}

// gone is a server that does not have what is spoken of.
type gone struct{ *reference }

func (gone) Escalate(
	context.Context, andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	return kept, false, &client.Error{Status: 404, Detail: "no such entry"}
}

// both sends the same to two.
type both struct{ first, second receiver }

func twice[T, R any](
	ctx context.Context, what T, first, second func(context.Context, T) (R, error),
) (R, error) {
	result, err := first(ctx, what)
	if err == nil {
		_, err = second(ctx, what)
	}
	return result, err
}

func (b both) AppendEvents(ctx context.Context, e []andon.Event) (client.Result, error) {
	return twice(ctx, e, b.first.AppendEvents, b.second.AppendEvents)
}

func (b both) AppendReadings(ctx context.Context, r []andon.Reading) (client.Result, error) {
	return twice(ctx, r, b.first.AppendReadings, b.second.AppendReadings)
}

func (b both) AssignMany(ctx context.Context, a []andon.Assignment) (client.Result, error) {
	return twice(ctx, a, b.first.AssignMany, b.second.AssignMany)
}

func (b both) Escalate(
	ctx context.Context, e andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	if kept, added, err = b.first.Escalate(ctx, e); err == nil {
		_, _, err = b.second.Escalate(ctx, e)
	}
	return kept, added, err
}

func (b both) Restore(ctx context.Context, h andon.History) (client.Result, error) {
	return twice(ctx, h, b.first.Restore, b.second.Restore)
}

// TestSerialDemoEqualsMemstore: after a minute of the demo, over HTTP into the embedded store, that
// store answers as the reference does that took the same messages: also when it is opened again.
func TestSerialDemoEqualsMemstore(t *testing.T) {
	var out bytes.Buffer
	c := newClockwork(t)
	d := newDemo(c, &out, time.Minute)
	d.devices, d.keep = 200, t.TempDir()
	if testing.Short() {
		d.devices, d.length = 100, 10*time.Second
	}
	want := newReference(c)
	d.to = func(c *client.Client) receiver { return both{c, want} }
	if err := d.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "refused") || want.late == 0 || len(want.entries) < 1000 {
		t.Errorf("%d entries, %d late: %s", len(want.entries), want.late, out.String())
	}
	if want.withdrawn == 0 && !testing.Short() {
		t.Error("nothing was withdrawn")
	}
	store, err := pebblestore.Open(filepath.Join(d.keep, "store"),
		pebblestore.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	compareStores(t, want, store)
}

const whole = 1 << 20 // entries: a list at once, because memstore sorts it again for each page

// compareStores asks both stores everything.
func compareStores(t *testing.T, want *reference, got andon.Store) {
	t.Helper()
	people := map[andon.PersonID]bool{}
	devices := map[andon.DeviceID]bool{}
	for key, escalated := range want.entries {
		if devices[key.Device] = true; !escalated {
			continue
		}
		same(t, "entry", want.store, got, func(s andon.Store) (andon.Entry, error) {
			e, err := s.Entry(t.Context(), andon.DefaultTenant, key.Device, key.Time, key.State)
			people[e.Operator] = true
			for _, r := range e.Escalations {
				people[r.To] = true
			}
			return e, err
		})
	}
	same(t, "counts", want.store, got, func(s andon.Store) ([]andon.StateCount, error) {
		counts, err := s.Counts(t.Context(), andon.DefaultTenant, 0)
		slices.SortFunc(counts, func(a, b andon.StateCount) int {
			return strings.Compare(string(a.State), string(b.State))
		})
		return counts, err
	})
	for _, sort := range []andon.DeviceSort{andon.ByDevice, andon.BySince, andon.BySeverity} {
		same(t, "devices", want.store, got, func(s andon.Store) ([]andon.Device, error) {
			q := andon.DeviceQuery{Sort: sort, Limit: whole}
			return seq.Collect(s.Devices(t.Context(), andon.DefaultTenant, q))
		})
	}
	for id := range devices {
		compareDevice(t, want.store, got, id)
	}
	delete(people, "")
	for _, person := range slices.Sorted(maps.Keys(people)) {
		comparePerson(t, want.store, got, person)
	}
	if len(people) < 5 {
		t.Errorf("there are only %d people", len(people))
	}
}

func compareDevice(t *testing.T, want, got andon.Store, id andon.DeviceID) {
	t.Helper()
	ctx, tenant := t.Context(), andon.DefaultTenant
	events := func(s andon.Store, q andon.EventQuery) iter.Seq2[andon.Event, error] {
		return s.DeviceEvents(ctx, tenant, id, q)
	}
	compareEvents(t, "entries of "+string(id), want, got, events)
	same(t, "readings of "+string(id), want, got, func(s andon.Store) ([]andon.Reading, error) {
		q := andon.ReadingQuery{Limit: whole}
		return seq.Collect(s.DeviceReadings(ctx, tenant, id, q))
	})
	assigned := func(s andon.Store) ([]andon.Assignment, error) {
		return seq.Collect(s.Assignments(ctx, tenant, id, andon.PageQuery{Limit: whole}))
	}
	same(t, "assignments of "+string(id), want, got, assigned)
}

func comparePerson(t *testing.T, want, got andon.Store, id andon.PersonID) {
	t.Helper()
	ctx, tenant := t.Context(), andon.DefaultTenant
	compareEvents(t, "entries of operator "+string(id), want, got,
		func(s andon.Store, q andon.EventQuery) iter.Seq2[andon.Event, error] {
			return s.OperatorEvents(ctx, tenant, id, q)
		})
	compareEvents(t, "entries of supervisor "+string(id), want, got,
		func(s andon.Store, q andon.EventQuery) iter.Seq2[andon.Event, error] {
			return s.SupervisorEvents(ctx, tenant, id, q)
		})
}

// compareEvents reads a list as a whole, in both directions.
func compareEvents(
	t *testing.T, what string, want, got andon.Store,
	list func(andon.Store, andon.EventQuery) iter.Seq2[andon.Event, error],
) {
	t.Helper()
	for _, order := range []andon.Order{andon.Desc, andon.Asc} {
		same(t, what, want, got, func(s andon.Store) ([]andon.Event, error) {
			return seq.Collect(list(s, andon.EventQuery{Order: order, Limit: whole}))
		})
	}
}

// same asks both stores one thing.
func same[T any](
	t *testing.T, what string, want, got andon.Store, ask func(andon.Store) (T, error),
) {
	t.Helper()
	w, err := ask(want)
	if err != nil {
		t.Fatalf("%s: the reference says %v", what, err)
	}
	g, err := ask(got)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if reflect.DeepEqual(w, g) { // much faster than cmp, and nearly always so
		return
	}
	if diff := cmp.Diff(w, g, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-memstore +pebble):\n%s", what, diff)
	}
}
