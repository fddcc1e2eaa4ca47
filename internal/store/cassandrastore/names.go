package cassandrastore

import (
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
)

// listed returns a device as a list of some kind shows it; nil if it is not in the list.
func (s *Store) listed(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, q *andon.DeviceQuery,
) (d *andon.Device, err error) {
	switch {
	case !t.Purged.Present(device) || !q.AdmitsID(rows.IDOf(device)):
	case q.Kind == andon.ShownDevices:
		d, err = s.device(ctx, t, device)
	case q.Kind == andon.AllDevices:
		d = &andon.Device{ID: device}
	default:
		d, err = s.listedOnly(ctx, t, device, q)
	}
	if err != nil || d == nil {
		return nil, err
	}
	if d.ID = rows.IDOf(d.ID); !q.Admits(d) {
		return nil, nil
	}
	return d, nil
}

// listedOnly is listed for a kind of list that shows only a part of a device.
func (s *Store) listedOnly(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, q *andon.DeviceQuery,
) (*andon.Device, error) {
	v, err := s.readView(ctx, t, device, false)
	if err != nil {
		return nil, err
	}
	folded := v.Device(device, t.Record.States)
	if q.Kind != andon.MeasuringDevices {
		d, in := folded.List(q.Kind, t.Record.States)
		if !in {
			return nil, nil
		}
		return &d, nil
	}
	if folded.Time != 0 || folded.Retired != 0 {
		return nil, nil
	}
	latest, err := s.LatestReadings(ctx, t.Record.ID, []andon.DeviceID{device}, q.MeasuredSince)
	if err != nil || len(latest) == 0 {
		return nil, err
	}
	return &andon.Device{ID: device, Time: latest[0].Time}, nil
}

// Names implements andon.Current. Names are never forgotten. They are not counted: for that, each
// device that a name may have would have to be read.
func (s *Store) Names(
	ctx context.Context, id andon.TenantID, q andon.NameQuery,
) iter.Seq2[andon.NameCount, error] {
	of := map[andon.NameKind]string{
		andon.OperatorNames:   string(rows.OfOperator),
		andon.SupervisorNames: string(rows.OfSupervisor),
		andon.MetricNames:     rows.OfMetric,
	}[q.Of]
	return listIn(ctx, s, id, func(t *rows.Tenant) iter.Seq2[andon.NameCount, error] {
		names := s.rows.Names(ctx, t.Key, of, q.After, q.Limit)
		return seq.First(q.Limit, seq.Map(names, func(name string) andon.NameCount {
			return andon.NameCount{Name: name}
		}))
	})
}

// EscalatedEntries implements andon.Log.
func (s *Store) EscalatedEntries(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	return listIn(ctx, s, id, func(t *rows.Tenant) iter.Seq2[andon.Entry, error] {
		key := t.Purged.Key(device)
		operators := s.rows.Operators(t, key, q.Order)
		ever := func(ctx context.Context, e *andon.Entry) (bool, error) {
			if len(e.Escalations) == 0 {
				return false, nil
			}
			return operators.Every(ctx, e)
		}
		return seq.Map(s.rows.Walk(ctx, t, key, t.Query(q), ever), rows.WithID)
	})
}

// Restore implements andon.Restorer. There are few of these records, so they are written device by
// device.
func (s *Store) Restore(ctx context.Context, id andon.TenantID, h andon.History) error {
	if _, err := s.tenant(ctx, id); err != nil {
		return err
	}
	for _, a := range h.Assignments {
		if err := s.onDevice(ctx, id, a.Device, s.restoreAssignment(a)); err != nil {
			return err
		}
	}
	for _, e := range h.Escalations {
		if err := s.onDevice(ctx, id, e.Device, s.restoreEscalation(e)); err != nil {
			return err
		}
	}
	for _, r := range h.Retirements {
		if err := s.onDevice(ctx, id, r.Device, s.restoreRetirement(r)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) restoreAssignment(a andon.Assignment) deviceWrite {
	return func(
		ctx context.Context, t *rows.Tenant, device andon.DeviceID, _ *taken,
	) error {
		a.Device = device
		return s.writeAssignments(ctx, t, andon.ByRestore, a.From, a)
	}
}

func (s *Store) restoreEscalation(e andon.Escalation) deviceWrite {
	return func(
		ctx context.Context, t *rows.Tenant, device andon.DeviceID, _ *taken,
	) error {
		e.Device = device
		entry, shards, err := s.withEscalations(ctx, t, &e)
		switch {
		case andon.KindOf(err) == andon.NotFound:
			return nil
		case err != nil || slices.Contains(entry.Escalations, e):
			return err
		}
		return s.escalate(ctx, t, e, shards, andon.ByRestore)
	}
}

func (s *Store) restoreRetirement(r andon.Retirement) deviceWrite {
	return func(
		ctx context.Context, t *rows.Tenant, device andon.DeviceID, slots *taken,
	) error {
		if err := s.views(ctx, t, slots, 0); err != nil {
			return err
		}
		was := slots.Slots[0].View
		if was.NewestKey(t.Record.States).Time > r.At || was.Retired >= r.At {
			return nil
		}
		return s.retire(ctx, t, device, was, r.At, andon.ByRestore)
	}
}
