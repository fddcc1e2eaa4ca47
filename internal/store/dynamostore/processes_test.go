package dynamostore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/storecheck"
)

// writers are several in two processes that write to few devices, at few times. Each writer
// gives some of its requests up anywhere, and sends them again. One process uses one partition a
// device and the other four.
type writers struct {
	*testing.T
	stores  [2]*Store
	devices []andon.DeviceID
	at      andon.Time

	mu   sync.Mutex
	sent []andon.Event // acknowledged
}

func newWriters(t *testing.T) *writers {
	t.Helper()
	o := newTables(t)
	c := &writers{T: t, at: realClock() - 3_600_000_000, devices: []andon.DeviceID{"a#1", "b%"}}
	for i, shards := range []string{"1", "4"} {
		o.Shards = shards
		c.stores[i] = open(t, o)
	}
	return c
}

// writerCount is how many write concurrently.
const writerCount = 6

// write has all writers do something, some times over.
func (c *writers) write(times int, do func(r *rand.Rand, s *Store, device andon.DeviceID) error) {
	c.Helper()
	var all sync.WaitGroup
	for n := range writerCount {
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
func (c *writers) events(r *rand.Rand, device andon.DeviceID, named bool) []andon.Event {
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
func (c *writers) append(r *rand.Rand, s *Store, events []andon.Event) error {
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
	c := newWriters(t)
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
		for name, ask := range c.queries() {
			same(t, name, ask(s), ask(want))
		}
		c.folded(s)
	}
}

// queries are what the stores are compared by.
func (c *writers) queries() map[string]func(andon.Store) any {
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
func (c *writers) folded(s *Store) {
	c.Helper()
	ctx := c.Context()
	t, err := s.tenant(ctx, andon.DefaultTenant)
	if err != nil {
		c.Fatal(err)
	}
	all, err := s.readDevices(ctx, t, c.devices)
	if err != nil {
		c.Fatal(err)
	}
	for _, d := range all {
		again := d.Clone()
		if !d.Known() {
			continue
		}
		again.Device = current.Device{ID: d.ID, Retired: d.Retired, Received: d.Received,
			Assignee: d.Assignee, AssignedFrom: d.AssignedFrom}
		if err := s.history(ctx, again).refold(); err != nil {
			c.Fatal(err)
		}
		same(c.T, "device "+string(d.ID), again.Show(t.Record.States), d.Show(t.Record.States))
	}
}

// TestAssignMeanwhile: an entry that names no operator has the one who was assigned at its time,
// whatever was assigned while it was written.
func TestAssignMeanwhile(t *testing.T) {
	c := newWriters(t)
	ctx, id := t.Context(), andon.DefaultTenant
	c.write(4, func(r *rand.Rand, s *Store, device andon.DeviceID) error {
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
	c := newWriters(t)
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

// growth is one hot device that two processes write to concurrently, with the limits of the
// service at a part of its speed. Time goes on with each batch, as if entries came at 5,000 a
// second, or the same part of it.
type growth struct {
	*testing.T
	growing, stale *Store // one gives the device partitions by its rate; one knows of one only
	passed         *atomic.Int64
	at             andon.Time
	sent           int // entries
	pages          []andon.Event
}

const (
	growthSpeed = 160 // times slower than the service
	growthBatch = 25  // entries of a request
	growthPage  = 30  // entries of a page
)

func newGrowth(t *testing.T, shards string) *growth {
	t.Helper()
	p, o := behindProxy(t)
	g := &growth{T: t, passed: new(atomic.Int64), at: minute(0)}
	p.limits = documented(1. / growthSpeed)
	p.limits.burst = 4 * time.Second
	p.limits.now = func() time.Time { return time.Unix(1000, g.passed.Load()) }
	p.tick = func(target string) {
		if strings.HasSuffix(target, "BatchWriteItem") {
			g.passed.Add(int64(growthSpeed * growthBatch * time.Second / 5000))
		}
	}
	begun := realClock()
	o.Now = func() andon.Time { return begun + andon.Time(g.passed.Load()/1000) }
	o.Shards = shards
	g.growing = open(t, o)
	g.growing.rates.OfShard /= growthSpeed
	o.Shards = "1"
	g.stale = open(t, o)
	return g
}

// entries are those of a request, which is the same each time that it is sent.
func (g *growth) entries(request int) (all []andon.Event) {
	for n := request * growthBatch; n < (request+1)*growthBatch; n++ {
		all = append(all, andon.Event{Device: "hot", Time: g.at + andon.Time(n), State: "NORMAL"})
	}
	return all
}

// send sends three requests by the process that grows, and meanwhile one by the other, and at times
// an earlier one again.
func (g *growth) send() {
	g.Helper()
	next := g.sent / growthBatch
	var both sync.WaitGroup
	both.Go(func() {
		for n := range 3 {
			sendUntil(g.T, g.growing, g.entries(next+n))
		}
	})
	both.Go(func() {
		sendUntil(g.T, g.stale, g.entries(next+3))
		if next%8 == 0 {
			sendUntil(g.T, g.stale, g.entries(next/2))
		}
	})
	both.Wait()
	g.sent += 4 * growthBatch
}

// undone is how many batches of the process that grows were throttled, in whole or in part.
func (g *growth) undone() int64 { return int64(figures(g.growing)["unprocessed_total "]) }

// page reads the next page of the log, as a reader does who began before the device grew.
func (g *growth) page(by *Store) {
	g.Helper()
	q := andon.EventQuery{Order: andon.Asc, Limit: growthPage}
	if len(g.pages) > 0 {
		after := g.pages[len(g.pages)-1].Key(andon.DefaultStates())
		q.After = &after
	}
	g.passed.Add(int64(time.Second)) // reads have their limits, too
	g.pages = append(g.pages,
		listOf(g.T, by.DeviceEvents(g.Context(), andon.DefaultTenant, "hot", q))...)
}

func (g *growth) shards() int {
	g.Helper()
	d, err := g.stale.readDevice(g.Context(), mustTenant(g.T, g.stale), "hot")
	if err != nil {
		g.Fatal(err)
	}
	return d.Partitions()
}

// TestHotKey: one device at 5,000 entries a second stalls in one partition.
func TestHotKey(t *testing.T) {
	g := newGrowth(t, "1")
	g.send()
	g.send()
	if g.undone() < 6 || g.shards() != 1 {
		t.Errorf("of 6 batches to one partition %d were throttled, want each; there are %d "+
			"partitions", g.undone(), g.shards())
	}
}

// TestGrowth: one device at 5,000 entries a second is given partitions by its rate, one step after
// the other, while another process lags and some entries are delivered again. Then it flows,
// and each entry is there once, in order, on pages that were begun before.
func TestGrowth(t *testing.T) {
	g := newGrowth(t, "auto")
	steps := []int{1}
	for g.sent < 200*growthBatch && steps[len(steps)-1] < 8 {
		g.send()
		if n := g.shards(); n != steps[len(steps)-1] {
			steps = append(steps, n)
			g.page(g.stale)
		}
	}
	t.Logf("the device grew by %v, within %s and %d entries", steps,
		time.Duration(g.passed.Load()), g.sent)
	if n := steps[len(steps)-1]; n < 8 || !slices.IsSorted(steps) {
		t.Errorf("the device grew by %v, want it to grow to 8", steps)
	}
	before := g.undone()
	g.passed.Add(int64(10 * time.Second)) // what was asked for before is done
	for range 8 {
		sendUntil(t, g.growing, g.entries(g.sent/growthBatch))
		g.sent += growthBatch
	}
	if again := g.undone() - before; before == 0 || again > 0 {
		t.Errorf("%d batches were throttled before, and %d with 8 partitions", before, again)
	}
	g.readAll()
}

// readAll reads the pages that are left, and holds all of them against what was sent.
func (g *growth) readAll() {
	g.Helper()
	for more := true; more && !g.Failed(); {
		had := len(g.pages)
		g.page(g.growing)
		more = len(g.pages) > had
	}
	if len(g.pages) != g.sent {
		g.Fatalf("the pages have %d entries, want %d", len(g.pages), g.sent)
	}
	for n := range g.pages {
		if want := g.at + andon.Time(n); g.pages[n].Time != want {
			g.Fatalf("entry %d is of %s, want %s", n, g.pages[n].Time, want)
		}
	}
}

// TestHotDevice: a device is given partitions by the rate of what is written to it, and they stay.
func TestHotDevice(t *testing.T) {
	r, now := items.NewRates(), time.Unix(1e9, 0)
	n := 1
	for range 20 {
		for range 50 { // 5,000 a second
			n = r.Partitions(now, "hot", 100, n)
			now = now.Add(20 * time.Millisecond)
		}
	}
	if n < 8 || n > 16 {
		t.Errorf("5,000 units a second have %d partitions, want 8 or 16", n)
	}
	for range 100 {
		if n := r.Partitions(now, "cold", 1, 1); n != 1 {
			t.Errorf("a cold device has %d partitions", n)
		}
		now = now.Add(time.Second)
	}
}
