package storecheck

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/andonhq/andon"
)

// tenantChecks: tenants are separate by construction.
func tenantChecks() []Check {
	return []Check{
		check("2.15", "a tenant that has no record is NotFound everywhere", unknownTenant),
		check("2.15", "a record is changed only over the version it was read with", compareAndSwap),
		check("2.15", "the settings of a tenant are kept", settingsAreKept),
	}
}

// unknownTenant asks everything of a tenant that there is not.
func unknownTenant(ctx context.Context, e *Env, id andon.TenantID) error {
	id += "-not"
	for what, call := range callsOf(ctx, e, id) {
		if err := wantKind(andon.NotFound, call()); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// callsOf is every call of the contract that names a tenant.
func callsOf(ctx context.Context, e *Env, id andon.TenantID) map[string]func() error {
	calls := readsOf(ctx, e.Store, id, e.Base)
	maps.Copy(calls, writesOf(ctx, e.Store, id, e.Base))
	return calls
}

func readsOf(
	ctx context.Context, s andon.Store, id andon.TenantID, at andon.Time,
) map[string]func() error {
	q := andon.EventQuery{Limit: 1}
	return map[string]func() error{
		"Entry":            func() error { return second(s.Entry(ctx, id, "d1", at, "NORMAL")) },
		"DeviceEvents":     func() error { return errOf(s.DeviceEvents(ctx, id, "d1", q)) },
		"OperatorEvents":   func() error { return errOf(s.OperatorEvents(ctx, id, "Liz", q)) },
		"SupervisorEvents": func() error { return errOf(s.SupervisorEvents(ctx, id, "Sara", q)) },
		"EscalatedEntries": func() error { return errOf(s.EscalatedEntries(ctx, id, "d1", q)) },
		"Names": func() error {
			return errOf(s.Names(ctx, id, andon.NameQuery{Limit: 1}))
		},
		"Device": func() error { return second(s.Device(ctx, id, "d1")) },
		"Devices": func() error {
			return errOf(s.Devices(ctx, id, andon.DeviceQuery{Limit: 1}))
		},
		"Counts": func() error { return second(s.Counts(ctx, id, 0)) },
		"Had": func() error {
			_, _, err := s.Had(ctx, id)
			return err
		},
		"DeviceReadings": func() error {
			return errOf(s.DeviceReadings(ctx, id, "d1", andon.ReadingQuery{Limit: 1}))
		},
		"LatestReadings": func() error {
			return second(s.LatestReadings(ctx, id, []andon.DeviceID{"d1"}, 0))
		},
		"Assignments": func() error {
			return errOf(s.Assignments(ctx, id, "d1", andon.PageQuery{Limit: 1}))
		},
		"Record": func() error { return second(s.Record(ctx, id, "check", "r1")) },
		"Records": func() error {
			return errOf(s.Records(ctx, id, "check", andon.RecordQuery{Limit: 1}))
		},
	}
}

func writesOf(
	ctx context.Context, s andon.Store, id andon.TenantID, at andon.Time,
) map[string]func() error {
	event := andon.Event{Device: "d1", Time: at, State: "NORMAL"}
	reading := andon.Reading{Device: "d1", Time: at, Metrics: andon.Metrics{{Name: "a", Value: 1}}}
	record := andon.Escalation{Device: "d1", Time: at, State: "NORMAL", At: at, To: "Sara"}
	assign := []andon.Assignment{{Device: "d1", Operator: "Liz"}}
	return map[string]func() error{
		"Append": func() error { return s.Append(ctx, id, at, []andon.Event{event}) },
		"AppendReadings": func() error {
			return s.AppendReadings(ctx, id, at, []andon.Reading{reading})
		},
		"Escalate": func() error {
			_, _, err := s.Escalate(ctx, id, record)
			return err
		},
		"Assign": func() error { return second(s.Assign(ctx, id, at, assign)) },
		"Restore": func() error {
			return s.Restore(ctx, id, andon.History{Assignments: []andon.Assignment{
				{Device: "d1", Operator: "Liz", From: at},
			}})
		},
		"PutRecord":    func() error { return second(s.PutRecord(ctx, aRecord(id, "r1"))) },
		"DeleteRecord": func() error { return s.DeleteRecord(ctx, aRecord(id, "r1")) },
		"Retire":       func() error { return second(s.Retire(ctx, id, "d1", at)) },
		"AdmitStates":  func() error { return second(s.AdmitStates(ctx, id, nil, 1)) },
		"Expire":       func() error { return s.Expire(ctx, id, andon.Horizon{}) },
		"DeleteTenant": func() error { return s.DeleteTenant(ctx, id) },
	}
}

func second[T any](_ T, err error) error { return err }

func errOf[T any](seq iter.Seq2[T, error]) error {
	_, err := Collect(seq)
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
	require(sameTenant(got, put))
	all := must(e.Store.Tenants(ctx))
	i, ok := slices.BinarySearchFunc(all, id, func(t andon.Tenant, id andon.TenantID) int {
		return cmp.Compare(t.ID, id)
	})
	if !ok {
		return fmt.Errorf("the list of tenants lacks %s, or is not by id", id)
	}
	return sameTenant(all[i], put)
}

func sameTenant(got, want andon.Tenant) error {
	if !slices.Equal(got.States.Defs(), want.States.Defs()) {
		return fmt.Errorf("the states are %+v, not %+v", got.States.Defs(), want.States.Defs())
	}
	got.States, want.States = nil, nil
	if got != want {
		return fmt.Errorf("the tenant is %+v, not %+v", got, want)
	}
	return nil
}
