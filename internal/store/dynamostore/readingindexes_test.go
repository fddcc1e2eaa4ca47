package dynamostore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// indexed makes tables with both optional indexes.
func indexed(projection string) func(*Options) {
	return func(o *Options) {
		o.LatestIndex, o.MetricProjection = projection, projection
		o.MetricIndex = []string{"temperature", "b#"}
	}
}

func eventually(ctx context.Context) context.Context {
	return andon.WithConsistency(ctx, andon.Eventual)
}

// asked are the indexes and tables that a query is answered from: "Query index MetricGSI".
func asked(ctx context.Context, ask func(context.Context)) string {
	ctx, plan := andon.WithPlan(ctx)
	ask(ctx)
	var all []string
	for _, step := range plan.Steps() {
		all = append(all, step.Statement)
	}
	return strings.Join(all, "\n")
}

func measure(t *testing.T, s *Store, all ...andon.Reading) {
	t.Helper()
	if err := s.AppendReadings(t.Context(), andon.DefaultTenant, realClock(), all); err != nil {
		t.Fatal(err)
	}
}

func reading(device andon.DeviceID, n int, metrics ...andon.Metric) andon.Reading {
	return andon.Reading{Device: device, Time: minute(n), Metrics: metrics}
}

// TestSerialIndexedReadings: what the indexes answer is what the table answers, of readings with
// and without metadata, joined ones, and several shards.
func TestSerialIndexedReadings(t *testing.T) {
	for _, projection := range []string{items.ProjectsMetrics, items.ProjectsAll} {
		t.Run(projection, func(t *testing.T) { compareIndexes(t, projection) })
	}
}

func compareIndexes(t *testing.T, projection string) {
	o := newTables(t)
	o.Prefix += "idx_"
	indexed(projection)(&o)
	o.Shards = "2"
	if err := Init(t.Context(), o, adapter.Setup{}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	s := open(t, o)
	devices := []andon.DeviceID{"d1", "d", "d!", "d#1", "d%23"}
	var sent []andon.Reading
	for range 16 {
		r := reading(devices[rand.IntN(len(devices))], rand.IntN(5))
		for _, name := range []andon.MetricName{"b#", "other", "temperature"} {
			if rand.IntN(2) == 0 {
				r.Metrics = append(r.Metrics, andon.Metric{Name: name, Value: rand.Float64()})
			}
		}
		if r.Metadata = ""; rand.IntN(2) == 0 {
			r.Metadata = `{"fw":1}`
		}
		if len(r.Metrics) > 0 {
			sent = append(sent, r)
		}
	}
	measure(t, s, sent...)
	id := andon.DefaultTenant
	latest := func(ctx context.Context) []andon.Reading {
		found, err := s.LatestReadings(ctx, id, devices, 0)
		if err != nil {
			t.Error(err)
		}
		return found
	}
	same(t, "the newest readings", latest(eventually(t.Context())), latest(t.Context()))
	for _, metric := range []andon.MetricName{"b#", "other"} {
		q := andon.MetricQuery{Metric: metric, Limit: 100}
		if metric == "b#" {
			q.Span = andon.Span{From: minute(1), To: minute(3)}
		}
		want := listOf(t, s.MetricReadings(t.Context(), id, q))
		got := metricPages(t, s, q)
		if metric != "other" && !slices.IsSortedFunc(got, newestFirst) {
			t.Errorf("%s: the list is not newest first: %+v", metric, got)
		}
		same(t, string(metric), byDevice(got), byDevice(want))
	}
}

// metricPages reads one metric eventually, five readings a page.
func metricPages(t *testing.T, s *Store, q andon.MetricQuery) (all []andon.MetricReading) {
	t.Helper()
	q.Limit = 5
	for {
		page := listOf(t, s.MetricReadings(eventually(t.Context()), andon.DefaultTenant, q))
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		last := page[len(page)-1].Position()
		q.After = &last
	}
}

func newestFirst(a, b andon.MetricReading) int { return int(b.Time - a.Time) }

// byDevice sorts a list as the table has it, and leaves out by what it was found.
func byDevice(all []andon.MetricReading) (lines []string) {
	for _, r := range all {
		lines = append(lines, fmt.Sprintf("%q %d %g", r.Device, r.Time, r.Value))
	}
	slices.Sort(lines)
	return lines
}

// TestSerialIndexesOfReadings: which index answers what, and that an answer which must be strong
// comes from none, though the index lags.
func TestSerialIndexesOfReadings(t *testing.T) {
	m, o := lagging(t, indexed(items.ProjectsMetrics))
	s := open(t, o)
	id, temperature := andon.DefaultTenant, andon.Metric{Name: "temperature", Value: 20}
	measure(t, s, reading("d1", 0, temperature))
	if err := m.catchUp(); err != nil {
		t.Fatal(err)
	}
	temperature.Value = 30
	measure(t, s, reading("d1", 1, temperature))
	latest := func(ctx context.Context) (value float64, from string) {
		from = asked(ctx, func(ctx context.Context) {
			found, err := s.LatestReadings(ctx, id, []andon.DeviceID{"d1"}, 0)
			if err != nil || len(found) != 1 {
				t.Fatalf("the newest readings are %+v, %v", found, err)
			}
			value = found[0].Metrics[0].Value
		})
		return value, from
	}
	metric := func(ctx context.Context) (n int, from string) {
		from = asked(ctx, func(ctx context.Context) {
			q := andon.MetricQuery{Metric: "temperature", Limit: 9}
			n = len(listOf(t, s.MetricReadings(ctx, id, q)))
		})
		return n, from
	}
	if value, from := latest(eventually(t.Context())); value != 20 ||
		!strings.Contains(from, "index "+items.IndexLatest) {
		t.Errorf("the index lags: %g, by\n%s", value, from)
	}
	if value, from := latest(t.Context()); value != 30 || strings.Contains(from, "index") {
		t.Errorf("the answer must be strong: %g, by\n%s", value, from)
	}
	if n, from := metric(eventually(t.Context())); n != 1 ||
		!strings.Contains(from, "index "+items.IndexMetric) {
		t.Errorf("the index lags: %d readings, by\n%s", n, from)
	}
	if n, from := metric(t.Context()); n != 2 || strings.Contains(from, "index") {
		t.Errorf("the answer must be strong: %d readings, by\n%s", n, from)
	}
	if err := s.Purge(t.Context(), id, "d1"); err != nil {
		t.Fatal(err)
	}
	of, err := s.tenant(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	// The index still has what was purged, and the device is read as it is.
	q := andon.MetricQuery{Metric: "temperature", Limit: 9}
	err = s.metricByTime(t.Context(), of, q, 0, func(r andon.MetricReading) bool {
		t.Errorf("it shows %+v, which was purged", r)
		return true
	})
	if err != nil {
		t.Error(err)
	}
	if err := m.catchUp(); err != nil {
		t.Fatal(err)
	}
	if n, _ := metric(eventually(t.Context())); n != 0 {
		t.Errorf("after the purge there are %d readings", n)
	}
}

// TestSerialMetricIndexLater: of tables that were there before, the index answers for readings of
// which all have its keys, and a process that would write none is refused.
func TestSerialMetricIndexLater(t *testing.T) {
	ct := newInitTest(t, enginetest.Moto(t))
	now := realClock()
	ct.Now = func() andon.Time { return now }
	ct.mustInit(adapter.Setup{})
	before := begin(t, ct.Options)
	end(t, before)
	old := ct.Options
	indexed(items.ProjectsMetrics)(&ct.Options)
	if _, err := Open(t.Context(), ct.Options); andon.KindOf(err) != andon.Invalid ||
		!strings.Contains(err.Error(), "lacks the index "+items.IndexLatest) {
		t.Errorf("before andon store init: %v", err)
	}
	reported := commands(t, ct.mustInit(adapter.Setup{}))
	changes := slices.DeleteFunc(reported, func(c string) bool {
		return strings.HasPrefix(c, "# ")
	})
	want := []string{"dynamodb update-table", "dynamodb update-table", "dynamodb put-item"}
	if !slices.Equal(changes, want) {
		t.Errorf("it does %q, want %q", changes, want)
	}
	for _, c := range commands(t, ct.mustInit(adapter.Setup{})) {
		if !strings.HasPrefix(c, "# ") {
			t.Errorf("a second time it does %q", c)
		}
	}
	if _, err := Open(t.Context(), old); andon.KindOf(err) != andon.Conflict ||
		!strings.Contains(err.Error(), "index the readings of temperature,b#") {
		t.Errorf("a process without the index: %v", err)
	}
	s := open(t, ct.Options)
	for from, want := range map[andon.Time]int{
		0: -1, now: -1, now.Add(items.UntilAllWrite): 0, now.Add(2 * items.UntilAllWrite): 0,
	} {
		q := andon.MetricQuery{Metric: "temperature", Span: andon.Span{From: from}}
		got, err := s.metricPlace(s.forReadings(eventually(t.Context())), &q)
		if err != nil || got != want {
			t.Errorf("from %s: %d, %v, want %d", from, got, err, want)
		}
	}
	ct.LatestIndex, ct.MetricIndex = items.ProjectsNone, nil
	kept := strings.Join(ct.mustInit(adapter.Setup{}), "\n")
	if !strings.Contains(kept, "--remove-indexes deletes it") {
		t.Errorf("of spare indexes it tells %q", kept)
	}
	ct.mustInit(adapter.Setup{RemoveIndexes: true})
	is := ct.describe(ct.Prefix + items.TableReadings)
	if len(is.GlobalSecondaryIndexes) != 0 {
		t.Errorf("after they were removed there are %+v", is.GlobalSecondaryIndexes)
	}
	end(t, begin(t, old))
}

// TestSerialMetricList: what can't be listed is refused with the reason.
func TestSerialMetricList(t *testing.T) {
	for text, want := range map[string]string{
		"a,b,a": `"a" twice`, "a,b,c,d,e,f,g,h,i": "9 metrics",
		strings.Repeat("x", 200): "can't be",
	} {
		e := NewEngine().(*Engine)
		e.MetricIndex = strings.Split(text, ",")
		if err := e.CheckMetrics(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
