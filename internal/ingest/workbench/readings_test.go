package workbench_test

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/workbench"
)

func someReadings() []andon.Reading {
	return []andon.Reading{
		{Device: "d", Time: refilledAt, Metrics: andon.Metrics{{Name: "a", Value: 21.5},
			{Name: "b", Value: -1e-7}}, Metadata: `{"fw":"1.2"}`},
		{Device: "e", Time: refilledAt + 1, Metrics: andon.Metrics{{Name: "c", Value: 1e125}}},
	}
}

func writeReadings(t *testing.T, all []andon.Reading) string {
	t.Helper()
	w, err := writerOf(true, refilledAt)
	if err != nil {
		t.Fatal(err)
	}
	return written(t, w, all)
}

func written(t *testing.T, w *workbench.Writer, all []andon.Reading) string {
	t.Helper()
	for i := range all {
		if err := w.AddReading(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := w.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func readings(m *workbench.Model) (all []andon.Reading) {
	for i := range m.Readings {
		all = append(all, m.Readings[i].Value)
	}
	return all
}

// TestReadingsComeBack: items of the time-series guide are readings, and readings are such items.
func TestReadingsComeBack(t *testing.T) {
	want := someReadings()
	m := parse(t, writeReadings(t, want))
	if diff := cmp.Diff(want, readings(m)); diff != "" {
		t.Error(diff)
	}
	if len(m.Items)+len(m.Rejected)+len(m.Notes) > 0 {
		t.Errorf("it has %v, rejected %v, notes %v", m.Items, m.Rejected, m.Notes)
	}
	again, err := m.Refill(true, refilledAt)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[1:], readings(parse(t, written(t, again, want[1:])))); diff != "" {
		t.Error(diff)
	}
}

// TestReadingsNextToALog: items are counted over all tables, and one that is no reading says why.
func TestReadingsNextToALog(t *testing.T) {
	const keys = `"KeyAttributes": {"PartitionKey": {"AttributeName": "deviceId", ` +
		`"AttributeType": "S"}, "SortKey": {"AttributeName": "timestamp", "AttributeType": "S"}}`
	m, err := workbench.Parse(`{"DataModel": [{"TableName": "T", ` + keys + `, "TableData": [
		{"deviceId": {"S": "d"}, "timestamp": {"S": "2025-12-04T12:34:56Z"},
			"temperature": {"N": "21.5"}, "metadata": {"S": "{\"fw\":1}"}, "ttl": {"N": "9"}},
		{"deviceId": {"S": "d"}, "temperature": {"N": "21.5"}},
		{"deviceId": {"S": "d"}, "timestamp": {"S": "soon"}, "temperature": {"N": "1"}},
		{"deviceId": {"S": "d"}, "timestamp": {"S": "2025-12-04T12:34:56Z"}, "fw": {"S": "x"}}
	]}, {"TableName": "L", "NonKeyAttributes": [{"AttributeName": "DeviceID"},
		{"AttributeName": "State#Date"}], "TableData": [
		{"DeviceID": {"S": "d"}, "State#Date": {"S": "ON#2025-12-04"}}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	at, _ := andon.ParseTime("2025-12-04T12:34:56Z")
	want := []ingest.Item[andon.Reading]{{Value: andon.Reading{
		Device: "d", Time: at, Metrics: andon.Metrics{{Name: "temperature", Value: 21.5}},
		Metadata: `{"fw":1}`,
	}}}
	if diff := cmp.Diff(want[0].Value, m.Readings[0].Value); diff != "" || len(m.Readings) != 1 {
		t.Error(diff, len(m.Readings))
	}
	if len(m.Items) != 1 || m.Items[0].Index != 4 {
		t.Errorf("the log has %+v", m.Items)
	}
	var got []string
	for _, r := range m.Rejected {
		got = append(got, r.Error)
	}
	if diff := cmp.Diff([]string{
		`table "T", item 1: timestamp is missing`,
		`table "T", item 2: time "soon" is not RFC 3339, such as 2026-11-20T06:00:00Z`,
		`table "T", item 3: there is no metric`,
	}, got); diff != "" {
		t.Error(diff)
	}
}

// TestReadingsRefused: a metric whose name the table has for something else has no place in it.
func TestReadingsRefused(t *testing.T) {
	for _, name := range []andon.MetricName{"ttl", "deviceId", "timestamp", "metadata",
		"metricType"} {
		w, err := writerOf(true, refilledAt)
		if err != nil {
			t.Fatal(err)
		}
		r := andon.Reading{Device: "d", Time: refilledAt, Metrics: andon.Metrics{{Name: name}}}
		if err := w.AddReading(&r); err == nil ||
			!strings.HasPrefix(err.Error(), `the metric "`+string(name)+`" of device "d" at `) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parse(t, write(t, nil)).Refill(true, refilledAt); err == nil {
		t.Error("a log takes readings")
	}
}

// TestSample: items as Workbench imports them into a table, with the names of attributes.
func TestSample(t *testing.T) {
	w, err := writerOf(false, refilledAt)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range logged(`{"n":1.50,"b":true,"m":{"x":"y, \"z\""}}`, `{"n":2}`) {
		if err := w.Add(&e); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := w.WriteSample(&out); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{
		{"DeviceID", "State#Date", "Operator", "Date", "State", "EscalatedTo", "n", "b", "m"},
		{"d", "NORMAL#1970-01-02T00:00:00", "", "1970-01-02T00:00:00", "NORMAL", "", "1.50", "true",
			`{"M":{"x":{"S":"y, \"z\""}}}`},
		{"d", "NORMAL#1970-01-02T00:00:01", "", "1970-01-02T00:00:01", "NORMAL", "", "2", "", ""},
	}, got); diff != "" {
		t.Error(diff)
	}
}
