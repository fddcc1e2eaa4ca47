package cassandrastore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// This file is the baseline that the store is compared with: the driver without Andon around it.

// newBaseline is the driver on a keyspace of its own. keep sends what Append sends, with the same
// texts, values, batches and consistency, and as many statements at once:
//
//   - for each device that was not looked at yet: the reading of its partition of
//     latest_by_device, thrown away, as a process does that is alone;
//   - concurrently: for each device one batch for each partition of events_by_device, and one of
//     heard and of the newest entry of each state; the row of the design where the device changed
//     its state, or where it has one row a device; and the index rows that were not sent before
//     (directory, devices_by_tenant, hints_by_operator, devices_by_operator);
//   - then, for each device that changed its state, one batch of the marks of its run and, unless
//     it became normal, of its incident.
//
// It takes every entry to be newer than those before it, and so decides by the last one: it has no
// views, no locks, no counts and no limit to what is in flight. The review of changed devices
// later is Andon's own on both sides, since that is no part of an append, but shares the cluster
// with what comes after.
func newBaseline(b *testing.B, design string) *baseline {
	b.Helper()
	s := open(b, newKeyspace(b, design))
	t, err := s.tenant(b.Context(), andon.DefaultTenant)
	if err != nil {
		b.Fatal(err)
	}
	return &baseline{store: s, tenant: t, devices: map[andon.DeviceID]*baselineDevice{}}
}

// baseline is the driver with as much memory as it needs to send what Andon sends.
type baseline struct {
	store  *Store // its session, its background, and the texts of its statements
	tenant *rows.Tenant

	mu      sync.Mutex
	devices map[andon.DeviceID]*baselineDevice
}

// baselineDevice is what was last sent of a device. No other request has it meanwhile: a benchmark
// sends no two requests with one device at once.
type baselineDevice struct {
	read   bool
	newest andon.EventKey
	normal andon.EventKey // the newest entry of severity 0
	run    merge.Start
	open   merge.Start // of the incident
}

func (b *baseline) device(id andon.DeviceID) *baselineDevice {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.devices[id]
	if d == nil {
		d = &baselineDevice{}
		b.devices[id] = d
	}
	return d
}

// keep sends what belongs to an append.
func (b *baseline) keep(ctx context.Context, received andon.Time, events []andon.Event) error {
	s, w := b.store, b.store.working.Load()
	a := &appending{
		store: s, working: w, tenant: b.tenant, received: received, stamp: s.stamp(),
		index: s.newIndexRows(b.tenant.Key, s.ttl(w.Retention)),
	}
	var stale []andon.DeviceID
	var marks []cql.Mutation
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Device == events[0].Device {
			n++
		}
		d := b.device(events[0].Device)
		if !d.read {
			stale, d.read = append(stale, events[0].Device), true
		}
		if m := b.prepare(a, d, events[:n]); len(m) > 0 {
			marks = append(marks, m)
		}
		events = events[n:]
	}
	err := shared.Parallel(ctx, len(stale), func(ctx context.Context, i int) error {
		return b.look(ctx, stale[i])
	})
	if err == nil {
		err = b.send(ctx, append(a.log, a.index.Rows...))
	}
	if err != nil {
		return cql.Failure("write", err)
	}
	s.written.Add(a.index.Sums)
	return cql.Failure("write", b.send(ctx, marks))
}

// prepare gathers what is sent for a device, and returns its marks.
func (b *baseline) prepare(a *appending, d *baselineDevice, events []andon.Event) cql.Mutation {
	states, is := a.tenant.Record.States, &view{}
	former, run, open := d.newest.State, d.run, d.open
	for i := range events {
		is.Raise(merge.Newest{State: events[i].State, Time: events[i].Time})
		d.take(&events[i], states)
	}
	at := &deviceAppend{events: events, is: is, answers: rows.Named(events)}
	a.entries(at)
	a.shown(at)
	var m cql.Mutation
	if d.run != run || a.working.Reads.OneRow() {
		a.log = append(a.log, a.working.Reads.Add(placeOf(a.tenant, events[0].Device, is)))
	}
	if d.run != run {
		m = rows.SetStarts(a.tenant.Key, events[0].Device,
			merge.NewStart{Start: d.run, Write: true},
			merge.NewStart{Start: d.open, Write: d.newest.Severity > 0 && d.open != open})
		b.store.reviews.Add(merge.DueReview{
			Tenant: a.tenant.Record.ID, Device: events[0].Device, Former: former,
			Due:    b.store.now().Add(b.store.options.Settle),
			Review: merge.Review{Run: d.run.Base, Incident: d.open.Base},
		})
	}
	return m
}

// take notes an entry, which is newer than all before it.
func (d *baselineDevice) take(e *andon.Event, states *andon.StateSet) {
	key := e.Key(states)
	key.Device = ""
	if d.run.First == 0 || key.State != d.newest.State {
		d.run = merge.Start{Base: d.newest, First: key.Time}
	}
	if key.Severity > 0 && (d.open.First == 0 || d.open.Base != d.normal) {
		d.open = merge.Start{Base: d.normal, First: key.Time}
	}
	if key.Severity == 0 {
		d.normal = key
	}
	d.newest = key
}

func (b *baseline) look(ctx context.Context, device andon.DeviceID) error {
	var r viewRow
	it := b.store.db.Driver().Query(viewColumns+fromLatest, b.tenant.Key, string(device)).
		Consistency(cql.Quorum).PageSize(cql.PageRows).IterContext(ctx)
	for into := r.columns(&view{}); it.Scan(into...); {
		continue
	}
	return it.Close()
}

// unlogged is the driver's number of such batches.
const unlogged = 1

// send sends mutations concurrently.
func (b *baseline) send(ctx context.Context, all []cql.Mutation) error {
	level, driver := cql.Quorum, b.store.db.Driver()
	return shared.Parallel(ctx, len(all), func(ctx context.Context, i int) error {
		m := all[i]
		if len(m) == 1 {
			return driver.Query(m[0].Text, m[0].Args...).Consistency(level).ExecContext(ctx)
		}
		batch := driver.Batch(unlogged).Consistency(level)
		for _, o := range m {
			batch.Query(o.Text, o.Args...)
		}
		return batch.ExecContext(ctx)
	})
}

// insert sends the rows of the log and nothing else, those of one device and day in one batch,
// under a tenant that is none. No layout on the engine can cost less.
func (s *Store) insert(ctx context.Context, events []andon.Event) error {
	const key = "inserted"
	a := &appending{
		store: s, tenant: &rows.Tenant{Tenant: &shared.Tenant{Key: key}}, stamp: s.stamp(),
		index: s.newIndexRows(key, s.ttl(andon.Forever)),
	}
	for part := range shared.ByDevice(events, shared.OfEvent) {
		a.entries(&deviceAppend{events: part, is: &view{}, answers: rows.Named(part)})
	}
	return cql.Failure("write", (&baseline{store: s}).send(ctx, a.log))
}

// size is what the tables of the keyspace have on the disks of all nodes, each replica counted.
// Cassandra says it in whole mebibytes a table and node, rounded, so it means something from some
// tens of mebibytes on. CQL has no flush: the tables are set to flush by themselves every half
// second, until all have.
func (s *Store) size(ctx context.Context) (int64, error) {
	if err := s.flush(ctx); err != nil {
		return 0, err
	}
	var all int64
	err := s.eachNode(ctx, func(node string) error {
		rows, err := s.query(ctx, "SELECT keyspace_name, mebibytes FROM system_views.disk_usage",
			node)
		for _, r := range rows {
			if r["keyspace_name"] == s.options.Keyspace {
				mebibytes, _ := r["mebibytes"].(int64)
				all += mebibytes << 20
			}
		}
		return err
	})
	return all, err
}

// flush writes out what is in memory of the tables that an event is written to.
func (s *Store) flush(ctx context.Context) error {
	written := []cql.Table{
		{Name: "events_by_device"}, {Name: "latest_by_device"}, {Name: "directory"},
		{Name: "devices_by_tenant"}, {Name: "hints_by_operator"}, {Name: "devices_by_operator"},
	}
	for _, period := range []string{"500", "0"} {
		for _, t := range append(written, s.working.Load().Reads.Tables()...) {
			what := "TABLE "
			if strings.HasPrefix(t.CQL, "INDEX") {
				continue // it goes with its table
			}
			if strings.HasPrefix(t.CQL, "MATERIALIZED VIEW") {
				what = "MATERIALIZED VIEW "
			}
			_, err := s.query(ctx, "ALTER "+what+s.options.Keyspace+"."+t.Name+
				" WITH memtable_flush_period_in_ms = "+period, "")
			if err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return nil
}

// tombstones counts those of a keyspace that are read past.
type tombstones struct {
	store *Store
	reads map[string]int64 // of each table of each node, when it was last read
	all   int64
}

// count returns how many there were since the first call. It is an estimate: Cassandra counts the
// readings of each table, and what half of the latest ones read past at most, of the last minutes.
// So it is right where most readings are alike, and what few readings meet does not show.
func (t *tombstones) count(ctx context.Context) (int64, error) {
	err := t.store.eachNode(ctx, func(node string) error {
		rows, err := t.store.query(ctx, "SELECT keyspace_name, table_name, count, p50th "+
			"FROM system_views.tombstones_per_read", node)
		for _, r := range rows {
			if r["keyspace_name"] != t.store.options.Keyspace {
				continue
			}
			name, _ := r["table_name"].(string)
			count, _ := r["count"].(int64)
			half, _ := r["p50th"].(float64)
			if half <= 1 { // its histogram begins with 1, which is none or one
				half = 0
			}
			t.all += int64(float64(max(0, count-t.reads[node+name])) * half)
			t.reads[node+name] = count
		}
		return err
	})
	return t.all, err
}

// eachNode does something with every node: what a node says of itself is of that one alone.
func (s *Store) eachNode(ctx context.Context, do func(node string) error) error {
	for _, from := range []string{"system.local", "system.peers_v2"} {
		rows, err := s.query(ctx, "SELECT host_id FROM "+from, "")
		for _, r := range rows {
			id, _ := r["host_id"].(fmt.Stringer)
			err = errors.Join(err, do(id.String()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// query asks a node, or any with "", and returns all rows.
func (s *Store) query(ctx context.Context, text, node string) ([]map[string]any, error) {
	it := s.db.Driver().Query(text).Consistency(cql.LocalOne).SetHostID(node).IterContext(ctx)
	rows, err := it.SliceMap()
	return rows, cql.Failure("read the cluster", errors.Join(err, it.Close()))
}
