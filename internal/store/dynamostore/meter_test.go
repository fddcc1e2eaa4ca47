package dynamostore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// figures are what /metrics would have: name, labels, value.
func figures(s *Store) map[string]float64 {
	all := map[string]float64{}
	s.Figures(func(name, _ string, value float64, labels ...string) {
		all[fmt.Sprint(name, " ", strings.ReplaceAll(strings.Join(labels, " "),
			s.options.Prefix, ""))] = value
	})
	return all
}

// TestSerialFigures: what calls consume is counted by operation, table and index; each attempt that
// fails, and each call that fails after all of its attempts.
func TestSerialFigures(t *testing.T) {
	p, o := behindProxy(t)
	s := open(t, o)
	send := func(n int) error {
		return s.Append(t.Context(), andon.DefaultTenant, minute(n), []andon.Event{
			{Device: "d", Time: minute(n), State: "NORMAL", Operator: "Liz"},
		})
	}
	p.inject(fault{operation: "BatchWriteItem", times: 2, do: throttleKey})
	p.inject(fault{operation: "PutItem", times: 1, do: serverError})
	if err := send(1); err != nil {
		t.Fatal(err)
	}
	listOf(t, s.OperatorEvents(t.Context(), andon.DefaultTenant, "Liz", andon.EventQuery{Limit: 9}))
	const some = 0.5 // the least that a call consumes, or more
	want := func(of map[string]float64) {
		t.Helper()
		got := figures(s)
		for name, value := range of {
			if got[name] != value && (value != some || got[name] < some) {
				t.Errorf("%s is %v, want %v", name, got[name], value)
			}
		}
	}
	const units = "consumed_units_total operation %s table %s index %s"
	want(map[string]float64{
		"attempts_failed_total reason throttled":                             2,
		"attempts_failed_total reason system_errors":                         1,
		"throttled_total ":                                                   0,
		"system_errors_total ":                                               0,
		fmt.Sprintf(units, "BatchWriteItem", "DeviceStateLog", ""):           some,
		fmt.Sprintf(units, "PutItem", "Devices", ""):                         some,
		fmt.Sprintf(units, "Query", "DeviceStateLog", items.IndexOperator):   some,
		fmt.Sprintf(units, "BatchGetItem", "Devices", ""):                    some,
		fmt.Sprintf(units, "BatchWriteItem", "Records", items.IndexOperator): 0,
	})
	const attempts = 6
	p.inject(fault{operation: "BatchWriteItem", times: attempts, do: throttleKey})
	if err := send(2); andon.KindOf(err) != andon.Busy {
		t.Errorf("throttled each time: %v, want Busy", err)
	}
	p.inject(fault{operation: "BatchWriteItem", times: attempts, do: serverError})
	if err := send(2); andon.KindOf(err) != andon.Unavailable {
		t.Errorf("an error each time: %v, want Unavailable", err)
	}
	want(map[string]float64{
		"attempts_failed_total reason throttled":     2 + attempts,
		"attempts_failed_total reason system_errors": 1 + attempts,
		"throttled_total ":                           1,
		"system_errors_total ":                       1,
	})
}
