package live_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/live"
	"github.com/andonhq/andon/internal/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const timeout = time.Minute // no test waits for all of it

func clock() andon.Time { return andon.TimeOf(time.Now()) }

// fleet is a store whose devices are given states, and a hub that follows it.
type fleet struct {
	*testing.T
	store *memstore.Store
	hub   *live.Hub
	next  andon.Time
}

// encode writes a change as "press-1 WARNING1;".
func encode(_ context.Context, _ andon.TenantID, changes []andon.Change) ([]live.Frame, error) {
	var frames []live.Frame
	for _, c := range changes {
		text := fmt.Sprintf("%s %s;", c.Device, c.After.State)
		frames = append(frames, live.Frame{Change: c, Text: []byte(text)})
	}
	return frames, nil
}

func newFleet(t *testing.T) *fleet {
	s := memstore.New()
	return &fleet{T: t, store: s, hub: live.New(s, clock, encode), next: 1_600_000_000_000_000}
}

func (f *fleet) is(device andon.DeviceID, state andon.State) {
	f.Helper()
	f.next++
	e := andon.Event{Device: device, Time: f.next, State: state}
	err := f.store.Append(f.Context(), andon.DefaultTenant, f.next, []andon.Event{e})
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fleet) open(after *andon.Position) *live.Reader {
	f.Helper()
	r, err := f.hub.Open(f.Context(), andon.DefaultTenant, after)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(r.Close)
	return r
}

// reads waits until a reader was given a text.
func (f *fleet) reads(r *live.Reader, want string) {
	f.Helper()
	var got strings.Builder
	for got.Len() < len(want) {
		b, err := r.Next(f.Context(), timeout)
		if err != nil || b == nil {
			f.Fatalf("got %q, then %v, %v; want %q", got.String(), b, err, want)
		}
		got.Write(b.Text)
		if b.Frames[len(b.Frames)-1].Position != r.Position() {
			f.Errorf("the reader is at %s, not after its batch", r.Position())
		}
	}
	if got.String() != want {
		f.Fatalf("got %q, want %q", got.String(), want)
	}
}

func TestReadersFollow(t *testing.T) {
	f := newFleet(t)
	f.is("a", "NORMAL")
	one, two := f.open(nil), f.open(nil)
	f.is("a", "WARNING1")
	f.is("b", "NORMAL")
	f.reads(one, "a WARNING1;b NORMAL;")
	f.is("b", "WARNING2")
	f.reads(one, "b WARNING2;")
	f.reads(two, "a WARNING1;b NORMAL;b WARNING2;")
	if b, err := one.Next(t.Context(), time.Millisecond); b != nil || err != nil {
		t.Errorf("there was nothing, and the reader got %v, %v", b, err)
	}
	if n := f.hub.Readers(); n != 2 {
		t.Errorf("%d readers, want 2", n)
	}
}

// A reader that resumes gets all that came after its position, once: what the hub has in memory,
// what came before that, and what begins within a batch.
func TestReadersResume(t *testing.T) {
	f := newFleet(t)
	first := f.open(nil)
	start := first.Position()
	for i := range 5 {
		f.is("a", andon.State(fmt.Sprint("S", i)))
	}
	f.reads(first, "a S0;a S1;a S2;a S3;a S4;")
	var third andon.Position
	for c, err := range f.store.Changes(t.Context(), andon.DefaultTenant, start) {
		if err != nil {
			t.Fatal(err)
		}
		if c.After.State == "S2" {
			third = c.Position
		}
	}
	f.reads(f.open(&start), "a S0;a S1;a S2;a S3;a S4;")
	f.reads(f.open(&third), "a S3;a S4;")
	first.Close()

	late := newFleet(t)
	late.store, late.hub = f.store, live.New(f.store, clock, encode) // as after a restart
	late.next = f.next
	r := late.open(&third)
	late.is("a", "S5")
	late.reads(r, "a S3;a S4;a S5;")
	now := late.open(nil)
	late.is("a", "S6")
	late.reads(now, "a S6;")
	late.reads(r, "a S6;")
}

func TestPositionsThatCanNotBeResumed(t *testing.T) {
	f := newFleet(t)
	other := andon.Position{Feed: 1, Sequence: 1}
	_, err := f.hub.Open(t.Context(), andon.DefaultTenant, &other)
	if andon.KindOf(err) != andon.Gone {
		t.Errorf("the position of another feed: %v", err)
	}
	_, err = f.hub.Open(t.Context(), "absent", nil)
	if andon.KindOf(err) != andon.NotFound {
		t.Errorf("a tenant that is not there: %v", err)
	}
	if n := f.hub.Readers(); n != 0 {
		t.Errorf("%d readers, want none", n)
	}
}

// Changes that come one by one are given together, at most once in a beat.
func TestBeat(t *testing.T) {
	f := newFleet(t)
	r := f.open(nil)
	begun, batches, changes := time.Now(), 0, 0
	for changes < 300 {
		f.is("a", andon.State(fmt.Sprint("S", changes)))
		for {
			b, err := r.Next(t.Context(), time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			batches++
		}
		changes++
	}
	if most := int(time.Since(begun)/live.Beat) + 2; batches > most || batches == 0 {
		t.Errorf("%d batches in %s, want at most %d", batches, time.Since(begun), most)
	}
}

// A reader who takes nothing is cut off once what waits for it is more than is kept for all. Its
// position still resumes.
func TestSlowReader(t *testing.T) {
	f := newFleet(t)
	long := func(_ context.Context, _ andon.TenantID, c []andon.Change) ([]live.Frame, error) {
		frames, err := encode(t.Context(), "", c)
		for i := range frames {
			frames[i].Text = append(frames[i].Text, strings.Repeat(".", 1<<20)...)
		}
		return frames, err
	}
	f.hub = live.New(f.store, clock, long)
	slow, quick := f.open(nil), f.open(nil)
	f.is("a", "S0")
	if b, err := slow.Next(t.Context(), timeout); err != nil || len(b.Frames) != 1 {
		t.Fatal(b, err)
	}
	for i := range 3 { // batches of 6 MB
		for j := range 6 {
			f.is("a", andon.State(fmt.Sprintf("T%d%d", i, j)))
		}
		for n := 0; n < 6; {
			b, err := quick.Next(t.Context(), timeout)
			if err != nil || b == nil {
				t.Fatal(b, err)
			}
			n += len(b.Frames)
		}
	}
	_, err := slow.Next(t.Context(), timeout)
	if !errors.Is(err, live.ErrSlow) {
		t.Fatalf("the slow reader got %v", err)
	}
	at := slow.Position()
	b, err := f.open(&at).Next(t.Context(), timeout)
	if err != nil || !strings.HasPrefix(string(b.Text), "a T00;") {
		t.Errorf("resumed: %.40s, %v", b.Text, err)
	}
}

// When a tenant is deleted its readers get an error, and others follow the tenant that is made
// again.
func TestDeletedTenant(t *testing.T) {
	f := newFleet(t)
	create := func() {
		_, err := f.store.PutTenant(t.Context(), andon.NewTenant("plant-2"))
		if err != nil {
			t.Fatal(err)
		}
	}
	create()
	r, err := f.hub.Open(t.Context(), "plant-2", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := f.store.DeleteTenant(t.Context(), "plant-2"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(t.Context(), timeout); andon.KindOf(err) != andon.NotFound {
		t.Fatalf("got %v", err)
	}
	create()
	again, err := f.hub.Open(t.Context(), "plant-2", nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
