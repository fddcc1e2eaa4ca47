package table_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/table"
)

// openData opens one of the real files, which are next to the repository and not in it.
func openData(t *testing.T, name string, o table.Options) *table.Table {
	t.Helper()
	path := filepath.Join("..", "..", "..", "..", "shared", "data", filepath.FromSlash(name))
	file, err := os.Open(path)
	if err != nil {
		t.Skipf("the real input %s is not next to this checkout: %v", name, err)
	}
	t.Cleanup(func() { file.Close() })
	tab, err := opened(file, o)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func allEvents(t *testing.T, tab *table.Table, m table.Mapping) []table.Item[andon.Event] {
	t.Helper()
	entries, err := tab.Events(m)
	return all(t, entries, err)
}

func allReadings(t *testing.T, tab *table.Table, m table.Mapping) []table.Item[andon.Reading] {
	t.Helper()
	entries, err := tab.Readings(m)
	return all(t, entries, err)
}

func all[T any](t *testing.T, entries table.Items[T], err error) (items []table.Item[T]) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for item, err := range entries {
		if err != nil || item.Bad != nil {
			t.Fatal(err, item.Bad)
		}
		items = append(items, item)
	}
	return items
}

func mustTime(t *testing.T, text string) andon.Time {
	t.Helper()
	at, err := andon.ParseTime(text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestDCMetro(t *testing.T) {
	all := allEvents(t, openData(t, "dcmetro/unit_statuses.csv.gz", table.Options{}), table.Mapping{
		Device: []string{"unit_id"}, Time: []string{"time"}, State: []string{"symptom_category"},
		Message: []string{"symptom_description"}, Attributes: []string{"update_type"},
	})
	if len(all) != 41_399 {
		t.Fatalf("%d events", len(all))
	}
	want := table.Item[andon.Event]{Index: 0, Line: 2, Value: andon.Event{
		Device: "A01E02ESCALATOR", Time: mustTime(t, "2013-06-01T16:38:21.475Z"), State: "ON",
		Message: "OPERATIONAL", Attributes: `{"update_type":"Update"}`,
	}}
	if diff := cmp.Diff(want, all[0]); diff != "" {
		t.Error(diff)
	}
	if last := all[len(all)-1]; last.Line != 41_400 {
		t.Errorf("the last row is in line %d", last.Line)
	}
}

func TestEnvSensor(t *testing.T) {
	tab := openData(t, "env_sensor/raw_data_large.json.gz", table.Options{Format: table.JSON})
	all := allReadings(t, tab, table.Mapping{
		Device: []string{"device_id"}, Time: []string{"ts"}, Metrics: []string{"data.*"},
		Metadata: []string{"device"}, Precision: andon.Seconds,
	})
	if len(all) != 9_995 {
		t.Fatalf("%d readings", len(all))
	}
	want := table.Item[andon.Reading]{Value: andon.Reading{
		Device: "5e:44:3b:f3:79:c8", Time: 1_594_598_735_772_776,
		Metadata: `{"device":"iot-device-02"}`,
		Metrics: andon.Metrics{
			{Name: "co", Value: 0.004532068199369834}, {Name: "humidity", Value: 58.20000076293945},
			{Name: "light", Value: 1}, {Name: "lpg", Value: 0.007171643599248804},
			{Name: "motion", Value: 0}, {Name: "smoke", Value: 0.019048703779119838},
			{Name: "temp", Value: 27},
		},
	}}
	if diff := cmp.Diff(want, all[0]); diff != "" {
		t.Error(diff)
	}
	for _, item := range all {
		if len(item.Value.Metrics) != 7 {
			t.Fatalf("entry %d has %d metrics", item.Index, len(item.Value.Metrics))
		}
	}
}

// TestKelmarsh has comments before the header, and rows of one second that only the code
// distinguishes.
func TestKelmarsh(t *testing.T) {
	m := table.Mapping{
		Device: []string{"=Kelmarsh 1"}, Time: []string{"Timestamp start"},
		Message: []string{"Message"}, Attributes: []string{"IEC category", "Timestamp end"},
	}
	identities := func(state ...string) (rows int, distinct map[andon.EventKey]bool) {
		const name = "kelmarsh/Status_Kelmarsh_1_sample_excerpt.csv"
		tab := openData(t, name, table.Options{Comments: true})
		m.State = state
		distinct = map[andon.EventKey]bool{}
		for _, item := range allEvents(t, tab, m) {
			distinct[item.Value.Key(andon.DefaultStates())] = true
			rows++
			if rows == 1 && (item.Line != 11 || item.Value.Device != "Kelmarsh 1") {
				t.Errorf("first row: %+v", item)
			}
		}
		return rows, distinct
	}
	rows, joined := identities("Status", "Code")
	if _, alone := identities("Status"); len(joined) != rows || len(alone) >= rows {
		t.Errorf("%d rows: %d identities joined, %d by status alone", rows, len(joined), len(alone))
	}
}

func TestNAB(t *testing.T) {
	tab := openData(t, "nab/machine_temperature_system_failure.csv", table.Options{})
	all := allReadings(t, tab, table.Mapping{
		Device: []string{"=machine"}, Time: []string{"timestamp"}, Metrics: []string{"value"},
	})
	if len(all) != 22_695 {
		t.Fatalf("%d readings", len(all))
	}
	stamps, backward := map[andon.Time]int{}, 0
	for i, item := range all {
		stamps[item.Value.Time]++
		if i > 0 && item.Value.Time < all[i-1].Value.Time {
			backward++
		}
	}
	twice := 0
	for _, n := range stamps {
		if n == 2 {
			twice++
		}
	}
	if twice != 12 || backward != 1 {
		t.Errorf("%d stamps with two values, %d jumps backward", twice, backward)
	}
}
