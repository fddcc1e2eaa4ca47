package dynamostore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/storecheck"
)

// crowd is several writers in two processes that write to few devices, at few times. Each writer
// gives some of its requests up anywhere, and sends them again. One process uses one partition a
// device and the other four.
type crowd struct {
	*testing.T
	stores  [2]*Store
	devices []andon.DeviceID
	at      andon.Time

	mu   sync.Mutex
	sent []andon.Event // acknowledged
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	o := newTables(t)
	c := &crowd{T: t, at: realClock() - 3_600_000_000, devices: []andon.DeviceID{"a#1", "b%"}}
	for i, shards := range []string{"1", "4"} {
		o.Shards = shards
		c.stores[i] = open(t, o)
	}
	return c
}

// crowdWriters write beside each other.
const crowdWriters = 6

// write has all writers do something, some times over.
func (c *crowd) write(times int, do func(r *rand.Rand, s *Store, device andon.DeviceID) error) {
	c.Helper()
	var all sync.WaitGroup
	for n := range crowdWriters {
		all.Go(func() {
			r := rand.New(rand.NewPCG(rand.Uint64(), uint64(n)))
			for range times {
				device := c.devices[r.IntN(len(c.devices))]
				if err := do(r, c.stores[n%2], device); err != nil {
					c.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// events draws entries of a device. All writers send the same content for one identity.
func (c *crowd) events(r *rand.Rand, device andon.DeviceID, named bool) []andon.Event {
	var all []andon.Event
	states := []andon.State{"NORMAL", "WARNING1", "WARNING2", "ODD"}
	people := []andon.PersonID{"", "Sara", "Ali"}
	for range 1 + r.IntN(4) {
		state, n := r.IntN(len(states)), r.IntN(40)
		e := andon.Event{Device: device, Time: c.at + andon.Time(n), State: states[state]}
		e.Message = fmt.Sprint(state, n)
		if e.EscalatedTo = people[(state+n)%3]; named {
			e.Operator = people[(state*n)%3]
		}
		all = append(all, e)
	}
	return andon.SortBatch(all)
}

// append sends entries, at first perhaps with a client that leaves, until they are acknowledged.
func (c *crowd) append(r *rand.Rand, s *Store, events []andon.Event) error {
	if r.IntN(3) == 0 {
		left := storecheck.Leaving(c.Context(), 1+r.IntN(40))
		if s.Append(left, andon.DefaultTenant, realClock(), events) != nil && r.IntN(2) == 0 {
			s = c.stores[r.IntN(2)] // it is sent again to another process
		}
	}
	err := s.Append(c.Context(), andon.DefaultTenant, realClock(), events)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, events...)
	return err
}

// TestTwoProcesses: whatever meets, the answers are those of the reference in the end.
func TestTwoProcesses(t *testing.T) {
	c := newCrowd(t)
	c.write(10, func(r *rand.Rand, s *Store, device andon.DeviceID) error {
		return c.append(r, s, c.events(r, device, true))
	})
	want := memstore.New()
	if _, err := want.PutTenant(t.Context(), andon.NewTenant(andon.DefaultTenant)); err != nil &&
		andon.KindOf(err) != andon.Conflict {
		t.Fatal(err)
	}
	sent := andon.SortBatch(slices.Clone(c.sent))
	if err := want.Append(t.Context(), andon.DefaultTenant, realClock(), sent); err != nil {
		t.Fatal(err)
	}
	for _, s := range c.stores {
		for name, ask := range c.questions() {
			same(t, name, ask(s), ask(want))
		}
		c.folded(s)
	}
}

// questions are what the stores are compared by.
func (c *crowd) questions() map[string]func(andon.Store) any {
	ctx, id := c.Context(), andon.DefaultTenant
	all := map[string]func(andon.Store) any{}
	for _, o := range []andon.Order{andon.Asc, andon.Desc} {
		q := andon.EventQuery{Order: o, Limit: 1000}
		for _, d := range c.devices {
			all[fmt.Sprintf("log of %s %d", d, o)] = func(s andon.Store) any {
				return listOf(c.T, s.DeviceEvents(ctx, id, d, q))
			}
			all[fmt.Sprintf("escalated entries of %s %d", d, o)] = func(s andon.Store) any {
				return listOf(c.T, s.EscalatedEntries(ctx, id, d, q))
			}
		}
		for _, p := range []andon.PersonID{"Sara", "Ali"} {
			all[fmt.Sprintf("operator %s %d", p, o)] = func(s andon.Store) any {
				return listOf(c.T, s.OperatorEvents(ctx, id, p, q))
			}
			all[fmt.Sprintf("supervisor %s %d", p, o)] = func(s andon.Store) any {
				return listOf(c.T, s.SupervisorEvents(ctx, id, p, q))
			}
		}
	}
	all["devices"] = func(s andon.Store) any {
		return listOf(c.T, s.Devices(ctx, id, andon.DeviceQuery{Limit: 100}))
	}
	return all
}

func listOf[T any](t *testing.T, list func(func(T, error) bool)) (all []T) {
	t.Helper()
	for x, err := range list {
		if err != nil {
			t.Error(err)
		}
		all = append(all, x)
	}
	return all
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	ignored := cmpopts.IgnoreFields(andon.Device{}, "Received")
	if diff := cmp.Diff(want, got, ignored, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// folded: what a device shows is what its log says.
func (c *crowd) folded(s *Store) {
	c.Helper()
	ctx := c.Context()
	t, err := s.tenant(ctx, andon.DefaultTenant)
	if err != nil {
		c.Fatal(err)
	}
	all, err := s.look(ctx, t, c.devices)
	if err != nil {
		c.Fatal(err)
	}
	for _, d := range all {
		again := d.clone()
		if !d.Known() {
			continue
		}
		again.Device = current.Device{ID: d.ID, Retired: d.Retired, Received: d.Received,
			Assignee: d.Assignee, AssignedFrom: d.AssignedFrom}
		if err := s.past(ctx, t, again).refold(); err != nil {
			c.Fatal(err)
		}
		same(c.T, "device "+string(d.ID), again.Show(t.Record.States), d.Show(t.Record.States))
	}
}

// TestAssignMeanwhile: an entry that names no operator has the one who was assigned at its time,
// whatever was assigned while it was written.
func TestAssignMeanwhile(t *testing.T) {
	c := newCrowd(t)
	ctx, id := t.Context(), andon.DefaultTenant
	c.write(8, func(r *rand.Rand, s *Store, device andon.DeviceID) error {
		if r.IntN(3) > 0 {
			return c.append(r, s, c.events(r, device, false))
		}
		operator := andon.PersonID(fmt.Sprint("p", r.IntN(5)))
		now := c.at + andon.Time(r.IntN(40))
		_, err := s.Assign(ctx, id, now, []andon.Assignment{{Device: device, Operator: operator}})
		return err
	})
	for _, d := range c.devices {
		assigned := listOf(t, c.stores[0].Assignments(ctx, id, d, andon.PageQuery{
			Order: andon.Asc, Limit: 1000,
		}))
		q := andon.EventQuery{Limit: 1000}
		for _, e := range listOf(t, c.stores[1].DeviceEvents(ctx, id, d, q)) {
			var want andon.PersonID
			for _, a := range assigned {
				if a.From <= e.Time {
					want = a.Operator
				}
			}
			if e.Operator != want {
				t.Errorf("%s at %s has %q, want %q of %v", d, e.Time, e.Operator, want, assigned)
			}
		}
	}
}

// TestPurgeMeanwhile: what is sent while a device is purged is there or gone as a whole, and what
// is sent after it is there.
func TestPurgeMeanwhile(t *testing.T) {
	c := newCrowd(t)
	ctx, id := t.Context(), andon.DefaultTenant
	c.write(8, func(r *rand.Rand, s *Store, device andon.DeviceID) error {
		switch r.IntN(4) {
		case 0, 1:
			return c.append(r, s, c.events(r, device, true))
		case 2:
			operator := andon.PersonID(fmt.Sprint("p", r.IntN(1000)))
			sent := []andon.Assignment{{Device: device, Operator: operator}}
			_, err := s.Assign(ctx, id, c.at, sent)
			return err
		}
		err := s.Purge(ctx, id, device)
		if andon.KindOf(err) == andon.NotFound {
			return nil
		}
		return err
	})
	c.folded(c.stores[0])
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range c.devices {
		if err := c.stores[0].Purge(ctx, id, d); err != nil && andon.KindOf(err) != andon.NotFound {
			t.Fatal(err)
		}
		sent := c.events(r, d, true)
		if err := c.append(r, c.stores[1], sent); err != nil {
			t.Fatal(err)
		}
		got := listOf(t, c.stores[0].DeviceEvents(ctx, id, d, andon.EventQuery{
			Order: andon.Asc, Limit: 1000,
		}))
		q := andon.PageQuery{Limit: 10}
		if left := listOf(t, c.stores[1].Assignments(ctx, id, d, q)); len(left) > 0 {
			t.Errorf("after the purge %s has the assignments %v", d, left)
		}
		if len(got) != len(sent) {
			t.Errorf("after the purge %s has %v, want %v", d, got, sent)
		}
	}
	c.folded(c.stores[1])
}

// TestSerialGrowth: one process writes to a device with ever more partitions, another lags behind,
// and some entries are delivered again: each is there once, in order, on pages across the growth.
func TestSerialGrowth(t *testing.T) {
	o := newTables(t)
	ctx, id := t.Context(), andon.DefaultTenant
	stale := open(t, o) // one partition
	at := andon.DayStart(realClock().Day()) - 3_600_000_000
	var want []andon.Time
	for n, shards := range []string{"1", "2", "4", "8"} {
		o.Shards = shards
		s := open(t, o)
		var events []andon.Event
		for i := range 40 {
			e := andon.Event{Device: "hot", Time: at + andon.Time(40*n+i), State: "NORMAL"}
			events, want = append(events, e), append(want, e.Time)
		}
		for _, to := range []*Store{stale, s, stale} {
			part := events[:30]
			if to == s {
				part = events
			}
			if err := to.Append(ctx, id, realClock(), part); err != nil {
				t.Fatal(err)
			}
		}
		var got []andon.Time
		q := andon.EventQuery{Order: andon.Asc, Limit: 7}
		for {
			page := listOf(t, stale.DeviceEvents(ctx, id, "hot", q))
			for i := range page {
				got = append(got, page[i].Time)
				key := page[i].Key(andon.DefaultStates())
				q.After = &key
			}
			if len(page) < q.Limit {
				break
			}
		}
		same(t, "the log at shards "+shards, got, want)
	}
}

// TestHotDevice: a device is given partitions by the rate of what is written to it, and they stay.
func TestHotDevice(t *testing.T) {
	r, now := newRates(), time.Unix(1e9, 0)
	d := &device{}
	d.ID = "hot"
	n := 1
	for range 20 {
		for range 50 { // 5,000 a second
			n = r.shards(now, d, "t", 100, n)
			now = now.Add(20 * time.Millisecond)
		}
	}
	if n < 8 || n > 16 {
		t.Errorf("5,000 units a second have %d partitions, want 8 or 16", n)
	}
	cold := &device{}
	cold.ID = "cold"
	for range 100 {
		if n := r.shards(now, cold, "t", 1, 1); n != 1 {
			t.Errorf("a cold device has %d partitions", n)
		}
		now = now.Add(time.Second)
	}
}
