package storecheck

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/andonhq/andon"
)

// tenantChecks: tenants are separate by construction.
func tenantChecks() []Check {
	return []Check{
		inScenario("2.15", "nothing of one tenant is seen in another", `
			now 1m
			at 5m d1 WARNING1 op=Liz esc=Sara
			measure 5m d1 a=1
			assign d1 Tom
			tenant other
			expect *:
			expect counts:
			expect gone d1
			expect log d1:
			expect operator-log Liz:
			expect supervisor-log Sara:
			expect assignments d1:
			expect readings d1:
			expect latest d1:
			expect metric a:
			at 5m d1 NORMAL op=Liz
			expect state d1 NORMAL
			expect operator d1 Liz
			expect operator-log Liz: d1/NORMAL@5m
			retire d1
			tenant first
			expect state d1 WARNING1
			expect operator-log Liz: d1/WARNING1@5m
		`),
		inScenario("2.15", "each tenant has its own state set", `
			states A=10 B=0
			tenant other
			states A=0 B=10
			at 5m d1 A
			and 5m d1 B
			expect state d1 B
			tenant first
			at 5m d1 A
			and 5m d1 B
			expect state d1 A
		`),
		{"a tenant that has no record is NotFound everywhere", "2.15", unknownTenant},
		{"a record is changed only over the version it was read with", "2.15", compareAndSwap},
		{"a deleted tenant is gone with all that it had", "2.15", deleteTenant},
		{"the settings of a tenant are kept", "2.15", settingsAreKept},
	}
}

// unknownTenant asks everything of a tenant that there is not.
func unknownTenant(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
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
	s := e.Store
	event := andon.Event{Device: "d1", Time: e.Base, State: "NORMAL"}
	one := andon.Reading{Device: "d1", Time: e.Base, Metrics: andon.Metrics{{Name: "a", Value: 1}}}
	q := andon.EventQuery{Limit: 1}
	return map[string]func() error{
		"Append": func() error { return s.Append(ctx, id, e.Base, []andon.Event{event}) },
		"Entry": func() error {
			_, err := s.Entry(ctx, id, "d1", e.Base, "NORMAL")
			return err
		},
		"DeviceEvents":     func() error { return errOf(s.DeviceEvents(ctx, id, "d1", q)) },
		"OperatorEvents":   func() error { return errOf(s.OperatorEvents(ctx, id, "Liz", q)) },
		"SupervisorEvents": func() error { return errOf(s.SupervisorEvents(ctx, id, "Sara", q)) },
		"Escalate": func() error {
			_, err := s.Escalate(ctx, id, andon.Escalation{
				Device: "d1", Time: e.Base, State: "NORMAL", At: e.Base, To: "Sara",
			})
			return err
		},
		"Device": func() error {
			_, err := s.Device(ctx, id, "d1")
			return err
		},
		"Devices": func() error { return errOf(s.Devices(ctx, id, andon.DeviceQuery{Limit: 1})) },
		"Counts": func() error {
			_, err := s.Counts(ctx, id)
			return err
		},
		"Retire": func() error {
			_, err := s.Retire(ctx, id, "d1", e.Base)
			return err
		},
		"AppendReadings": func() error {
			return s.AppendReadings(ctx, id, e.Base, []andon.Reading{one})
		},
		"DeviceReadings": func() error {
			return errOf(s.DeviceReadings(ctx, id, "d1", andon.ReadingQuery{Limit: 1}))
		},
		"LatestReadings": func() error {
			_, err := s.LatestReadings(ctx, id, []andon.DeviceID{"d1"}, 0)
			return err
		},
		"Assign": func() error {
			_, err := s.Assign(ctx, id, e.Base, []andon.Assignment{{Device: "d1", Operator: "Liz"}})
			return err
		},
		"Assignments": func() error {
			return errOf(s.Assignments(ctx, id, "d1", andon.PageQuery{Limit: 1}))
		},
		"Resolve":      func() error { return s.Resolve(ctx, id, []andon.Event{event}) },
		"DeleteTenant": func() error { return s.DeleteTenant(ctx, id) },
		"Expire":       func() error { return s.Expire(ctx, id, andon.Horizon{}) },
	}
}

func errOf[T any](seq iter.Seq2[T, error]) error {
	_, err := collect(seq)
	return err
}

func compareAndSwap(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	read, err := e.Store.Tenant(ctx, id)
	if err != nil {
		return err
	}
	written, err := e.Store.PutTenant(ctx, read)
	if err != nil {
		return err
	}
	if written.Version == read.Version {
		return fmt.Errorf("the version is %d before and after", read.Version)
	}
	_, err = e.Store.PutTenant(ctx, read)
	if err := wantKind(andon.Conflict, err); err != nil {
		return fmt.Errorf("over an older version: %w", err)
	}
	_, err = e.Store.PutTenant(ctx, andon.NewTenant(id))
	if err := wantKind(andon.Conflict, err); err != nil {
		return fmt.Errorf("as a new one over one that is there: %w", err)
	}
	fresh := andon.NewTenant(id + "-not")
	fresh.Version = 7
	_, err = e.Store.PutTenant(ctx, fresh)
	if err := wantKind(andon.Conflict, err); err != nil {
		return fmt.Errorf("over a version of one that is not there: %w", err)
	}
	return nil
}

func deleteTenant(ctx context.Context, e *Env) error {
	script := `
		at 5m d1 WARNING1 op=Liz esc=Sara
		measure 5m d1 a=1
		assign d1 Tom
	`
	if err := runText(ctx, e, script); err != nil {
		return err
	}
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	if err := e.Store.DeleteTenant(ctx, id); err != nil {
		return err
	}
	_, err = e.Store.Tenant(ctx, id)
	if err := wantKind(andon.NotFound, err); err != nil {
		return err
	}
	if _, err := e.Store.PutTenant(ctx, andon.NewTenant(id)); err != nil {
		return fmt.Errorf("make it again: %w", err)
	}
	lists := []lister{
		devicesIn(andon.StateFilter{}, options{}), logOf("d1", options{}), counts,
		operatorLog("Liz", options{}), supervisorLog("Sara", options{}),
		assignmentsOf("d1", options{}), readingsOf("d1", options{}),
	}
	for _, list := range lists {
		if err := e.wantList(ctx, id, list, nil); err != nil {
			return fmt.Errorf("made again, it has what it had: %w", err)
		}
	}
	return nil
}

func settingsAreKept(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	t, err := e.Store.Tenant(ctx, id)
	if err != nil {
		return err
	}
	t.Events, t.Readings, t.MaxFuture, t.SilentAfter = 11_000_000, 12_000_000, 13, 14
	t.Floor = andon.Horizon{Events: 15, Readings: 16}
	set := []andon.StateDef{
		{Name: "Ä", Severity: 3, Letter: "Ä", Colour: "#123456", Symbol: "☂"}, {Name: "b"},
	}
	if t.States, err = andon.NewStateSet(set); err != nil {
		return err
	}
	put, err := e.Store.PutTenant(ctx, t)
	if err != nil {
		return err
	}
	got, err := e.Store.Tenant(ctx, id)
	if err != nil {
		return err
	}
	if err := sameTenant(got, put); err != nil {
		return err
	}
	all, err := e.Store.Tenants(ctx)
	if err != nil {
		return err
	}
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
