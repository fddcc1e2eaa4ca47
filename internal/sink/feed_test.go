package sink_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/sink"
	"github.com/andonhq/andon/internal/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver keeps what it was sent, and folds it.
type receiver struct {
	*testing.T
	mu       sync.Mutex
	messages []sink.Message
	batches  []string              // their ids
	shown    map[string]string     // by key: state and severity
	answer   func(tries int) error // nil: it takes all
	tries    int
}

func (r *receiver) Deliver(_ context.Context, b *sink.Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries++
	r.batches = append(r.batches, b.ID)
	if r.answer != nil {
		if err := r.answer(r.tries); err != nil {
			return err
		}
	}
	for _, m := range b.Messages {
		var said sink.Message
		if err := json.Unmarshal(m.Value, &said); err != nil || said.Device != m.Device {
			r.Errorf("%s: %v", m.Value, err)
		}
		r.messages = append(r.messages, m)
		if delete(r.shown, m.Key); !m.Gone {
			r.shown[m.Key] = string(said.Shows)
		}
	}
	return nil
}

// said returns the messages as "press-1 NORMAL>WARNING1 entry", and forgets them.
func (r *receiver) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, m := range r.messages {
		after := string(m.After)
		if m.Gone {
			after = "-"
		}
		all = append(all, fmt.Sprintf("%s %s>%s %s", m.Key, m.Before, after, m.Kind))
	}
	r.messages = nil
	return strings.Join(all, ", ")
}

func (r *receiver) want(want string) {
	r.Helper()
	if got := r.said(); got != want {
		r.Errorf("it received\n%s\nwant\n%s", got, want)
	}
}

// fleet is a store, and a feed of it.
type fleet struct {
	*testing.T
	store andon.Store
	feed  *sink.Feed
	log   *bytes.Buffer
	next  andon.Time
}

// newFleet runs a test with a fleet in a bubble, whose clock goes on while nothing is done.
func newFleet(t *testing.T, test func(*fleet, *receiver)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{T: t, store: memstore.New(), log: &bytes.Buffer{}, next: 1_600_000_000_000_000}
		r := &receiver{T: t, shown: map[string]string{}}
		f.feed = f.over(f.store, r)
		test(f, r)
	})
}

func clock() andon.Time { return andon.TimeOf(time.Now()) }

// over makes a feed of a store as of another process.
func (f *fleet) over(s andon.Store, to sink.Destination) *sink.Feed {
	one := &sink.Feed{
		Destination: to, Store: s, Now: clock, Log: slog.New(slog.NewTextHandler(f.log, nil)),
		Leases: &lease.Holder{Records: s, Owner: fmt.Sprint(rand.Uint64()), For: 8 * time.Second},
		Show: func(context.Context, *andon.Tenant) func([]byte, *andon.Device) ([]byte, error) {
			return func(text []byte, d *andon.Device) ([]byte, error) {
				return fmt.Appendf(text, `"%s %d"`, d.State, d.Severity), nil
			}
		},
	}
	one.Settings()
	one.Name, one.Config.Tenants, one.Start = "f", []string{"default"}, "snapshot"
	return one
}

// start runs a feed until stop.
func (f *fleet) start(feed *sink.Feed) (stop func()) {
	ctx, cancel := context.WithCancel(f.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := feed.Run(ctx); err != nil {
			f.Error(err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// settle lets some time pass.
func settle(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (f *fleet) is(device andon.DeviceID, state andon.State) {
	f.Helper()
	f.append(andon.DefaultTenant, device, state)
}

func (f *fleet) append(tenant andon.TenantID, device andon.DeviceID, state andon.State) {
	f.Helper()
	f.next++
	e := andon.Event{Device: device, Time: f.next, State: state}
	if err := f.store.Append(f.Context(), tenant, clock(), []andon.Event{e}); err != nil {
		f.Fatal(err)
	}
}

// ok checks that something was done.
func (f *fleet) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// TestDelivered: a feed begins with all devices or now, and then has each change once, in order,
// with the end of a device. After a stop it goes on where it was.
func TestDelivered(t *testing.T) {
	newFleet(t, func(f *fleet, r *receiver) {
		f.is("a", "NORMAL")
		f.is("b", "WARNING1")
		stop := f.start(f.feed)
		settle(5 * time.Second)
		r.want("a >NORMAL snapshot, b >WARNING1 snapshot")
		f.is("a", "WARNING2")
		f.is("a", "WARNING2")
		f.is("b", "NORMAL")
		_, err := f.store.Retire(t.Context(), "default", "a", f.next+1)
		f.ok(err)
		f.ok(f.store.Purge(t.Context(), "default", "b"))
		settle(5 * time.Second)
		const changed = "a NORMAL>WARNING2 entry, b WARNING1>NORMAL entry, " +
			"a WARNING2>- retirement, b NORMAL>- purge"
		r.want(changed)
		stop()
		f.is("c", "NORMAL")
		defer f.start(f.over(f.store, r))()
		settle(5 * time.Second)
		r.want("c >NORMAL entry")
		if n := f.feed.Delivered.Load(); n != 6 {
			t.Errorf("%d are counted", n)
		}
	})
	newFleet(t, func(f *fleet, r *receiver) {
		f.is("a", "NORMAL")
		f.feed.Start = "now"
		defer f.start(f.feed)()
		settle(5 * time.Second)
		f.is("b", "NORMAL")
		settle(5 * time.Second)
		r.want("b >NORMAL entry")
	})
}

// TestTenants: a feed of all tenants has those that come later with all that they have, and keeps
// nothing of one that is gone.
func TestTenants(t *testing.T) {
	newFleet(t, func(f *fleet, r *receiver) {
		f.feed.Config.Tenants, f.feed.Start = nil, "now"
		f.is("a", "NORMAL")
		defer f.start(f.feed)()
		settle(5 * time.Second)
		for range 2 {
			_, err := f.store.PutTenant(t.Context(), andon.NewTenant("t/2"))
			f.ok(err)
			f.append("t/2", "a", "WARNING1")
			settle(10 * time.Second)
			f.append("t/2", "a", "NORMAL")
			settle(10 * time.Second)
			r.want(`["t/2","a"] >WARNING1 snapshot, ["t/2","a"] WARNING1>NORMAL entry`)
			f.ok(f.store.DeleteTenant(t.Context(), "t/2"))
			settle(10 * time.Second)
			var left []string
			q := andon.RecordQuery{Limit: math.MaxInt}
			for r, err := range f.store.Records(t.Context(), "", lease.Kind, q) {
				f.ok(err)
				if !strings.Contains(r.ID, "/process ") {
					left = append(left, r.ID)
				}
			}
			if fmt.Sprint(left) != "[feed/f/of default]" {
				t.Errorf("the leases are %s", left)
			}
		}
	})
}

// TestTenantMadeAgain: a feed that begins with the next change misses no device of a tenant that
// was there as it began, was deleted, and is made again.
func TestTenantMadeAgain(t *testing.T) {
	newFleet(t, func(f *fleet, r *receiver) {
		f.feed.Config.Tenants, f.feed.Start = nil, "now"
		_, err := f.store.PutTenant(t.Context(), andon.NewTenant("t"))
		f.ok(err)
		defer f.start(f.feed)()
		settle(5 * time.Second)
		for range 2 {
			f.ok(f.store.DeleteTenant(t.Context(), "t"))
			settle(10 * time.Second)
			_, err = f.store.PutTenant(t.Context(), andon.NewTenant("t"))
			f.ok(err)
			f.append("t", "a", "WARNING1")
			settle(10 * time.Second)
			r.want(`["t","a"] >WARNING1 snapshot`)
		}
	})
}

// TestTriedAgain: what fails is sent again, the same batch before all others, after the time that
// the receiver asks for. It is logged when it begins and when it ends.
func TestTriedAgain(t *testing.T) {
	newFleet(t, func(f *fleet, r *receiver) {
		r.answer = func(tries int) error {
			if tries < 3 {
				return &sink.Failure{Err: errors.New("busy"), After: time.Minute}
			}
			return nil
		}
		f.is("a", "NORMAL")
		defer f.start(f.feed)()
		settle(10 * time.Second)
		f.is("a", "WARNING1")
		settle(49 * time.Second)
		r.mu.Lock()
		tries := r.tries
		r.mu.Unlock()
		if lag := f.feed.Lag().Std(); tries != 1 || lag < 55*time.Second {
			t.Errorf("%d tries, and it is %s behind", tries, lag)
		}
		settle(time.Minute + 5*time.Second)
		r.want("a >NORMAL snapshot, a NORMAL>WARNING1 entry")
		if b := r.batches; len(b) != 4 || b[0] != b[1] || b[1] != b[2] || b[2] == b[3] {
			t.Errorf("the batches were %s", b)
		}
		log := f.log.String()
		if strings.Count(log, "can't be delivered") != 1 ||
			strings.Count(log, "is delivered again") != 1 || f.feed.Failures.Count.Load() != 2 ||
			f.feed.Lag() != 0 {
			t.Errorf("%d failures, %s behind: %s", f.feed.Failures.Count.Load(), f.feed.Lag(), log)
		}
	})
}

// TestCutOff: what was delivered by a process that ended before it could say so is sent again as
// the same batch, although there is more by then.
func TestCutOff(t *testing.T) {
	newFleet(t, func(f *fleet, r *receiver) {
		f.feed.Start = "now"
		stop, cut := f.start(f.feed), make(chan struct{})
		settle(5 * time.Second)
		r.answer = func(int) error {
			close(cut)
			<-time.After(time.Second)
			return nil
		}
		f.is("a", "NORMAL")
		<-cut
		stop()
		r.answer = nil
		f.is("b", "NORMAL")
		defer f.start(f.over(f.store, r))()
		settle(5 * time.Second)
		r.want("a >NORMAL entry, a >NORMAL entry, b >NORMAL entry")
		if b := r.batches; len(b) != 3 || b[0] != b[1] || b[1] == b[2] {
			t.Errorf("the batches were %s", b)
		}
	})
}

// TestEnded: a receiver that wants no more is not asked again until the program is started again.
func TestEnded(t *testing.T) {
	newFleet(t, func(f *fleet, r *receiver) {
		r.answer = func(int) error { return &sink.Failure{Err: errors.New("gone"), Stop: true} }
		f.is("a", "NORMAL")
		stop := f.start(f.feed)
		settle(time.Hour)
		log := f.log.String()
		if r.tries != 1 || f.feed.Failures.Count.Load() != 1 || f.feed.Lag() == 0 ||
			!strings.Contains(log, "wants no more") || strings.Contains(log, "again") {
			t.Errorf("%d tries, %d failures: %s", r.tries, f.feed.Failures.Count.Load(), log)
		}
		stop()
		r.answer = nil
		defer f.start(f.over(f.store, r))()
		settle(5 * time.Second)
		r.want("a >NORMAL snapshot")
	})
}

// forgetful is a store whose feed may not be able to go on.
type forgetful struct {
	andon.Store
	forgot atomic.Bool
	reads  atomic.Int64 // of the feed
}

func (s *forgetful) Changes(
	ctx context.Context, id andon.TenantID, after andon.Position,
) iter.Seq2[andon.Change, error] {
	s.reads.Add(1)
	if s.forgot.Swap(false) {
		return func(yield func(andon.Change, error) bool) {
			yield(andon.Change{}, andon.Errorf(andon.Gone, "it is not kept"))
		}
	}
	return s.Store.Changes(ctx, id, after)
}

// TestSlowReceiver: while a receiver takes its time nothing is read, so no more than a batch is in
// memory.
func TestSlowReceiver(t *testing.T) {
	newFleet(t, func(f *fleet, r *receiver) {
		s := &forgetful{Store: f.store}
		f.feed = f.over(s, r)
		r.answer = func(int) error { settle(time.Minute); return nil }
		f.is("a", "NORMAL")
		defer f.start(f.feed)()
		settle(time.Second)
		read, last := s.reads.Load(), andon.State("NORMAL")
		for i := range 700 {
			last = andon.State(fmt.Sprint("S", i))
			f.is("a", last)
		}
		settle(50 * time.Second)
		if n := s.reads.Load(); n != read {
			t.Errorf("it was read %d times meanwhile", n-read)
		}
		settle(10 * time.Minute)
		if n := len(r.messages); n != 701 || r.messages[n-1].After != last {
			t.Errorf("%d messages, the last one %s", n, r.messages[n-1].After)
		}
	})
}

// TestBeginsAgain: where changes are not kept any more, all devices are sent, and the end of those
// that are retired.
func TestBeginsAgain(t *testing.T) {
	newFleet(t, func(f *fleet, r *receiver) {
		s := &forgetful{Store: f.store}
		f.feed = f.over(s, r)
		f.feed.Batch = 2
		for _, id := range []andon.DeviceID{"a", "b", "c", "d", "e"} {
			f.is(id, "NORMAL")
		}
		stop := f.start(f.feed)
		settle(5 * time.Second)
		r.said()
		stop()
		for _, id := range []andon.DeviceID{"a", "c", "e"} {
			_, err := f.store.Retire(t.Context(), "default", id, f.next+1)
			f.ok(err)
		}
		s.forgot.Store(true)
		f.feed = f.over(s, r)
		f.feed.Batch = 2
		defer f.start(f.feed)()
		settle(5 * time.Second)
		r.want("b >NORMAL snapshot, d >NORMAL snapshot, " +
			"a >- snapshot, c >- snapshot, e >- snapshot")
		if n := f.feed.Snapshots.Load(); n != 1 || !strings.Contains(f.log.String(), "not kept") {
			t.Errorf("%d are counted: %s", n, f.log)
		}
	})
}

// TestSeverities: when severities change, all devices are sent, with those that they have now.
func TestSeverities(t *testing.T) {
	newFleet(t, func(f *fleet, r *receiver) {
		f.is("a", "NORMAL")
		f.is("b", "WARNING1")
		f.feed.Start = "now"
		defer f.start(f.feed)()
		settle(5 * time.Second)
		tenant, err := f.store.Tenant(t.Context(), "default")
		f.ok(err)
		tenant.SilentAfter++
		tenant, err = f.store.PutTenant(t.Context(), tenant)
		f.ok(err)
		settle(5 * time.Second)
		r.want("")
		defs := slices.Clone(tenant.States.Defs())
		for i := range defs {
			if defs[i].Name == "WARNING1" {
				defs[i].Severity = 77
			}
		}
		tenant.States, err = andon.NewStateSet(defs)
		f.ok(err)
		_, err = f.store.PutTenant(t.Context(), tenant)
		f.ok(err)
		settle(5 * time.Second)
		want := map[string]string{"a": `"NORMAL 0"`, "b": `"WARNING1 77"`}
		if !maps.Equal(r.shown, want) {
			t.Errorf("%v are shown", r.shown)
		}
	})
}

// TestHistories: whatever happens to devices, to the receiver and to the processes that share the
// feed, what was received leads to what the devices show, and no change is missing between.
func TestHistories(t *testing.T) {
	histories := 3
	if os.Getenv("ANDON_LONG") != "" {
		histories = 200
	}
	for range histories {
		seed := rand.Uint64()
		newFleet(t, func(f *fleet, r *receiver) { f.history(r, seed) })
	}
}

func (f *fleet) history(r *receiver, seed uint64) {
	f.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	states := []andon.State{"NORMAL", "WARNING1", "WARNING2", "OTHER"}
	s := &forgetful{Store: f.store}
	var stops [2]func()
	r.answer = func(tries int) error {
		<-time.After(100 * time.Millisecond) // more changes meanwhile
		if tries%4 == 0 {
			return errors.New("busy")
		}
		return nil
	}
	for range 300 {
		id := andon.DeviceID(fmt.Sprint("d", random.IntN(9)))
		switch n := random.IntN(40); {
		case n < 4:
			_, err := f.store.Retire(f.Context(), "default", id, f.next+1)
			f.may(err)
		case n == 4 && seed%2 == 0:
			f.may(f.store.Purge(f.Context(), "default", id))
		case n == 4: // what was purged meanwhile would not be known
			s.forgot.Store(true)
		case n < 12:
			settle(time.Duration(random.IntN(1000)) * time.Millisecond)
		case n < 16:
			i := random.IntN(len(stops))
			if stops[i] != nil {
				stops[i]()
			}
			feed := f.over(s, r)
			feed.Batch, feed.Wait = 1+random.IntN(4), time.Millisecond
			stops[i] = f.start(feed)
		default:
			f.is(id, states[random.IntN(len(states))])
		}
	}
	settle(5 * time.Minute)
	for _, stop := range stops {
		stop()
	}
	r.check(f, seed%2 == 0)
}

// may fails the test unless it was done, or there was nothing to do it with.
func (f *fleet) may(err error) {
	f.Helper()
	if andon.KindOf(err) != andon.NotFound {
		f.ok(err)
	}
}

// check compares what was received with what devices show; gapless says that each change of a
// device begins where the one before it ended.
func (r *receiver) check(f *fleet, gapless bool) {
	want, was, seen := map[string]string{}, map[string]andon.State{}, map[string]bool{}
	for d, err := range f.store.Devices(f.Context(), "default", andon.DeviceQuery{Limit: 1000}) {
		f.ok(err)
		want[string(d.ID)] = fmt.Sprintf(`"%s %d"`, d.State, d.Severity)
	}
	if !maps.Equal(r.shown, want) {
		f.Errorf("received\n%v\nshown are\n%v", r.shown, want)
	}
	for i, m := range r.messages {
		before, known := was[m.Key]
		if gapless && known && m.Kind != "snapshot" && !seen[m.ID] && m.Before != before {
			f.Errorf("message %d: %s was %q, then began %+v", i, m.Key, before, m)
		}
		was[m.Key], seen[m.ID] = m.After, true
	}
	f.Logf("%d messages, %d batches", len(r.messages), len(r.batches))
}
