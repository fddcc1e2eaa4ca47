package test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

const keepsAll = `{"retention":{"events":"forever","readings":"forever"}}`

// sensorReadings returns the readings of the sensors by device, oldest first.
func sensorReadings(t *testing.T) map[andon.DeviceID][]andon.Reading {
	t.Helper()
	var messages []struct {
		Data   map[string]any
		Device andon.DeviceID `json:"device_id"`
		TS     json.Number
	}
	text := readData(t, "env_sensor/raw_data_large.json.gz")
	if err := json.Unmarshal(text, &messages); err != nil {
		t.Fatal(err)
	}
	byDevice := map[andon.DeviceID][]andon.Reading{}
	for _, m := range messages {
		at, err := andon.ParseEpoch(m.TS.String(), andon.Seconds)
		if err != nil {
			t.Fatal(err)
		}
		r := andon.Reading{Device: m.Device, Time: at}
		for name, value := range m.Data {
			m := andon.Metric{Name: andon.MetricName(name), Value: number(value)}
			r.Metrics = append(r.Metrics, m)
		}
		if r.Metrics, err = r.Metrics.Sorted(); err != nil {
			t.Fatal(err)
		}
		byDevice[m.Device] = append(byDevice[m.Device], r)
	}
	for _, readings := range byDevice {
		slices.SortFunc(readings, func(a, b andon.Reading) int { return int(a.Time - b.Time) })
	}
	return byDevice
}

// number is a metric as DESIGN §2.12 has it: true and false are 1 and 0.
func number(value any) float64 {
	switch v := value.(type) {
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
	}
	return 0
}

func TestSerialEnvSensor(t *testing.T) {
	path := data(t, "env_sensor/raw_data_large.json.gz")
	want := sensorReadings(t)
	onEachStore(t, func(t *testing.T, s *server) {
		c := s.tenant(t, "sensors", keepsAll)
		for range 2 { // an import can be repeated
			out, _ := s.imported(t, 0, path, "--tenant", "sensors", "--device", "device_id",
				"--time", "ts", "--precision", "s", "--metrics", "data.*")
			if !strings.HasPrefix(out, "imported 9995, rejected 0 of ") {
				t.Errorf("import said %q", out)
			}
		}
		checkLatest(t, c, want)
		checkRange(t, c, want)
		checkMetric(t, c, want, "temp")
		checkMetric(t, c, want, "motion")
	})
}

// checkLatest asks for all three devices and one that is not there in one call.
func checkLatest(t *testing.T, c *client.Client, want map[andon.DeviceID][]andon.Reading) {
	t.Helper()
	ids := []andon.DeviceID{"nobody"}
	newest := map[andon.DeviceID]andon.Reading{}
	for id, readings := range want {
		ids = append(ids, id)
		newest[id] = readings[len(readings)-1]
	}
	latest, missing, err := c.LatestReadings(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	got := map[andon.DeviceID]andon.Reading{}
	for _, r := range latest {
		got[r.Device] = r
	}
	if diff := cmp.Diff(newest, got); diff != "" || len(newest) != 3 {
		t.Errorf("the latest of %d devices (-want +got):\n%s", len(newest), diff)
	}
	if diff := cmp.Diff([]andon.DeviceID{"nobody"}, missing); diff != "" {
		t.Error(diff)
	}
}

// checkRange asks for the readings of a device between two of them, both included, in both orders.
func checkRange(t *testing.T, c *client.Client, want map[andon.DeviceID][]andon.Reading) {
	t.Helper()
	for id, readings := range want {
		part := slices.Clone(readings[100:1500])
		q := client.Query{From: part[0].Time, To: part[len(part)-1].Time, Order: andon.Asc}
		if diff := cmp.Diff(part, collect(t, c.DeviceReadings(t.Context(), id, q))); diff != "" {
			t.Errorf("%s, oldest first (-want +got):\n%s", id, diff)
		}
		q.Order = andon.Desc
		slices.Reverse(part)
		for i := range part {
			part[i].Metrics = part[i].Metrics.Only([]andon.MetricName{"co", "temp"})
		}
		got := collect(t, c.DeviceReadings(t.Context(), id, q, "co", "temp"))
		if diff := cmp.Diff(part, got); diff != "" {
			t.Errorf("%s, newest first (-want +got):\n%s", id, diff)
		}
	}
}

// checkMetric asks for one metric across devices: within a device newest first.
func checkMetric(
	t *testing.T, c *client.Client,
	want map[andon.DeviceID][]andon.Reading, metric andon.MetricName,
) {
	t.Helper()
	byDevice := map[andon.DeviceID][]andon.MetricReading{}
	got := map[andon.DeviceID][]andon.MetricReading{}
	for id, readings := range want {
		for _, r := range slices.Backward(readings) {
			if v, ok := r.Metrics.Get(metric); ok {
				m := andon.MetricReading{Device: id, Time: r.Time, Value: v}
				byDevice[id] = append(byDevice[id], m)
			}
		}
	}
	for _, r := range collect(t, c.MetricReadings(t.Context(), metric, client.Query{})) {
		got[r.Device] = append(got[r.Device], r)
	}
	if diff := cmp.Diff(byDevice, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", metric, diff)
	}
}

// TestSerialNAB: the clock of the machine jumps back by 55 minutes, so 12 stamps have two values. A
// reading is (device, time): of two values at one time the later in the file wins.
func TestSerialNAB(t *testing.T) {
	path := data(t, "nab/machine_temperature_system_failure.csv")
	rows, err := csv.NewReader(bytes.NewReader(
		readData(t, "nab/machine_temperature_system_failure.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	last := map[andon.Time]float64{}
	for _, row := range rows[1:] {
		if last[parseTime(t, row[0])], err = strconv.ParseFloat(row[1], 64); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(rows) - 1 - len(last); n != 12 {
		t.Fatalf("%d stamps have two values, want 12", n)
	}
	onEachStore(t, func(t *testing.T, s *server) {
		c := s.tenant(t, "nab", keepsAll)
		out, _ := s.imported(t, 0, path, "--tenant", "nab", "--device", "=machine",
			"--time", "timestamp", "--metrics", "value")
		if !strings.HasPrefix(out, "imported 22695, rejected 0 of ") {
			t.Errorf("import said %q", out)
		}
		got := map[andon.Time]float64{}
		for _, r := range collect(t, c.DeviceReadings(t.Context(), "machine", client.Query{})) {
			got[r.Time], _ = r.Metrics.Get("value")
		}
		if diff := cmp.Diff(last, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
