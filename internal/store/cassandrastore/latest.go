package cassandrastore

import (
	"fmt"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// place is where a device stands: in a state since an entry.
type place struct {
	tenant, device string
	state          andon.State
	severity       uint8
	at             andon.Time        // of the entry; the write timestamp
	gen            shared.Generation // of the device
}

// row is the device's name in a design that has one row of it. Each generation has a row of its
// own, since of two states at one instant another may come later in the log then, and what is
// written at one instant must not be written back. The rows of one device stand side by side.
func (p place) row() string { return p.named(p.gen) }

// rowInState is the device's name in a design that has a row of it in each state. After a
// withdrawal it has another, since a device may come back to a state at a time before that at which
// the row was deleted.
func (p place) rowInState() string { return p.named(p.gen.OfDevice()) }

func (p place) named(gen shared.Generation) string {
	if gen == 0 {
		return p.device
	}
	return p.device + fmt.Sprintf("\x00%016x", int64(gen))
}

// deviceOf is the device of a row.
func deviceOf(row string) string {
	device, _, _ := strings.Cut(row, "\x00") // which no id holds
	return device
}

// behind is what all rows of a device come before, and those of the next one do not: no id holds
// control characters.
func behind(device andon.DeviceID) string { return string(device) + "\x01" }

// design is one way to find the devices that are in a state: the five of the reference, one of them
// with two kinds of index. Their rows lead to devices, and add is called before what they lead to
// counts as kept. The devices that a design finds are a superset of those that are in the state.
type design interface {
	// tables are what it needs beside the other tables, in the order of creation.
	tables() []table
	// add notes that a device is in a state since an entry, or was found there.
	add(p place) mutation
	// rowADevice reports that a device has one row, which says its state: then add is called with
	// every newest entry, since another process may have written another state meanwhile. Where
	// each state has an index row of its own, it is called when a device changes its state.
	rowADevice() bool
	// remove deletes an index row that is known to be stale, as of p.at. Nothing where add of
	// the next state replaces it.
	remove(p place) []mutation
	// retire takes away all index rows of a device that may stand in states.
	retire(p place, states []andon.State) []mutation
	// find returns questions that together give the devices of a state from a device on: all of
	// them in the order of ids, or all of them scattered.
	find(p place) []finding
}

// finding is one question for ids of devices.
type finding struct {
	question
	args []any
	rows rowsOf
}

// rowsOf is what the rows of a finding are.
type rowsOf int

const (
	idsOnly rowsOf = iota // ids of devices, in order
	withKey               // in order; the key of each device's state behind its id
	// The device and its tenant, and its state or the key of that, in the order of tokens: of all
	// tenants, and wherever the device is in the order of ids.
	scattered
	scatteredStates
	scatteredKeys
)

// wholeDesign is a design that has the one row of each device in a place where all of them can be
// read. A list of several states reads that: state by state, a device that moves from one of them
// to another meanwhile could be missed.
type wholeDesign interface {
	// findAll returns questions for all devices of a tenant from one on, with their states.
	findAll(p place) []finding
}

// Designs returns the names of the designs that devices are found by state with.
func Designs() []string {
	return []string{
		"view", "index", "index-by-device", "sai", "state", "tables", "tables-by-device", "buckets",
	}
}

// newDesign makes the design that a layout names.
func newDesign(l layout) (design, error) {
	switch l.Design {
	case "view":
		return newViewDesign(), nil
	case "index":
		return newIndexDesign("latest_by_tenant", ""), nil
	case "index-by-device":
		return newScatteredIndexDesign(), nil
	case "sai":
		return newIndexDesign("latest_by_tenant_sai", " USING 'sai'"), nil
	case "state":
		return newStateDesign(), nil
	case "tables":
		return newTablesDesign(l.Tables), nil
	case "tables-by-device":
		return newScatteredTablesDesign(l.Tables), nil
	case "buckets":
		counts, err := parseBuckets(l.Buckets)
		return newBucketsDesign(counts), err
	}
	return nil, andon.Errorf(andon.Invalid,
		"this keyspace finds devices by state with %q, which this version of Andon does not know: "+
			"run the newer one", l.Design)
}

// removeAll removes those of all states.
func removeAll(
	d interface{ remove(p place) []mutation }, p place, states []andon.State,
) (all []mutation) {
	for _, state := range states {
		p.state = state
		all = append(all, d.remove(p)...)
	}
	return all
}

// idsFrom asks a table for ids of devices from one on. The columns come before the device in its
// key, so many of them are its partition.
func idsFrom(table string, partition int, columns ...string) question {
	return question{"SELECT device FROM " + table + " WHERE " +
		strings.Join(columns, " = ? AND ") + " = ? AND device >= ?", partition}
}

// stateRows write and find index rows in a table with a row of a device in each state.
type stateRows struct {
	insert, remove string
	find           question
}

func newStateRows(table string, partition int, columns ...string) *stateRows {
	return &stateRows{
		"INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ", device) VALUES (" +
			strings.Repeat("?, ", len(columns)) + "?) USING TIMESTAMP ?",
		"DELETE FROM " + table + " USING TIMESTAMP ? WHERE " +
			strings.Join(columns, " = ? AND ") + " = ? AND device = ?",
		idsFrom(table, partition, columns...),
	}
}

// inStates is what designs share that have such rows. at returns those of a state, and the values
// of their columns.
type inStates struct {
	at func(p place) (rows *stateRows, keys []any)
}

func (inStates) rowADevice() bool { return false }

func (d inStates) add(p place) mutation {
	rows, keys := d.at(p)
	return mutation{{rows.insert, append(keys, p.rowInState(), int64(p.at))}}
}

func (d inStates) remove(p place) []mutation {
	rows, keys := d.at(p)
	args := append(append([]any{int64(p.at)}, keys...), p.rowInState())
	return []mutation{{{rows.remove, args}}}
}

func (d inStates) retire(p place, states []andon.State) []mutation {
	return removeAll(d, p, states)
}

func (d inStates) find(p place) []finding {
	rows, keys := d.at(p)
	return []finding{{rows.find, append(keys, p.device), idsOnly}}
}

// oneRow is one row of each device in a table, which says the key of its state.
type oneRow struct {
	name string // of the table
	key  func(place) string
}

// placeKey is the key of a state.
func placeKey(p place) string { return stateKey(p.severity, p.state) }

func (oneRow) rowADevice() bool { return true }

func (d oneRow) add(p place) mutation {
	return mutation{{
		"INSERT INTO " + d.name + " (tenant, device, key) VALUES (?, ?, ?) USING TIMESTAMP ?",
		[]any{p.tenant, p.row(), d.key(p), int64(p.at)},
	}}
}

func (oneRow) remove(place) []mutation { return nil }

func (d oneRow) retire(p place, _ []andon.State) []mutation {
	return []mutation{{{
		"DELETE FROM " + d.name + " USING TIMESTAMP ? WHERE tenant = ? AND device = ?",
		[]any{int64(p.at), p.tenant, p.row()},
	}}}
}
