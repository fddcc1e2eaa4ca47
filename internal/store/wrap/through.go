package wrap

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
)

// What passes through retention as it is: what is written, and what answers nothing that expires.
// It stands here by name and not by an embedded store, so that a question which is added to
// andon.Store does not compile before somebody has decided whether its answers expire.

func (r *retained) Append(
	ctx context.Context, tenant andon.TenantID, received andon.Time, events []andon.Event,
) error {
	return r.next.Append(ctx, tenant, received, events)
}

func (r *retained) Counts(
	ctx context.Context, tenant andon.TenantID, silentBefore andon.Time,
) ([]andon.StateCount, error) {
	return r.next.Counts(ctx, tenant, silentBefore)
}

func (r *retained) Names(
	ctx context.Context, tenant andon.TenantID, q andon.NameQuery,
) iter.Seq2[andon.NameCount, error] {
	return r.next.Names(ctx, tenant, q)
}

func (r *retained) Retire(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, at andon.Time,
) (andon.Time, error) {
	return r.next.Retire(ctx, tenant, device, at)
}

func (r *retained) Retirements(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID,
) ([]andon.Time, error) {
	return r.next.Retirements(ctx, tenant, device)
}

func (r *retained) Purge(ctx context.Context, tenant andon.TenantID, device andon.DeviceID) error {
	return r.next.Purge(ctx, tenant, device)
}

func (r *retained) AppendReadings(
	ctx context.Context, tenant andon.TenantID, received andon.Time, readings []andon.Reading,
) error {
	return r.next.AppendReadings(ctx, tenant, received, readings)
}

func (r *retained) Assign(
	ctx context.Context, tenant andon.TenantID, now andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	return r.next.Assign(ctx, tenant, now, assignments)
}

func (r *retained) Assignments(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, q andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	return r.next.Assignments(ctx, tenant, device, q)
}

func (r *retained) Restore(ctx context.Context, tenant andon.TenantID, h andon.History) error {
	return r.next.Restore(ctx, tenant, h)
}

func (r *retained) Tenants(ctx context.Context) ([]andon.Tenant, error) {
	return r.next.Tenants(ctx)
}

func (r *retained) Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	return r.next.Tenant(ctx, id)
}

func (r *retained) PutTenant(ctx context.Context, t andon.Tenant) (andon.Tenant, error) {
	return r.next.PutTenant(ctx, t)
}

func (r *retained) Reorder(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	return r.next.Reorder(ctx, id)
}

func (r *retained) AdmitStates(
	ctx context.Context, id andon.TenantID, states []andon.State, most int,
) ([]andon.State, error) {
	return r.next.AdmitStates(ctx, id, states, most)
}

func (r *retained) DeleteTenant(ctx context.Context, id andon.TenantID) error {
	return r.next.DeleteTenant(ctx, id)
}

func (r *retained) Had(ctx context.Context, id andon.TenantID) (events, readings bool, err error) {
	return r.next.Had(ctx, id)
}

func (r *retained) Expire(ctx context.Context, id andon.TenantID, h andon.Horizon) error {
	return r.next.Expire(ctx, id, h)
}

func (r *retained) Record(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, id string,
) (andon.Record, error) {
	return r.next.Record(ctx, tenant, kind, id)
}

func (r *retained) PutRecord(ctx context.Context, is andon.Record) (andon.Record, error) {
	return r.next.PutRecord(ctx, is)
}

func (r *retained) DeleteRecord(ctx context.Context, was andon.Record) error {
	return r.next.DeleteRecord(ctx, was)
}

func (r *retained) Records(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, q andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return r.next.Records(ctx, tenant, kind, q)
}

func (r *retained) DueRecords(
	ctx context.Context, kind andon.RecordKind, until andon.Time, limit int,
) iter.Seq2[andon.Record, error] {
	return r.next.DueRecords(ctx, kind, until, limit)
}

func (r *retained) Ready(ctx context.Context) error {
	return r.next.Ready(ctx)
}

// Capabilities is of andon.Store.
func (r *retained) Capabilities() andon.Capabilities { return r.next.Capabilities() }

// Close is of andon.Store.
func (r *retained) Close() error { return r.next.Close() }

func (r *retained) AwaitChange(
	ctx context.Context, tenant andon.TenantID, after andon.Position,
) error {
	return r.next.AwaitChange(ctx, tenant, after)
}

func (r *retained) ChangesKept(
	ctx context.Context, tenant andon.TenantID,
) (oldest, newest andon.Position, err error) {
	return r.next.ChangesKept(ctx, tenant)
}
