package designs

import (
	"fmt"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared"
)

// Place is the state that a device is in, and since which entry.
type Place struct {
	Tenant, Device string
	State          andon.State
	Severity       uint8
	At             andon.Time        // of the entry; the write timestamp
	Gen            shared.Generation // of the device
}

// row is the device's name in a design that has one row of it. Each generation has a row of its
// own: after a change of severities the other of two states at one instant may come later in the
// log, and a row that was written at that instant can't be written back. The rows of one device are
// next to each other.
func (p Place) row() string { return p.named(p.Gen) }

// rowInState is the device's name in a design that has a row of it in each state. After a
// withdrawal it has another, since a device may return to a state at a time before that at which
// the row was deleted.
func (p Place) rowInState() string { return p.named(p.Gen.OfDevice()) }

func (p Place) named(gen shared.Generation) string {
	if gen == 0 {
		return p.Device
	}
	return p.Device + fmt.Sprintf("\x00%016x", int64(gen))
}

// DeviceOf returns the device of a row.
func DeviceOf(row string) string {
	device, _, _ := strings.Cut(row, "\x00") // which no id has
	return device
}

// After is greater than all rows of a device, and less than those of the next one: no id has
// control characters.
func After(device andon.DeviceID) string { return string(device) + "\x01" }

// Design is one way to find the devices that are in a state. Its rows are index rows: they are
// written before what they lead to is acknowledged, and the devices that a design finds are a
// superset of those that are in the state.
type Design interface {
	// Tables are what it needs next to the other tables, in the order of creation.
	Tables() []cql.Table
	// Add writes that a device is in a state since an entry.
	Add(p Place) cql.Mutation
	// OneRow reports that a device has one row, which names its state. Then Add is called with
	// every newest entry, since another process may have written another state meanwhile. Where
	// each state has a row of its own, Add is called when a device changes its state.
	OneRow() bool
	// Remove deletes an index row that is known to be stale, as of p.At. It returns nothing where
	// Add of the next state replaces the row.
	Remove(p Place) []cql.Mutation
	// Retire deletes all index rows that a device may have in states.
	Retire(p Place, states []andon.State) []cql.Mutation
	// Find returns queries that together find the devices of a state from a device on, each in the
	// order of ids.
	Find(p Place) []Finding
}

// Finding is one query for ids of devices.
type Finding struct {
	cql.Query
	Args []any
	// State returns the state in the column after the device. It is nil where the rows are of the
	// state that was asked for, and have no such column.
	State func(column string) andon.State
	// Buckets is how many partitions the query reads at once, each in the order of ids. The rows
	// have the bucket before the device, and the last value, which Args lacks, is how many rows are
	// read of each. 0: the query reads one partition, or all.
	Buckets int
}

// WholeDesign is a design that has the one row of each device in a place where all of them can be
// read. A list of several states reads that: state by state it could miss a device that moves from
// one of them to another meanwhile.
type WholeDesign interface {
	// FindAll returns the query for all devices of a tenant from one on, with their states.
	FindAll(p Place) Finding
}

// Names returns the names of the designs.
func Names() []string {
	return []string{"view", "index", "sai", "state", "tables", "buckets"}
}

// New returns the design of a layout.
func New(l Layout) (Design, error) {
	switch l.Design {
	case "view":
		return newViewDesign(), nil
	case "index":
		return newIndexDesign("latest_by_tenant", ""), nil
	case "sai":
		return newIndexDesign("latest_by_tenant_sai", " USING 'sai'"), nil
	case "state":
		return newStateDesign(), nil
	case "tables":
		return newTablesDesign(l.Tables), nil
	case "buckets":
		counts, err := ParseBuckets(l.Buckets)
		return newBucketsDesign(counts), err
	}
	return nil, andon.Errorf(andon.Invalid,
		"this keyspace finds devices by state with %q, which this version of Andon does not know: "+
			"run the newer one", l.Design)
}

// RemoveAll removes those of all states.
func RemoveAll(
	d interface{ Remove(p Place) []cql.Mutation }, p Place, states []andon.State,
) (all []cql.Mutation) {
	for _, state := range states {
		p.State = state
		all = append(all, d.Remove(p)...)
	}
	return all
}

// IDsFrom is a query for ids of devices from one on. The columns come before the device in its
// key, so many of them are its partition.
func IDsFrom(table string, partition int, columns ...string) cql.Query {
	return cql.Ask("SELECT device FROM "+table+" WHERE "+
		strings.Join(columns, " = ? AND ")+" = ? AND device >= ?", partition)
}

// stateRows write and find index rows in a table with a row of a device in each state.
type stateRows struct {
	insert, remove string
	find           cql.Query
}

func newStateRows(table string, partition int, columns ...string) *stateRows {
	return &stateRows{
		"INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ", device) VALUES (" +
			strings.Repeat("?, ", len(columns)) + "?) USING TIMESTAMP ?",
		"DELETE FROM " + table + " USING TIMESTAMP ? WHERE " +
			strings.Join(columns, " = ? AND ") + " = ? AND device = ?",
		IDsFrom(table, partition, columns...),
	}
}

// inStates is what designs share that have such rows. at returns those of a state, and the values
// of their columns.
type inStates struct {
	at func(p Place) (rows *stateRows, keys []any)
}

func (inStates) OneRow() bool { return false }

func (d inStates) Add(p Place) cql.Mutation {
	rows, keys := d.at(p)
	return cql.One(rows.insert, append(keys, p.rowInState(), int64(p.At))...)
}

func (d inStates) Remove(p Place) []cql.Mutation {
	rows, keys := d.at(p)
	args := append(append([]any{int64(p.At)}, keys...), p.rowInState())
	return []cql.Mutation{cql.One(rows.remove, args...)}
}

func (d inStates) Retire(p Place, states []andon.State) []cql.Mutation {
	return RemoveAll(d, p, states)
}

func (d inStates) Find(p Place) []Finding {
	rows, keys := d.at(p)
	return []Finding{{Query: rows.find, Args: append(keys, p.Device)}}
}

// oneRow is one row of each device in a table, which says the key of its state.
type oneRow struct{ name string } // of the table

func placeKey(p Place) string { return stateKey(p.Severity, p.State) }

func (oneRow) OneRow() bool { return true }

func (d oneRow) Add(p Place) cql.Mutation {
	return cql.One(
		"INSERT INTO "+d.name+" (tenant, device, key) VALUES (?, ?, ?) USING TIMESTAMP ?",
		p.Tenant, p.row(), placeKey(p), int64(p.At))
}

func (oneRow) Remove(Place) []cql.Mutation { return nil }

func (d oneRow) Retire(p Place, _ []andon.State) []cql.Mutation {
	return []cql.Mutation{cql.One(
		"DELETE FROM "+d.name+" USING TIMESTAMP ? WHERE tenant = ? AND device = ?",
		int64(p.At), p.Tenant, p.row())}
}

// A state in a key of the designs is its severity in three digits and its name, "048WARNING2", so
// that of two states at one instant the one that comes later in the log has the greater bytes.
func stateKey(severity uint8, state andon.State) string {
	return fmt.Sprintf("%03d%s", severity, state)
}

// stateOf returns the state of a key; "" where there is none.
func stateOf(key string) andon.State {
	return andon.State(key[min(3, len(key)):])
}
