package cassandrastore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/memstore"
)

// fleet is a few devices whose writers write while something else goes on.
type fleet struct {
	*testing.T
	store *Store
	want  *memstore.Store

	tenant andon.TenantID
	at     andon.Time
	round  int
}

func newFleet(t *testing.T, s *Store) *fleet {
	return &fleet{
		T: t, store: s, want: memstore.New(),
		tenant: andon.DefaultTenant, at: andon.DayStart(realClock().Day()) - 3_600_000_000,
	}
}

const fleetDevices = 12

// report lets each device report once.
func (f *fleet) report(ctx context.Context) error {
	f.round++
	var events []andon.Event
	for i := range fleetDevices {
		events = append(events, andon.Event{
			Device: testDevice(i), Time: f.at + andon.Time(f.round*10+rand.IntN(5)),
			State: pickOne[andon.State](rand.New(rand.NewPCG(rand.Uint64(), 0)),
				"NORMAL", "WARNING1", "WARNING2", "ODD"),
		})
	}
	events = andon.SortBatch(events)
	received := f.at + andon.Time(f.round*10+10)
	if err := appendAgain(ctx, f.store, f.tenant, received, events); err != nil {
		return err
	}
	return f.want.Append(ctx, f.tenant, received, events)
}

// reportUntil lets the devices report again and again until stop is called.
func (f *fleet) reportUntil() (stop func()) {
	ended := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for {
			if err := f.report(f.Context()); err != nil {
				f.Error(err)
				return
			}
			select {
			case <-ended:
				return
			case <-time.After(time.Second):
			}
		}
	})
	return func() {
		close(ended)
		work.Wait()
	}
}

func (f *fleet) compare(s *Store, when string) {
	f.Helper()
	for i := range fleetDevices {
		want := askAll(f.T, f.want, f.tenant, testDevice(i))
		got := askAll(f.T, s, f.tenant, testDevice(i))
		if d := diff(want, got); d != "" {
			f.Errorf("%s (-want +got):\n%s", when, d)
		}
	}
}

// TestRebuild goes from each design to the next while two processes write and read, and is broken
// off on the way: when writers have begun to keep both, and when devices are put into the new one.
func TestRebuild(t *testing.T) {
	t.Parallel()
	type step struct{ design, buckets string }
	for from, steps := range map[string][]step{ // each waits most of the time
		"view": {
			{"index", ""}, {"buckets", "4"}, {"buckets", "16,WARNING1=2,hash:crc32c"},
		},
		"state": {{"tables", ""}, {"sai", ""}, {"state", ""}},
	} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			o := newSettling(t, from, 5*time.Second)
			o.Latest = ""
			one, two := open(t, o), open(t, o)
			f := newFleet(t, two)
			for i, to := range steps {
				stop := f.reportUntil()
				if i == 0 {
					breakOff(t, one, to.design, to.buckets, from == "view")
				}
				f.rebuild(one, to.design, to.buckets)
				stop()
				f.rebuilt(to.design, one, two)
			}
		})
	}
}

func (f *fleet) rebuild(s *Store, design, buckets string) {
	f.Helper()
	err := s.RebuildLatest(f.Context(), design, buckets, func(done, total int64) {
		if done > total {
			f.Errorf("%d of %d devices are done", done, total)
		}
	})
	if err != nil {
		f.Errorf("to %s: %v", design, err)
	}
}

// rebuilt checks that processes go by a design, and answer.
func (f *fleet) rebuilt(design string, stores ...*Store) {
	f.Helper()
	for n, s := range stores {
		if got := s.working.Load(); got.Latest.Design != design || got.Next != nil {
			f.Errorf("process %d is at %+v, want %s", n+1, got.Settings, design)
		}
		f.compare(s, fmt.Sprintf("process %d after the rebuild to %s", n+1, design))
	}
	onlyTables(f.T, stores[0])
	f.Logf("rebuilt to %s after %d reports", design, f.round)
}

// breakOff begins a rebuild and ends it in the middle.
func breakOff(t *testing.T, s *Store, design, buckets string, early bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if early { // once writers keep both
		go func() {
			for s.working.Load().Next == nil && ctx.Err() == nil {
				<-time.After(10 * time.Millisecond)
			}
			cancel()
		}()
	}
	err := s.RebuildLatest(ctx, design, buckets, func(done, _ int64) {
		if done > 0 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a rebuild that was broken off returns %v", err)
	}
	if w := s.working.Load(); w.Next == nil || w.Next.Design != design {
		t.Errorf("a rebuild that was broken off leaves %+v", w.Settings)
	}
}

// onlyTables checks that nothing of other designs is left.
func onlyTables(t *testing.T, s *Store) {
	t.Helper()
	var want []string
	for _, table := range s.working.Load().Reads.Tables() {
		if !strings.HasPrefix(table.CQL, "INDEX") && !strings.HasPrefix(table.CQL, "MATERIALIZED") {
			want = append(want, table.Name)
		}
	}
	got := scan[string](t, s, "SELECT table_name FROM system_schema.tables "+
		"WHERE keyspace_name = ?", s.options.Keyspace)
	got = slices.DeleteFunc(got, func(name string) bool {
		return !strings.HasPrefix(name, "latest_") || name == "latest_by_device"
	})
	slices.Sort(want)
	slices.Sort(got)
	if d := diff(want, got); d != "" {
		t.Errorf("tables of %s (-want +got):\n%s", s.working.Load().Latest, d)
	}
}

// TestSerialRebuildRefuses what makes no sense, and changes nothing.
func TestSerialRebuildRefuses(t *testing.T) {
	s := open(t, sharedKeyspace(t, "state"))
	for _, test := range []struct{ design, buckets, want string }{
		{"views", "", `design "views" is unknown: use view`},
		{"", "16", "the design state has no buckets"},
		{"sai", "16", "the design sai has no buckets"},
		{"buckets", "0", `"0" ends in no such number`},
	} {
		err := s.RebuildLatest(t.Context(), test.design, test.buckets, func(int64, int64) {})
		wantError(t, err, andon.Invalid, test.want)
	}
	onlyTables(t, s)
}

// rebuildRepairs: index rows that are gone, index rows of states that a device is not in, and a
// newest entry that only the log has are put right in place.
func rebuildRepairs(t *testing.T, o Options) {
	s := open(t, o)
	f := newFleet(t, s)
	f.tenant = ownTenant(t, s)
	if _, err := f.want.PutTenant(t.Context(), andon.NewTenant(f.tenant)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := f.report(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range s.working.Load().Reads.Tables() {
		if !strings.HasPrefix(table.CQL, "(") {
			continue // what is made of a table goes with its rows
		}
		run(t, s, "TRUNCATE "+table.Name)
	}
	f.strayIndexRows()
	f.onlyInLog(testDevice(3))
	if err := s.RebuildLatest(t.Context(), "", "", func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	f.compare(s, "after the rebuild in place")
}

// strayHints says that devices are in states in which they are not.
func (f *fleet) strayIndexRows() {
	t, err := f.store.tenant(f.Context(), f.tenant)
	if err != nil {
		f.Fatal(err)
	}
	var stray []cql.Mutation
	for i := range 3 {
		stray = append(stray, f.store.working.Load().Reads.Add(designs.Place{
			Tenant: t.Key, Device: string(testDevice(i)), State: "WARNING4", Severity: 80, At: 1,
		}))
	}
	if err := f.store.db.Write(f.Context(), stray...); err != nil {
		f.Fatal(err)
	}
}

// onlyInLog keeps an entry as a process does that ends before it writes what the device shows.
func (f *fleet) onlyInLog(device andon.DeviceID) {
	t, err := f.store.tenant(f.Context(), f.tenant)
	if err != nil {
		f.Fatal(err)
	}
	events := []andon.Event{{Device: device, State: "WARNING3", Time: f.at + 1_000}}
	a := &appending{
		store: f.store, working: f.store.working.Load(), tenant: t, received: f.at,
		stamp: f.store.stamp(), index: f.store.newIndexRows(t.Key, f.store.ttl(andon.Forever)),
	}
	a.entries(&deviceAppend{events: events, is: &view{}, answers: rows.Named(events)})
	if err := f.store.db.Write(f.Context(), append(a.log, a.index.Rows...)...); err != nil {
		f.Fatal(err)
	}
	// No one knows when it arrived: at its own time, then.
	err = f.want.Append(f.Context(), f.tenant, events[0].Time, events)
	if err != nil {
		f.Fatal(err)
	}
}

// wantError checks what an error is and says.
func wantError(t *testing.T, err error, kind andon.Kind, words ...string) {
	t.Helper()
	if err == nil || andon.KindOf(err) != kind {
		t.Errorf("got %v, want an error that is %s and says %q", err, kind, words)
		return
	}
	for _, text := range words {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, want it to say %q", err, text)
		}
	}
}
