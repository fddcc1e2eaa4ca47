package live_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/live"
	"github.com/andonhq/andon/internal/store/memstore"
)

// floor is a store whose devices are heard and fall silent by the clock of a synctest bubble.
type floor struct {
	*testing.T
	*memstore.Store
	hub    *live.Hub
	listed atomic.Int32 // how often devices were listed
	fails  atomic.Bool  // the next list
}

func newFloor(t *testing.T) *floor {
	f := &floor{T: t, Store: memstore.New()}
	f.hub = live.New(f, clock, encode)
	tenant, err := f.Tenant(t.Context(), andon.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	tenant.SilentAfter = andon.Duration(time.Minute.Microseconds())
	if _, err := f.PutTenant(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *floor) Devices(
	ctx context.Context, id andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	f.listed.Add(1)
	if f.fails.Swap(false) {
		return func(yield func(andon.Device, error) bool) {
			yield(andon.Device{}, andon.Errorf(andon.Busy, "the store is busy"))
		}
	}
	return f.Store.Devices(ctx, id, q)
}

func (f *floor) hears(devices ...andon.DeviceID) {
	f.Helper()
	var events []andon.Event
	for _, d := range devices {
		events = append(events, andon.Event{Device: d, Time: clock(), State: "NORMAL"})
	}
	if err := f.Append(f.Context(), andon.DefaultTenant, clock(), events); err != nil {
		f.Fatal(err)
	}
}

func (f *floor) listen() *live.Reader {
	f.Helper()
	l, err := f.hub.Open(f.Context(), andon.DefaultTenant, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(l.Close)
	return l
}

// changes returns what changed within a time: "-a" has fallen silent, "+a" has reported again.
func (f *floor) changes(l *live.Reader, within time.Duration) string {
	f.Helper()
	end := time.Now().Add(within)
	var texts []string
	for {
		b, err := l.Next(f.Context(), time.Until(end))
		switch {
		case err != nil:
			f.Fatal(err)
		case b == nil:
			return strings.Join(texts, " ")
		case b.Reload:
			texts = append(texts, "more")
		}
		for _, t := range b.Silence {
			texts = append(texts, map[bool]string{true: "-", false: "+"}[t.Silent]+string(t.Device))
		}
	}
}

func (f *floor) reports(l *live.Reader, within time.Duration, want string) {
	f.Helper()
	if got := f.changes(l, within); got != want {
		f.Errorf("got %q, want %q", got, want)
	}
}

// Silence is reported within two seconds, and so is its end.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		f.hears("a", "b", "c")
		l := f.listen()
		<-time.After(30 * time.Second)
		f.hears("a")
		f.reports(l, 30*time.Second, "")
		f.reports(l, 2*time.Second, "-b -c")
		f.hears("c")
		f.reports(l, 2*time.Second, "+c")
		f.reports(l, 30*time.Second, "-a")

		f.reports(f.listen(), 10*time.Second, "") // what was before is asked for
		f.reports(l, 20*time.Second, "-c")
	})
}

// As many are silent as before, but others.
func TestSilenceOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		f.hears("a")
		<-time.After(10 * time.Second)
		f.hears("b")
		l := f.listen()
		f.reports(l, 55*time.Second, "-a")
		<-time.After(4500 * time.Millisecond)
		f.hears("a") // half a second before b is silent
		f.reports(l, 15*time.Second, "+a -b")
	})
}

// Where nothing is silent or nothing turns, counting is enough.
func TestSilenceIsCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		f.hears("a")
		l, err := f.hub.Open(t.Context(), andon.DefaultTenant, nil)
		if err != nil {
			t.Fatal(err)
		}
		f.reports(l, 50*time.Second, "")
		if n := f.listed.Load(); n != 1 {
			t.Errorf("listed %d times while none was silent", n)
		}
		f.reports(l, 100*time.Second, "-a")
		if n := f.listed.Load(); n > 32 {
			t.Errorf("listed %d times in 100 s", n)
		}
		l.Close()
		before := f.listed.Load()
		f.hears("a")
		<-time.After(time.Minute)
		if f.listed.Load() != before {
			t.Error("it looks although no one listens")
		}
	})
}

// What is more than is kept is said to be more.
func TestSilenceOfManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		var many []andon.DeviceID
		for i := range 5000 {
			many = append(many, andon.DeviceID(fmt.Sprintf("d-%d", i)))
		}
		f.hears(many...)
		l := f.listen()
		f.reports(l, 70*time.Second, "more")
		f.hears("d-1")
		f.reports(l, 3*time.Second, "+d-1")
	})
}

// The next check makes up for one that fails, and a tenant that is not there is an error at once.
func TestSilenceAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		f.hears("a")
		l := f.listen()
		f.fails.Store(true)
		f.reports(l, 65*time.Second, "-a")
		_, err := f.hub.Open(t.Context(), "absent", nil)
		if andon.KindOf(err) != andon.NotFound {
			t.Errorf("got %v", err)
		}
	})
}

// A reader that catches up from far back is told to query what is silent, where that changed while
// it did and is not kept any more.
func TestSilenceThatIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		f.hub = live.New(f, clock, func(
			ctx context.Context, id andon.TenantID, c []andon.Change,
		) ([]live.Frame, error) {
			frames, err := encode(ctx, id, c)
			for i := range frames {
				frames[i].Text = append(frames[i].Text, strings.Repeat(".", 1<<20)...)
			}
			return frames, err
		})
		_, before, err := f.ChangesKept(t.Context(), andon.DefaultTenant)
		if err != nil {
			t.Fatal(err)
		}
		f.hears("a", "b")
		f.listen()
		late, err := f.hub.Open(t.Context(), andon.DefaultTenant, &before)
		if err != nil {
			t.Fatal(err)
		}
		defer late.Close()
		<-time.After(30 * time.Second)
		f.hears("a")
		<-time.After(35 * time.Second) // b is silent
		for i := range 12 {
			f.hears(andon.DeviceID(fmt.Sprint("new", i)))
			<-time.After(time.Second)
		}
		f.reports(late, time.Second, "more")
	})
}
