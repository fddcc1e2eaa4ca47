package current

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

func put(f *Fleet, id andon.DeviceID, e Entry) {
	slot := f.Slot(id)
	if slot == nil {
		slot = f.NewSlot(id)
	}
	c := NewChanges(1)
	if err := c.Copy(f, slot, id).Apply(e, andon.DefaultStates(), nil); err != nil {
		panic(err)
	}
	c.Stage(f)
	f.Publish(c)
}

// TestPages reads random fleets in every order, with small steps and pages, against a plain filter
// and sort of all devices.
func TestPages(t *testing.T) {
	states := andon.DefaultStates()
	names := []andon.State{"NORMAL", "WARNING1", "WARNING2", "ODD"}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		f := NewFleet()
		for n := range rng.IntN(60) {
			id := andon.DeviceID(fmt.Sprintf("%c%d", 'a'+n%3, n))
			put(f, id, entry(1+rng.IntN(5), names[rng.IntN(4)]))
		}
		warnings, _ := andon.ParseStateFilter([]string{"", "WARNING*", "ODD,NORMAL"}[rng.IntN(3)])
		q := andon.DeviceQuery{
			States: warnings, Prefix: []string{"", "b", "a1"}[rng.IntN(3)],
			Sort: andon.DeviceSort(rng.IntN(3)), Limit: 1 + rng.IntN(7),
		}
		var want []andon.Device
		for s := range f.Slots(0, f.end) {
			shown := f.Shown(s)
			if d := shown.Show(states); q.Admits(&d) {
				want = append(want, d)
			}
		}
		slices.SortFunc(want, func(a, b andon.Device) int {
			if a.Position().Less(b.Position(), q.Sort) {
				return -1
			}
			return 1
		})
		var got []andon.Device
		for {
			p := NewPage(q)
			for !p.Done {
				f.Read(p, states, 1+rng.IntN(5))
			}
			got = append(got, p.Devices...)
			if len(p.Devices) < q.Limit {
				break
			}
			last := p.Devices[len(p.Devices)-1].Position()
			q.After = &last
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d, %+v: %s", seed, q, diff)
		}
	}
}

func TestWhatIsStagedIsNotShown(t *testing.T) {
	states := andon.DefaultStates()
	f := NewFleet()
	put(f, "d", entry(1, "NORMAL"))
	slot := f.Slot("d")
	first, second := NewChanges(1), NewChanges(1)
	for i, c := range []*Changes{first, second} {
		if err := c.Copy(f, slot, "d").Apply(entry(2+i, "WARNING1"), states, nil); err != nil {
			t.Fatal(err)
		}
		c.Stage(f)
	}
	if got := f.Latest(slot); got.Time != 3 || got.Since != 2 {
		t.Errorf("latest: %+v", got)
	}
	if got := f.Shown(slot); got.Time != 1 || got.State != "NORMAL" {
		t.Errorf("shown: %+v", got)
	}
	f.Publish(first)
	if f.Shown(slot).Time != 2 || f.Latest(slot).Time != 3 {
		t.Error("showing the first change lost the second")
	}
	f.Publish(second)
	if f.Shown(slot).Time != 3 || slot.Pending() {
		t.Error("the second change is not shown")
	}
	counts := f.Counts(0, &sync.Mutex{})
	if diff := cmp.Diff([]andon.StateCount{{State: "WARNING1", Count: 1}}, counts); diff != "" {
		t.Error(diff)
	}
}

// TestManyPending makes many changes pending, shows some, and goes on, while another goroutine
// looks at the newest of each device: that is the last change, however many are pending.
func TestManyPending(t *testing.T) {
	const devices, rounds = 50, 300
	f := NewFleet()
	for n := range devices {
		put(f, andon.DeviceID(fmt.Sprint(n)), entry(1, "NORMAL"))
	}
	var mu sync.RWMutex // as the store has it: while something is shown, no one looks
	var newest [devices]atomic.Int64
	var waiting []*Changes
	stop, looking := make(chan struct{}), sync.WaitGroup{}
	looking.Go(func() {
		for n := 0; ; n = (n + 1) % devices {
			select {
			case <-stop:
				return
			default:
			}
			least := newest[n].Load()
			mu.RLock()
			got := f.Latest(f.Slot(andon.DeviceID(fmt.Sprint(n))))
			mu.RUnlock()
			if int64(got.Time) < least {
				t.Errorf("device %d is of %d, not of %d or later", n, got.Time, least)
				return
			}
			runtime.Gosched()
		}
	})
	rng := rand.New(rand.NewPCG(1, 1))
	for round := range rounds {
		c := NewChanges(devices)
		for n := rng.IntN(devices); n < devices; n += 1 + rng.IntN(devices) {
			id := andon.DeviceID(fmt.Sprint(n))
			c.Copy(f, f.Slot(id), id).Time = andon.Time(10 + round)
		}
		c.Stage(f)
		for i := range c.Len() {
			newest[c.Slot(i).Number()].Store(int64(10 + round))
		}
		waiting = append(waiting, c)
		for len(waiting) > 0 && rng.IntN(rounds) < round {
			mu.Lock()
			f.Publish(waiting[0])
			mu.Unlock()
			waiting = waiting[1:]
		}
	}
	close(stop)
	looking.Wait()
	for _, c := range waiting {
		f.Publish(c)
	}
	for n := range devices {
		slot := f.Slot(andon.DeviceID(fmt.Sprint(n)))
		if got := f.Shown(slot); int64(got.Time) != newest[n].Load() || slot.Pending() {
			t.Errorf("device %d shows %d at the end, pending %t", n, got.Time, slot.Pending())
		}
	}
}

// BenchmarkUpdate stages and shows one batch of 1,000 devices of 100,000, one in twenty
// changing state.
func BenchmarkUpdate(b *testing.B) {
	states := andon.DefaultStates()
	f := NewFleet()
	slots := make([]*Slot, 100_000)
	for i := range slots {
		id := andon.DeviceID(fmt.Sprintf("press-%05d", i))
		put(f, id, entry(1, "NORMAL"))
		slots[i] = f.Slot(id)
	}
	n := 1
	for b.Loop() {
		n++
		c := NewChanges(1000)
		for i := range 1000 {
			e := Entry{Time: andon.Time(n), State: "NORMAL"}
			if (i+n)%20 == 0 {
				e.State, e.Severity = "WARNING1", 32
			}
			d := c.Copy(f, slots[(n*1000+i)%len(slots)], "")
			if err := d.Apply(e, states, nil); err != nil {
				b.Fatal(err)
			}
		}
		c.Stage(f)
		f.Publish(c)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*1000), "ns/device")
}
