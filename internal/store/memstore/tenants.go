package memstore

import (
	"context"
	"maps"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/tenants"
)

// Tenants returns all records by id.
func (s *Store) Tenants(ctx context.Context) ([]andon.Tenant, error) {
	var records []andon.Tenant
	err := s.alone(ctx, func() error {
		for _, id := range slices.Sorted(maps.Keys(s.tenants)) {
			records = append(records, s.tenants[id].record)
		}
		return nil
	})
	return records, err
}

// Tenant returns one record.
func (s *Store) Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	return ask(ctx, s, id, func(t *tenant) (andon.Tenant, error) { return t.record, nil })
}

// PutTenant stores a record over the version it was read with.
func (s *Store) PutTenant(ctx context.Context, record andon.Tenant) (andon.Tenant, error) {
	err := s.alone(ctx, func() (err error) {
		if record, err = s.put(record); err == nil {
			s.tenants[record.ID].publish(andon.OfTenant)
		}
		return err
	})
	return record, err
}

// put stores the document of a tenant. The caller holds s.mu.
func (s *Store) put(record andon.Tenant) (andon.Tenant, error) {
	document, err := tenants.Encode(&record, tenants.Own{})
	if err != nil {
		return andon.Tenant{}, err
	}
	if document, err = s.putRecord(document); err != nil {
		return andon.Tenant{}, err
	}
	if record, _, err = tenants.Decode(document); err != nil {
		return andon.Tenant{}, err
	}
	t, ok := s.tenants[record.ID]
	if !ok {
		t = &tenant{
			devices: map[andon.DeviceID]*device{}, admitted: map[andon.State]bool{},
			touched: map[andon.DeviceID]bool{},
			group:   func(andon.DeviceID) uint32 { return 0 },
			feed:    newFollowing(),
		}
		s.tenants[record.ID] = t
	}
	t.record = record
	for _, d := range t.devices {
		slices.SortFunc(d.entries, func(a, b andon.Entry) int {
			return a.Key(record.States).Compare(b.Key(record.States))
		})
		d.changed()
	}
	return record, nil
}

// Reorder has nothing to do: every answer is worked out from the entries.
func (s *Store) Reorder(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	return s.Tenant(ctx, id)
}

// AdmitStates counts the states of the entries, and those that were admitted and have none.
func (s *Store) AdmitStates(
	ctx context.Context, id andon.TenantID, states []andon.State, most int,
) (refused []andon.State, err error) {
	return ask(ctx, s, id, func(t *tenant) ([]andon.State, error) {
		return t.record.States.Admit(states, t.admitted, most), nil
	})
}

// DeleteTenant removes a tenant with all that it has.
func (s *Store) DeleteTenant(ctx context.Context, id andon.TenantID) error {
	if id == andon.DefaultTenant {
		return andon.Errorf(andon.Conflict, "tenant %q can't be deleted", id)
	}
	return s.within(ctx, id, func(t *tenant) error {
		t.feed.End()
		delete(s.tenants, id)
		maps.DeleteFunc(s.records, func(k recordKey, r andon.Record) bool {
			return k.tenant == id || k == recordKey{"", andon.TenantKind, string(id)}
		})
		return nil
	})
}

// Had reports whether the tenant ever had events and readings.
func (s *Store) Had(
	ctx context.Context, id andon.TenantID,
) (events, readings bool, err error) {
	err = s.within(ctx, id, func(t *tenant) error {
		events, readings = t.hadEvents, t.hadReadings
		return nil
	})
	return events, readings, err
}

// Expire drops the readings before the horizon. It keeps every entry: since and the incident
// outlive the history that they come from, and here they are worked out from that history alone.
func (s *Store) Expire(ctx context.Context, id andon.TenantID, h andon.Horizon) error {
	return s.within(ctx, id, func(t *tenant) error {
		for _, d := range t.devices {
			d.readings = slices.DeleteFunc(d.readings, func(r andon.Reading) bool {
				return r.Time < h.Readings
			})
		}
		return nil
	})
}
