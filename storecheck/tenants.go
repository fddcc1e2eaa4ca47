package storecheck

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// tenantChecks: tenants are separate by construction.
func tenantChecks() []Check {
	return []Check{
		check("2.15", "a tenant that has no record is NotFound everywhere", unknownTenant),
		check("2.15", "a record is changed only over the version it was read with", compareAndSwap),
		check("2.15", "the settings of a tenant are kept", settingsAreKept),
	}
}

// unknownTenant asks everything of a tenant that there is not: every call of the contract that
// names one.
func unknownTenant(ctx context.Context, e *Env, id andon.TenantID) error {
	id += "-not"
	answers := readsOf(ctx, e.Store, id, e.Base)
	maps.Copy(answers, writesOf(ctx, e.Store, id, e.Base))
	for what, err := range answers {
		if err := wantKind(andon.NotFound, err); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

func readsOf(
	ctx context.Context, s andon.Store, id andon.TenantID, at andon.Time,
) map[string]error {
	q, page := andon.EventQuery{Limit: 1}, andon.PageQuery{Limit: 1}
	return map[string]error{
		"Entry":            second(s.Entry(ctx, id, "d1", at, "NORMAL")),
		"DeviceEvents":     errOf(s.DeviceEvents(ctx, id, "d1", q)),
		"OperatorEvents":   errOf(s.OperatorEvents(ctx, id, "Liz", q)),
		"SupervisorEvents": errOf(s.SupervisorEvents(ctx, id, "Sara", q)),
		"EscalatedEntries": errOf(s.EscalatedEntries(ctx, id, "d1", q)),
		"Names":            errOf(s.Names(ctx, id, andon.NameQuery{Limit: 1})),
		"Device":           second(s.Device(ctx, id, "d1")),
		"Devices":          errOf(s.Devices(ctx, id, andon.DeviceQuery{Limit: 1})),
		"Counts":           second(s.Counts(ctx, id, 0)),
		"Had":              third(s.Had(ctx, id)),
		"DeviceReadings":   errOf(s.DeviceReadings(ctx, id, "d1", andon.ReadingQuery{Limit: 1})),
		"LatestReadings":   second(s.LatestReadings(ctx, id, []andon.DeviceID{"d1"}, 0)),
		"Assignments":      errOf(s.Assignments(ctx, id, "d1", page)),
		"Record":           second(s.Record(ctx, id, "check", "r1")),
		"Records":          errOf(s.Records(ctx, id, "check", andon.RecordQuery{Limit: 1})),
	}
}

func writesOf(
	ctx context.Context, s andon.Store, id andon.TenantID, at andon.Time,
) map[string]error {
	event := andon.Event{Device: "d1", Time: at, State: "NORMAL"}
	reading := andon.Reading{Device: "d1", Time: at, Metrics: andon.Metrics{{Name: "a", Value: 1}}}
	record := andon.Escalation{Device: "d1", Time: at, State: "NORMAL", At: at, To: "Sara"}
	assigned := []andon.Assignment{{Device: "d1", Operator: "Liz", From: at}}
	return map[string]error{
		"Append":         s.Append(ctx, id, at, []andon.Event{event}),
		"AppendReadings": s.AppendReadings(ctx, id, at, []andon.Reading{reading}),
		"Escalate":       third(s.Escalate(ctx, id, record)),
		"Assign":         second(s.Assign(ctx, id, at, assigned)),
		"Restore":        s.Restore(ctx, id, andon.History{Assignments: assigned}),
		"PutRecord":      second(s.PutRecord(ctx, aRecord(id, "r1"))),
		"DeleteRecord":   s.DeleteRecord(ctx, aRecord(id, "r1")),
		"Retire":         second(s.Retire(ctx, id, "d1", at)),
		"AdmitStates":    second(s.AdmitStates(ctx, id, nil, 1)),
		"Expire":         s.Expire(ctx, id, andon.Horizon{}),
		"DeleteTenant":   s.DeleteTenant(ctx, id),
	}
}

func errOf[T any](all iter.Seq2[T, error]) error {
	_, err := seq.Collect(all)
	return err
}

func compareAndSwap(ctx context.Context, e *Env, id andon.TenantID) error {
	read := must(e.Store.Tenant(ctx, id))
	written := must(e.Store.PutTenant(ctx, read))
	if written.Version == read.Version {
		return fmt.Errorf("the version is %d before and after", read.Version)
	}
	fresh := andon.NewTenant(id + "-not")
	fresh.Version = 7
	for what, t := range map[string]andon.Tenant{
		"over an older version":                read,
		"as a new one over one that is there":  andon.NewTenant(id),
		"over a version of one that is absent": fresh,
	} {
		_, err := e.Store.PutTenant(ctx, t)
		if err := wantKind(andon.Conflict, err); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

func settingsAreKept(ctx context.Context, e *Env, id andon.TenantID) error {
	t := must(e.Store.Tenant(ctx, id))
	t.Events, t.Readings, t.MaxFuture, t.SilentAfter = 11_000_000, 12_000_000, 13, 14
	t.LongestShelf = 17
	t.Unknown = andon.RefuseUnknown
	t.Floor = andon.Horizon{Events: e.Base - 15, Readings: e.Base - 16}
	t.Clock = andon.ClockMark{
		Believed: e.Base, Doubted: e.Base.Add(1), Last: e.Base.Add(2),
	}
	set := []andon.StateDef{
		{Name: "Ä", Severity: 3, Letter: "Ä", Colour: "#123456", Symbol: "☂"}, {Name: "b"},
	}
	t.States = must(andon.NewStateSet(set))
	put := must(e.Store.PutTenant(ctx, t))
	got := must(e.Store.Tenant(ctx, id))
	if !reflect.DeepEqual(got, put) {
		return fmt.Errorf("the tenant is %+v, not %+v", got, put)
	}
	all := must(e.Store.Tenants(ctx))
	i, ok := slices.BinarySearchFunc(all, id, func(t andon.Tenant, id andon.TenantID) int {
		return cmp.Compare(t.ID, id)
	})
	if !ok || !reflect.DeepEqual(all[i], put) {
		return fmt.Errorf("the list of tenants lacks %+v, or is not by id", put)
	}
	return nil
}
