package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/storecheck"
)

const (
	stepDevices = 70 // more than the rows between two looks of an iterator at its context
	stepDay     = 100
)

// stepAt returns the n-th minute of the first day.
func stepAt(n int) andon.Time { return andon.DayStart(stepDay) + andon.Time(n)*60_000_000 }

func stepDevice(n int) andon.DeviceID { return andon.DeviceID(fmt.Sprintf("d%02d", n)) }

const stepTenant andon.TenantID = "other"

// stepBatch is what all devices send in a round: some of it again, some of it late.
func stepBatch(n int) ([]andon.Event, []andon.Reading) {
	var events []andon.Event
	var readings []andon.Reading
	for d := range stepDevices {
		e := andon.Event{
			Device: stepDevice(d), Time: stepAt(10*n + d%3), State: "NORMAL",
			Message: fmt.Sprint("message ", n),
		}
		if (n+d)%3 == 0 {
			e.State, e.Operator = "WARNING1", "Liz"
		}
		events = append(events, e)
		switch {
		case d%5 == 0: // on another day
			e.Time += 3 * 86_400_000_000
			events = append(events, e)
		case d%5 == 1 && n == 6: // sent again
			e.Time, e.State, e.Message = stepAt(d%3), "ODD", "again"
			events = append(events, e)
		case d%5 == 2 && n > 2: // late
			e.Time = stepAt(10*n - 25)
			events = append(events, e)
		}
		if d%7 == 0 {
			readings = append(readings, andon.Reading{
				Device: stepDevice(d), Time: stepAt(10 * n),
				Metrics: andon.Metrics{{Name: "t", Value: float64(n)}},
			})
		}
	}
	return andon.SortBatch(events), readings
}

// stepRounds is how many rounds there were: fewer than merge by themselves.
const stepRounds = 7

// stepHistory makes the history that each job meets.
func stepHistory(
	ctx context.Context, store func() andon.Store, round func(n int) error,
) error {
	const id = andon.DefaultTenant
	_, err := store().PutTenant(ctx, andon.NewTenant(stepTenant))
	for _, id := range []andon.TenantID{id, stepTenant} { // the reference's changes begin with that
		_, _, again := store().ChangesKept(ctx, id)
		err = errors.Join(err, again)
	}
	if err != nil {
		return err
	}
	for n := range stepRounds + 1 { // the last one stays in rows
		s := store()
		events, readings := stepBatch(n)
		err := errors.Join(s.Append(ctx, id, 1, events), s.AppendReadings(ctx, id, 1, readings),
			s.Append(ctx, stepTenant, 1, events[:4]))
		if n == 3 {
			err = errors.Join(err, stepPeople(ctx, s))
		}
		if n < stepRounds {
			err = errors.Join(err, round(n))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stepPeople is what people do.
func stepPeople(ctx context.Context, s andon.Store) error {
	const id = andon.DefaultTenant
	_, err := s.Assign(ctx, id, stepAt(35), []andon.Assignment{
		{Device: stepDevice(0), Operator: "Tom"}, {Device: stepDevice(1), Operator: "Tom"},
	})
	for d := range 3 {
		_, _, again := s.Escalate(ctx, id, andon.Escalation{
			Device: stepDevice(d), Time: stepAt(30 + d%3), State: stepBatchState(3, d),
			At: stepAt(36), To: "Sara", By: "Tom", Note: "come",
		})
		err = errors.Join(err, again)
	}
	_, _, gone := s.Withdraw(ctx, id, andon.Withdrawal{
		Device: stepDevice(4), Time: stepAt(31), State: stepBatchState(3, 4), At: stepAt(37),
	})
	_, retired := s.Retire(ctx, id, stepDevice(8), stepAt(38))
	_, noted := s.PutRecord(ctx, andon.Record{
		Tenant: id, Kind: "note", ID: "n", Data: `{"a":1}`, Due: stepAt(1),
	})
	return errors.Join(err, gone, retired, noted)
}

func stepBatchState(n, d int) andon.State {
	if (n+d)%3 == 0 {
		return "WARNING1"
	}
	return "NORMAL"
}

// stepOptions are those of a store with many steps: small tables, and a small log.
func stepOptions(fs vfs.FS) Options {
	return Options{
		FS: fs, pause: time.Millisecond, table: 1 << 12, memTable: 256 << 10, Cache: 1 << 20,
		lag: 1 << 40, unread: 1,
	}
}

// stepImage returns the disk that each job begins with.
func stepImage(t *testing.T) *crashable {
	t.Helper()
	fs := newCrashable()
	var s *Store
	reopen := func() (err error) {
		if s != nil {
			err = s.Close()
		}
		if err == nil {
			s, err = Open("store", stepOptions(fs))
		}
		return err
	}
	if err := reopen(); err != nil {
		t.Fatal(err)
	}
	err := stepHistory(t.Context(), func() andon.Store { return s }, func(n int) error {
		err := errors.Join(s.flushDue(), s.flushReadings())
		if n == 4 { // else the blocks of readings would be merged already
			err = errors.Join(err, reopen())
		}
		return err
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return fs
}

// stepReference returns the reference store after the same history.
func stepReference(t *testing.T) andon.Store {
	t.Helper()
	s := memstore.New()
	err := stepHistory(t.Context(), func() andon.Store { return s },
		func(int) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stepAnswers returns what a store answers to every query, from a time on.
func stepAnswers(ctx context.Context, s andon.Store, from andon.Time) (all []string) {
	for _, id := range []andon.TenantID{andon.DefaultTenant, stepTenant} {
		a := stepAsker{ctx: ctx, store: storecheck.Whole{Store: s}, tenant: id, from: from}
		for _, d := range []int{0, 1, 2, 3, 4, 7, 8, 69, 70, 71} {
			a.device(stepDevice(d))
		}
		a.lists()
		a.feed()
		all = append(all, a.answers...)
	}
	records, err := seq.Collect(s.DueRecords(ctx, "note", stepAt(99), 10))
	for i := range records {
		records[i].Version = 0
	}
	tenants, again := s.Tenants(ctx)
	err = errors.Join(err, again)
	return append(all, fmt.Sprint("due ", records, len(tenants), andon.KindOf(err), err == nil))
}

type stepAsker struct {
	ctx     context.Context
	store   storecheck.Whole
	tenant  andon.TenantID
	from    andon.Time
	answers []string
}

func addAnswer[T any](a *stepAsker, what string, answer T, err error) {
	text := fmt.Sprintf("%s %s: %+v", a.tenant, what, answer)
	if err != nil {
		text = fmt.Sprintf("%s %s: %v", a.tenant, what, andon.KindOf(err))
		if andon.KindOf(err) == andon.Internal {
			text += ": " + err.Error()
		}
	}
	a.answers = append(a.answers, text)
}

func (a *stepAsker) device(d andon.DeviceID) {
	shown, err := a.store.Device(a.ctx, a.tenant, d)
	addAnswer(a, "device "+string(d), shown, err)
	span := andon.Span{From: a.from}
	for _, order := range []andon.Order{andon.Asc, andon.Desc} {
		q := andon.EventQuery{Span: span, Order: order, Limit: 7}
		events, err := seq.Collect(a.store.DeviceEvents(a.ctx, a.tenant, d, q))
		addAnswer(a, "entries of "+string(d), events, err)
	}
	q := andon.EventQuery{Span: span, Limit: 100}
	entries, err := seq.Collect(a.store.EscalatedEntries(a.ctx, a.tenant, d, q))
	for i := range entries {
		entries[i].Withdrawn = nil // a pointer
	}
	addAnswer(a, "escalated entries of "+string(d), entries, err)
	intervals, err := seq.Collect(a.store.Intervals(a.ctx, a.tenant, d,
		andon.EventQuery{Span: span, Order: andon.Asc, Limit: 5}))
	addAnswer(a, "intervals of "+string(d), intervals, err)
	assignments, err := seq.Collect(a.store.Assignments(a.ctx, a.tenant, d,
		andon.PageQuery{Limit: 5}))
	addAnswer(a, "assignments of "+string(d), assignments, err)
	retired, err := a.store.Retirements(a.ctx, a.tenant, d)
	addAnswer(a, "retirements of "+string(d), retired, err)
	readings, err := seq.Collect(a.store.DeviceReadings(a.ctx, a.tenant, d,
		andon.ReadingQuery{Span: span, Limit: 5}))
	addAnswer(a, "readings of "+string(d), readings, err)
}

func (a *stepAsker) lists() {
	q := andon.EventQuery{Span: andon.Span{From: a.from}, Limit: 200}
	events, err := seq.Collect(a.store.TenantEvents(a.ctx, a.tenant, q))
	addAnswer(a, "entries", events, err)
	for _, person := range []andon.PersonID{"Liz", "Tom"} {
		events, err = seq.Collect(a.store.OperatorEvents(a.ctx, a.tenant, person, q))
		addAnswer(a, "entries of "+string(person), events, err)
	}
	events, err = seq.Collect(a.store.SupervisorEvents(a.ctx, a.tenant, "Sara", q))
	addAnswer(a, "entries of Sara", events, err)
	devices, err := seq.Collect(a.store.Devices(a.ctx, a.tenant,
		andon.DeviceQuery{Limit: 50}))
	addAnswer(a, "devices", devices, err)
	counts, err := a.store.Counts(a.ctx, a.tenant, 2)
	slices.SortFunc(counts, func(x, y andon.StateCount) int {
		return strings.Compare(string(x.State), string(y.State))
	})
	addAnswer(a, "counts", counts, err)
	metrics, err := seq.Collect(a.store.MetricReadings(a.ctx, a.tenant,
		andon.MetricQuery{Metric: "t", Span: q.Span, Limit: 30}))
	slices.SortFunc(metrics, func(x, y andon.MetricReading) int {
		return cmp.Or(cmp.Compare(x.Device, y.Device), cmp.Compare(x.Time, y.Time))
	})
	addAnswer(a, "readings of all", metrics, err)
	record, err := a.store.Tenant(a.ctx, a.tenant)
	if record.Version = 0; err == nil {
		addAnswer(a, "tenant", fmt.Sprint(record.Events, record.Floor, record.States.Defs()), nil)
	} else {
		addAnswer(a, "tenant", 0, err)
	}
}

// feed asks for what came, in that order and each once, and for what the changes of all time lead
// to.
func (a *stepAsker) feed() {
	var came []andon.Event
	seen := map[andon.Event]bool{}
	q := andon.ArrivalQuery{Span: andon.Span{From: a.from}, Limit: 500}
	part, err := andon.Arrived{More: true}, error(nil)
	for err == nil && part.More {
		part, err = a.store.Arrivals(a.ctx, a.tenant, q)
		for _, is := range part.Items {
			if !seen[is.Event] { // else it was sent again
				came = append(came, is.Event)
			}
			seen[is.Event] = true
		}
		q.After = &part.Next
	}
	addAnswer(a, "what came", came, err)
	devices := map[andon.DeviceID]andon.Device{}
	at, _, err := a.store.ChangesKept(a.ctx, a.tenant)
	for c, err2 := range a.store.Changes(a.ctx, a.tenant, at) {
		if err = errors.Join(err, err2); err == nil {
			c.Fold(devices)
		}
	}
	var shown []string
	for _, id := range slices.Sorted(maps.Keys(devices)) {
		d := devices[id]
		shown = append(shown, fmt.Sprint(id, d.State, d.Since, d.IncidentSince, d.Operator,
			d.EscalatedTo, d.EscalatedEntry, d.EscalatedAt, d.LastRetired))
	}
	addAnswer(a, "changes", shown, err)
}
