package cassandrastore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/golden"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
)

// TestSerialInitPrints all statements, and with DryRun runs none of them. The statements that all
// designs have are printed once.
func TestSerialInitPrints(t *testing.T) {
	var text strings.Builder
	var common []string
	for i, design := range designs.Names() {
		o := engine(t, design)
		dry := makeSchema(t, o, provision.Setup{DryRun: true})
		if _, err := Open(t.Context(), o); andon.KindOf(err) != andon.Invalid {
			t.Errorf("a dry run makes something: %v", err)
		}
		if design == "tables" { // making one takes seconds
			if done := makeSchema(t, o, provision.Setup{}); done != dry {
				t.Errorf("a dry run prints other statements (-dry +done):\n%s", diff(dry, done))
			}
			if again := makeSchema(t, o, provision.Setup{DryRun: true}); !onlyDesign(again) {
				t.Errorf("once it is there, these statements are printed:\n%s", again)
			}
		}
		dry = strings.ReplaceAll(dry, o.Keyspace, "KEYSPACE")
		statements := strings.SplitAfter(dry, ";\n")
		if i == 0 {
			common = slices.Clone(statements)
		}
		fmt.Fprintf(&text, "-- %s\n", design)
		for _, s := range statements {
			if i == 0 || !slices.Contains(common, s) {
				text.WriteString(s)
			}
		}
		text.WriteString("\n")
	}
	golden.File(t, "testdata/init.cql", text.String())
}

// onlyDesign reports whether statements make nothing but a design, which is made sure of each time.
func onlyDesign(statements string) bool {
	return !strings.Contains(statements, "CREATE KEYSPACE") &&
		!strings.Contains(statements, "events_by_device") &&
		!strings.Contains(statements, "INSERT INTO")
}

// TestSerialDesigns tests what takes a keyspace of each design for itself, so no other test may run
// concurrently. Where an index finds the rows of all tenants the keyspace is new.
func TestSerialDesigns(t *testing.T) {
	for _, design := range designs.Names() {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			var o Options
			if slices.Contains(designs.Names(), design) {
				o = sharedKeyspace(t, design)
			} else {
				o = newKeyspace(t, design)
			}
			t.Run("plans", func(t *testing.T) { plans(t, o) })
			t.Run("rebuild", func(t *testing.T) { rebuildRepairs(t, o) })
		})
	}
}

// plans writes what each query sends under a design.
func plans(t *testing.T, o Options) {
	o.pace = neverAlone
	s := open(t, o)
	tenant := ownTenant(t, s)
	fillForPlans(t, s, tenant)
	var text strings.Builder
	for _, q := range planned(s, tenant) {
		// What a process remembers for a second is read before.
		if _, err := s.tenant(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
		ctx, plan := andon.WithPlan(t.Context())
		if err := q.ask(ctx); err != nil {
			t.Errorf("%s: %v", q.what, err)
		}
		if used := usesDesign(s, plan); used != q.byDesign {
			t.Errorf("%s: reads tables of the design: %t, but byDesign says %t",
				q.what, used, q.byDesign)
		}
		fmt.Fprintf(&text, "== %s\n%s", q.what, steps2text(plan))
	}
	plans := strings.ReplaceAll(text.String(), string(tenant), "TENANT")
	golden.File(t, "testdata/plans-"+o.Latest+".txt", plans)
}

// usesDesign reports whether any step reads what only the design has.
func usesDesign(s *Store, plan *andon.Plan) bool {
	return slices.ContainsFunc(plan.Steps(), func(step andon.PlanStep) bool {
		return slices.ContainsFunc(s.working.Load().Reads.Tables(), func(table cql.Table) bool {
			return strings.Contains(step.Statement, " FROM "+table.Name+" ")
		})
	})
}

func steps2text(plan *andon.Plan) string {
	var lines []string
	for _, s := range plan.Steps() {
		if strings.Contains(s.Statement, " FROM records ") {
			continue // read once a second
		}
		partition := strings.Join(s.Partition, ", ")
		if s.Times > 1 {
			partition = "and others" // whichever was read first
		}
		lines = append(lines, fmt.Sprintf("%s\n  at (%s), %s, %d times, %d rows\n",
			s.Statement, partition, s.Consistency, s.Times, s.Rows))
	}
	slices.Sort(lines) // concurrent queries have no order
	return strings.Join(lines, "")
}

const planDay = andon.Time(1_764_806_400_000_000) // 2025-12-04T00:00:00Z

// fillForPlans writes two days of three devices, and reads what they show until nothing of it has
// to be worked out.
func fillForPlans(t *testing.T, s *Store, tenant andon.TenantID) {
	t.Helper()
	ctx := t.Context()
	var events []andon.Event
	for i := range 3 {
		for n, state := range []andon.State{"NORMAL", "WARNING1", "WARNING2"} {
			e := andon.Event{
				Device: testDevice(i), State: state, Operator: "Liz",
				Time: planDay + andon.Time(n)*40_000_000_000,
			}
			if n == 2 {
				e.EscalatedTo = "Sara"
			}
			events = append(events, e)
		}
	}
	readings := []andon.Reading{{Device: testDevice(0), Time: planDay,
		Metrics: andon.Metrics{{Name: "temperature", Value: 71.5}}}}
	if err := s.Append(ctx, tenant, planDay, events); err != nil {
		t.Fatal(err)
	}
	if err := s.AppendReadings(ctx, tenant, planDay, readings); err != nil {
		t.Fatal(err)
	}
	_, err := s.Assign(ctx, tenant, planDay,
		[]andon.Assignment{{Device: testDevice(0), Operator: "Sue"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range s.reviews.Due(s.now().Add(time.Hour), reviewsAtOnce) {
		if err := s.reviewDevice(ctx, at); err != nil {
			t.Fatal(err)
		}
	}
}

// plannedQuery is one kind of query.
type plannedQuery struct {
	what     string
	ask      func(context.Context) error
	byDesign bool // the answer depends on the design
}

// ends reads a list to its end.
func ends[T any](list func(yield func(T, error) bool)) (err error) {
	for _, failed := range list {
		err = failed
	}
	return err
}

func planned(s *Store, tenant andon.TenantID) []plannedQuery {
	device := testDevice(0)
	warning, _ := andon.ParseStateFilter("WARNING2")
	warnings, _ := andon.ParseStateFilter("WARNING*")
	span := andon.Span{From: planDay, To: planDay + 86_399_999_999}
	devices := func(what string, q andon.DeviceQuery) plannedQuery {
		q.Limit = 10
		ask := func(ctx context.Context) error { return ends(s.Devices(ctx, tenant, q)) }
		return plannedQuery{what, ask, byDesign(q)}
	}
	all := []plannedQuery{
		{what: "a device", ask: func(ctx context.Context) error {
			_, err := s.Device(ctx, tenant, device)
			return err
		}},
		devices("devices in a state", andon.DeviceQuery{States: warning}),
		devices("devices in several states", andon.DeviceQuery{States: warnings}),
		devices("devices by operator", andon.DeviceQuery{Operator: "Liz"}),
		devices("devices by supervisor", andon.DeviceQuery{EscalatedTo: "Sara"}),
		devices("all devices", andon.DeviceQuery{}),
		{what: "counts", ask: func(ctx context.Context) error {
			_, err := s.Counts(ctx, tenant, 0)
			return err
		}},
		{what: "an entry", ask: func(ctx context.Context) error {
			_, err := s.Entry(ctx, tenant, device, planDay, "NORMAL")
			return err
		}},
	}
	return append(all, plannedLists(s, tenant, device, span)...)
}

// plannedLists are the queries for what was.
func plannedLists(
	s *Store, tenant andon.TenantID, device andon.DeviceID, span andon.Span,
) []plannedQuery {
	day := andon.EventQuery{Span: span, Limit: 10}
	return []plannedQuery{
		{what: "entries of a device", ask: func(ctx context.Context) error {
			return ends(s.DeviceEvents(ctx, tenant, device, andon.EventQuery{Limit: 10}))
		}},
		{what: "entries of a device on a day, oldest first", ask: func(ctx context.Context) error {
			q := day
			q.Order = andon.Asc
			return ends(s.DeviceEvents(ctx, tenant, device, q))
		}},
		{what: "entries of an operator on a day", ask: func(ctx context.Context) error {
			return ends(s.OperatorEvents(ctx, tenant, "Liz", day))
		}},
		{what: "entries of a supervisor on a day", ask: func(ctx context.Context) error {
			return ends(s.SupervisorEvents(ctx, tenant, "Sara", day))
		}},
		{what: "assignments", ask: func(ctx context.Context) error {
			return ends(s.Assignments(ctx, tenant, device, andon.PageQuery{Limit: 10}))
		}},
		{what: "readings of a device", ask: func(ctx context.Context) error {
			return ends(s.DeviceReadings(ctx, tenant, device, andon.ReadingQuery{Limit: 10}))
		}},
		{what: "the latest readings of a device", ask: func(ctx context.Context) error {
			_, err := s.LatestReadings(ctx, tenant, []andon.DeviceID{device}, 0)
			return err
		}},
		{what: "a metric across devices", ask: func(ctx context.Context) error {
			q := andon.MetricQuery{Metric: "temperature", Limit: 10}
			return ends(s.MetricReadings(ctx, tenant, q))
		}},
	}
}
