package plan

import (
	"maps"
	"slices"
	"time"
)

// Traffic is what a fleet sends, and what is asked about it. A share is from 0 to 1.
type Traffic struct {
	Devices    int           `json:"devices"`
	Interval   time.Duration `json:"interval_ns"` // between two events of a device; 0: none
	EventBytes int           `json:"event_bytes"` // as JSON
	Changes    float64       `json:"changes"`     // share of the events that change the state
	// ReadingsEvery is the time between two readings of a device, 0 where there are none, and
	// Metrics how many values each has.
	ReadingsEvery     time.Duration `json:"readings_interval_ns"`
	Metrics           int           `json:"metrics"`
	Retention         time.Duration `json:"retention_ns"`
	ReadingsRetention time.Duration `json:"readings_retention_ns"`
	Peak              float64       `json:"peak"`  // how many times the average
	Batch             int           `json:"batch"` // events, or readings, of a request
	DevicesOfOperator int           `json:"devices_of_operator"`
	LargestState      float64       `json:"largest_state"` // share of the devices that are in it
	Tenants           int           `json:"tenants"`
	// Escalated and Assigned are the shares of the changes after which an entry is escalated, and
	// an operator is assigned.
	Escalated float64 `json:"escalated"`
	Assigned  float64 `json:"assigned"`
	Boards    float64 `json:"boards"` // of a tenant, or streams, that are open on average
	// Routed says that all messages of a device go to one process.
	Routed bool `json:"routed"`
	// Queries are how often each is asked a second.
	Queries     map[string]float64 `json:"queries"`
	Replication int                `json:"replication"` // of a cluster
	Survive     bool               `json:"survive"`     // the store goes on while a machine is down
}

// The queries.
const (
	AskDevice   = "device"   // what a device shows
	AskLog      = "log"      // the last 100 entries of a device
	AskList     = "list"     // the first 100 devices in a state
	AskOperator = "operator" // the last 100 entries of an operator
	AskReading  = "reading"  // the newest reading of a device
	AskFleet    = "fleet"    // all devices of a tenant, as a board loads them that is opened
)

// QueryNames are the names of all queries, with what each asks.
func QueryNames() map[string]string {
	return map[string]string{
		AskDevice: "what a device shows", AskLog: "the last 100 entries of a device",
		AskList: "the first 100 devices in a state", AskOperator: "100 entries of an operator",
		AskReading: "the newest reading of a device",
		AskFleet:   "all devices, by a board that opens",
	}
}

// Rate is how often something happens.
type Rate struct {
	Kind   string  `json:"kind"`
	Second float64 `json:"per_second"`
	Peak   float64 `json:"per_second_peak"`
	Day    float64 `json:"per_day"`
	Month  float64 `json:"per_month"`
}

func (t *Traffic) rate(kind string, second float64) Rate {
	return Rate{kind, second, second * t.Peak, second * daySeconds, second * monthSeconds}
}

func (t *Traffic) rates() []Rate {
	all := []Rate{
		t.rate("events", t.events()),
		t.rate("changes of state", t.events()*t.Changes),
		t.rate("readings", t.readings()),
	}
	for _, name := range slices.Sorted(maps.Keys(t.Queries)) {
		all = append(all, t.rate("queries: "+QueryNames()[name], t.Queries[name]))
	}
	return all
}

// events and readings are how many there are a second.
func (t *Traffic) events() float64 { return t.sent(t.Interval) }

func (t *Traffic) readings() float64 { return t.sent(t.ReadingsEvery) }

func (t *Traffic) sent(every time.Duration) float64 {
	if every == 0 {
		return 0
	}
	return float64(t.Devices) / every.Seconds()
}

// operators is how many there are, at least one.
func (t *Traffic) operators() float64 {
	return max(1, float64(t.Devices)/float64(t.DevicesOfOperator))
}

func (t *Traffic) ofTenant() float64 { return float64(t.Devices) / float64(t.Tenants) }

// often is how often a second something is done that belongs to something else, with so many
// processes.
func (t *Traffic) often(per Per, every time.Duration, processes int) float64 {
	devices, others := float64(t.Devices), float64(processes-1)/float64(processes)
	changes := t.events() * t.Changes
	switch per {
	case PerEvent:
		return t.events()
	case PerRepeat:
		return t.events() - changes
	case PerChange:
		return changes
	case PerReading:
		return t.readings()
	case PerEscalation:
		return changes * t.Escalated
	case PerAssignment:
		return changes * t.Assigned
	case PerDeviceSecond:
		return min(devices, t.events())
	case PerDeviceHour:
		return min(devices/3600, t.events())
	case PerDeviceDay:
		return min(devices/daySeconds, t.events())
	case PerRace:
		if t.Routed {
			return 0
		}
		return t.events() * others
	case PerChangeRace:
		return changes * others
	case PerProcess:
		return float64(processes*t.Tenants) / every.Seconds()
	case PerWatch:
		return min(t.Boards, float64(processes)) * float64(t.Tenants) / every.Seconds()
	}
	return 0 // once a device is nothing in the long run
}

// kept is for how many days events or readings are kept.
func (t *Traffic) kept(per Per) float64 {
	if per == PerReading {
		return t.ReadingsRetention.Hours() / 24
	}
	return t.Retention.Hours() / 24
}
