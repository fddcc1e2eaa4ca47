package dynamostore

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/tenants"
	"github.com/andonhq/andon/storecheck"
)

// dividedKinds are what has keys of indexes.
func dividedKinds() []string {
	return []string{items.OfOperator, items.OfSupervisor, items.OfState, items.OfMetric}
}

// divided is a store on which all keys of indexes are divided from the beginning of a tenant on.
type divided struct{ *Store }

// PutTenant implements andon.Tenants.
func (d divided) PutTenant(ctx context.Context, t andon.Tenant) (andon.Tenant, error) {
	is, err := d.Store.PutTenant(ctx, t)
	if err != nil {
		return is, err
	}
	changed := false
	_, _, err = d.Amend(ctx, t.ID, func(t *tenant) bool {
		if changed = t.Divided == nil; changed {
			t.Divided = map[string]tenants.Divided{}
			for _, of := range dividedKinds() {
				t.Divided[of] = tenants.Divided{Read: 4, Write: 4}
			}
		}
		return changed
	})
	if err != nil || !changed {
		return is, err
	}
	return d.Tenant(ctx, t.ID)
}

// dependsOnShards returns those of the checks in whose answers it matters that a device, or the key
// of an index, is divided: a list has several rows, or the log of a device is read to fold an entry
// that came late. Each is run on the reference to see that, so the answer follows a check that
// changes.
func dependsOnShards(t *testing.T) (all []storecheck.Check) {
	t.Helper()
	for _, c := range storecheck.Checks() {
		r := &rows{Store: memstore.New(), newest: map[[2]string]andon.Time{}}
		if err := storecheck.RunOne(t.Context(), r, c).Err; err != nil {
			t.Fatalf("%s, on the reference: %v", c, err)
		}
		if r.several || r.late {
			all = append(all, c)
		}
	}
	if len(all) < 50 {
		t.Errorf("only %d checks depend on shards", len(all))
	}
	return all
}

// rows is the reference, and notes what a store with shards has to merge.
type rows struct {
	andon.Store
	several bool // rows in a list
	late    bool // entries

	mu     sync.Mutex // guards what is above and newest: checks call a store concurrently
	newest map[[2]string]andon.Time
}

func noteSeveral[T any](r *rows, list iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		n := 0
		for row, err := range list {
			if n++; n > 1 {
				r.mu.Lock()
				r.several = true
				r.mu.Unlock()
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// DeviceEvents implements andon.Log.
func (r *rows) DeviceEvents(
	ctx context.Context, t andon.TenantID, d andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return noteSeveral(r, r.Store.DeviceEvents(ctx, t, d, q))
}

// OperatorEvents implements andon.Log.
func (r *rows) OperatorEvents(
	ctx context.Context, t andon.TenantID, p andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return noteSeveral(r, r.Store.OperatorEvents(ctx, t, p, q))
}

// SupervisorEvents implements andon.Log.
func (r *rows) SupervisorEvents(
	ctx context.Context, t andon.TenantID, p andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	return noteSeveral(r, r.Store.SupervisorEvents(ctx, t, p, q))
}

// DeviceReadings implements andon.Readings.
func (r *rows) DeviceReadings(
	ctx context.Context, t andon.TenantID, d andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return noteSeveral(r, r.Store.DeviceReadings(ctx, t, d, q))
}

// Devices implements andon.Current.
func (r *rows) Devices(
	ctx context.Context, t andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	return noteSeveral(r, r.Store.Devices(ctx, t, q))
}

// Append implements andon.Log.
func (r *rows) Append(
	ctx context.Context, t andon.TenantID, received andon.Time, events []andon.Event,
) error {
	r.mu.Lock()
	for _, e := range events {
		key := [2]string{string(t), string(e.Device)}
		r.late = r.late || e.Time < r.newest[key]
		r.newest[key] = max(r.newest[key], e.Time)
	}
	r.mu.Unlock()
	return r.Store.Append(ctx, t, received, events)
}

// TestDivideByHand: numbers are powers of two that only grow, of a name or of all of a kind.
func TestDivideByHand(t *testing.T) {
	s := newFake().open(t)
	s.options.dividedAfter = 0
	divide := func(of, name string, n, want int, kind andon.Kind) {
		t.Helper()
		is, err := s.Divide(t.Context(), andon.DefaultTenant, of, name, n)
		if andon.KindOf(err) != kind || (err != nil) != (kind != 0) || kind == 0 && is != want {
			t.Errorf("%s %q to %d: %d, %v, want %d", of, name, n, is, err, want)
		}
	}
	for _, of := range append(dividedKinds(), items.OfDevice) {
		x, y := "x", "y"
		if of == items.OfState {
			x, y = "NORMAL", "WARNING1"
		}
		divide(of, x, 0, 1, 0)
		divide(of, x, 8, 8, 0)
		divide(of, x, 8, 8, 0)
		divide(of, x, 4, 0, andon.Conflict)
		divide(of, x, 12, 0, andon.Invalid)
		divide(of, x, 128, 0, andon.Invalid)
		divide(of, x, 0, 8, 0)
		divide(of, y, 0, 1, 0)
	}
	for _, n := range []int{0, 4} {
		_, err := s.Divide(t.Context(), andon.DefaultTenant, items.OfState, "TYPO", n)
		if andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(), "NORMAL, ") {
			t.Errorf("a state that is none, to %d: %v", n, err)
		}
	}
	divide(items.OfState, "", 4, 4, 0)
	divide(items.OfMetric, "", 4, 4, 0)
	divide(items.OfMetric, "y", 0, 4, 0)
	divide(items.OfMetric, "x", 0, 8, 0)
	divide(items.OfDevice, "", 4, 0, andon.Invalid)
	divide("person", "x", 2, 0, andon.Invalid)
	for n := len(mustTenant(t, s).Divided); n < items.MostDivided; n++ {
		divide(items.OfOperator, strconv.Itoa(n), 2, 2, 0)
	}
	divide(items.OfOperator, "one more", 2, 0, andon.Conflict)
	divide(items.OfOperator, "x", 16, 16, 0)
}

// TestSerialDeviceByHand: what is written to a device before and after its number was set by hand
// is found, by any process, and the number is known before the device sends anything.
func TestSerialDeviceByHand(t *testing.T) {
	o := newTables(t)
	all := []*Store{open(t, o), open(t, o), open(t, o)}
	ctx, id := t.Context(), andon.DefaultTenant
	for n := range 30 {
		if n%10 == 0 && n < 20 { // the other processes know the device as it was before
			is, err := all[2].Divide(ctx, id, items.OfDevice, "d", 4<<(n/10))
			if err != nil || is != 4<<(n/10) {
				t.Fatalf("it has %d, %v", is, err)
			}
		}
		sendUntil(t, all[n%2], []andon.Event{{Device: "d", Time: minute(n), State: "NORMAL"}})
		measure(t, all[n%2], reading("d", n, andon.Metric{Name: "x", Value: 1}))
	}
	for _, s := range all {
		log := listOf(t, s.DeviceEvents(ctx, id, "d", andon.EventQuery{Limit: 99}))
		readings := listOf(t, s.DeviceReadings(ctx, id, "d", andon.ReadingQuery{Limit: 99}))
		if len(log) != 30 || len(readings) != 30 {
			t.Errorf("%d entries and %d readings, want 30", len(log), len(readings))
		}
	}
	d, err := all[0].readDevice(ctx, mustTenant(t, all[0]), "d")
	if err != nil || d.Partitions() != 8 {
		t.Errorf("it has %d partitions, %v", d.Partitions(), err)
	}
	found, _, err := all[0].db.Page(ctx, ddb.Query{Table: items.TableLog, Key: items.LogKeys(),
		Partition: items.ShardKey("default#d", 7)}, nil)
	if err != nil || len(found) == 0 {
		t.Errorf("nothing is in the last shard, %v", err)
	}
}

// TestBusyKeys: an operator, a state and a metric of a busy fleet are divided while two processes
// write, and what was acknowledged is in every list of both, in order, at any time.
func TestBusyKeys(t *testing.T) {
	o := newTables(t)
	o.Prefix += "busy_"
	indexed(items.ProjectsMetrics)(&o)
	if err := Init(t.Context(), o, adapter.Setup{}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	both := [2]*Store{open(t, o), open(t, o)}
	both[0].rates.OfShard = 1 // this one finds them busy
	end := time.Now().Add(time.Minute)
	for n := 0; ; n++ {
		device := andon.DeviceID(fmt.Sprintf("d%d", n%20))
		sendUntil(t, both[n%2], []andon.Event{{Device: device, Time: minute(n),
			State: []andon.State{"NORMAL", "WARNING1"}[n/20%2], Operator: "Liz"}})
		measure(t, both[n%2], reading(device, n, andon.Metric{Name: "temperature", Value: 1}))
		is := mustTenant(t, both[1])
		least := min(items.Divided(is, items.OfOperator, "Liz").Write,
			items.Divided(is, items.OfState, "NORMAL").Write,
			items.Divided(is, items.OfMetric, "temperature").Write)
		done := least >= 4 && n >= 40 || time.Now().After(end)
		if n%10 == 9 || done {
			for _, s := range both {
				wantAll(t, s, n+1)
			}
		}
		if done {
			t.Logf("after %d entries: %v", n, is.Divided)
			if least < 4 {
				t.Error("they are not divided")
			}
			return
		}
	}
}

// wantAll holds the lists of a store against so many entries, and as many readings, of 20 devices.
func wantAll(t *testing.T, s *Store, n int) {
	t.Helper()
	const most = 1 << 20
	ctx, id := t.Context(), andon.DefaultTenant
	entries := listOf(t, s.OperatorEvents(ctx, id, "Liz", andon.EventQuery{Limit: most}))
	values := listOf(t, s.MetricReadings(eventually(ctx), id,
		andon.MetricQuery{Metric: "temperature", Limit: most}))
	if len(entries) != n || len(values) != n {
		t.Fatalf("it has %d entries and %d readings, want %d", len(entries), len(values), n)
	}
	for i := range n {
		if at := minute(n - 1 - i); entries[i].Time != at || values[i].Time != at {
			t.Fatalf("entry %d is of %s and reading %d of %s, want %s", i, entries[i].Time, i,
				values[i].Time, at)
		}
	}
	for _, operator := range []andon.PersonID{"", "Liz"} {
		q := andon.DeviceQuery{Limit: most, Operator: operator}
		if got := len(listOf(t, s.Devices(ctx, id, q))); got != min(n, 20) {
			t.Fatalf("%d devices of operator %q are listed of %d", got, operator, min(n, 20))
		}
	}
}
