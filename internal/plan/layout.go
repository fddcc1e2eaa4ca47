package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/andonhq/andon"
)

// Sample is what one device of a fleet sends: an adapter says what its store makes of it.
type Sample struct {
	// Events are three of a device in the order of their time: the second repeats the state of the
	// first, the third changes it.
	Events   [3]andon.Event
	Reading  andon.Reading // without metrics where the fleet sends none
	NoEvents bool          // the fleet sends readings alone
	// Retention and ReadingsRetention are how long the store keeps them.
	Retention, ReadingsRetention andon.Retention
	States                       int // that a device has entries of
}

// Layout is one way in which a store keeps what a fleet sends. Of Metered, Cluster and Machine one
// is set.
type Layout struct {
	Store string // name of the engine
	Name  string // of the layout, or of the design; "" where there is only one
	// Survives says that the store goes on while one of its machines is down.
	Survives   bool
	NoReadings bool // it does not keep readings
	// Unserved are the queries that it does not answer.
	Unserved []string
	Notes    []string
	Metered  *Metered
	Cluster  *Cluster
	Machine  *Machine
}

// Per is what a write, or a read, belongs to.
type Per int

// What a write or a read belongs to. A change is an event with another state than the device had,
// and a repeat is any other: what belongs to either is done in addition to what belongs to the
// event.
const (
	PerEvent Per = iota
	PerRepeat
	PerChange
	PerReading
	PerEscalation // of an entry, to a supervisor
	PerAssignment // of an operator
	PerDevice     // once
	PerDeviceHour // once for each device and hour in which it sends events
	PerDeviceDay
	PerDeviceSecond
	// PerRace is once for each event of a device that another process wrote last, and PerChangeRace
	// for each change that follows one of another process.
	PerRace
	PerChangeRace
	// PerProcess is once for each process and tenant, each so often; and PerWatch the same where
	// anyone waits for changes.
	PerProcess
	PerWatch
)

// String is used in the arithmetic.
func (p Per) String() string {
	return [...]string{"event", "repeat", "change", "reading", "escalation", "assignment", "device",
		"device and hour", "device and day", "device and second", "event that another process " +
			"overtook", "change that another process overtook", "process and tenant",
		"process and tenant that is watched"}[p]
}

// Sharing is what all writes, or rows, of one partition have in common.
type Sharing int

// What shares a partition.
const (
	ByDevice Sharing = iota
	ByOperator
	ByState  // the devices of a tenant in a state; with Keys in so many partitions
	ByTenant // all devices of a tenant
)

// Metered is a store that is paid for by what is written, read and kept.
type Metered struct {
	Writes  []ItemWrite
	Reads   []ItemRead            // those that belong to anything but a query
	Queries map[string][]ItemRead // by the name of a query
	// KeyUnits is how many write units a second one partition key takes.
	KeyUnits float64
	// Places are all tables and indexes, which are provided for also where nothing uses them, with
	// LeastWrite and LeastRead units at least.
	Places                []string
	LeastWrite, LeastRead float64
	// Scaled is the share of what is provisioned that auto scaling keeps in use.
	Scaled float64
	// TableUnits is how many units a second a table takes unless more was asked for; StartWrites
	// and StartReads are how many a new one takes on demand.
	TableUnits, StartWrites, StartReads float64
	// Alarms is how many metrics the alarms of the templates watch, and Recovery says that the
	// tables can be recovered to any second.
	Alarms   float64
	Recovery bool
	// DeletedAfter is how many days what has expired is still paid for.
	DeletedAfter float64
}

// ItemWrite is the write of one item to a table, or to an index of it.
type ItemWrite struct {
	Per           Per
	Table, Index  string // Index is "" for the table itself
	Before, After int    // bytes; 0: it is not there
	Moves         bool   // in an index: its key is another one afterwards
	Changed       bool   // in an index: the copy differs afterwards
	Sharing       Sharing
	// Keys is how many partition keys those that share have. A store that divides keys gives them
	// twice as many, up to MostKeys, where one of them takes more than DividedAt units a second.
	Keys, MostKeys int
	DividedAt      float64
	// Joined is how many bytes it has in an item with others, where all writes of a key are joined.
	Joined int
	// Serial: writes of one key wait for each other, and are done together.
	Serial   bool
	Kept     bool // it is another item each time, and kept until it expires
	Standing bool // it is kept for ever, once a device
}

// Units is what the write costs: by the larger of what was there and what is there then, and as
// much where its condition does not hold. In an index that is of the copy: nothing where there is
// none or it stays the same, and where it has another key afterwards, one is deleted and another
// put.
func (w *ItemWrite) Units() float64 {
	switch {
	case w.Index != "" && (!w.Changed || w.Before == 0 && w.After == 0):
		return 0
	case w.Index != "" && w.Moves && w.Before > 0 && w.After > 0:
		return units(w.Before, writeUnit) + units(w.After, writeUnit)
	}
	return units(max(w.Before, w.After), writeUnit)
}

// KeyUnits is what it costs of one partition key: what moves is deleted under one, and put under
// another.
func (w *ItemWrite) KeyUnits() float64 {
	if w.Moves {
		return units(max(w.Before, w.After), writeUnit)
	}
	return w.Units()
}

// Place is the table, or its index.
func (w *ItemWrite) Place() string { return placeOf(w.Table, w.Index) }

func placeOf(table, index string) string {
	if index == "" {
		return table
	}
	return table + "/" + index
}

// ItemRead is what is read of a table or an index: so many calls, each of items of so many bytes
// each.
type ItemRead struct {
	Per          Per
	Every        time.Duration // with PerProcess and PerWatch
	Table, Index string
	Calls, Items float64
	Bytes        int
	Query        bool // its items are added up before they are rounded
	Fleet        bool // these are the items of each device of a tenant
	// Divided: the calls ask each key of the place. It returns how many items each call reads where
	// there are n keys of those that share.
	Divided     func(n int) float64
	Consistency Consistency
}

// Units is what the read costs in a tenant of so many devices.
func (r *ItemRead) Units(devices float64) float64 {
	items := r.Items
	if r.Fleet {
		items *= devices
	}
	if r.Query {
		return r.Calls * ReadUnits(int(items*float64(r.Bytes)), r.Consistency)
	}
	return r.Calls * items * ReadUnits(r.Bytes, r.Consistency)
}

// Cluster is a store on nodes of its own.
type Cluster struct {
	Writes     []RowWrite
	Partitions []Partition
	// ReadingBytes is what a reading takes on a disk, as it is packed.
	ReadingBytes int
	// Partition limits of the store's designs.
	MostRows, MostBytes float64
	Queries             map[string]float64 // reads of a query, by its name
}

// RowWrite is what is written to a table of the cluster, and read of it before or after.
type RowWrite struct {
	Table    string
	Per      Per
	Every    time.Duration // with PerProcess and PerWatch
	Requests float64
	Reads    float64
}

// Partition is how one table spreads its rows.
type Partition struct {
	Table   string
	Sharing Sharing
	Keys    int // partitions of those that share; 0 is 1
	// MostKeys is how many there can be, by a setting; 0: there are Keys.
	MostKeys int
	Setting  string
	Rows     float64 // of each device
	Bytes    int     // of a row
	// Hours: it has a row for each event of so many hours, or with Readings for each reading.
	Hours    float64
	Readings bool
	// Most is how many rows it has at most, since the store then makes another; 0: there is none.
	Most float64
}

// Machine is an embedded store: one machine with one disk.
type Machine struct {
	Cache, Reserve int64 // bytes of memory and of the disk that the settings say
}

// LeastEventBytes is what the event of a plan has as JSON with an empty message. Smaller ones are
// planned as that.
const LeastEventBytes = 128

// Sample makes what one device sends. Its event has EventBytes as JSON.
func (t *Traffic) Sample() (Sample, error) {
	const at = andon.Time(1_767_225_600_123_456) // 2026-01-01T00:00:00.123456Z
	s := Sample{
		Retention:         andon.Retention(andon.DurationOf(t.Retention)),
		ReadingsRetention: andon.Retention(andon.DurationOf(t.ReadingsRetention)),
		States:            2,
		NoEvents:          t.Interval == 0,
	}
	for i, state := range []andon.State{"NORMAL", "NORMAL", "WARNING2"} {
		s.Events[i] = andon.Event{
			Device: "line-07/press-0000123", State: state,
			Time:     at.Add(andon.Duration(i+1) * andon.DurationOf(t.Interval)),
			Operator: "operator-0007",
		}
	}
	const least = LeastEventBytes
	if t.EventBytes < least {
		return s, fmt.Errorf("%d is less than %d, what an event with a device, a time, a state, "+
			"an operator and an empty message has as JSON: plan with %[2]d", t.EventBytes, least)
	}
	if most := least + andon.MaxMessageBytes; t.EventBytes > most {
		return s, fmt.Errorf("%d is more than %d, what an event with the longest message has",
			t.EventBytes, most)
	}
	for i := range s.Events {
		s.Events[i].Message = strings.Repeat("m", t.EventBytes-least)
	}
	if t.ReadingsEvery > 0 {
		s.Reading = andon.Reading{Device: s.Events[0].Device, Time: at, Metrics: metrics(t.Metrics)}
	}
	return s, nil
}

// metrics are so many, each with a value of four digits.
func metrics(n int) andon.Metrics {
	all := make(andon.Metrics, n)
	for i := range all {
		all[i] = andon.Metric{Name: andon.MetricName(fmt.Sprintf("metric-%04d", i+1)), Value: 21.57}
	}
	return all
}
