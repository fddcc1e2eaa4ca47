package dynamostore

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// unserved is what the layout reference can't serve: it would need a scan of the table, or items
// that the reference's model does not have.
type unserved struct{ shared.NoFeed }

func unservedHere(what string) error {
	return andon.Errorf(andon.Unsupported, "a table of the reference's own model can't serve %s: "+
		"dynamodb.layout andon can", what)
}

func none[T any](what string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		yield(zero, unservedHere(what))
	}
}

const (
	listOfDevices = "lists of devices"
	tenantEvents  = "entries of all devices in one list"
	assignments   = "assignments"
	readings      = "readings"
	documents     = "records"
	oneTenant     = "settings of tenants, and other tenants"
)

// Devices is of andon.Current.
func (unserved) Devices(
	context.Context, andon.TenantID, andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	return none[andon.Device](listOfDevices)
}

// Counts is of andon.Current.
func (unserved) Counts(context.Context, andon.TenantID, andon.Time) ([]andon.StateCount, error) {
	return nil, unservedHere("counts of devices")
}

// Names is of andon.Current.
func (unserved) Names(
	context.Context, andon.TenantID, andon.NameQuery,
) iter.Seq2[andon.NameCount, error] {
	return none[andon.NameCount]("lists of names")
}

// Retire is of andon.Current.
func (unserved) Retire(
	context.Context, andon.TenantID, andon.DeviceID, andon.Time,
) (andon.Time, error) {
	return 0, unservedHere("retiring a device")
}

// Retirements is of andon.Current.
func (unserved) Retirements(
	context.Context, andon.TenantID, andon.DeviceID,
) ([]andon.Time, error) {
	return nil, nil // there can be none, and intervals ask
}

// Withdraw is of andon.Corrections.
func (unserved) Withdraw(
	context.Context, andon.TenantID, andon.Withdrawal,
) (andon.Withdrawal, bool, error) {
	return andon.Withdrawal{}, false, unservedHere("withdrawing an entry")
}

// Purge is of andon.Corrections.
func (unserved) Purge(context.Context, andon.TenantID, andon.DeviceID) error {
	return unservedHere("purging a device")
}

// AppendReadings is of andon.Readings.
func (unserved) AppendReadings(
	context.Context, andon.TenantID, andon.Time, []andon.Reading,
) error {
	return unservedHere(readings)
}

// DeviceReadings is of andon.Readings.
func (unserved) DeviceReadings(
	context.Context, andon.TenantID, andon.DeviceID, andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return none[andon.Reading](readings)
}

// LatestReadings is of andon.Readings.
func (unserved) LatestReadings(
	context.Context, andon.TenantID, []andon.DeviceID, andon.Time,
) ([]andon.Reading, error) {
	return nil, unservedHere(readings)
}

// MetricReadings is of andon.Readings.
func (unserved) MetricReadings(
	context.Context, andon.TenantID, andon.MetricQuery,
) iter.Seq2[andon.MetricReading, error] {
	return none[andon.MetricReading](readings)
}

// TenantEvents is of andon.Log.
func (unserved) TenantEvents(
	context.Context, andon.TenantID, andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return none[andon.Event](tenantEvents)
}

// Assign is of andon.Assignments.
func (unserved) Assign(
	context.Context, andon.TenantID, andon.Time, []andon.Assignment,
) ([]andon.Assignment, error) {
	return nil, unservedHere(assignments)
}

// Assignments is of andon.Assignments.
func (unserved) Assignments(
	context.Context, andon.TenantID, andon.DeviceID, andon.PageQuery,
) iter.Seq2[andon.Assignment, error] {
	return none[andon.Assignment](assignments)
}

// Restore is of andon.Restorer.
func (unserved) Restore(context.Context, andon.TenantID, andon.History) error {
	return unservedHere("what people did before")
}

// PutTenant is of andon.Tenants.
func (unserved) PutTenant(context.Context, andon.Tenant) (andon.Tenant, error) {
	return andon.Tenant{}, unservedHere(oneTenant)
}

// Reorder is of andon.Tenants.
func (unserved) Reorder(context.Context, andon.TenantID) (andon.Tenant, error) {
	return andon.Tenant{}, unservedHere(oneTenant)
}

// DeleteTenant is of andon.Tenants.
func (unserved) DeleteTenant(context.Context, andon.TenantID) error {
	return unservedHere(oneTenant)
}

// Record is of andon.Records.
func (unserved) Record(
	context.Context, andon.TenantID, andon.RecordKind, string,
) (andon.Record, error) {
	return andon.Record{}, unservedHere(documents)
}

// PutRecord is of andon.Records.
func (unserved) PutRecord(context.Context, andon.Record) (andon.Record, error) {
	return andon.Record{}, unservedHere(documents)
}

// DeleteRecord is of andon.Records.
func (unserved) DeleteRecord(context.Context, andon.Record) error { return unservedHere(documents) }

// Records is of andon.Records.
func (unserved) Records(
	context.Context, andon.TenantID, andon.RecordKind, andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return none[andon.Record](documents)
}

// DueRecords is of andon.Records.
func (unserved) DueRecords(
	context.Context, andon.RecordKind, andon.Time, int,
) iter.Seq2[andon.Record, error] {
	return none[andon.Record](documents)
}
