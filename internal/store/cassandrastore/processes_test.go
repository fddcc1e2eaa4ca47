package cassandrastore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/memstore"
)

// TestTwoProcessesRandom lets two processes write the same few devices, each with many requests at
// once: late entries, entries at one time, entries sent again, assignments, retirements,
// withdrawals. When all is quiet both answer as the reference does for the same entries, and so
// does a third that comes again.
func TestTwoProcessesRandom(t *testing.T) {
	t.Parallel()
	writeFromTwo(t, racedDesign)
}

// TestSerialTwoProcesses does the same under other designs.
func TestSerialTwoProcesses(t *testing.T) {
	t.Parallel()
	for _, design := range writtenDesigns() {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			writeFromTwo(t, design)
		})
	}
}

func writeFromTwo(t *testing.T, design string) {
	t.Helper()
	o := sharedKeyspace(t, design)
	c := &writers{T: t}
	o.Now = func() andon.Time { return realClock().Add(andon.Duration(c.ahead.Load())) }
	c.stores = []*Store{open(t, o), open(t, o)}
	c.tenant = ownTenant(t, c.stores[0])
	c.at = andon.DayStart(realClock().Day()) - 3_600_000_000
	_, feed, err := c.stores[0].ChangesKept(t.Context(), c.tenant)
	if err != nil {
		t.Fatal(err)
	}
	c.write()
	want := c.reference()
	c.compare(want, "before it is settled", false) // see ListsLag
	c.ahead.Store(o.Settle.Microseconds())         // nobody writes any more
	c.awaitReviews()
	c.compare(want, "after it is settled", true)
	for _, s := range c.stores {
		checkFeed(t, s, c.tenant, feed)
	}
	c.stores = append(c.stores, open(t, o))
	c.compare(want, "with a process that comes anew", true)
	c.compareCounts(want)
}

// writers is what many writers sent.
type writers struct {
	*testing.T
	stores []*Store
	tenant andon.TenantID
	at     andon.Time
	ahead  atomic.Int64 // of the clock of the stores, in µs

	mu      sync.Mutex
	sent    []andon.Event // acknowledged
	retired []andon.Retirement
	wrong   []andon.Withdrawal

	assignments map[andon.DeviceID][]andon.Assignment // once they were read
}

const testDevices = 5

func testDevice(i int) andon.DeviceID { return andon.DeviceID(fmt.Sprintf("press-%d", i)) }

func (c *writers) write() {
	c.assignments = map[andon.DeviceID][]andon.Assignment{}
	seed := uint64(rand.Uint32())
	c.Logf("seed %d", seed)
	var writers sync.WaitGroup
	for i := range 8 {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		s := c.stores[i%2]
		writers.Go(func() {
			for n := range 25 {
				if err := c.request(r, s, n); err != nil {
					c.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
}

// request sends one request of a few entries, or does something else.
func (c *writers) request(r *rand.Rand, s *Store, n int) error {
	device := testDevice(r.IntN(testDevices))
	switch k := r.IntN(20); {
	case k == 0:
		return c.retire(r, s)
	case k == 1:
		return c.withdraw(r, s)
	case k < 4:
		person := pickOne[andon.PersonID](r, "", "Liz", "Tom")
		_, err := s.Assign(c.Context(), c.tenant, c.at,
			[]andon.Assignment{{Device: device, Operator: person}})
		return err
	}
	events := c.draw(r, n)
	if err := appendAgain(c.Context(), s, c.tenant, c.at, events); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, events...)
	return nil
}

// appendAgain sends a request until it is acknowledged: what takes too long is given up by the
// store, and sending it again converges.
func appendAgain(
	ctx context.Context, s *Store, tenant andon.TenantID, received andon.Time,
	events []andon.Event,
) error {
	var err error
	for range 30 {
		err = s.Append(ctx, tenant, received, slices.Clone(events))
		if kind := andon.KindOf(err); err == nil || kind != andon.Unavailable {
			return err
		}
	}
	return err
}

// draw draws entries about a time that goes on, some of them long ago, some sent before. The
// content of an entry follows from its identity: of two deliveries by two processes either may
// stand.
func (c *writers) draw(r *rand.Rand, n int) []andon.Event {
	var events []andon.Event
	for range 1 + r.IntN(6) {
		e := andon.Event{
			Device: testDevice(r.IntN(testDevices)),
			Time:   c.at + andon.Time(n*3+r.IntN(4)-r.IntN(2)*r.IntN(60)),
			State:  pickOne[andon.State](r, "NORMAL", "NORMAL", "WARNING1", "WARNING2", "ODD"),
		}
		e.Message = fmt.Sprint(e.Time, e.State)
		if e.Time%7 == 0 {
			e.EscalatedTo = "Sara"
		}
		events = append(events, e)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sent) > 0 && r.IntN(3) == 0 {
		events = append(events, c.sent[r.IntN(len(c.sent))])
	}
	return andon.SortBatch(events)
}

// retire retires the first two devices only, so that the others keep a long run.
func (c *writers) retire(r *rand.Rand, s *Store) error {
	device := testDevice(r.IntN(2))
	at, err := s.Retire(c.Context(), c.tenant, device, c.at)
	if err != nil && andon.KindOf(err) == andon.NotFound {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.retired = append(c.retired, andon.Retirement{Device: device, At: at})
	}
	return err
}

// withdraw withdraws an entry of the last ones, which may be the newest.
func (c *writers) withdraw(r *rand.Rand, s *Store) error {
	c.mu.Lock()
	last := c.sent[max(0, len(c.sent)-10):]
	c.mu.Unlock()
	if len(last) == 0 {
		return nil
	}
	e := pickOne(r, last...)
	w := andon.Withdrawal{Device: e.Device, Time: e.Time, State: e.State, At: c.at}
	_, _, err := s.Withdraw(c.Context(), c.tenant, w)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, w)
	return err
}

// reference returns a store that has what is true now: when devices were retired, all entries, and
// which of them were wrong.
func (c *writers) reference() *memstore.Store {
	want := memstore.New()
	if _, err := want.PutTenant(c.Context(), andon.NewTenant(c.tenant)); err != nil {
		c.Fatal(err)
	}
	keep := func(events []andon.Event) {
		err := want.Append(c.Context(), c.tenant, c.at, slices.Clone(events))
		if err != nil {
			c.Fatal(err)
		}
	}
	sent := andon.SortBatch(slices.Clone(c.sent))
	for i := range sent {
		sent[i].Operator = c.assigned(sent[i].Device, sent[i].Time)
	}
	slices.SortFunc(c.retired, func(a, b andon.Retirement) int { return cmp.Compare(a.At, b.At) })
	err := want.Restore(c.Context(), c.tenant, andon.History{Retirements: c.retired})
	if err != nil {
		c.Fatal(err)
	}
	keep(sent)
	for _, w := range c.wrong {
		if _, _, err := want.Withdraw(c.Context(), c.tenant, w); err != nil {
			c.Fatal(err)
		}
	}
	return want
}

// assigned returns who was assigned to a device at a time, by all assignments that came about.
func (c *writers) assigned(device andon.DeviceID, at andon.Time) (operator andon.PersonID) {
	all, known := c.assignments[device]
	if !known {
		q := andon.PageQuery{Order: andon.Asc, Limit: 1000}
		all = gather(c.T, c.stores[0].Assignments(c.Context(), c.tenant, device, q))
		c.assignments[device] = all
	}
	for _, a := range all {
		if a.From <= at {
			operator = a.Operator
		}
	}
	return operator
}

// awaitReviews waits until both processes looked at all that they set out to look at.
func (c *writers) awaitReviews() {
	for _, s := range c.stores {
		eventually(c.T, func() error {
			if n := s.reviews.Len(); n > 0 {
				return fmt.Errorf("%d devices are still to be looked at", n)
			}
			return nil
		})
	}
}

func (c *writers) compare(want *memstore.Store, when string, lists bool) {
	c.Helper()
	for i := range testDevices {
		device := testDevice(i)
		expected := askAll(c.T, want, c.tenant, device)
		var first *andon.Device
		for n, s := range c.stores {
			got := askAll(c.T, s, c.tenant, device)
			shown := got.Device
			if first == nil {
				first = &shown
			}
			if d := diff(*first, shown); d != "" {
				c.Errorf("%s, process %d does not show what process 1 does:\n%s", when, n+1, d)
			}
			if !lists {
				got.In = expected.In
			}
			got.Device.Operator = expected.Device.Operator // assignments have an order of their own
			if d := diff(expected, got); d != "" {
				c.Errorf("%s, process %d (-want +got):\n%s", when, n+1, d)
			}
		}
	}
}

// compareCounts makes each process count again what the others wrote.
func (c *writers) compareCounts(want *memstore.Store) {
	c.Helper()
	expected := countsOf(c.T, want, c.tenant)
	for n, s := range c.stores {
		if err := s.countAll(c.Context()); err != nil {
			c.Fatal(err)
		}
		if d := diff(expected, countsOf(c.T, s, c.tenant)); d != "" {
			c.Errorf("process %d counts (-want +got):\n%s", n+1, d)
		}
	}
}

func countsOf(t *testing.T, s andon.Store, tenant andon.TenantID) map[andon.State]int {
	t.Helper()
	all, err := s.Counts(t.Context(), tenant, 0)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[andon.State]int{}
	for _, one := range all {
		counts[one.State] = one.Count
	}
	return counts
}

// TestListsWhileStatesChange: a device that is in one of the states of a list all the time is in
// every reading of that list once, however fast it goes from one state to the other. Under the
// design "view" it may be left out.
func TestListsWhileStatesChange(t *testing.T) {
	t.Parallel()
	listWhileStatesChange(t, racedDesign)
}

// TestSerialListsWhileStatesChange does the same under other designs.
func TestSerialListsWhileStatesChange(t *testing.T) {
	for _, design := range append(writtenDesigns(), "index") {
		if design == racedDesign {
			continue
		}
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			listWhileStatesChange(t, design)
		})
	}
}

func listWhileStatesChange(t *testing.T, design string) {
	t.Helper()
	o := sharedKeyspace(t, design)
	writer, reader := open(t, o), open(t, o)
	tenant := ownTenant(t, writer)
	devices := flickering(t, writer, tenant)
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	for _, device := range devices[:2] {
		work.Go(func() { flicker(ctx, t, writer, tenant, device) })
	}
	for reading := range 20 {
		for _, s := range []*Store{writer, reader} {
			want, got := devices, pageThrough(t, s, tenant, 3)
			if design == "view" { // its limit, see viewDesign
				want, got = devices[2:], withoutFlicker(t, got)
			}
			if d := diff(want, got); d != "" {
				t.Fatalf("reading %d (-want +got):\n%s", reading, d)
			}
		}
	}
}

// withoutFlicker leaves out the devices that change their state. None may be there twice.
func withoutFlicker(t *testing.T, got []andon.DeviceID) (rest []andon.DeviceID) {
	t.Helper()
	if n := len(slices.Compact(slices.Sorted(slices.Values(got)))); n != len(got) {
		t.Errorf("a device is there twice: %q", got)
	}
	return slices.DeleteFunc(got, func(d andon.DeviceID) bool {
		return d == testDevice(0) || d == testDevice(1)
	})
}

// flickering makes devices in WARNING1.
func flickering(t *testing.T, s *Store, tenant andon.TenantID) (devices []andon.DeviceID) {
	t.Helper()
	var events []andon.Event
	for i := range 10 {
		id := testDevice(i)
		devices = append(devices, id)
		events = append(events, andon.Event{Device: id, State: "WARNING1", Time: realClock()})
	}
	if err := s.Append(t.Context(), tenant, realClock(), events); err != nil {
		t.Fatal(err)
	}
	return devices
}

// flicker sends a device from one state to the other and back until ctx ends.
func flicker(
	ctx context.Context, t *testing.T, s *Store, tenant andon.TenantID, device andon.DeviceID,
) {
	for i := 0; ctx.Err() == nil; i++ {
		state := []andon.State{"WARNING1", "WARNING2"}[i%2]
		now := realClock()
		events := []andon.Event{{Device: device, State: state, Time: now}}
		err := appendAgain(ctx, s, tenant, now, events)
		if err != nil && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
			return
		}
	}
}

// pageThrough reads the list of all warnings in pages, each again where it is to be.
func pageThrough(
	t *testing.T, s andon.Store, tenant andon.TenantID, size int,
) (all []andon.DeviceID) {
	t.Helper()
	filter, err := andon.ParseStateFilter("WARNING*")
	if err != nil {
		t.Fatal(err)
	}
	q := andon.DeviceQuery{States: filter, Limit: size}
	for {
		page, err := seq.Collect(s.Devices(t.Context(), tenant, q))
		switch {
		case err != nil && andon.KindOf(err) == andon.Busy: // a device changed all the time
			continue
		case err != nil:
			t.Fatal(err)
		}
		for _, d := range page {
			all = append(all, d.ID)
		}
		if len(page) < size {
			return all
		}
		last := page[len(page)-1].Position()
		q.After = &last
	}
}

// TestAssignMeanwhile: an entry that one process takes in while another assigns its device has the
// operator of its time, also when it is sent again.
func TestAssignMeanwhile(t *testing.T) {
	t.Parallel()
	o := newKeyspace(t, "state")
	one, two := open(t, o), open(t, o)
	ctx, now := t.Context(), realClock()
	var events []andon.Event
	for i := range 3 { // now, later, and in an hour that no one has written to
		events = append(events, andon.Event{
			Device: "press-1", State: "NORMAL", Time: now.Add(andon.Duration(i) * 3_600_000_000),
		})
	}
	before := andon.Event{Device: "press-1", State: "NORMAL", Time: now - 10}
	for _, s := range []*Store{one, two} { // both have looked at the device
		if err := s.Append(ctx, andon.DefaultTenant, now, []andon.Event{before}); err != nil {
			t.Fatal(err)
		}
	}
	metro := andon.NewTenant(andon.DefaultTenant)
	if got, err := one.Tenant(ctx, andon.DefaultTenant); err != nil {
		t.Fatal(err)
	} else {
		metro.Version, metro.MaxFuture = got.Version, 3*3_600_000_000
	}
	if _, err := one.PutTenant(ctx, metro); err != nil {
		t.Fatal(err)
	}
	send := func() {
		t.Helper()
		if err := two.Append(ctx, andon.DefaultTenant, now, slices.Clone(events)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := one.Assign(ctx, andon.DefaultTenant, now, []andon.Assignment{
		{Device: "press-1", Operator: "Liz"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		send()
		for i, s := range []*Store{one, two} {
			q := andon.EventQuery{Order: andon.Asc, Limit: 10}
			var got []string
			for e, err := range s.DeviceEvents(ctx, andon.DefaultTenant, "press-1", q) {
				got = append(got, fmt.Sprint(e.Operator, err))
			}
			want := []string{"<nil>", "Liz<nil>", "Liz<nil>", "Liz<nil>"}
			if d := diff(want, got); d != "" {
				t.Errorf("operators as process %d has them (-want +got):\n%s", i+1, d)
			}
			n := 0
			for _, err := range s.OperatorEvents(ctx, andon.DefaultTenant, "Liz", q) {
				if n++; err != nil {
					t.Fatal(err)
				}
			}
			if n != len(events) {
				t.Errorf("process %d finds %d of %d entries of the operator", i+1, n, len(events))
			}
		}
	}
}
