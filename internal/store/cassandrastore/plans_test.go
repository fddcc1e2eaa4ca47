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

// TestSerialDesigns tests what takes a keyspace of each design for itself, in one after another:
// making one takes longer than the tests.
func TestSerialDesigns(t *testing.T) {
	for _, design := range designs.Names() {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			o := newKeyspace(t, design)
			t.Run("plans", func(t *testing.T) { plans(t, o) })
			t.Run("rebuild", func(t *testing.T) { rebuildRepairs(t, o) })
		})
	}
}

// plans writes what each query sends under a design.
func plans(t *testing.T, o Options) {
	o.pace = neverAlone
	s := open(t, o)
	fillForPlans(t, s)
	var text strings.Builder
	for _, q := range planned(s) {
		// What a process remembers for a second is read before.
		if _, err := s.tenant(t.Context(), andon.DefaultTenant); err != nil {
			t.Fatal(err)
		}
		ctx, plan := andon.WithPlan(t.Context())
		if err := q.ask(ctx); err != nil {
			t.Errorf("%s: %v", q.what, err)
		}
		fmt.Fprintf(&text, "== %s\n%s", q.what, steps2text(plan))
	}
	golden.File(t, "testdata/plans-"+o.Latest+".txt", text.String())
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
func fillForPlans(t *testing.T, s *Store) {
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
	if err := s.Append(ctx, andon.DefaultTenant, planDay, events); err != nil {
		t.Fatal(err)
	}
	if err := s.AppendReadings(ctx, andon.DefaultTenant, planDay, readings); err != nil {
		t.Fatal(err)
	}
	_, err := s.Assign(ctx, andon.DefaultTenant, planDay,
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
	what string
	ask  func(context.Context) error
}

// ends reads a list to its end.
func ends[T any](list func(yield func(T, error) bool)) (err error) {
	for _, failed := range list {
		err = failed
	}
	return err
}

func planned(s *Store) []plannedQuery {
	const t = andon.DefaultTenant
	device := testDevice(0)
	warning, _ := andon.ParseStateFilter("WARNING2")
	warnings, _ := andon.ParseStateFilter("WARNING*")
	span := andon.Span{From: planDay, To: planDay + 86_399_999_999}
	devices := func(q andon.DeviceQuery) func(context.Context) error {
		q.Limit = 10
		return func(ctx context.Context) error { return ends(s.Devices(ctx, t, q)) }
	}
	all := []plannedQuery{
		{"a device", func(ctx context.Context) error {
			_, err := s.Device(ctx, t, device)
			return err
		}},
		{"devices in a state", devices(andon.DeviceQuery{States: warning})},
		{"devices in several states", devices(andon.DeviceQuery{States: warnings})},
		{"devices by operator", devices(andon.DeviceQuery{Operator: "Liz"})},
		{"devices by supervisor", devices(andon.DeviceQuery{EscalatedTo: "Sara"})},
		{"all devices", devices(andon.DeviceQuery{})},
		{"counts", func(ctx context.Context) error {
			_, err := s.Counts(ctx, t, 0)
			return err
		}},
		{"an entry", func(ctx context.Context) error {
			_, err := s.Entry(ctx, t, device, planDay, "NORMAL")
			return err
		}},
	}
	return append(all, plannedLists(s, device, span)...)
}

// plannedLists are the queries for what was.
func plannedLists(s *Store, device andon.DeviceID, span andon.Span) []plannedQuery {
	const t = andon.DefaultTenant
	day := andon.EventQuery{Span: span, Limit: 10}
	return []plannedQuery{
		{"entries of a device", func(ctx context.Context) error {
			return ends(s.DeviceEvents(ctx, t, device, andon.EventQuery{Limit: 10}))
		}},
		{"entries of a device on a day, oldest first", func(ctx context.Context) error {
			q := day
			q.Order = andon.Asc
			return ends(s.DeviceEvents(ctx, t, device, q))
		}},
		{"entries of an operator on a day", func(ctx context.Context) error {
			return ends(s.OperatorEvents(ctx, t, "Liz", day))
		}},
		{"entries of a supervisor on a day", func(ctx context.Context) error {
			return ends(s.SupervisorEvents(ctx, t, "Sara", day))
		}},
		{"assignments", func(ctx context.Context) error {
			return ends(s.Assignments(ctx, t, device, andon.PageQuery{Limit: 10}))
		}},
		{"readings of a device", func(ctx context.Context) error {
			return ends(s.DeviceReadings(ctx, t, device, andon.ReadingQuery{Limit: 10}))
		}},
		{"the latest readings of a device", func(ctx context.Context) error {
			_, err := s.LatestReadings(ctx, t, []andon.DeviceID{device}, 0)
			return err
		}},
		{"a metric across devices", func(ctx context.Context) error {
			q := andon.MetricQuery{Metric: "temperature", Limit: 10}
			return ends(s.MetricReadings(ctx, t, q))
		}},
	}
}
