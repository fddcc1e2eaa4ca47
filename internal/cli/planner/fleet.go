package planner

import (
	"fmt"
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
	survive string
	routing string
}

// What a plan must survive.
const (
	surviveNothing = "nothing"
	surviveMachine = "machine"
)

// How the messages of a device reach the processes.
const (
	routingAny    = "any"
	routingDevice = "device"
)

// newFleet is a fleet with the defaults.
func newFleet() *fleet {
	const day = 24 * time.Hour
	f := &fleet{
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
		stores: []string{"all"}, region: "us-east-1", survive: surviveNothing,
		routing: routingAny,
	}
	return f
}

// group are the settings of a fleet.
func (f *fleet) group() config.Group {
	settings := append(f.ofEvents(), f.ofReadings()...)
	settings = append(settings, f.ofPeople()...)
	return config.Group{Settings: append(settings, f.ofPlan()...)}
}

func (f *fleet) ofEvents() []config.Setting {
	t := &f.traffic
	return []config.Setting{
		{Key: "devices", Value: config.Count(&t.Devices), Help: "devices of the fleet"},
		{Key: "interval", Value: config.Span(&t.Interval, time.Millisecond),
			Help: "time between two events of a device"},
		{Key: "event_bytes", Value: config.Count(&t.EventBytes),
			Help: "bytes of an event as JSON"},
		{Key: "changes", Value: share(&t.Changes),
			Help: "share of the events that change the device's state"},
		{Key: "retention", Value: config.Span(&t.Retention, time.Hour).That(f.ends),
			Help: "how long events are kept"},
		{Key: "peak", Value: number(t.Peak, 1, func(x float64) { t.Peak = x }),
			Help: "how many times the average comes at the peak"},
		{Key: "batch", Value: config.Count(&t.Batch),
			Help: "events, or readings, that come in one request, of as many devices"},
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
		{Key: "readings_interval",
			Value: config.Span(&t.ReadingsEvery, time.Millisecond).OrNone(),
			Help:  "time between two readings of a device; none unless set"},
		{Key: "metrics", Value: config.Count(&t.Metrics).That(f.mostMetrics),
			Help: "metrics of a reading"},
		{Key: "readings_retention",
			Value: config.Span(&t.ReadingsRetention, time.Hour).That(f.ends),
			Help:  "how long readings are kept"},
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
		{Key: "tenants", Value: config.Count(&t.Tenants),
			Help: "tenants that share the devices"},
		{Key: "devices_of_operator", Value: config.Count(&t.DevicesOfOperator),
			Help: "devices that one operator answers for"},
		{Key: "largest_state", Value: share(&t.LargestState),
			Help: "share of the devices that are in the state with the most"},
		{Key: "escalated", Value: share(&t.Escalated),
			Help: "share of the changes of state after which an entry is escalated"},
		{Key: "assigned", Value: share(&t.Assigned),
			Help: "share of the changes of state after which an operator is assigned"},
		{Key: "boards", Value: number(t.Boards, 0, func(x float64) { t.Boards = x }),
			Help: "boards and streams of a tenant that are open, on average"},
	}
	for _, name := range []string{
		plan.AskDevice, plan.AskLog, plan.AskList, plan.AskOperator, plan.AskReading,
		plan.AskFleet,
	} {
		settings = append(settings, config.Setting{
			Key: "ask_" + name, Value: f.often(name),
			Help: "how often a second is asked for " + plan.QueryNames()[name],
		})
	}
	return settings
}

func (f *fleet) ofPlan() []config.Setting {
	return []config.Setting{
		{Key: "replication", Value: config.Count(&f.traffic.Replication),
			Help: "replicas of each row, of a cluster"},
		{Key: "survive", Value: config.Choice(&f.survive, surviveNothing, surviveMachine).That(
			func() error {
				f.traffic.Survive = f.survive == surviveMachine
				return nil
			}),
			Help: "machine: the store must go on while a machine is down"},
		{Key: "routing", Value: config.Choice(&f.routing, routingAny, routingDevice).That(
			func() error {
				f.traffic.Routed = f.routing == routingDevice
				return nil
			}),
			Help: "device: all messages of a device go to one process of Andon; any: to any, as " +
				"a load balancer sends them"},
		{Key: "region", Value: config.Given(&f.region), Help: "region of the prices"},
		{Key: "store", Value: config.List(&f.stores), Help: "stores to plan, or all"},
	}
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

// often is how often a query is sent.
func (f *fleet) often(name string) config.Value {
	return number(f.traffic.Queries[name], 0, func(x float64) { f.traffic.Queries[name] = x })
}
