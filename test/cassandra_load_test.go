package test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// load is a few senders that send at once, and what became of it.
type load struct {
	senders []*sender
	pause   atomic.Int64 // between two requests of a sender, in nanoseconds
	refused atomic.Int64 // requests that were answered 503 or 429
	odd     chan error   // an answer that must not be
}

// sender sends entries of devices of its own: late, tied, and again. It alone knows what it sent,
// so it is asked while it does not send.
type sender struct {
	name   string
	random *rand.Rand
	second int // of the newest entry
	states map[andon.DeviceID]andon.State

	sent         []andon.Event
	acknowledged map[andon.EventKey]andon.Event
	open         [][]andon.Event // requests that were not acknowledged
	requests     atomic.Int64    // that were acknowledged
}

func newLoad(t *testing.T, senders int) *load {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	l := &load{odd: make(chan error, senders)}
	l.pause.Store(int64(50 * time.Millisecond))
	for i := range senders {
		l.senders = append(l.senders, &sender{
			name: fmt.Sprintf("line-%d", i), random: rand.New(rand.NewPCG(seed, uint64(i))),
			states:       map[andon.DeviceID]andon.State{},
			acknowledged: map[andon.EventKey]andon.Event{},
		})
	}
	return l
}

// start lets the senders send, each to one of some servers after the other, until stop is called.
func (l *load) start(t *testing.T, servers ...*client.Client) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, s := range l.senders {
		all.Go(func() { s.send(ctx, l, servers) })
	}
	return func() {
		t.Helper()
		cancel()
		all.Wait()
		select {
		case err := <-l.odd:
			t.Errorf("a request was not acknowledged, and the answer is %v", err)
		default:
		}
	}
}

func (s *sender) send(ctx context.Context, l *load, servers []*client.Client) {
	const mostOpen = 10 // or an hour's work is waiting when a node is back
	for turn := 0; ctx.Err() == nil; turn++ {
		var events []andon.Event
		if n := len(s.open); n >= mostOpen || n > 0 && s.random.IntN(2) == 0 {
			events, s.open = s.open[0], s.open[1:]
		} else {
			events = s.next()
		}
		if err := s.try(ctx, servers[turn%len(servers)], events); err != nil && ctx.Err() == nil {
			l.note(err)
		}
		select {
		case <-time.After(time.Duration(l.pause.Load())):
		case <-ctx.Done():
		}
	}
}

// try sends a request once and notes what becomes of it.
func (s *sender) try(ctx context.Context, c *client.Client, events []andon.Event) error {
	result, err := c.AppendEvents(ctx, events)
	if err == nil && result.Accepted != len(events) {
		err = fmt.Errorf("%d of %d entries accepted: %v", result.Accepted, len(events),
			result.Rejected)
	}
	if err != nil {
		s.open = append(s.open, events)
		return err
	}
	for _, e := range events {
		s.acknowledged[keyOf(e)] = e
	}
	s.requests.Add(1)
	return nil
}

// note keeps what must not be: a client that is not served learns so, and when to come again. A
// server that is gone tells nothing.
func (l *load) note(err error) {
	answer, answered := errors.AsType[*client.Error](err)
	busy := answered && (answer.Status == http.StatusServiceUnavailable ||
		answer.Status == http.StatusTooManyRequests)
	if busy {
		l.refused.Add(1)
	}
	if !answered || busy && answer.RetryAfter > 0 {
		return
	}
	select {
	case l.odd <- err:
	default:
	}
}

func keyOf(e andon.Event) andon.EventKey {
	return andon.EventKey{Device: e.Device, Time: e.Time, State: e.State}
}

// next returns the next request.
func (s *sender) next() []andon.Event {
	events := make([]andon.Event, 1+s.random.IntN(40))
	for i := range events {
		events[i] = s.event()
	}
	s.sent = append(s.sent, events...)
	return events
}

func (s *sender) event() andon.Event {
	if n := len(s.sent); n > 0 && s.random.IntN(10) == 0 {
		return s.sent[s.random.IntN(n)]
	}
	const devices, longestDelay = 3, 60
	device := andon.DeviceID(fmt.Sprintf("%s/%d", s.name, s.random.IntN(devices)))
	s.second += s.random.IntN(3)
	at := s.second
	if s.random.IntN(5) == 0 {
		at = max(0, at-s.random.IntN(longestDelay))
	}
	if s.states[device] == "" || s.random.IntN(3) == 0 {
		s.states[device] = loadStates[s.random.IntN(len(loadStates))]
	}
	return entryOf(device, at, s.states[device])
}

var loadStates = []andon.State{"NORMAL", "WARNING1", "WARNING2", "WARNING3", "WARNING4"}

// entryOf returns the entry of an identity, so that two deliveries of it never differ.
func entryOf(device andon.DeviceID, second int, state andon.State) andon.Event {
	const first, aSecond = 1_700_000_000, 1_000_000
	sum := fnv.New32a()
	fmt.Fprint(sum, device, second, state)
	n := sum.Sum32()
	e := andon.Event{
		Device: device, Time: andon.Time(first+second) * aSecond, State: state,
		Operator: []andon.PersonID{"Liz", "Sue", "Joe"}[n%3], Message: fmt.Sprint(n),
	}
	if n%7 == 0 {
		e.EscalatedTo = "Sara"
	}
	return e
}

// goOn waits until each sender was acknowledged some requests more.
func (l *load) goOn(t *testing.T, requests int64) {
	t.Helper()
	var want []int64
	for _, s := range l.senders {
		want = append(want, s.requests.Load()+requests)
	}
	eventually(t, patience, "requests are acknowledged", func() error {
		for i, s := range l.senders {
			if n := s.requests.Load(); n < want[i] {
				return fmt.Errorf("%s has %d of %d", s.name, n, want[i])
			}
		}
		return nil
	})
}

// requestsAcknowledged may be asked while the senders send.
func (l *load) requestsAcknowledged() (n int64) {
	for _, s := range l.senders {
		n += s.requests.Load()
	}
	return n
}

// count returns how many entries were acknowledged.
func (l *load) count() (acknowledged int) {
	for _, s := range l.senders {
		acknowledged += len(s.acknowledged)
	}
	return acknowledged
}

// kept checks that what was acknowledged is there as it was sent, and that nothing is there that
// no one sent.
func (l *load) kept(t *testing.T, c *client.Client) {
	t.Helper()
	lost := 0
	for _, s := range l.senders {
		there, sent := map[andon.EventKey]andon.Event{}, map[andon.EventKey]andon.Event{}
		for _, e := range s.sent {
			sent[keyOf(e)] = e
		}
		for device := range s.states {
			q := client.Query{Order: andon.Asc}
			for _, e := range collect(t, c.DeviceEvents(t.Context(), device, q)) {
				there[keyOf(e)] = e
				if e != sent[keyOf(e)] {
					t.Errorf("there is %+v; sent was %+v", e, sent[keyOf(e)])
				}
			}
		}
		for key := range s.acknowledged {
			if _, found := there[key]; !found {
				lost++
				t.Logf("lost: %+v", key)
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged entries are lost", lost, l.count())
	}
}

// sendAgain sends what was not acknowledged until it is.
func (l *load) sendAgain(t *testing.T, c *client.Client) {
	t.Helper()
	for _, s := range l.senders {
		eventually(t, patience, "sending again is acknowledged", func() error {
			for len(s.open) > 0 {
				events := s.open[0]
				s.open = s.open[1:]
				if err := s.try(t.Context(), c, events); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// reference is a server on the store that is obviously right, with all that was sent.
func (l *load) reference(t *testing.T) *client.Client {
	t.Helper()
	c := newClient(t, serveQuietly(t, "--store", "memory"))
	for _, s := range l.senders {
		for events := range slices.Chunk(s.sent, 1000) {
			result, err := c.AppendEvents(t.Context(), events)
			if err != nil || result.Accepted != len(events) {
				t.Fatalf("the reference accepted %d of %d, %v", result.Accepted, len(events), err)
			}
		}
	}
	return c
}

// converges compares every answer with the reference's, within some time, and logs how long it
// took. With 0 they must be the same at once.
func (l *load) converges(t *testing.T, within time.Duration, servers ...*client.Client) {
	t.Helper()
	want := l.answers(t, l.reference(t))
	for i, c := range servers {
		began := time.Now()
		eventually(t, within, "the answers are the reference's", func() error {
			got := l.answers(t, c)
			for _, query := range slices.Sorted(maps.Keys(want)) {
				if diff := cmp.Diff(want[query], got[query]); diff != "" {
					return fmt.Errorf("%s (-want +got):\n%.3000s", query, diff)
				}
			}
			return nil
		})
		t.Logf("server %d: %d answers of %d entries are the reference's after %s", i, len(want),
			l.count(), time.Since(began).Round(time.Millisecond))
	}
}

// answers asks everything that can be asked, by the query.
func (l *load) answers(t *testing.T, c *client.Client) map[string]any {
	t.Helper()
	ctx, all := t.Context(), map[string]any{}
	devices := func(query string, q client.DeviceQuery) {
		list := collect(t, c.Devices(ctx, q))
		for i := range list {
			list[i].Received = 0 // when it came is no matter of what came
		}
		all[query] = list
	}
	devices("devices", client.DeviceQuery{})
	devices("devices of Liz", client.DeviceQuery{Operator: "Liz"})
	devices("devices escalated to Sara", client.DeviceQuery{EscalatedTo: "Sara"})
	devices("devices in WARNING*", client.DeviceQuery{State: "WARNING*"})
	for _, state := range loadStates {
		devices("devices in "+string(state), client.DeviceQuery{State: string(state)})
	}
	for _, s := range l.senders {
		for device := range s.states {
			name := string(device)
			asc, warnings := client.Query{Order: andon.Asc}, client.Query{State: "WARNING*"}
			all["history of "+name] = collect(t, c.DeviceEvents(ctx, device, asc))
			all["warnings of "+name] = collect(t, c.DeviceEvents(ctx, device, warnings))
			runs := collect(t, c.Intervals(ctx, device, asc))
			runs[len(runs)-1].Seconds = 0 // it goes on while we look
			all["runs of "+name] = runs
		}
	}
	all["entries of Liz"] = collect(t, c.OperatorEvents(ctx, "Liz", client.Query{}))
	all["entries escalated to Sara"] = collect(t, c.SupervisorEvents(ctx, "Sara", client.Query{}))
	all["counts"] = counted(t, c)
	return all
}

// counted returns the devices of each state that has some.
func counted(t *testing.T, c *client.Client) map[andon.State]int {
	t.Helper()
	states, _, err := c.States(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counts := map[andon.State]int{}
	for _, s := range states {
		if s.Count > 0 {
			counts[s.State] = s.Count
		}
	}
	return counts
}

// patience is how long is waited for what has to come, on a machine that may be held up.
const patience = 15 * time.Minute

// eventually tries until there is no error, for so long; at least once.
func eventually(t *testing.T, within time.Duration, what string, try func() error) {
	t.Helper()
	over := time.After(within)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-over:
			t.Fatalf("not within %s: %s: %v", within, what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
