package records

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
)

// Incidents keeps the incidents of all tenants.
//
//	kind             id                    data
//	incident         H                     an open incident of H, the hash of device and kind; due
//	                                       when something is to be done about it
//	incident_closed  T-H                   a closed one; T is when it was first seen to open
//	incident_of      hash of device/T-H    {}: where the closed ones of a device are
//
// T-H is the ID of an incident, so those of a tenant are in the order in which they opened. H makes
// a second open one of a kind on a device impossible: of two writers one has a conflict.
//
// What is open is also in memory, by tenant: read again when it is asked for and older than a
// second, or than ten times what reading it takes. What this process changes is there at once.
type Incidents struct {
	store andon.Store
	now   func() andon.Time
}

// NewIncidents makes Incidents on a store.
func NewIncidents(store andon.Store, now func() andon.Time) *Incidents {
	return &Incidents{store: store, now: now}
}

// Open returns all incidents of a tenant that are open, in no order, and a number that grows when
// any of them changes. Neither the list nor what it points to is ever changed.
func (in *Incidents) Open(
	ctx context.Context, tenant andon.TenantID,
) (all []*people.Incident, changes uint64, err error) {
	return nil, 0, nil
}

// Get returns an incident, open or closed, as the log has it now; NotFound when there is none.
func (in *Incidents) Get(
	ctx context.Context, tenant andon.TenantID, id string,
) (people.Incident, error) {
	return people.Incident{}, andon.Errorf(andon.NotFound, "there is no incident %q", id)
}

// Closed returns the incidents that opened within a span and are closed, as the log has them now,
// newest first, before an ID ("" is from the newest).
func (in *Incidents) Closed(
	ctx context.Context, tenant andon.TenantID, span andon.Span, before string, limit int,
) iter.Seq2[people.Incident, error] {
	return func(func(people.Incident, error) bool) {}
}

// OfDevice returns the incidents of a device within a span, open and closed, as its log has them,
// newest first. One that a late entry made is among them, marked late.
func (in *Incidents) OfDevice(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, span andon.Span, limit int,
) ([]people.Incident, error) {
	return nil, nil
}

// Act has people.Act decide on an action, and stores what follows. It returns the incident as it is
// afterwards. Conflict, with who was first, when somebody else was.
func (in *Incidents) Act(
	ctx context.Context, tenant andon.TenantID, id string, a people.Action,
) (people.Incident, error) {
	return people.Incident{}, andon.Errorf(andon.NotFound, "there is no incident %q", id)
}
