package test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// modelItems reads the items of a NoSQL Workbench model: every attribute is {"S": text}.
func modelItems(t *testing.T, name string) []map[string]struct{ S string } {
	t.Helper()
	var model struct {
		DataModel []struct {
			TableData []map[string]struct{ S string }
		}
	}
	if err := json.Unmarshal(readData(t, name), &model); err != nil {
		t.Fatal(err)
	}
	return model.DataModel[0].TableData
}

// TestDeviceStateLog asks the questions of the reference and compares with the answers that its
// README was given by hand.
func TestDeviceStateLog(t *testing.T) {
	items := modelItems(t, "devicestatelog/DeviceStateLog_7.json")
	onEachStore(t, func(t *testing.T, s *server) {
		var body strings.Builder
		for _, item := range items {
			fmt.Fprintf(&body,
				`{"device":%q,"time":%q,"state":%q,"operator":%q,"escalated_to":%q}`+"\n",
				item["DeviceID"].S, item["Date"].S, item["State"].S, item["Operator"].S,
				item["EscalatedTo"].S)
		}
		for range 2 { // the second delivery changes nothing
			s.send(t, "POST", "/api/v1/events", "application/x-ndjson", body.String())
		}
		for _, q := range deviceStateLogAnswers {
			t.Run(strings.ReplaceAll(q.path, "/", " "), func(t *testing.T) {
				if diff := cmp.Diff(q.want, s.entries(t, q.path)); diff != "" {
					t.Error(diff)
				}
			})
		}
	})
}

var deviceStateLogAnswers = []struct {
	path string
	want []string
}{
	{"devices/d%2312345/events?state=WARNING1", []string{
		"d#12345 WARNING1 2020-04-24T14:50:00Z", "d#12345 WARNING1 2020-04-24T14:45:00Z",
		"d#12345 WARNING1 2020-04-24T14:40:00Z",
	}},
	{"devices/d%2312345/events", []string{
		"d#12345 NORMAL 2020-04-24T14:55:00Z", "d#12345 WARNING1 2020-04-24T14:50:00Z",
		"d#12345 WARNING1 2020-04-24T14:45:00Z", "d#12345 WARNING1 2020-04-24T14:40:00Z",
	}},
	{"devices/d%2354321/events?state=WARNING*", []string{
		"d#54321 WARNING2 2020-04-11T09:25:00Z", "d#54321 WARNING3 2020-04-11T05:55:00Z",
		"d#54321 WARNING3 2020-04-11T05:50:00Z",
	}},
	{"operators/Liz/events?from=2020-04-20&to=2020-04-25", []string{
		"d#12345 NORMAL 2020-04-24T14:55:00Z", "d#12345 WARNING1 2020-04-24T14:50:00Z",
		"d#12345 WARNING1 2020-04-24T14:45:00Z", "d#12345 WARNING1 2020-04-24T14:40:00Z",
	}},
	{"operators/Liz/events?from=2020-04-11&to=2020-04-24", []string{ // whole days: 6, not 2
		"d#12345 NORMAL 2020-04-24T14:55:00Z", "d#12345 WARNING1 2020-04-24T14:50:00Z",
		"d#12345 WARNING1 2020-04-24T14:45:00Z", "d#12345 WARNING1 2020-04-24T14:40:00Z",
		"d#54321 NORMAL 2020-04-11T06:00:00Z", "d#54321 WARNING3 2020-04-11T05:55:00Z",
	}},
	{"operators/Liz/events?from=2020-04-11T05:58:00&to=2020-04-24T14:50:00", []string{
		"d#12345 WARNING1 2020-04-24T14:50:00Z", "d#12345 WARNING1 2020-04-24T14:45:00Z",
		"d#12345 WARNING1 2020-04-24T14:40:00Z", "d#54321 NORMAL 2020-04-11T06:00:00Z",
	}},
	{"supervisors/Sara/events", []string{"d#11223 WARNING4 2020-04-27T16:15:00Z"}},
	{"supervisors/Sara/events?state=WARNING4", []string{"d#11223 WARNING4 2020-04-27T16:15:00Z"}},
	{"supervisors/Sara/events?date=2020-04-27", []string{"d#11223 WARNING4 2020-04-27T16:15:00Z"}},
	{"supervisors/Sara/events?state=WARNING3", []string{}},
	{"devices", []string{
		"d#11223 WARNING4 2020-04-27T16:15:00Z", "d#12345 NORMAL 2020-04-24T14:55:00Z",
		"d#54321 NORMAL 2020-04-11T09:30:00Z",
	}},
	{"devices?state=WARNING4&escalated_to=Sara", []string{"d#11223 WARNING4 2020-04-27T16:15:00Z"}},
}

// entries asks for a list and returns "device state time" of each item.
func (s *server) entries(t *testing.T, path string) []string {
	t.Helper()
	var answer struct {
		Items []struct{ Device, State, Time string }
	}
	text := s.send(t, "GET", "/api/v1/"+path, "", "")
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	entries := []string{}
	for _, i := range answer.Items {
		entries = append(entries, i.Device+" "+i.State+" "+i.Time)
	}
	return entries
}
