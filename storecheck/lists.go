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
)

// parseList reads what an expectation names before its colon: the list, whose it is, and options.
func parseList(head []string) lister {
	lists := map[string]func(who string, o options) lister{
		"log": logOf, "operator-log": operatorLog, "supervisor-log": supervisorLog,
		"assignments": assignmentsOf, "intervals": intervalsOf, "readings": readingsOf,
		"metric": metricOf, "escalated": escalatedOf,
	}
	if kind, ok := kinds[head[0]]; ok {
		return kind
	}
	if head[0] == "rejected" {
		return func(_ context.Context, e *Env, _ andon.TenantID) ([]string, error) {
			return e.rejected, nil
		}
	}
	switch list, ok := lists[head[0]]; {
	case ok:
		demand(len(head) > 1, "%s of whom?", head[0])
		return list(head[1], parseOptions(head[2:]))
	case head[0] == "events":
		return tenantLog(parseOptions(head[1:]))
	case head[0] == "arrived":
		return arrivedSince(parseOptions(head[1:]))
	case head[0] == "counts":
		return counts
	case head[0] == "records":
		return ofAWhole(parseRecords(head[1:]))
	case head[0] == "latest":
		return parseLatest(head[1:])
	case head[0] == "due" && len(head) > 1:
		return parseDue(head[1:])
	case head[0] == "stored":
		return storedBy(parseOptions(head[1:]).prefix)
	}
	return devicesIn(must(andon.ParseStateFilter(head[0])), parseOptions(head[1:]))
}

type options struct {
	states    andon.StateFilter
	from, to  *offset
	order     andon.Order
	sort      andon.DeviceSort
	operator  andon.PersonID
	escalated andon.PersonID
	silent    string
	prefix    string
	metrics   []andon.MetricName
}

func parseOptions(words []string) options {
	fields := must(parseFields(words, "state", "from", "to", "order", "operator", "escalated",
		"silent", "prefix", "sort", "metrics"))
	o := options{
		states: must(andon.ParseStateFilter(fields["state"])),
		from:   must(parseBound(fields["from"])), to: must(parseBound(fields["to"])),
		sort: map[string]andon.DeviceSort{
			"since": andon.BySince, "severity": andon.BySeverity,
		}[fields["sort"]],
		operator:  andon.PersonID(fields["operator"]),
		escalated: andon.PersonID(fields["escalated"]),
		prefix:    fields["prefix"], silent: fields["silent"],
	}
	if fields["order"] == "asc" {
		o.order = andon.Asc
	}
	if fields["metrics"] != "" {
		for name := range strings.SplitSeq(fields["metrics"], ",") {
			o.metrics = append(o.metrics, andon.MetricName(name))
		}
	}
	return o
}

func parseBound(word string) (*offset, error) {
	if word == "" {
		return nil, nil
	}
	o, err := parseOffset(word)
	return &o, err
}

func (o *options) span(e *Env) (s andon.Span) {
	if o.from != nil {
		s.From = o.from.from(e)
	}
	if o.to != nil {
		s.To = o.to.from(e)
	}
	return s
}

func (o *options) events(e *Env, limit int) andon.EventQuery {
	return andon.EventQuery{States: o.states, Span: o.span(e), Order: o.order, Limit: limit}
}

func (e *Env) entryText(event andon.Event) string {
	return string(event.State) + "@" + e.offsetOf(event.Time)
}

func (e *Env) deviceEntryText(event andon.Event) string {
	return string(event.Device) + "/" + e.entryText(event)
}

func logOf(who string, o options) lister {
	return events(System.DeviceEvents, who, o, (*Env).entryText)
}

func operatorLog(who string, o options) lister {
	return events(System.OperatorEvents, who, o, (*Env).deviceEntryText)
}

// tenantLog is the entries of all devices.
func tenantLog(o options) lister {
	list := listing(func(a asked) iter.Seq2[andon.Event, error] {
		return a.System.TenantEvents(a, a.id, o.events(a.Env, a.limit))
	}, (*Env).deviceEntryText)
	return func(ctx context.Context, e *Env, id andon.TenantID) ([]string, error) {
		items, err := list(ctx, e, id)
		return items, declared(e.System.Capabilities().TenantEvents, err)
	}
}

func supervisorLog(who string, o options) lister {
	return events(System.SupervisorEvents, who, o, (*Env).deviceEntryText)
}

// events reads a list of entries, of whom or what it is.
func events[ID ~string](
	list func(
		System, context.Context, andon.TenantID, ID, andon.EventQuery,
	) iter.Seq2[andon.Event, error],
	who string, o options, text func(*Env, andon.Event) string,
) lister {
	return listing(func(a asked) iter.Seq2[andon.Event, error] {
		return list(a.System, a, a.id, ID(who), o.events(a.Env, a.limit))
	}, text)
}

func devicesIn(filter andon.StateFilter, o options) lister {
	return func(ctx context.Context, e *Env, id andon.TenantID) ([]string, error) {
		q := andon.DeviceQuery{
			States: filter, Operator: o.operator, EscalatedTo: o.escalated, Prefix: o.prefix,
			Sort: o.sort,
		}
		if q.Unassigned = o.operator == "-"; q.Unassigned {
			q.Operator = ""
		}
		if err := e.silent(ctx, id, &q, o.silent); err != nil {
			return nil, err
		}
		name := func(_ *Env, d andon.Device) string { return string(d.ID) }
		items, err := devices(q, name)(ctx, e, id)
		able := o.sort == andon.ByDevice || e.System.Capabilities().SortDevices
		return items, declared(able, err)
	}
}

func devices(q andon.DeviceQuery, render func(*Env, andon.Device) string) lister {
	return listing(func(a asked) iter.Seq2[andon.Device, error] {
		q := q
		q.Limit = a.limit
		return a.System.Devices(a, a.id, q)
	}, render)
}

// silent narrows a query to devices that are silent now, or to the others.
func (e *Env) silent(
	ctx context.Context, id andon.TenantID, q *andon.DeviceQuery, silent string,
) error {
	t, err := e.System.Tenant(ctx, id)
	switch before := andon.SilentBefore(e.Now(), t.SilentAfter); silent {
	case "":
	case "true":
		q.HeardBefore = before
	case "false":
		q.HeardSince = before
	default:
		return fmt.Errorf("silent is true or false, not %q", silent)
	}
	return err
}

// counts are written by state, each with how many of its devices are silent where some are.
func counts(ctx context.Context, e *Env, id andon.TenantID) ([]string, error) {
	t, err := e.System.Tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := e.System.Counts(ctx, id, andon.SilentBefore(e.Now(), t.SilentAfter))
	var items []string
	for _, c := range all {
		item := fmt.Sprintf("%s=%d", c.State, c.Count)
		if c.Silent > 0 {
			item += fmt.Sprintf("/%d", c.Silent)
		}
		items = append(items, item)
	}
	slices.Sort(items)
	return items, err
}

func parseRecords(words []string) lister {
	demand(len(words) == 2, "records of which device and entry?")
	ref := must(parseEntryRef(words[1]))
	return func(ctx context.Context, e *Env, id andon.TenantID) ([]string, error) {
		entry, err := e.entry(ctx, id, andon.DeviceID(words[0]), ref)
		var items []string
		for _, r := range entry.Escalations {
			items = append(items, orDash(r.To)+"@"+e.offsetOf(r.At))
		}
		return items, err
	}
}

func assignmentsOf(who string, o options) lister {
	return listing(func(a asked) iter.Seq2[andon.Assignment, error] {
		q := andon.PageQuery{Order: o.order, Limit: a.limit}
		return a.System.Assignments(a, a.id, andon.DeviceID(who), q)
	}, func(e *Env, a andon.Assignment) string {
		return orDash(a.Operator) + "@" + e.fromTo(a.From, a.To)
	})
}

// fromTo writes a span that lasts until now where to is absent.
func (e *Env) fromTo(from, to andon.Time) string {
	text := e.offsetOf(from) + ".."
	if to != 0 {
		text += e.offsetOf(to)
	}
	return text
}

func intervalsOf(who string, o options) lister {
	return listing(func(a asked) iter.Seq2[andon.Interval, error] {
		return a.System.Intervals(a, a.id, andon.DeviceID(who), andon.IntervalQuery{
			States: o.states, Span: o.span(a.Env), Order: o.order, Limit: a.limit,
		})
	}, func(e *Env, i andon.Interval) string {
		return string(i.State) + "@" + e.fromTo(i.From, i.To)
	})
}

func (e *Env) readingText(r andon.Reading) string {
	var metrics []string
	for _, m := range r.Metrics {
		value := strconv.FormatFloat(m.Value, 'g', -1, 64)
		metrics = append(metrics, string(m.Name)+"="+value)
	}
	return e.offsetOf(r.Time) + "{" + strings.Join(metrics, ",") + "}" + string(r.Metadata)
}

func readingsOf(who string, o options) lister {
	return listing(func(a asked) iter.Seq2[andon.Reading, error] {
		return a.System.DeviceReadings(a, a.id, andon.DeviceID(who), andon.ReadingQuery{
			Metrics: o.metrics, Span: o.span(a.Env), Order: o.order, Limit: a.limit,
		})
	}, (*Env).readingText)
}

func parseLatest(words []string) lister {
	var devices []andon.DeviceID
	var o options
	for _, w := range words {
		text, isFrom := strings.CutPrefix(w, "from=")
		if !isFrom {
			devices = append(devices, andon.DeviceID(w))
			continue
		}
		o.from = must(parseBound(text))
	}
	return func(ctx context.Context, e *Env, id andon.TenantID) ([]string, error) {
		latest, err := e.System.LatestReadings(ctx, id, devices, o.span(e).From)
		var items []string
		for _, r := range latest {
			items = append(items, string(r.Device)+"/"+e.readingText(r))
		}
		return items, err
	}
}

// metricOf reads one metric across devices. The order of the devices is the store's own, so the
// items are put in order by device, each device's as they came.
func metricOf(name string, o options) lister {
	list := listing(func(a asked) iter.Seq2[andon.MetricReading, error] {
		return a.System.MetricReadings(a, a.id, andon.MetricQuery{
			Metric: andon.MetricName(name), Span: o.span(a.Env), Limit: a.limit,
		})
	}, func(e *Env, r andon.MetricReading) string {
		value := strconv.FormatFloat(r.Value, 'g', -1, 64)
		return string(r.Device) + "/" + e.offsetOf(r.Time) + "=" + value
	})
	return func(ctx context.Context, e *Env, id andon.TenantID) ([]string, error) {
		items, err := list(ctx, e, id)
		slices.SortStableFunc(items, func(a, b string) int {
			deviceA, _, _ := strings.Cut(a, "/")
			deviceB, _, _ := strings.Cut(b, "/")
			return cmp.Compare(deviceA, deviceB)
		})
		return items, declared(e.System.Capabilities().MetricReadings, err)
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
