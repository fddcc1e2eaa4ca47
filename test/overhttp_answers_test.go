package test

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/storecheck"
)

// What a server answers, as a scenario asks it.

func (o overHTTP) Entry(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, at andon.Time,
	state andon.State,
) (andon.Entry, error) {
	e, err := o.forTenant(id).Entry(ctx, device, at, state)
	return domainEntry(e), failure(err)
}

func domainEntry(e client.Entry) andon.Entry {
	entry := andon.Entry{Event: e.Event}
	for _, r := range e.Escalations {
		entry.Escalations = append(entry.Escalations, andon.Escalation{
			Device: e.Device, Time: e.Time, State: e.State,
			At: r.At, To: r.To, By: r.By, Note: r.Note,
		})
	}
	if w := e.Withdrawn; w != nil {
		entry.Withdrawn = &andon.Withdrawal{
			Device: e.Device, Time: e.Time, State: e.State, At: w.At, By: w.By, Note: w.Note,
		}
	}
	return entry
}

func clientQuery(q andon.EventQuery) client.Query {
	return client.Query{
		State: q.States.String(), From: q.Span.From, To: q.Span.To, Order: q.Order, Page: q.Limit,
	}
}

func (o overHTTP) DeviceEvents(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return list(o.forTenant(id).DeviceEvents(ctx, device, clientQuery(q)), same)
}

func (o overHTTP) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return list(o.forTenant(id).OperatorEvents(ctx, operator, clientQuery(q)), same)
}

func (o overHTTP) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return list(o.forTenant(id).SupervisorEvents(ctx, supervisor, clientQuery(q)), same)
}

func (o overHTTP) TenantEvents(
	ctx context.Context, id andon.TenantID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return list(o.forTenant(id).Events(ctx, clientQuery(q)), same)
}

func (o overHTTP) EscalatedEntries(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	return list(o.forTenant(id).Escalations(ctx, device, clientQuery(q)), domainEntry)
}

func (o overHTTP) Intervals(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Interval, error] {
	return list(o.forTenant(id).Intervals(ctx, device, clientQuery(q)),
		func(i client.Interval) andon.Interval {
			return andon.Interval{
				First: andon.EventKey{Time: i.From, State: i.State, Device: device}, To: i.To,
			}
		})
}

func (o overHTTP) Device(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (andon.Device, error) {
	d, err := o.forTenant(id).Device(ctx, device)
	return domainDevice(d), failure(err)
}

func domainDevice(d client.Device) andon.Device {
	return andon.Device{
		ID: d.Device, State: d.State, Severity: d.Severity, Time: d.Time, Since: d.Since,
		Received: d.Received, Operator: d.Operator, EscalatedTo: d.EscalatedTo,
		IncidentSince: d.IncidentSince, Message: d.Message, Attributes: d.Attributes,
		Retired: d.Retired, LastRetired: d.LastRetired,
	}
}

func (o overHTTP) Devices(
	ctx context.Context, id andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	if q.Kind == andon.AllDevices {
		return func(yield func(andon.Device, error) bool) {
			yield(andon.Device{}, storecheck.NotAsked{Why: "HTTP has no list of all devices"})
		}
	}
	query := client.DeviceQuery{
		State: q.States.String(), Operator: q.Operator, EscalatedTo: q.EscalatedTo,
		Page:      q.Limit,
		Retired:   q.Kind == andon.RetiredDevices,
		Measuring: q.Kind == andon.MeasuringDevices,
		Assigned:  q.Kind == andon.AssignedDevices,
		Sort:      []string{"", "since", "severity"}[q.Sort],
	}
	if q.Unassigned {
		query.Operator = andon.NoPerson
	}
	if q.Prefix != "" {
		query.Device = q.Prefix + "*"
	}
	if silent := q.HeardBefore != 0; silent || q.HeardSince != 0 {
		query.Silent = &silent
	}
	return list(o.forTenant(id).Devices(ctx, query), domainDevice)
}

func (o overHTTP) Counts(
	ctx context.Context, id andon.TenantID, _ andon.Time,
) (counts []andon.StateCount, err error) {
	states, _, err := o.forTenant(id).States(ctx)
	for _, s := range states {
		if s.Count > 0 {
			counts = append(counts, andon.StateCount{
				State: s.State, Count: s.Count, Silent: s.Silent,
			})
		}
	}
	return counts, failure(err)
}

func (o overHTTP) Names(
	ctx context.Context, id andon.TenantID, q andon.NameQuery,
) iter.Seq2[andon.NameCount, error] {
	c := o.forTenant(id)
	names := map[andon.NameKind]func(context.Context) iter.Seq2[client.Name, error]{
		andon.OperatorNames: c.Operators, andon.SupervisorNames: c.Supervisors,
		andon.MetricNames: c.Metrics,
	}[q.Of]
	return func(yield func(andon.NameCount, error) bool) {
		for n, err := range names(ctx) {
			if err = failure(err); err == nil && n.Devices == nil {
				err = storecheck.NotAsked{Why: "this store does not count the devices of names"}
			}
			if err != nil {
				yield(andon.NameCount{}, err)
				return
			}
			if !yield(andon.NameCount{Name: n.Name, Devices: *n.Devices}, nil) {
				return
			}
		}
	}
}

func (o overHTTP) Retirements(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) ([]andon.Time, error) {
	all, err := o.forTenant(id).Retirements(ctx, device)
	return all, failure(err)
}

func (o overHTTP) Assignments(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	query := client.Query{Order: q.Order, Page: q.Limit}
	return list(o.forTenant(id).Assignments(ctx, device, query),
		func(a andon.Assignment) andon.Assignment { return a })
}

func (o overHTTP) DeviceReadings(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	query := clientQuery(andon.EventQuery{Span: q.Span, Order: q.Order, Limit: q.Limit})
	return list(o.forTenant(id).DeviceReadings(ctx, device, query, q.Metrics...), same)
}

func (o overHTTP) LatestReadings(
	ctx context.Context, id andon.TenantID, devices []andon.DeviceID, from andon.Time,
) ([]andon.Reading, error) {
	if from != 0 {
		return nil, storecheck.NotAsked{Why: "over HTTP the latest readings have no bound"}
	}
	all, _, err := o.forTenant(id).LatestReadings(ctx, devices)
	return all, failure(err)
}

func (o overHTTP) MetricReadings(
	ctx context.Context, id andon.TenantID, q andon.MetricQuery,
) iter.Seq2[andon.MetricReading, error] {
	query := client.Query{From: q.Span.From, To: q.Span.To, Page: q.Limit}
	return list(o.forTenant(id).MetricReadings(ctx, q.Metric, query), same)
}
