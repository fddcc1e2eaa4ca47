package storecheck

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bydevice"
)

// lists are what an expectation may name, each read from its words; others are lists of devices by
// state.
var lists = map[string]func(turn) lister{
	"log": named(logOf), "operator-log": named(operatorLog), "supervisor-log": named(supervisorLog),
	"assignments": named(assignmentsOf), "intervals": named(intervalsOf),
	"readings": named(readingsOf), "metric": named(metricOf), "escalated": named(escalatedOf),
	"events": unnamed(tenantLog), "sent": unnamed(sentBy), "measured": unnamed(measuredBy),
	"arrived": unnamed(arrivedSince), "stored": unnamed(storedBy),
	"retired":     unnamed(devicesOf(andon.RetiredDevices)),
	"measuring":   unnamed(devicesOf(andon.MeasuringDevices)),
	"assigned":    unnamed(devicesOf(andon.AssignedDevices)),
	"all":         unnamed(devicesOf(andon.AllDevices)),
	"operators":   unnamed(namesOf(andon.OperatorNames)),
	"supervisors": unnamed(namesOf(andon.SupervisorNames)),
	"metrics":     unnamed(namesOf(andon.MetricNames)),
	"rejected":    func(turn) lister { return rejected },
	"counts":      func(turn) lister { return counts },
	"groups":      func(turn) lister { return groupCounts },
	"records":     func(t turn) lister { return recordsOf(t.device(), t.entry()) },
	"selected":    turn.selected, "latest": turn.latest, "due": turn.due,
}

// named reads whose list it is, and options.
func named(list func(whose string, o options) lister) func(turn) lister {
	return func(t turn) lister { return list(t.next("a name"), t.options()) }
}

// unnamed reads the options of a list that is nobody's.
func unnamed(list func(options) lister) func(turn) lister {
	return func(t turn) lister { return list(t.options()) }
}

// list reads all that an expectation has before its colon.
func (t turn) list() lister {
	name := t.next("a list")
	read, ok := lists[name]
	if !ok {
		read = unnamed(func(o options) lister {
			return devicesIn(must(andon.ParseStateFilter(name)), o)
		})
	}
	list := read(t)
	t.end()
	return list
}

type options struct {
	states    andon.StateFilter
	span      andon.Span
	order     andon.Order
	sort      andon.DeviceSort
	operator  andon.PersonID
	escalated andon.PersonID
	silent    string
	prefix    string
	metrics   []andon.MetricName
}

func (t turn) options() options {
	f := t.fields("state", "from", "to", "order", "operator", "escalated", "silent", "prefix",
		"sort", "metrics")
	o := options{
		states: must(andon.ParseStateFilter(f["state"])),
		span:   andon.Span{From: t.timeAt(f["from"]), To: t.timeAt(f["to"])},
		sort: map[string]andon.DeviceSort{
			"since": andon.BySince, "severity": andon.BySeverity,
		}[f["sort"]],
		operator: f.person("operator"), escalated: f.person("escalated"),
		prefix: f["prefix"], silent: f["silent"],
	}
	if f["order"] == "asc" {
		o.order = andon.Asc
	}
	if f["metrics"] != "" {
		for name := range strings.SplitSeq(f["metrics"], ",") {
			o.metrics = append(o.metrics, andon.MetricName(name))
		}
	}
	return o
}

func (o *options) events(limit int) andon.EventQuery {
	return andon.EventQuery{States: o.states, Span: o.span, Order: o.order, Limit: limit}
}

func (e *Env) entryText(event andon.Event) string {
	return string(event.State) + "@" + e.OffsetOf(event.Time)
}

func (e *Env) deviceEntryText(event andon.Event) string {
	return string(event.Device) + "/" + e.entryText(event)
}

func rejected(t turn) ([]string, error) { return t.rejected, nil }

func logOf(who string, o options) lister {
	return events(System.DeviceEvents, who, o, (*Env).entryText)
}

func operatorLog(who string, o options) lister {
	return events(System.OperatorEvents, who, o, (*Env).deviceEntryText)
}

func tenantLog(o options) lister {
	able := func(c andon.Capabilities) bool { return c.TenantEvents }
	return listing(func(t turn) iter.Seq2[andon.Event, error] {
		return t.System.TenantEvents(t, t.id, o.events(t.limit))
	}, (*Env).deviceEntryText).ifDeclared(able)
}

// sentBy is the entries of all devices, device by device. It is asked of the store.
func sentBy(o options) lister {
	return listing(func(t turn) iter.Seq2[andon.Event, error] {
		return bydevice.Events(t, t.Store, t.id, bydevice.Query{Span: o.span})
	}, (*Env).deviceEntryText)
}

func measuredBy(o options) lister {
	return listing(func(t turn) iter.Seq2[andon.Reading, error] {
		return bydevice.Readings(t, t.Store, t.id, bydevice.Query{Span: o.span})
	}, (*Env).deviceReadingText)
}

func supervisorLog(who string, o options) lister {
	return events(System.SupervisorEvents, who, o, (*Env).deviceEntryText)
}

// events reads a list that is asked for as entries are, of whom or what it is.
func events[ID ~string, T any](
	list func(
		System, context.Context, andon.TenantID, ID, andon.EventQuery,
	) iter.Seq2[T, error],
	who string, o options, text func(*Env, T) string,
) lister {
	return listing(func(t turn) iter.Seq2[T, error] {
		return list(t.System, t, t.id, ID(who), o.events(t.limit))
	}, text)
}

func devicesIn(filter andon.StateFilter, o options) lister {
	demand(slices.Contains([]string{"", "true", "false"}, o.silent),
		"silent is true or false, not %q", o.silent)
	return lister(func(t turn) ([]string, error) {
		q := andon.DeviceQuery{
			States: filter, Operator: o.operator, EscalatedTo: o.escalated, Prefix: o.prefix,
			Sort: o.sort,
		}
		if q.Unassigned = o.operator == "-"; q.Unassigned {
			q.Operator = ""
		}
		before, err := t.silentBefore()
		switch {
		case err != nil:
			return nil, err
		case o.silent == "true":
			q.HeardBefore = before
		case o.silent == "false":
			q.HeardSince = before
		}
		return devices(q, func(_ *Env, d andon.Device) string { return string(d.ID) })(t)
	}).ifDeclared(func(c andon.Capabilities) bool {
		return o.sort == andon.ByDevice || c.SortDevices
	})
}

func devices(q andon.DeviceQuery, render func(*Env, andon.Device) string) lister {
	return listing(func(t turn) iter.Seq2[andon.Device, error] {
		q := q
		q.Limit = t.limit
		return t.System.Devices(t, t.id, q)
	}, render)
}

// silentBefore returns since when what was not heard is silent.
func (t turn) silentBefore() (andon.Time, error) {
	is, err := t.System.Tenant(t, t.id)
	return andon.SilentBefore(t.Now(), is.SilentAfter), err
}

// counts are written by state, each with how many of its devices are silent where some are.
func counts(t turn) ([]string, error) {
	before, err := t.silentBefore()
	if err != nil {
		return nil, err
	}
	all, err := t.System.Counts(t, t.id, before)
	var items []string
	for _, c := range andon.ByState(all) {
		item := fmt.Sprintf("%s=%d", c.State, c.Count)
		if c.Silent > 0 {
			item += fmt.Sprintf("/%d", c.Silent)
		}
		items = append(items, item)
	}
	slices.Sort(items)
	return items, err
}

// recordsOf is the records of an entry, which only a store has that is whole.
func recordsOf(device andon.DeviceID, ref andon.EntryRef) lister {
	return func(t turn) ([]string, error) {
		if !t.System.Capabilities().Whole {
			return nil, errUndeclared
		}
		entry, err := t.readEntry(device, ref)
		var items []string
		for _, r := range entry.Escalations {
			items = append(items, orDash(r.To)+"@"+t.OffsetOf(r.At))
		}
		return items, err
	}
}

func assignmentsOf(who string, o options) lister {
	return listing(func(t turn) iter.Seq2[andon.Assignment, error] {
		q := andon.PageQuery{Order: o.order, Limit: t.limit}
		return t.System.Assignments(t, t.id, andon.DeviceID(who), q)
	}, func(e *Env, a andon.Assignment) string {
		return orDash(a.Operator) + "@" + e.fromTo(a.From, a.To)
	})
}

// fromTo writes a span that lasts until now where to is absent.
func (e *Env) fromTo(from, to andon.Time) string {
	text := e.OffsetOf(from) + ".."
	if to != 0 {
		text += e.OffsetOf(to)
	}
	return text
}

func intervalsOf(who string, o options) lister {
	return events(System.Intervals, who, o, func(e *Env, i andon.Interval) string {
		return string(i.First.State) + "@" + e.fromTo(i.First.Time, i.To)
	})
}

func (e *Env) readingText(r andon.Reading) string {
	var metrics []string
	for _, m := range r.Metrics {
		value := strconv.FormatFloat(m.Value, 'g', -1, 64)
		metrics = append(metrics, string(m.Name)+"="+value)
	}
	return e.OffsetOf(r.Time) + "{" + strings.Join(metrics, ",") + "}" + string(r.Metadata)
}

func (e *Env) deviceReadingText(r andon.Reading) string {
	return string(r.Device) + "/" + e.readingText(r)
}

func readingsOf(who string, o options) lister {
	return listing(func(t turn) iter.Seq2[andon.Reading, error] {
		return t.System.DeviceReadings(t, t.id, andon.DeviceID(who), andon.ReadingQuery{
			Metrics: o.metrics, Span: o.span, Order: o.order, Limit: t.limit,
		})
	}, (*Env).readingText)
}

// latest reads the devices whose newest readings are listed: latest d1 d2 from=1m.
func (t turn) latest() lister {
	var devices []andon.DeviceID
	for len(t.left) > 0 && !strings.HasPrefix(t.left[0], "from=") {
		devices = append(devices, t.device())
	}
	return latestOf(devices, t.timeAt(t.fields("from")["from"]))
}

func latestOf(devices []andon.DeviceID, from andon.Time) lister {
	return func(t turn) ([]string, error) {
		latest, err := t.System.LatestReadings(t, t.id, devices, from)
		var items []string
		for _, r := range latest {
			items = append(items, t.deviceReadingText(r))
		}
		return items, err
	}
}

// metricOf reads one metric across devices. The order of the devices is the store's own, so the
// items are put in order by device, each device's as they came.
func metricOf(name string, o options) lister {
	list := listing(func(t turn) iter.Seq2[andon.MetricReading, error] {
		return t.System.MetricReadings(t, t.id, andon.MetricQuery{
			Metric: andon.MetricName(name), Span: o.span, Limit: t.limit,
		})
	}, func(e *Env, r andon.MetricReading) string {
		value := strconv.FormatFloat(r.Value, 'g', -1, 64)
		return string(r.Device) + "/" + e.OffsetOf(r.Time) + "=" + value
	})
	return lister(func(t turn) ([]string, error) {
		items, err := list(t)
		slices.SortStableFunc(items, func(a, b string) int {
			return cmp.Compare(deviceOf(a), deviceOf(b))
		})
		return items, err
	}).ifDeclared(func(c andon.Capabilities) bool { return c.MetricReadings })
}

// deviceOf returns the device of an item of metricOf: device/time=value, and what a Query adds.
func deviceOf(item string) string {
	item, _, _ = strings.Cut(item, " {")
	return item[:strings.LastIndexByte(item, '/')]
}

// ifDeclared holds the store of a list to what it declares.
func (l lister) ifDeclared(able func(andon.Capabilities) bool) lister {
	return func(t turn) ([]string, error) {
		items, err := l(t)
		return items, declared(able(t.System.Capabilities()), err)
	}
}

// declared holds a store to what it declares: it is able, or its error is Unsupported.
func declared(able bool, err error) error {
	if able {
		return err
	}
	if err := wantKind(andon.Unsupported, err); err != nil {
		return err
	}
	return errUndeclared
}
