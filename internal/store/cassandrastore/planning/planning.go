// Package planning says what a fleet costs under each design: the rows that are written with an
// event, a change or a reading, the partitions that grow, and the statements of each query. The
// planner multiplies that by the size of a fleet.
//
// Sizes are computed with the encoders and statements of packages rows and designs, so they follow
// what is stored. The package needs no cluster.
package planning

import (
	"cmp"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/plan"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared/changelog"
)

// The limits of a partition, as the reference has them.
const (
	mostPartitionRows  = 100_000
	mostPartitionBytes = 100e6
)

// rowOverhead is about what a row takes in addition to its values: flags, lengths and its
// timestamp.
const rowOverhead = 24

// Layouts returns a layout of a store for each design, with rules of buckets.
func Layouts(store, rules string, s plan.Sample) ([]plan.Layout, error) {
	rules = cmp.Or(rules, strconv.Itoa(designs.DefaultBuckets))
	counts, err := designs.ParseBuckets(rules)
	if err != nil {
		return nil, err
	}
	var all []plan.Layout
	for _, name := range designs.Names() {
		l := designs.Layout{Design: name, Buckets: rules}
		for _, state := range andon.DefaultStates().Defs() {
			l.Tables = append(l.Tables, state.Name)
		}
		d, err := designs.New(l)
		if err != nil {
			return nil, err
		}
		all = append(all, plan.Layout{
			Store: store, Name: name, Survives: true, Cluster: cluster(s, name, d, counts),
			Notes: notes(name),
		})
	}
	return all, nil
}

func notes(design string) []string {
	if design == "view" {
		return []string{"materialized views are experimental and must be enabled on each node"}
	}
	return nil
}

// cluster is what the store writes under every design, and what a design adds.
func cluster(
	s plan.Sample, name string, d designs.Design, counts designs.BucketCounts,
) *plan.Cluster {
	e, r := &s.Events[0], &s.Reading
	p := designs.Place{
		Tenant: string(andon.DefaultTenant), Device: string(e.Device), State: e.State,
		At: e.Time}
	c := &plan.Cluster{
		MostRows: mostPartitionRows, MostBytes: mostPartitionBytes,
		Writes: append([]plan.RowWrite{
			{Table: "events_by_device", Per: plan.PerEvent, Requests: 1},
			// When the device was heard and its newest entry, as one batch.
			{Table: "latest_by_device", Per: plan.PerEvent, Requests: 1},
			// Andon runs on two machines at least: next to another writer a process reads a device
			// before it writes, unless it did within the last second.
			{Table: "latest_by_device", Per: plan.PerDeviceSecond, Reads: 1},
			// The starts of its run and of its incident, and that the feed has the change.
			{Table: "latest_by_device", Per: plan.PerChange, Requests: 3, Reads: 1},
			// A lightweight transaction takes four rounds.
			{Table: "changes", Per: plan.PerChange, Requests: 4},
			{Table: "changes", Per: plan.PerWatch, Every: changelog.Beat, Reads: 1},
			// Each is a change of the feed, too.
			{Table: "escalations_by_day", Per: plan.PerEscalation, Requests: 8, Reads: 4},
			{Table: "assignments_by_device", Per: plan.PerAssignment, Requests: 8, Reads: 2},
			{Table: "hints_by_operator", Per: plan.PerDeviceHour, Requests: 1},
			{Table: "directory", Per: plan.PerDeviceDay, Requests: float64(s.States)},
		}, designWrites(name, d, p)...),
		Partitions: []plan.Partition{
			{Table: "events_by_device", Rows: 1, Hours: 24, Most: rows.PartitionUnits,
				Bytes: len(rows.PackEntry(1, e)) + len(e.State) + 16 + rowOverhead},
			{Table: "hints_by_operator", Sharing: plan.ByOperator, Rows: 1,
				Bytes: len(e.Device) + rowOverhead},
			designPartition(name, d, p, counts),
		},
		Queries: map[string]float64{
			plan.AskDevice: 1, plan.AskLog: 2, plan.AskOperator: 102, plan.AskReading: 3,
			plan.AskFleet: 1,                      // of each device
			plan.AskList:  found(d.Find(p)) + 100, // each hit is checked against its device
		},
	}
	if len(r.Metrics) > 0 {
		c.ReadingBytes = len(rows.PackReading(1, r)) + len(rows.MessageID(r)) + 8 + rowOverhead
		c.Writes = append(c.Writes,
			plan.RowWrite{Table: "readings_by_device", Per: plan.PerReading, Requests: 1},
			plan.RowWrite{Table: "latest_by_device", Per: plan.PerReading, Requests: 1})
		c.Partitions = append(c.Partitions, plan.Partition{
			Table: "readings_by_device", Rows: 1, Hours: 6, Readings: true, Bytes: c.ReadingBytes,
		})
	}
	return c
}

func found(all []designs.Finding) (n float64) {
	for _, f := range all {
		n += float64(max(f.Buckets, 1))
	}
	return n
}

// designWrites are the rows that a design writes: with each event if a device has one row, else
// with each change, which also deletes one row later.
func designWrites(name string, d designs.Design, p designs.Place) []plan.RowWrite {
	table := d.Tables()[0].Name
	if !d.OneRow() {
		return []plan.RowWrite{{Table: table, Per: plan.PerChange,
			Requests: float64(len(d.Add(p)) + len(d.Remove(p)))}}
	}
	extra := 1.0 // the index, on each replica
	if name == "view" {
		extra = 3 // a read, and two writes
	}
	return []plan.RowWrite{{Table: table, Per: plan.PerEvent,
		Requests: float64(len(d.Add(p))) + extra}}
}

// designPartition is the partition of a design that grows with the fleet.
func designPartition(
	name string, d designs.Design, p designs.Place, counts designs.BucketCounts,
) plan.Partition {
	size := rowOverhead
	for _, arg := range d.Add(p)[0].Args {
		text, ok := arg.(string)
		if ok && text != p.Tenant && (text != string(p.State) || d.OneRow()) {
			size += len(text)
		}
	}
	part := plan.Partition{Table: d.Tables()[0].Name, Sharing: plan.ByState, Rows: 1, Bytes: size}
	if own, ok := d.(interface{ TableOf(andon.State) string }); ok {
		part.Table = own.TableOf(p.State)
	}
	switch name {
	case "buckets":
		part.Keys, part.MostKeys = counts.Count(p.Tenant, p.State), designs.MaxBuckets
		part.Setting = "cassandra.buckets"
	case "view":
		part.Table = d.Tables()[1].Name
	case "index", "sai":
		part.Sharing = plan.ByTenant
	}
	return part
}
