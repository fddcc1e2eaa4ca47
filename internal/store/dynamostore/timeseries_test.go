package dynamostore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/dynamostore/reference"
	"github.com/andonhq/andon/internal/store/memstore"
)

// openSeries makes a table of the guide to time series, with both indexes, and opens it.
func openSeries(t *testing.T) (*reference.Readings, *dynamodb.Client) {
	t.Helper()
	service := enginetest.DynamoDB(t)
	o := defaults()
	o.Now, o.Endpoint, o.Key, o.Secret = realClock, service.URL, "any", "any"
	o.Layout, o.Table = layoutSeries, fmt.Sprintf("Readings_%08x", rand.Uint32())
	o.LatestIndex, o.MetricIndex = items.ProjectsAll, []string{"temperature"}
	if err := Init(t.Context(), o, adapter.Setup{}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	s, err := openGuide(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*reference.Readings), rawClient(t, service.URL)
}

// TestSerialSeries: items that others wrote are readings, and a reading is such an item.
func TestSerialSeries(t *testing.T) {
	s, raw := openSeries(t)
	ctx, def := t.Context(), andon.DefaultTenant
	put := func(at, metadata string, metrics ...string) {
		i := items.ReadingKeys().Item("s1", at)
		i.SetText("metadata", metadata)
		i.SetText("location", "hall")
		i["ttl"] = ddb.Number(9)
		for n := 0; n < len(metrics); n += 2 {
			i[metrics[n]] = &types.AttributeValueMemberN{Value: metrics[n+1]}
		}
		_, err := raw.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Table, Item: i})
		if err != nil {
			t.Fatal(err)
		}
	}
	put("2025-12-04T12:34:56Z", `{"fw":"1.2"}`, "temperature", "21.5")
	put("2025-12-04T12:34:56.5Z", "plain", "temperature", "22")
	put("2025-12-04T12:34:56.50Z", "", "humidity", "40")
	put("2025-12-04T12:34:57Z", "")
	at := func(text string) andon.Time {
		at, err := andon.ParseTime(text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	late := at("2025-12-04T12:34:56.25Z")
	own := andon.Reading{Device: "s1", Time: late, Metadata: `{"x":1}`,
		Metrics: andon.Metrics{{Name: "temperature", Value: -1e-7}}}
	joined := andon.Reading{Device: "s1", Time: late,
		Metrics: andon.Metrics{{Name: "humidity", Value: 3}}}
	for _, r := range []andon.Reading{own, joined, own} {
		if err := s.AppendReadings(ctx, def, late, []andon.Reading{r}); err != nil {
			t.Fatal(err)
		}
	}
	const want = `s1 2025-12-04T12:34:56Z [{temperature 21.5}] {"fw":"1.2"}
s1 2025-12-04T12:34:56.25Z [{humidity 3} {temperature -1e-07}] {"x":1}
s1 2025-12-04T12:34:56.5Z [{humidity 40} {temperature 22}] {"metadata":"plain"}
`
	var got strings.Builder
	for r, err := range s.DeviceReadings(ctx, def, "s1", andon.ReadingQuery{
		Order: andon.Asc, Limit: 10,
	}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&got, r.Device, r.Time, r.Metrics, r.Metadata)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
	key := items.ReadingKeys().Item("s1", "2025-12-04T12:34:56.25Z")
	out, err := raw.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.Table, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if got := ddb.Item(out.Item); got.Text("metricType") != "temperature" ||
		got.Int("ttl") != late.Std().Unix()+30*24*3600+1 || len(got) != 7 {
		t.Errorf("it is stored as %v", got)
	}
}

// TestSerialSeriesExpires: a sweep deletes what has expired, also what others wrote.
func TestSerialSeriesExpires(t *testing.T) {
	s, raw := openSeries(t)
	ctx, def, now := t.Context(), andon.DefaultTenant, realClock()
	old := items.ReadingKeys().Item("s1", "2020-01-01T00:00:00Z")
	old["a"] = ddb.Number(1)
	odd := items.ReadingKeys().Item("config", "shards")
	for _, i := range []ddb.Item{old, odd} {
		_, err := raw.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Table, Item: i})
		if err != nil {
			t.Fatal(err)
		}
	}
	fresh := andon.Reading{Device: "s1", Time: now, Metrics: andon.Metrics{{Name: "a", Value: 1}}}
	if err := s.AppendReadings(ctx, def, now, []andon.Reading{fresh}); err != nil {
		t.Fatal(err)
	}
	record, err := s.Tenant(ctx, def)
	if err != nil {
		t.Fatal(err)
	}
	deleted, err := s.Sweep(ctx, def, record.Horizon(now))
	if err != nil || deleted != 1 {
		t.Errorf("a sweep deletes %d, %v, want 1", deleted, err)
	}
	left, err := raw.Scan(ctx, &dynamodb.ScanInput{TableName: &s.Table})
	if err != nil || len(left.Items) != 2 {
		t.Errorf("there are left %v, %v", left.Items, err)
	}
	latest, err := s.LatestReadings(ctx, def, []andon.DeviceID{"config", "s1"}, 0)
	if err != nil || len(latest) != 1 || latest[0].Device != "s1" {
		t.Errorf("next to an item without a time: %v, %v", latest, err)
	}
	for _, err := range s.DeviceEvents(ctx, def, "s1", andon.EventQuery{Limit: 1}) {
		if andon.KindOf(err) != andon.Unsupported {
			t.Errorf("events are served: %v", err)
		}
	}
}

// TestSerialSeriesHistories appends random readings in any order to a table and to the reference
// store, and compares what both answer.
func TestSerialSeriesHistories(t *testing.T) {
	s, _ := openSeries(t)
	ctx, def := t.Context(), andon.DefaultTenant
	seed := uint64(rand.Uint32())
	r, want := rand.New(rand.NewPCG(seed, 0)), memstore.New()
	devices := []andon.DeviceID{"a", "b", "c#1"}
	at := func() andon.Time { return minute(r.IntN(3)) + andon.Time(r.IntN(5)*250_000) }
	for range 12 {
		var sent []andon.Reading
		for range 1 + r.IntN(5) {
			one := andon.Reading{Device: devices[r.IntN(3)], Time: at()}
			for _, name := range []andon.MetricName{"humidity", "temperature"} {
				if r.IntN(2) == 0 || name == "temperature" && one.Metrics == nil {
					m := andon.Metric{Name: name, Value: float64(r.IntN(100))}
					one.Metrics = append(one.Metrics, m)
				}
			}
			sent = append(sent, one)
		}
		for _, s := range []andon.Store{s, want} {
			if err := s.AppendReadings(ctx, def, minute(9), sent); err != nil {
				t.Fatal(err)
			}
		}
	}
	answers := func(s andon.Store) string {
		r := rand.New(rand.NewPCG(seed, 1))
		var text strings.Builder
		for range 40 {
			q := andon.ReadingQuery{Limit: 1 + r.IntN(6), Order: andon.Order(r.IntN(2))}
			if r.IntN(2) == 0 {
				q.Span = andon.Span{From: minute(r.IntN(3)), To: minute(r.IntN(3)) + 750_000}
			}
			if r.IntN(3) == 0 {
				q.After = minute(r.IntN(3)) + andon.Time(r.IntN(5)*250_000)
			}
			if r.IntN(3) == 0 {
				q.Metrics = []andon.MetricName{"humidity"}
			}
			all, err := seq.Collect(s.DeviceReadings(ctx, def, devices[r.IntN(3)], q))
			fmt.Fprintln(&text, q, all, err)
			all, err = s.LatestReadings(ctx, def, devices, minute(r.IntN(3)))
			fmt.Fprintln(&text, all, err)
		}
		return text.String()
	}
	if diff := cmp.Diff(answers(want), answers(s)); diff != "" {
		t.Errorf("seed %d: %s", seed, diff)
	}
	compareMetric(t, s, want)
}

// compareMetric pages through what MetricGSI has of a metric, newest first.
func compareMetric(t *testing.T, s, want andon.Store) {
	t.Helper()
	ctx, def := t.Context(), andon.DefaultTenant
	all := map[string]bool{}
	one := andon.MetricQuery{Metric: "temperature", Limit: 1000}
	for m, err := range want.MetricReadings(ctx, def, one) {
		if err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprint(m.Device, m.Time, m.Value)] = true
	}
	q, last := andon.MetricQuery{Metric: "temperature", Limit: 2}, andon.MaxTime
	for {
		page, err := seq.Collect(s.MetricReadings(ctx, def, q))
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			m := &page[i]
			is := fmt.Sprint(m.Device, m.Time, m.Value)
			if !all[is] || m.Time > last {
				t.Errorf("%s is not one more in order", is)
			}
			delete(all, is)
			last = m.Time
			position := m.Position()
			q.After = &position
		}
		if len(page) < q.Limit {
			break
		}
	}
	if len(all) > 0 {
		t.Errorf("MetricGSI lacks %v", all)
	}
}
