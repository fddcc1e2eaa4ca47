package cassandrastore

import (
	"cmp"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/plan"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/shared"
)

// What a partition should have at most, as the reference says.
const (
	mostPartitionRows  = 100_000
	mostPartitionBytes = 100e6
)

// besideRow is about what a row takes beside its values: flags, lengths and its timestamp.
const besideRow = 24

var _ adapter.Planned = (*Engine)(nil)

// Layouts is of adapter.Planned: a layout for each design.
func (e *Engine) Layouts(s plan.Sample) ([]plan.Layout, error) {
	rules := cmp.Or(e.Buckets, strconv.Itoa(defaultBuckets))
	counts, err := parseBuckets(rules)
	if err != nil {
		return nil, err
	}
	var all []plan.Layout
	for _, name := range Designs() {
		l := layout{Design: name, Buckets: rules}
		for _, state := range andon.DefaultStates().Defs() {
			l.Tables = append(l.Tables, state.Name)
		}
		d, err := newDesign(l)
		if err != nil {
			return nil, err
		}
		all = append(all, plan.Layout{
			Store: e.Name(), Name: name, Survives: true, Cluster: planCluster(s, name, d, counts),
			Notes: planNotes(name),
		})
	}
	return all, nil
}

func planNotes(design string) []string {
	switch design {
	case "index-by-device", "tables-by-device":
		return []string{"each page of a list of a state reads the whole list, so ask for few"}
	case "view":
		return []string{"materialized views are experimental and must be enabled on each node"}
	}
	return nil
}

// planCluster is what the store writes, whichever the design, and what that adds.
func planCluster(s plan.Sample, name string, d design, counts bucketCounts) *plan.Cluster {
	e, r := &s.Events[0], &s.Reading
	p := place{tenant: string(andon.DefaultTenant), device: string(e.Device), state: e.State,
		at: e.Time}
	c := &plan.Cluster{
		MostRows: mostPartitionRows, MostBytes: mostPartitionBytes,
		Writes: append([]plan.RowWrite{
			{Table: "events_by_device", Per: plan.PerEvent, Requests: 1},
			// When it was heard and its newest entry, in one piece.
			{Table: "latest_by_device", Per: plan.PerEvent, Requests: 1},
			// Where its run begins, and where its incident does.
			{Table: "latest_by_device", Per: plan.PerChange, Requests: 2},
			{Table: "hints_by_operator", Per: plan.PerDeviceHour, Requests: 1},
			{Table: "directory", Per: plan.PerDeviceDay, Requests: float64(s.States)},
		}, designWrites(name, d, p)...),
		Partitions: []plan.Partition{
			{Table: "events_by_device", Rows: 1, Hours: 24, Most: shared.PartitionUnits,
				Bytes: len(packEntry(1, e)) + len(e.State) + 16 + besideRow},
			{Table: "hints_by_operator", Sharing: plan.ByOperator, Rows: 1,
				Bytes: len(e.Device) + besideRow},
			designPartition(name, d, p, counts),
		},
		ReadRequests: map[string]float64{
			plan.AskDevice: 1, plan.AskLog: 2, plan.AskOperator: 102, plan.AskReading: 3,
			plan.AskList: float64(len(d.find(p))) + 100, // each hit is held against its device
		},
	}
	if len(r.Metrics) > 0 {
		c.ReadingBytes = len(packReading(1, r)) + len(messageID(r)) + 8 + besideRow
		c.Writes = append(c.Writes,
			plan.RowWrite{Table: "readings_by_device", Per: plan.PerReading, Requests: 1},
			plan.RowWrite{Table: "latest_by_device", Per: plan.PerReading, Requests: 1})
		c.Partitions = append(c.Partitions, plan.Partition{
			Table: "readings_by_device", Rows: 1, Hours: 6, Readings: true, Bytes: c.ReadingBytes,
		})
	}
	return c
}

// designWrites are the rows of a design: with each event where a device has one row, and else with
// each change, which also deletes one later.
func designWrites(name string, d design, p place) []plan.RowWrite {
	table := d.tables()[0].name
	if !d.rowADevice() {
		return []plan.RowWrite{{Table: table, Per: plan.PerChange,
			Requests: float64(len(d.add(p)) + len(d.remove(p)))}}
	}
	beside := 1.0 // the index, on each replica
	if name == "view" {
		beside = 3 // a read, and two writes
	}
	return []plan.RowWrite{{Table: table, Per: plan.PerEvent,
		Requests: float64(len(d.add(p))) + beside}}
}

// designPartition is the partition of a design that grows with the fleet.
func designPartition(name string, d design, p place, counts bucketCounts) plan.Partition {
	size := besideRow
	for _, arg := range d.add(p)[0].args {
		text, ok := arg.(string)
		if ok && text != p.tenant && (text != string(p.state) || d.rowADevice()) {
			size += len(text)
		}
	}
	part := plan.Partition{Table: d.tables()[0].name, Sharing: plan.ByState, Rows: 1, Bytes: size}
	if own, ok := d.(interface{ of(andon.State) string }); ok {
		part.Table = own.of(p.state)
	}
	switch name {
	case "buckets":
		part.Keys, part.MostKeys = counts.of(p.tenant, p.state), maxBuckets
		part.Setting = "cassandra.buckets"
	case "view":
		part.Table = d.tables()[1].name
	case "index", "sai":
		part.Sharing = plan.ByTenant
	case "index-by-device", "tables-by-device":
		part.Sharing = plan.ByDevice
	}
	return part
}
