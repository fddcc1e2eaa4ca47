package cassandrastore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
)

// TestReorder changes severities while another process writes entries of which two are often of one
// instant, and once more with the process ending before it is done: when it has ended both answer
// as the reference does under the same set.
func TestReorder(t *testing.T) {
	t.Parallel()
	for _, design := range []string{"buckets", "view", "index"} {
		t.Run(design, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			o := newSettling(t, design, 5*time.Second)
			one, two := open(t, o), open(t, o)
			f := newFleet(t, two)
			for range 3 {
				f.tie()
			}
			stop := f.tieUntil()
			f.change(one, "NORMAL", 40, "WARNING1", 0, "WARNING2", 90)
			f.awaitOrder(one)
			stop()
			f.compareAll("after a change during writes", one, two)

			stop = f.tieUntil()
			ends := begin(t, o)
			f.change(ends, "NORMAL", 0, "WARNING1", 50, "WARNING2", 20)
			end(t, ends) // in the middle of it
			f.awaitOrder(one)
			stop()
			f.compareAll("after a change that was gone on with", one, two)
			oneRowEach(t, one)
		})
	}
}

// tie lets each device report two states at one instant, or one.
func (f *fleet) tie() {
	f.Helper()
	f.round++
	var events []andon.Event
	states := []andon.State{"NORMAL", "WARNING1", "WARNING2", "ODD"}
	for i := range fleetDevices {
		at := f.at + andon.Time(f.round*10+rand.IntN(5))
		for _, n := range rand.Perm(len(states))[:1+rand.IntN(2)] {
			e := andon.Event{Device: testDevice(i), Time: at, State: states[n]}
			if rand.IntN(3) == 0 {
				e.EscalatedTo = andon.PersonID(fmt.Sprint("Sara", n))
			}
			events = append(events, e)
		}
	}
	events = andon.SortBatch(events)
	received := f.at + andon.Time(f.round*10+10)
	if err := appendAgain(f.Context(), f.store, andon.DefaultTenant, received, events); err != nil {
		f.Error(err)
		return
	}
	if err := f.want.Append(f.Context(), andon.DefaultTenant, received, events); err != nil {
		f.Error(err)
	}
}

func (f *fleet) tieUntil() (stop func()) {
	ctx, cancel := context.WithCancel(f.Context())
	var work sync.WaitGroup
	work.Go(func() {
		for ctx.Err() == nil {
			f.tie()
			select {
			case <-ctx.Done():
			case <-time.After(time.Second): // each entry is read at the end
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// change gives states other severities, here and in the reference.
func (f *fleet) change(s *Store, words ...any) {
	f.Helper()
	var defs []andon.StateDef
	for i := 0; i < len(words); i += 2 {
		defs = append(defs, andon.StateDef{
			Name: andon.State(words[i].(string)), Severity: uint8(words[i+1].(int)),
		})
	}
	set, err := andon.NewStateSet(defs)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []andon.Store{s, f.want} {
		is, err := s.Tenant(f.Context(), andon.DefaultTenant)
		if err != nil {
			f.Fatal(err)
		}
		is.States = set
		is, err = s.PutTenant(f.Context(), is)
		if err != nil {
			f.Fatal(err)
		}
		if s != f.want && !is.Reordering {
			f.Error("a changed severity is in order at once")
		}
	}
}

// awaitOrder waits until a change is over.
func (f *fleet) awaitOrder(s *Store) {
	f.Helper()
	for again := true; again; {
		is, err := s.Reorder(f.Context(), andon.DefaultTenant)
		if err != nil {
			f.Fatal(err)
		}
		again = is.Reordering
	}
}

func (f *fleet) compareAll(when string, stores ...*Store) {
	f.Helper()
	expected := countsOf(f.T, f.want, andon.DefaultTenant)
	for n, s := range stores {
		is := fmt.Sprintf("process %d %s", n+1, when)
		s.Recent.Forget(andon.DefaultTenant) // what another changed is seen within a second
		f.compare(s, is)
		if err := s.countAll(f.Context()); err != nil {
			f.Fatal(err)
		}
		if d := diff(expected, countsOf(f.T, s, andon.DefaultTenant)); d != "" {
			f.Errorf("%s counts (-want +got):\n%s", is, d)
		}
	}
}

// oneRowEach checks that no rows of former generations are left.
func oneRowEach(t *testing.T, s *Store) {
	t.Helper()
	reads := s.working.Load().Reads
	if !reads.OneRow() {
		return
	}
	rows := scan[string](t, s, "SELECT device FROM "+reads.Tables()[0].Name)
	devices := map[string]bool{}
	for _, row := range rows {
		devices[designs.DeviceOf(row)] = true
	}
	if len(rows) != fleetDevices || len(devices) != fleetDevices {
		t.Errorf("%d devices have the rows %q", fleetDevices, rows)
	}
}
