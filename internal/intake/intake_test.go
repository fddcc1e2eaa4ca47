package intake_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

const now = andon.Time(1_764_851_696_000_000) // 2025-12-04T12:34:56Z

func clock() andon.Time { return now }

func batch(events ...andon.Event) (b ingest.Batch[andon.Event]) {
	for i, e := range events {
		b.Items = append(b.Items, ingest.Item[andon.Event]{Value: e, Index: i, Line: i + 1})
	}
	return b
}

func post(t *testing.T, in *intake.Intake, events ...andon.Event) intake.Result {
	t.Helper()
	r, err := in.Events(t.Context(), andon.DefaultTenant, batch(events...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryEntryIsAccountedFor(t *testing.T) {
	in := intake.New(memstore.New(), intake.Options{Now: clock})
	good := andon.Event{Device: "d", Time: now, State: "NORMAL", Message: "as it was"}
	other := good
	other.Message = "not as it was"
	b := batch(
		good,
		andon.Event{Device: "d", Time: now.Add(600_000_001), State: "NORMAL"},
		good,
		andon.Event{Device: "", Time: now, State: "NORMAL"},
		other,
		andon.Event{Device: "d", Time: now, State: "WARNING1"},
	)
	b.Rejected = []andon.Rejection{{Index: 6, Line: 9, Error: "no JSON"}}
	got, err := in.Events(t.Context(), andon.DefaultTenant, b)
	if err != nil {
		t.Fatal(err)
	}
	want := intake.Result{Accepted: 3, Rejected: []andon.Rejection{
		{Index: 1, Line: 2, Error: "time 2025-12-04T12:44:56.000001Z is more than 10m ahead " +
			"of the clock, which says 2025-12-04T12:34:56Z"},
		{Index: 3, Line: 4, Error: "device is missing"},
		{Index: 4, Line: 5, Error: "the same device, time and state as entry 0 (line 1) " +
			"of this request, with other content"},
		{Index: 6, Line: 9, Error: "no JSON"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSingleObjectIsRefusedAsAWhole(t *testing.T) {
	in := intake.New(memstore.New(), intake.Options{Now: clock})
	b := batch(andon.Event{Device: "d", Time: now + 3_600_000_000, State: "NORMAL"})
	b.Single = true
	_, err := in.Events(t.Context(), andon.DefaultTenant, b)
	if andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(), "ahead of the clock") {
		t.Errorf("%v", err)
	}
}

// TestArrivalIsStrictlyIncreasing has the clock behind the last arrival of an earlier process.
func TestArrivalIsStrictlyIncreasing(t *testing.T) {
	store, before := memstore.New(), clock()+60_000_000
	in := intake.New(store, intake.Options{Now: clock, After: before})
	var senders sync.WaitGroup
	for range 8 {
		senders.Go(func() {
			for range 50 {
				e := andon.Event{Device: "d", State: "NORMAL"}
				post(t, in, e, e)
			}
		})
	}
	senders.Wait()
	n := 0
	all := andon.EventQuery{Limit: 1000}
	for e, err := range store.DeviceEvents(t.Context(), andon.DefaultTenant, "d", all) {
		if err != nil || e.Time <= before {
			t.Fatalf("an entry is of %s, not after %s: %v", e.Time, before, err)
		}
		n++
	}
	if n != 800 {
		t.Errorf("%d entries of 800 have a time of their own", n)
	}
}

func TestEscalateTakesTheCurrentEntry(t *testing.T) {
	in := intake.New(memstore.New(), intake.Options{Now: clock})
	escalate := func(e andon.Escalation) (andon.Escalation, error) {
		kept, _, err := in.Escalate(t.Context(), andon.DefaultTenant, e)
		return kept, err
	}
	post(t, in,
		andon.Event{Device: "d", Time: now - 5, State: "WARNING2"},
		andon.Event{Device: "c", State: "NORMAL"})
	e, err := escalate(andon.Escalation{Device: "d", To: "Sara", By: "Liz"})
	want := andon.Escalation{
		Device: "d", Time: now - 5, State: "WARNING2", At: now, To: "Sara", By: "Liz",
	}
	if err != nil || e != want {
		t.Errorf("%+v, %v", e, err)
	}
	_, err = escalate(andon.Escalation{Device: "x", To: "Sara"})
	if andon.KindOf(err) != andon.NotFound {
		t.Errorf("of a device never seen: %v", err)
	}
	_, err = escalate(andon.Escalation{Device: "d", To: "Sara", Time: 5})
	if andon.KindOf(err) != andon.Invalid {
		t.Errorf("half an entry: %v", err)
	}
}

func TestWithdrawTakesTheEntryWhoseEscalationIsShown(t *testing.T) {
	store := memstore.New()
	in := intake.New(store, intake.Options{Now: clock})
	post(t, in, andon.Event{Device: "d", Time: now - 9, State: "WARNING2"})
	escalate := func(to andon.PersonID) andon.Escalation {
		of := andon.Escalation{Device: "d", To: to}
		e, _, err := in.Escalate(t.Context(), andon.DefaultTenant, of)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	escalate("Sara")
	post(t, in, andon.Event{Device: "d", Time: now - 5, State: "WARNING2"}) // the report repeats
	if e := escalate(""); e.Time != now-9 {
		t.Errorf("withdrawn from the entry at %s", e.Time)
	}
	d, err := store.Device(t.Context(), andon.DefaultTenant, "d")
	if err != nil || d.EscalatedTo != "" {
		t.Errorf("still escalated to %q, %v", d.EscalatedTo, err)
	}
	if e := escalate(""); e.Time != now-5 || e.At != 0 {
		t.Errorf("with nothing to withdraw the entry at %s has a record: %v", e.Time, e)
	}
}

func TestMetricsOfARequestAreBounded(t *testing.T) {
	in := intake.New(memstore.New(), intake.Options{Now: clock})
	var metrics andon.Metrics
	for i := range andon.MaxMetrics {
		metrics = append(metrics, andon.Metric{Name: andon.MetricName(fmt.Sprintf("m%03d", i))})
	}
	var b ingest.Batch[andon.Reading]
	for i := range andon.MaxRequestMetrics/andon.MaxMetrics + 1 {
		b.Items = append(b.Items, ingest.Item[andon.Reading]{
			Value: andon.Reading{Device: "d", Metrics: metrics}, Index: i,
		})
	}
	_, err := in.Readings(t.Context(), andon.DefaultTenant, b)
	if andon.KindOf(err) != andon.TooLarge {
		t.Errorf("too many metrics: %v", err)
	}
}

func TestEntryWithoutTimeIsAdmittedAfterTheClockWasSetBack(t *testing.T) {
	const minute = 60_000_000
	at, store := now, memstore.New()
	in := intake.New(store, intake.Options{Now: func() andon.Time { return at }})
	for device, step := range []andon.Time{0, -minute, -60 * minute, 0} {
		at += step
		e := andon.Event{Device: andon.DeviceID(fmt.Sprint(device)), State: "NORMAL"}
		if r := post(t, in, e); r.Accepted != 1 {
			t.Errorf("%+v", r)
		}
	}
	for device, want := range []andon.Time{now, now + 1, at, at + 1} {
		id := andon.DeviceID(fmt.Sprint(device))
		d, err := store.Device(t.Context(), andon.DefaultTenant, id)
		if err != nil || d.Time != want {
			t.Errorf("entry %d is of %s, want %s: %v", device, d.Time, want, err)
		}
	}
}

// overtaking lets another writer change a tenant between reading it and putting it back.
type overtaking struct {
	andon.Store
	times int
}

func (o *overtaking) PutTenant(ctx context.Context, t andon.Tenant) (andon.Tenant, error) {
	if o.times--; o.times >= 0 {
		other, err := o.Tenant(ctx, t.ID)
		if err != nil {
			return t, err
		}
		other.SilentAfter++
		if _, err := o.Store.PutTenant(ctx, other); err != nil {
			return t, err
		}
	}
	return o.Store.PutTenant(ctx, t)
}

func TestPutTenantRepeatsWhenOvertaken(t *testing.T) {
	store := &overtaking{memstore.New(), 2}
	in := intake.New(store, intake.Options{Now: clock})
	change := func(t *andon.Tenant) error {
		t.MaxFuture = 7
		return nil
	}
	kept, created, err := in.PutTenant(t.Context(), andon.DefaultTenant, change)
	was := andon.NewTenant(andon.DefaultTenant).SilentAfter
	if err != nil || created || kept.MaxFuture != 7 || kept.SilentAfter != was+2 {
		t.Errorf("%+v, %v, %v: want both writers' changes", kept, created, err)
	}
	refused := andon.Errorf(andon.Invalid, "no")
	refuse := func(*andon.Tenant) error { return refused }
	if _, _, err := in.PutTenant(t.Context(), "new", refuse); err != refused {
		t.Errorf("a change that is refused: %v", err)
	}
	if _, err := store.Tenant(t.Context(), "new"); andon.KindOf(err) != andon.NotFound {
		t.Error("a tenant was made by a change that was refused")
	}
}

// TestExpireGoesOn with the next tenant where one fails, and says which did.
func TestExpireGoesOn(t *testing.T) {
	at := now
	var faults wrap.Faults
	store := wrap.Around(memstore.New(), faults.Hook)
	in := intake.New(store, intake.Options{Now: func() andon.Time { return at }})
	for _, id := range []andon.TenantID{"a", "b"} {
		if _, _, err := in.PutTenant(t.Context(), id, func(*andon.Tenant) error {
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		r := andon.Reading{Device: "d", Time: at, Metrics: andon.Metrics{{Name: "m"}}}
		err := store.AppendReadings(t.Context(), id, at, []andon.Reading{r})
		if err != nil {
			t.Fatal(err)
		}
	}
	at = at.Add(andon.DurationOf(100 * 24 * time.Hour))
	calls := 0
	faults.Set(func(context.Context) error {
		if calls++; calls == 1 {
			return andon.Errorf(andon.Unavailable, "no answer")
		}
		return nil
	}, "Expire")
	err := in.Expire(t.Context())
	if err == nil || err.Error() != `sweep tenant "a": no answer` || calls != 2 {
		t.Errorf("%v after %d tenants", err, calls)
	}
}

func TestExpireUpdatesTheFloorFirst(t *testing.T) {
	store := memstore.New()
	at := now
	in := intake.New(store, intake.Options{Now: func() andon.Time { return at }})
	week := andon.Retention(andon.DurationOf(7 * 24 * time.Hour))
	keepWeek := func(t *andon.Tenant) error { t.Events = week; return nil }
	if _, _, err := in.PutTenant(t.Context(), "t", keepWeek); err != nil {
		t.Fatal(err)
	}
	kept := []andon.Event{{Device: "d", Time: now, State: "NORMAL"}}
	if err := store.Append(t.Context(), "t", now, kept); err != nil {
		t.Fatal(err)
	}
	if err := in.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	floor := now - andon.Time(week)
	at -= 86_400_000_000 // the clock is set back by a day
	record, _ := store.Tenant(t.Context(), "t")
	if h := record.Horizon(at).Events; h != floor {
		t.Errorf("after the clock went back, the horizon is %s, want %s", h, floor)
	}
}

// TestOlderThanKept: what retention would hide at once is rejected, events and readings each by
// their own, and what came with it is kept.
func TestOlderThanKept(t *testing.T) {
	in := intake.New(memstore.New(), intake.Options{Now: clock})
	const day = 86_400_000_000
	keep := func(t *andon.Tenant) error {
		t.Events, t.Readings = andon.Retention(30*day), andon.Retention(7*day)
		return nil
	}
	if _, _, err := in.PutTenant(t.Context(), andon.DefaultTenant, keep); err != nil {
		t.Fatal(err)
	}
	old := now - 8*day
	var b ingest.Batch[andon.Reading]
	for i, at := range []andon.Time{old, now} {
		b.Items = append(b.Items, ingest.Item[andon.Reading]{Index: i, Value: andon.Reading{
			Device: "d", Time: at, Metrics: andon.Metrics{{Name: "a", Value: 1}},
		}})
	}
	got, err := in.Readings(t.Context(), andon.DefaultTenant, b)
	if err != nil || got.Accepted != 1 || len(got.Rejected) != 1 || got.Rejected[0].Index != 0 ||
		!strings.Contains(got.Rejected[0].Error, "2025-11-26T12:34:56Z") {
		t.Errorf("readings: %+v, %v", got, err)
	}
	if r := post(t, in, andon.Event{Device: "d", Time: old, State: "NORMAL"}); r.Accepted != 1 {
		t.Errorf("an event that is kept longer: %+v", r)
	}
}

// TestStatesOutsideTheSetAreLimited: entries with more are rejected one by one, those with states
// that are there go on, and so do those of the set.
func TestStatesOutsideTheSetAreLimited(t *testing.T) {
	in := intake.New(memstore.New(), intake.Options{Now: clock, MaxStates: 3})
	var events []andon.Event
	for i := range 6 {
		events = append(events, andon.Event{
			Device: "d", Time: now + andon.Time(i), State: andon.State(fmt.Sprint("made up ", i%5)),
		})
	}
	events = append(events, andon.Event{Device: "d", Time: now, State: "WARNING1"})
	for range 2 {
		got := post(t, in, events...)
		const why = ` is not in the tenant's set, and 3 others that are not have entries ` +
			`already: add it to the set, or fix what sends ever new ones (limits.states)`
		want := intake.Result{Accepted: 5, Rejected: []andon.Rejection{
			{Index: 3, Line: 4, Error: `state "made up 3"` + why},
			{Index: 4, Line: 5, Error: `state "made up 4"` + why},
		}, Unknown: []andon.State{"made up 0", "made up 1", "made up 2"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	single := batch(events[4])
	single.Single = true
	_, err := in.Events(t.Context(), andon.DefaultTenant, single)
	if andon.KindOf(err) != andon.Invalid {
		t.Errorf("a single one: %v", err)
	}
}
