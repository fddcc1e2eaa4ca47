package cassandrastore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
)

// useEverything writes to every table of a tenant.
func useEverything(t *testing.T, s *Store, tenant andon.TenantID, at andon.Time) {
	t.Helper()
	ctx := t.Context()
	var events []andon.Event
	states := []andon.State{"NORMAL", "WARNING1", "WARNING2", "WARNING3", "WARNING4", "ODD"}
	for i := range 12 {
		events = append(events, andon.Event{
			Device: testDevice(i), State: states[i%len(states)], Time: at, Operator: "Liz",
			EscalatedTo: "Sara",
		})
	}
	events = andon.SortBatch(events)
	failed := s.Append(ctx, tenant, at, events)
	readings := []andon.Reading{
		{Device: testDevice(0), Time: at, Metrics: andon.Metrics{{Name: "a", Value: 1}}},
		{Device: "only readings", Time: at, Metrics: andon.Metrics{{Name: "b", Value: 1}}},
	}
	if failed == nil {
		failed = s.AppendReadings(ctx, tenant, at, readings)
	}
	if failed == nil {
		_, failed = s.Assign(ctx, tenant, at, []andon.Assignment{
			{Device: testDevice(1), Operator: "Tom"}, {Device: "never seen", Operator: "Sue"},
		})
	}
	if failed == nil {
		_, failed = s.Retire(ctx, tenant, testDevice(11), at.Add(1))
	}
	if failed == nil {
		wrong := events[2]
		_, _, failed = s.Withdraw(ctx, tenant, andon.Withdrawal{
			Device: wrong.Device, Time: wrong.Time, State: wrong.State, At: at,
		})
	}
	if failed == nil {
		failed = s.Append(ctx, tenant, at, []andon.Event{{
			Device: "purged", State: "NORMAL", Time: at,
		}})
	}
	if failed == nil {
		failed = s.Purge(ctx, tenant, "purged")
	}
	if failed == nil {
		_, failed = s.PutRecord(ctx, aTimer(tenant, "t1", at))
	}
	if failed != nil {
		t.Fatal(failed)
	}
}

// tenantTablesOf are the tables with a column for the tenant, but for the list of tenants itself.
func tenantTablesOf(t *testing.T, s *Store) []string {
	t.Helper()
	views := scan[string](t, s,
		"SELECT view_name FROM system_schema.views WHERE keyspace_name = ?", s.options.Keyspace)
	all := scan[string](t, s, "SELECT table_name FROM system_schema.columns "+
		"WHERE keyspace_name = ? AND column_name = 'tenant' ALLOW FILTERING", s.options.Keyspace)
	slices.Sort(all)
	return append(slices.Compact(all), views...)
}

// TestSerialPurge: of a deleted tenant no table has a row left, and its next incarnation has its
// own.
func TestSerialPurge(t *testing.T) {
	for _, design := range designs.Names() {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			s := open(t, sharedKeyspace(t, design))
			at := andon.DayStart(realClock().Day())
			times := 1
			if design == "buckets" {
				times = 2
			}
			for range times {
				if _, err := s.PutTenant(t.Context(), andon.NewTenant("metro")); err != nil {
					t.Fatal(err)
				}
				useEverything(t, s, "metro", at)
				reorderAnyhow(t, s, "metro")
				if err := s.DeleteTenant(t.Context(), "metro"); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.PutTenant(t.Context(), andon.NewTenant("metro")); err != nil {
				t.Fatal(err)
			}
			useEverything(t, s, "metro", at)
			if err := s.purgeAll(t.Context(), 0); err != nil { // no other process may still write
				t.Fatal(err)
			}
			has := map[string]bool{}
			if err := s.noneBut(t, fmt.Sprintf("metro\t%d", times), has); err != nil {
				t.Error(err)
			}
			for _, table := range tenantTablesOf(t, s) {
				if table != "purges" && !has[table] {
					t.Errorf("the test keeps nothing in %s", table)
				}
			}
		})
	}
}

// reorderAnyhow gives all states of a tenant other severities.
func reorderAnyhow(t *testing.T, s *Store, id andon.TenantID) {
	t.Helper()
	is, err := s.Tenant(t.Context(), id)
	defs := slices.Clone(is.States.Defs())
	for i := range defs {
		defs[i].Severity++
	}
	defs = append(defs, andon.StateDef{Name: "REST"}) // one has to be normal
	if err == nil {
		is.States, err = andon.NewStateSet(defs)
	}
	if err == nil {
		is, err = s.PutTenant(t.Context(), is)
	}
	if err == nil && !is.Reordering {
		t.Error("changed severities are in order at once")
	}
	for err == nil && is.Reordering {
		is, err = s.Reorder(t.Context(), id)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// noneBut reports the first table that has rows of another incarnation, and notes which have some
// of it.
func (s *Store) noneBut(t *testing.T, incarnation string, has map[string]bool) error {
	for _, table := range tenantTablesOf(t, s) {
		for _, key := range scan[string](t, s, "SELECT tenant FROM "+table) {
			if key == incarnation {
				has[table] = true
			} else if strings.HasPrefix(key, "metro") {
				return fmt.Errorf("table %s has rows of %q", table, key)
			}
		}
	}
	return nil
}

// TestSerialRetention: in a keyspace with a retention rows expire by themselves, two days later
// than by the tenant's settings, and no tenant may keep more.
func TestSerialRetention(t *testing.T) {
	t.Parallel()
	const day = andon.Retention(86_400_000_000)
	events, readings := 7*day, 3*day
	o := engine(t, "buckets")
	makeSchema(t, o, provision.Setup{Retention: &events, ReadingsRetention: &readings})
	s := open(t, o)
	now := realClock()
	useEverything(t, s, andon.DefaultTenant, now.Add(-andon.Duration(2*day)))
	s.wantTTL(t, "events_by_device", "entry", 7)
	s.wantTTL(t, "events_by_device", "record", 7)
	s.wantTTL(t, "readings_by_device", "reading", 3)
	s.wantMore(t)
}

// wantTTL checks how long a column is kept, of those rows that have it.
func (s *Store) wantTTL(t *testing.T, table, column string, days int) {
	t.Helper()
	some := 0
	for _, ttl := range scan[int](t, s, "SELECT TTL("+column+") FROM "+table) {
		if ttl == 0 {
			continue // a row without it
		}
		some++
		if most := days * 86_400; ttl > most || ttl < most-300 {
			t.Errorf("%s of %s is kept for %d s, want %d", column, table, ttl, most)
		}
	}
	if some == 0 {
		t.Errorf("no row of %s has %s", table, column)
	}
}

// wantMore asks for longer retentions than the keyspace has.
func (s *Store) wantMore(t *testing.T) {
	t.Helper()
	const day = andon.Retention(86_400_000_000)
	made, err := s.PutTenant(t.Context(), andon.NewTenant("metro"))
	if err != nil || made.Events != 7*day || made.Readings != 3*day {
		t.Fatalf("a new tenant keeps %s and %s, %v", made.Events, made.Readings, err)
	}
	for _, change := range []func(*andon.Tenant){
		func(t *andon.Tenant) { t.Events = 8 * day },
		func(t *andon.Tenant) { t.Readings = 4 * day },
	} {
		more := made
		change(&more)
		_, err := s.PutTenant(t.Context(), more)
		wantError(t, err, andon.Invalid, "can't keep them for", "andon store init")
	}
	made.Events = andon.Forever
	if made, err = s.PutTenant(t.Context(), made); err != nil || made.Events != 7*day {
		t.Errorf("for ever is %s, %v", made.Events, err)
	}
}

// TestSerialPurgeGoesOn: a tenant that can't be read keeps no other from being purged.
func TestSerialPurgeGoesOn(t *testing.T) {
	t.Parallel()
	s := open(t, newKeyspace(t, "state"))
	ctx := t.Context()
	for _, id := range []andon.TenantID{"bad", "good"} {
		if _, err := s.PutTenant(ctx, andon.NewTenant(id)); err != nil {
			t.Fatal(err)
		}
		e := andon.Event{Device: "a", State: "NORMAL", Time: realClock()}
		if err := s.Append(ctx, id, e.Time, []andon.Event{e}); err != nil {
			t.Fatal(err)
		}
		if err := s.markOver(ctx, string(id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DeleteTenant(ctx, "good"); err != nil {
		t.Fatal(err)
	}
	run(t, s, "UPDATE records SET data = '{' WHERE tenant = '' AND kind = 'tenant' AND id = 'bad'")
	wantError(t, s.purgeAll(ctx, 0), andon.Damaged, `the record of tenant "bad"`)
	left := scan[string](t, s, "SELECT tenant FROM purges WHERE part = 'purges'")
	if !slices.Equal(left, []string{"bad"}) {
		t.Errorf("left to purge are %q", left)
	}
}
