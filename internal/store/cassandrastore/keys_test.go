package cassandrastore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// TestSerialPurgedDevice: what a device sent is gone from every answer of two processes, also what
// one of them still writes that does not know of the purge; what it sends afterwards is of a new
// device, whichever process takes it; and no table has a row left of what it was.
func TestSerialPurgedDevice(t *testing.T) {
	t.Parallel()
	for _, design := range []string{"buckets", "index", "tables"} {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			o := sharedKeyspace(t, design)
			o.pace = neverAlone
			p := &purgeTest{T: t, stores: []*Store{open(t, o), open(t, o)}, tenant: "purging"}
			p.purge()
		})
	}
}

type purgeTest struct {
	*testing.T
	stores []*Store
	tenant andon.TenantID
	at     andon.Time
}

// must fails where an operation does.
func (p *purgeTest) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *purgeTest) purge() {
	one, two, ctx, device := p.stores[0], p.stores[1], p.Context(), testDevice(0)
	p.at = andon.DayStart(realClock().Day())
	_, err := one.PutTenant(ctx, andon.NewTenant(p.tenant))
	p.must(err)
	useEverything(p.T, one, p.tenant, p.at)
	former, err := two.tenant(ctx, p.tenant)
	p.must(err)
	p.countBoth()
	p.sees(device, p.at)

	p.must(one.Purge(ctx, p.tenant, device))
	p.late(former, device)
	p.sees(device, 0)
	err = one.Purge(ctx, p.tenant, device)
	if kind := andon.KindOf(err); kind != andon.NotFound {
		p.Errorf("purged again: %v", err)
	}
	again := andon.Event{Device: device, State: "WARNING1", Time: p.at - 10, Operator: "Liz"}
	err = two.append(ctx, former, p.at, []andon.Event{again})
	if kind := andon.KindOf(err); kind != andon.Unavailable {
		p.Errorf("an append that waited while the device was purged: %v", err)
	}
	p.must(two.Append(ctx, p.tenant, p.at, []andon.Event{again}))
	p.sees(device, again.Time)
	p.must(two.Purge(ctx, p.tenant, device))
	p.sees(device, 0)
	again.Time -= 10
	p.must(one.Append(ctx, p.tenant, p.at, []andon.Event{again}))
	p.sees(device, again.Time)
	eventually(p.T, func() error { return p.noRows(string(device)) })
	p.sees(device, again.Time)
	p.must(one.DeleteTenant(ctx, p.tenant))
}

// lateState is the state of the late entry. Where the machine is slow it comes after the rows went,
// and then the row of its supervisor stays. It leads to nothing.
const lateState = "WARNING4"

// late appends from what a process knew before.
func (p *purgeTest) late(former *rows.Tenant, device andon.DeviceID) {
	p.Helper()
	two := p.stores[1]
	slots, err := two.devices.Take(p.Context(), former.Key, device)
	p.must(err)
	defer slots.Give()
	a := &appending{
		store: two, working: two.working.Load(), tenant: former, received: p.at,
		stamp: two.stamp(), index: two.newIndexRows(former.Key, two.ttl(andon.Forever)),
		devices: []*deviceAppend{{events: []andon.Event{{
			Device: device, State: lateState, Time: p.at + 5, Operator: "Liz", EscalatedTo: "Sara",
		}}}},
	}
	p.must(a.run(p.Context(), slots))
}

// countBoth has both processes count all devices.
func (p *purgeTest) countBoth() {
	for _, s := range p.stores {
		p.must(s.countAll(p.Context()))
	}
}

// sees checks that both processes answer with one entry of the device, or none where at is 0.
func (p *purgeTest) sees(device andon.DeviceID, at andon.Time) {
	p.Helper()
	p.countBoth()
	n := 0
	if at != 0 {
		n = 1
	}
	ofDevice := func(events []andon.Event) (found int) {
		for _, e := range events {
			if e.Device == device {
				found++
			}
		}
		return found
	}
	for i, s := range p.stores {
		ctx, q := p.Context(), andon.EventQuery{Limit: 1000}
		log := gather(p.T, s.DeviceEvents(ctx, p.tenant, device, q))
		operator := p.operatorPages(s)
		if len(log) != n || n == 1 && log[0].Time != at || ofDevice(operator) != n {
			p.Errorf("process %d has %v, of the operator %v, want one at %s", i+1, log,
				ofDevice(operator), at)
		}
		shows, err := s.Device(ctx, p.tenant, device)
		if n == 1 && (err != nil || shows.Time != at) ||
			n == 0 && andon.KindOf(err) != andon.NotFound {
			p.Errorf("process %d shows %v, %v", i+1, shows, err)
		}
		all := gather(p.T, s.Devices(ctx, p.tenant, andon.DeviceQuery{Limit: 1000}))
		isThere := slices.ContainsFunc(all, func(d andon.Device) bool { return d.ID == device })
		if isThere != (n == 1) || len(all) != 9+n {
			p.Errorf("process %d lists %d devices, %v", i+1, len(all), isThere)
		}
		if counted := countsOfTenant(p.T, s, p.tenant); counted != len(all) {
			p.Errorf("process %d counts %d devices of %d", i+1, counted, len(all))
		}
	}
}

// operatorPages returns the entries of an operator, each page of one after the former.
func (p *purgeTest) operatorPages(s *Store) (all []andon.Event) {
	p.Helper()
	states := andon.NewTenant(p.tenant).States
	q := andon.EventQuery{Order: andon.Asc, Limit: 1}
	for range 30 {
		page := gather(p.T, s.OperatorEvents(p.Context(), p.tenant, "Liz", q))
		if len(page) == 0 {
			break
		}
		all = append(all, page...)
		after := page[0].Key(states)
		q.After = &after
	}
	return all
}

func countsOfTenant(t *testing.T, s *Store, id andon.TenantID) (n int) {
	t.Helper()
	all, err := s.Counts(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		n += one.Count
	}
	return n
}

// noRows reports the first table with a row of a former incarnation. Hours of operators may have
// some, which lead to nothing.
func (p *purgeTest) noRows(device string) error {
	s := p.stores[0]
	for _, table := range scan[string](p.T, s, "SELECT table_name FROM system_schema.columns "+
		"WHERE keyspace_name = ? AND column_name = 'device' ALLOW FILTERING", s.options.Keyspace) {
		if table == "hints_by_operator" || table == "purged_devices" {
			continue
		}
		columns := "tenant, device, device"
		if table == "hints_by_supervisor" {
			columns = "tenant, device, state"
		}
		it := s.db.Driver().Query("SELECT " + columns + " FROM " + table).IterContext(p.Context())
		var tenant, row, state string
		for it.Scan(&tenant, &row, &state) {
			over := row == device || row == string(rows.DeviceKey(andon.DeviceID(device), 1))
			if tenant == string(p.tenant) && over && state != lateState {
				_ = it.Close()
				return fmt.Errorf("table %s has a row of %q", table, row)
			}
		}
		if err := it.Close(); err != nil {
			return err
		}
	}
	return nil
}

// TestKeysOfADevice: all of them are next to each other, before the next device.
func TestKeysOfADevice(t *testing.T) {
	names := []string{"d", "d\x000000000100000000", "d\t1", "d\t1\x000000000100000000", "d\t12"}
	for _, row := range names {
		id := andon.DeviceID(designs.DeviceOf(row))
		want := shared.Spread(shared.Hash("d"), rows.Buckets)
		if rows.IDOf(id) != "d" || rows.Bucket(string(id)) != want {
			t.Errorf("%q is of device %q, in bucket %d", row, rows.IDOf(id),
				rows.Bucket(string(id)))
		}
		if row >= "d " {
			t.Errorf("%q comes after another device", row)
		}
	}
}

// TestBucketsInPages: the devices of all buckets are found once, and in order, wherever the pages
// of a statement end and however many statements there are.
func TestBucketsInPages(t *testing.T) {
	t.Parallel()
	s := open(t, sharedKeyspace(t, "buckets"))
	var ids []andon.DeviceID
	for i := range 300 {
		ids = append(ids, andon.DeviceID(fmt.Sprintf("d%03d", i)))
	}
	for _, buckets := range []string{"1", "2", "16", "40"} {
		d, err := designs.New(designs.Layout{Design: "buckets", Buckets: buckets})
		if err != nil {
			t.Fatal(err)
		}
		p := designs.Place{Tenant: "of " + buckets, State: "A", At: realClock()}
		var rows []cql.Mutation
		for i, id := range ids {
			p.Device = string(id)
			if rows = append(rows, d.Add(p)); i%3 == 0 { // a row of another generation, too
				p.Gen = p.Gen.AfterWithdrawals(1)
				rows = append(rows, d.Add(p))
			}
			p.Gen = 0
		}
		if err := s.db.Write(t.Context(), rows...); err != nil {
			t.Fatal(err)
		}
		for _, from := range []int{0, 100, 299} {
			p.Device = string(ids[from])
			q := andon.DeviceQuery{Limit: 10}
			got, err := seq.Collect(s.streams(t.Context(), d.Find(p), q))
			if d := diff(ids[from:], got); err != nil || d != "" {
				t.Errorf("%s buckets, from %s: %v\n%s", buckets, ids[from], err, d)
			}
		}
	}
}
