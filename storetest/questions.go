package storetest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/storecheck"
)

type question struct {
	text  string
	needs func(andon.Capabilities) bool // nil: every store can
	ask   func(context.Context, *subject) (any, error)
}

type asker struct {
	*rand.Rand
	tenant andon.TenantID
	now    andon.Time
	needs  func(andon.Capabilities) bool // of what is added
	all    []question
}

// questions returns all that can be asked of what a history may have left, in each tenant.
func questions(h history, now andon.Time, r *rand.Rand) []question {
	var all []question
	for _, tenant := range h.tenants {
		a := &asker{Rand: r, tenant: tenant, now: now}
		a.tenantQuestions()
		a.deviceLists()
		a.kindLists()
		a.nameLists()
		for _, d := range h.devices {
			a.deviceQuestions(d)
		}
		for _, p := range people {
			a.personQuestions(p)
		}
		a.tenantList()
		for _, e := range h.entries[tenant] {
			a.entryQuestion(e)
		}
		a.metricQuestions(h.devices)
		a.recordQuestions(recordKind(h.seed))
		all = append(all, a.all...)
	}
	return all
}

func (a *asker) add(text string, ask func(context.Context, *subject) (any, error)) {
	a.all = append(a.all, question{short(a.tenant) + " " + text, a.needs, ask})
}

// of adds what only some stores can answer.
func (a *asker) of(needs func(andon.Capabilities) bool, add func()) {
	a.needs = needs
	add()
	a.needs = nil
}

func (a *asker) tenantQuestions() {
	a.add("record", func(ctx context.Context, s *subject) (any, error) {
		t, err := s.store.Tenant(ctx, a.tenant)
		t.Version = 0 // only equality means something
		return t, err
	})
	a.add("is listed", func(ctx context.Context, s *subject) (any, error) {
		all, err := s.store.Tenants(ctx)
		byID := func(x, y andon.Tenant) int { return cmp.Compare(x.ID, y.ID) }
		here := func(t andon.Tenant) bool { return t.ID == a.tenant }
		return slices.IsSortedFunc(all, byID) && slices.ContainsFunc(all, here), err
	})
	silent := a.now - andon.Time(a.IntN(30))*andon.Time(minute)
	a.add(fmt.Sprintf("counts, silent before %s", silent), func(
		ctx context.Context, s *subject,
	) (any, error) {
		counts, err := s.store.Counts(ctx, a.tenant, silent)
		byState := func(x, y andon.StateCount) int { return cmp.Compare(x.State, y.State) }
		slices.SortFunc(counts, byState)
		return counts, err
	})
}

var filters = []string{
	"", "NORMAL", "WARNING*", "WARNING1", "WARNING1*", "NORMAL,ODD", "NONE", "C*",
}

func (a *asker) filter() andon.StateFilter {
	f, err := andon.ParseStateFilter(pickFrom(a.Rand, filters))
	if err != nil {
		panic("storetest: " + err.Error())
	}
	return f
}

func pickFrom[T any](r *rand.Rand, items []T) T { return items[r.IntN(len(items))] }

// deviceLists asks for the devices in every order, whole, and for some parts of them.
func (a *asker) deviceLists() {
	for _, sort := range []andon.DeviceSort{andon.ByDevice, andon.BySince, andon.BySeverity} {
		a.deviceList(andon.DeviceQuery{Sort: sort})
		for range 3 {
			a.deviceList(andon.DeviceQuery{
				Sort: sort, States: a.filter(),
				Prefix:      pickFrom(a.Rand, []string{"", "", "d", "d#", "🏭", "x"}),
				Operator:    pickFrom(a.Rand, append(people, "", "", "")),
				EscalatedTo: pickFrom(a.Rand, append(people, "", "", "", "")),
				HeardBefore: pickFrom(a.Rand, []andon.Time{0, 0, a.now - andon.Time(hour)}),
				HeardSince:  pickFrom(a.Rand, []andon.Time{0, 0, a.now - andon.Time(hour)}),
			})
		}
	}
}

// kindLists asks for the devices that show nothing, and for those without an operator.
func (a *asker) kindLists() {
	for _, kind := range []andon.DeviceKind{
		andon.RetiredDevices, andon.MeasuringDevices, andon.AssignedDevices,
	} {
		a.deviceList(andon.DeviceQuery{Kind: kind})
		prefix := pickFrom(a.Rand, []string{"d", "d#", "🏭", "x"})
		a.deviceList(andon.DeviceQuery{Kind: kind, Prefix: prefix})
	}
	a.deviceList(andon.DeviceQuery{Unassigned: true, States: a.filter()})
}

// nameLists asks for the names that have a device now, and for those that are missing: a person who
// has an entry or a device is listed. Others may be.
func (a *asker) nameLists() {
	for kind, what := range []string{"operators", "supervisors", "metrics"} {
		size := 1 + a.IntN(5)
		list := func(ctx context.Context, s *subject) ([]andon.NameCount, error) {
			q := andon.NameQuery{Of: andon.NameKind(kind), Limit: size}
			return storecheck.Collect(s.whole().Names(ctx, a.tenant, q))
		}
		counted := func(ctx context.Context, s *subject) (any, error) {
			all, err := list(ctx, s)
			none := func(n andon.NameCount) bool { return n.Devices == 0 }
			return slices.DeleteFunc(all, none), err
		}
		a.of(func(c andon.Capabilities) bool { return c.CountNames }, func() {
			a.add(fmt.Sprintf("%s in pages of %d", what, size), counted)
		})
		a.add(what+" that are missing", func(ctx context.Context, s *subject) (any, error) {
			all, err := list(ctx, s)
			if err != nil || andon.NameKind(kind) == andon.MetricNames {
				return nil, err
			}
			return a.missing(ctx, s, andon.NameKind(kind), all)
		})
	}
}

// missing returns the people who have an entry and are not listed.
func (a *asker) missing(
	ctx context.Context, s *subject, kind andon.NameKind, listed []andon.NameCount,
) (missing []andon.PersonID, err error) {
	read := s.store.OperatorEvents
	if kind == andon.SupervisorNames {
		read = s.store.SupervisorEvents
	}
	for _, p := range people {
		same := func(n andon.NameCount) bool { return n.Name == string(p) }
		for _, err := range read(ctx, a.tenant, p, andon.EventQuery{Limit: 1}) {
			if err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(listed, same) {
				missing = append(missing, p)
			}
		}
	}
	return missing, nil
}

func (a *asker) deviceList(q andon.DeviceQuery) {
	q.Limit = 1 + a.IntN(5)
	sorts := func(c andon.Capabilities) bool { return q.Sort == andon.ByDevice || c.SortDevices }
	a.of(sorts, func() {
		a.add(fmt.Sprintf("devices %+v in pages", q),
			func(ctx context.Context, s *subject) (any, error) {
				return storecheck.Collect(s.whole().Devices(ctx, a.tenant, q))
			})
	})
}

// span draws a range around the last days, or none.
func (a *asker) span() (s andon.Span) {
	if a.IntN(2) == 0 {
		s.From = a.now - andon.Time(a.IntN(1+a.IntN(5*24)))*andon.Time(hour)
	}
	if a.IntN(2) == 0 {
		s.To = a.now - andon.Time(a.IntN(1+a.IntN(5*24)))*andon.Time(hour)
	}
	return s
}

func (a *asker) order() andon.Order {
	return pickFrom(a.Rand, []andon.Order{andon.Desc, andon.Asc})
}

// eventLists asks for a list of entries, whole and in part.
func eventLists[T any](
	a *asker, what string,
	list func(context.Context, storecheck.Whole, andon.EventQuery) iter.Seq2[T, error],
) {
	wholes := []andon.EventQuery{{Order: andon.Desc}, {Order: andon.Asc}}
	part := andon.EventQuery{States: a.filter(), Span: a.span(), Order: a.order()}
	for _, q := range append(wholes, part) {
		q.Limit = 1 + a.IntN(6)
		text := fmt.Sprintf("%s states=%q span=%v order=%d in pages of %d",
			what, q.States, q.Span, q.Order, q.Limit)
		a.add(text, func(ctx context.Context, s *subject) (any, error) {
			return storecheck.Collect(list(ctx, s.whole(), q))
		})
	}
}

// events is a list of the entries of what has an id.
type events[ID any] func(
	storecheck.Whole, context.Context, andon.TenantID, ID, andon.EventQuery,
) iter.Seq2[andon.Event, error]

// listOf asks for one of them.
func listOf[ID ~string](a *asker, what string, list events[ID], id ID) {
	eventLists(a, fmt.Sprintf("entries of %s %q", what, id), func(
		ctx context.Context, w storecheck.Whole, q andon.EventQuery,
	) iter.Seq2[andon.Event, error] {
		return list(w, ctx, a.tenant, id, q)
	})
}

// tenantList asks for the entries of all devices.
func (a *asker) tenantList() {
	a.of(func(c andon.Capabilities) bool { return c.TenantEvents }, func() {
		eventLists(a, "entries of all devices", func(
			ctx context.Context, w storecheck.Whole, q andon.EventQuery,
		) iter.Seq2[andon.Event, error] {
			return w.TenantEvents(ctx, a.tenant, q)
		})
	})
}

func (a *asker) personQuestions(p andon.PersonID) {
	listOf(a, "operator", storecheck.Whole.OperatorEvents, p)
	listOf(a, "supervisor", storecheck.Whole.SupervisorEvents, p)
}

func (a *asker) deviceQuestions(d andon.DeviceID) {
	a.add(fmt.Sprintf("device %q", d), func(ctx context.Context, s *subject) (any, error) {
		return s.store.Device(ctx, a.tenant, d)
	})
	listOf(a, "device", storecheck.Whole.DeviceEvents, d)
	a.add(fmt.Sprintf("retirements of %q", d), func(ctx context.Context, s *subject) (any, error) {
		return s.store.Retirements(ctx, a.tenant, d)
	})
	eventLists(a, fmt.Sprintf("escalated entries of %q", d), func(
		ctx context.Context, w storecheck.Whole, q andon.EventQuery,
	) iter.Seq2[andon.Entry, error] {
		return w.EscalatedEntries(ctx, a.tenant, d, q)
	})
	a.assignmentList(d)
	a.intervalList(d)
	a.readingList(d)
}

func (a *asker) assignmentList(d andon.DeviceID) {
	q := andon.PageQuery{Order: a.order(), Limit: 1 + a.IntN(3)}
	a.add(fmt.Sprintf("assignments of %q, order %d in pages of %d", d, q.Order, q.Limit),
		func(ctx context.Context, s *subject) (any, error) {
			return storecheck.Collect(s.whole().Assignments(ctx, a.tenant, d, q))
		})
}

func (a *asker) intervalList(d andon.DeviceID) {
	q := andon.IntervalQuery{States: a.filter(), Span: a.span(), Order: a.order()}
	q.Limit = 1 + a.IntN(4)
	a.add(fmt.Sprintf("intervals of %q states=%q span=%v order=%d", d, q.States, q.Span, q.Order),
		func(ctx context.Context, s *subject) (any, error) {
			return storecheck.Collect(s.whole().Intervals(ctx, a.tenant, d, q))
		})
}

func (a *asker) readingList(d andon.DeviceID) {
	q := andon.ReadingQuery{Span: a.span(), Order: a.order()}
	q.Metrics = pickFrom(a.Rand, [][]andon.MetricName{nil, {"a"}, {"b", "b#"}, {"none"}})
	q.Limit = 1 + a.IntN(4)
	a.add(fmt.Sprintf("readings of %q %+v in pages", d, q),
		func(ctx context.Context, s *subject) (any, error) {
			return storecheck.Collect(s.whole().DeviceReadings(ctx, a.tenant, d, q))
		})
}

func (a *asker) entryQuestion(e andon.Event) {
	text := fmt.Sprintf("entry %q %s %s", e.Device, e.Time, e.State)
	a.add(text, func(ctx context.Context, s *subject) (any, error) {
		return s.store.Entry(ctx, a.tenant, e.Device, e.Time, e.State)
	})
}

func (a *asker) metricQuestions(devices []andon.DeviceID) {
	from := a.span().From
	a.add(fmt.Sprintf("latest readings from %s", from),
		func(ctx context.Context, s *subject) (any, error) {
			return s.store.LatestReadings(ctx, a.tenant, devices, from)
		})
	q := andon.MetricQuery{Metric: "b", Span: a.span(), Limit: 1 + a.IntN(6)}
	metric := func(ctx context.Context, s *subject) (any, error) {
		all, err := storecheck.Collect(s.whole().MetricReadings(ctx, a.tenant, q))
		slices.SortStableFunc(all, func(x, y andon.MetricReading) int { // the store's own order
			return strings.Compare(string(x.Device), string(y.Device))
		})
		return all, err
	}
	a.of(func(c andon.Capabilities) bool { return c.MetricReadings }, func() {
		a.add(fmt.Sprintf("metric b %v in pages of %d", q.Span, q.Limit), metric)
	})
}
