package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/plan"
)

// fleet is the traffic as flags and a file say it.
type fleet struct {
	traffic plan.Traffic
	stores  []string
	region  string
}

func newFleet() *fleet {
	const day = 24 * time.Hour
	return &fleet{
		traffic: plan.Traffic{
			Devices: 10_000, Interval: 5 * time.Minute, EventBytes: 300, Changes: 0.1,
			Metrics: 3, Retention: 30 * day, ReadingsRetention: 30 * day, Peak: 3, Batch: 1,
			DevicesOfOperator: 100, LargestState: 0.95, Tenants: 1, Replication: 3,
			Escalated: 0.01, Assigned: 0.01, Boards: 1,
			Queries: map[string]float64{
				plan.AskDevice: 10, plan.AskLog: 1, plan.AskList: 1, plan.AskOperator: 0.1,
				plan.AskReading: 1, plan.AskFleet: 0.001,
			},
		},
		stores: []string{"all"}, region: "us-east-1",
	}
}

func (f *fleet) group() config.Group {
	return config.Group{Settings: slices.Concat(f.ofEvents(), f.ofReadings(), f.ofPeople(),
		f.ofPlan())}
}

func setting(key string, value config.Value, help string) config.Setting {
	return config.Setting{Key: key, Value: value, Help: help}
}

func (f *fleet) ofEvents() []config.Setting {
	t := &f.traffic
	return []config.Setting{
		setting("devices", config.Count(&t.Devices), "devices of the fleet"),
		setting("interval", config.Span(&t.Interval, time.Millisecond).OrNone(),
			"time between two events of a device; \"\": it sends readings alone"),
		setting("event_bytes", config.Count(&t.EventBytes), "bytes of an event as JSON"),
		setting("changes", share(&t.Changes),
			"share of the events that change the device's state"),
		setting("retention", config.Span(&t.Retention, time.Hour).That(f.ends),
			"how long events are kept"),
		setting("peak", number(t.Peak, 1, func(x float64) { t.Peak = x }),
			"how many times the average comes at the peak"),
		setting("batch", config.Count(&t.Batch),
			"events, or readings, that come in one request, of as many devices"),
	}
}

// ends limits the retention to what a plan can add up.
func (f *fleet) ends() error {
	const most = 100 * 365 * 24 * time.Hour
	if f.traffic.Retention > most || f.traffic.ReadingsRetention > most {
		return fmt.Errorf("is more than 36500d")
	}
	return nil
}

func (f *fleet) ofReadings() []config.Setting {
	t := &f.traffic
	return []config.Setting{
		setting("readings_interval", config.Span(&t.ReadingsEvery, time.Millisecond).OrNone(),
			"time between two readings of a device; none unless set"),
		setting("metrics", config.Count(&t.Metrics).That(f.mostMetrics), "metrics of a reading"),
		setting("readings_retention", config.Span(&t.ReadingsRetention, time.Hour).That(f.ends),
			"how long readings are kept"),
	}
}

func (f *fleet) mostMetrics() error {
	if f.traffic.Metrics > andon.MaxMetrics {
		return fmt.Errorf("%d is more than %d, the most that a reading may have",
			f.traffic.Metrics, andon.MaxMetrics)
	}
	return nil
}

func (f *fleet) ofPeople() []config.Setting {
	t := &f.traffic
	settings := []config.Setting{
		setting("tenants", config.Count(&t.Tenants), "tenants that share the devices"),
		setting("devices_of_operator", config.Count(&t.DevicesOfOperator),
			"devices that one operator answers for"),
		setting("largest_state", share(&t.LargestState),
			"share of the devices that are in the state with the most"),
		setting("escalated", share(&t.Escalated),
			"share of the changes of state after which an entry is escalated"),
		setting("assigned", share(&t.Assigned),
			"share of the changes of state after which an operator is assigned"),
		setting("boards", number(t.Boards, 0, func(x float64) { t.Boards = x }),
			"boards and streams of a tenant that are open, on average"),
	}
	for _, name := range []string{
		plan.AskDevice, plan.AskLog, plan.AskList, plan.AskOperator, plan.AskReading,
		plan.AskFleet,
	} {
		settings = append(settings, setting("ask_"+name,
			number(t.Queries[name], 0, func(x float64) { t.Queries[name] = x }),
			"how often a second is asked for "+plan.QueryNames()[name]))
	}
	return settings
}

func (f *fleet) ofPlan() []config.Setting {
	return []config.Setting{
		setting("replication", config.Count(&f.traffic.Replication),
			"replicas of each row, of a cluster"),
		setting("survive", isWord(&f.traffic.Survive, "nothing", "machine"),
			"machine: the store must go on while a machine is down"),
		setting("routing", isWord(&f.traffic.Routed, "any", "device"),
			"device: all messages of a device go to one process of Andon; any: to any, as a load "+
				"balancer sends them"),
		setting("region", config.Given(&f.region), "region of the prices"),
		setting("store", config.List(&f.stores), "stores to plan, or all"),
	}
}

// isWord is true for one of two words; the other is the default.
func isWord(to *bool, other, word string) config.Value {
	is := other
	return config.Choice(&is, other, word).That(func() error {
		*to = is == word
		return nil
	})
}

// share is a part of a whole: 10%, or 0.1.
func share(to *float64) config.Value {
	text := strconv.FormatFloat(*to*100, 'f', -1, 64) + "%"
	return config.Text(&text).That(func() error {
		digits, percent := strings.CutSuffix(text, "%")
		x, err := strconv.ParseFloat(digits, 64)
		if percent {
			x /= 100
		}
		if err != nil || !(x >= 0 && x <= 1) {
			return fmt.Errorf("%q is not a share of the form 10%% or 0.1", text)
		}
		*to = x
		return nil
	})
}

// number is a number of at least so much.
func number(from, least float64, take func(float64)) config.Value {
	text := strconv.FormatFloat(from, 'f', -1, 64)
	return config.Text(&text).That(func() error {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= least && x <= 1e9) {
			return fmt.Errorf("%q is not a number from %g on", text, least)
		}
		take(x)
		return nil
	})
}
