package current

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

// TestSilence counts random fleets while they are heard, retire and come back, against a count of
// all devices. The time that is asked for mostly moves on, and sometimes back.
func TestSilence(t *testing.T) {
	const minute = andon.Time(60_000_000)
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 3))
		f, now := NewFleet(), 100*minute
		for range 60 {
			now += 1 + andon.Time(rng.IntN(90))*minute/60
			id := andon.DeviceID(fmt.Sprintf("d%d", rng.IntN(12)))
			change(f, id, func(d *Device) {
				switch k := rng.IntN(6); {
				case k == 0 && d.Alive():
					d.Retire(now)
					return
				case k == 1 && d.Retired > 0:
					d.Retired = 0 // it is back, and was not heard
					return
				case k == 2 && d.Alive():
					d.State = "WARNING2"
					return
				}
				name := []andon.State{"NORMAL", "WARNING1"}[rng.IntN(2)]
				d.Received = now
				if err := d.Apply(entry(int(now), name), andon.DefaultStates(), nil); err != nil {
					t.Fatal(err)
				}
			})
			before := now - andon.Time(rng.IntN(15))*minute
			want, got := map[andon.State][2]int{}, map[andon.State][2]int{}
			for s := range f.Slots(0, f.end) {
				d := f.Shown(s)
				if n := want[d.State]; d.Alive() {
					n[0]++
					if d.Received < before {
						n[1]++
					}
					want[d.State] = n
				}
			}
			for _, n := range f.Counts(before, &sync.Mutex{}) {
				got[n.State] = [2]int{n.Count, n.Silent}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, heard before %s (-want +got):\n%s", seed, before, diff)
			}
		}
	}
}

// TestSilenceLooksOnce counts the silent ones of a fleet without looking at all devices again.
func TestSilenceLooksOnce(t *testing.T) {
	f := NewFleet()
	for i := range 10_000 {
		change(f, andon.DeviceID(fmt.Sprintf("d%d", i)), func(d *Device) {
			d.Received = andon.Time(1 + i)
			if err := d.Apply(entry(1, "NORMAL"), andon.DefaultStates(), nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	looks := &countedLock{}
	for before := range andon.Time(100) {
		counts := f.Counts(before, looks)
		if got := counts[0].Silent; got != int(max(before, 1)-1) {
			t.Fatalf("%d of those heard before %d are silent", got, before)
		}
	}
	if most := 2*100 + 10_000/silenceStep + 1; looks.n > most {
		t.Errorf("the fleet was locked %d times, more than %d", looks.n, most)
	}
}

type countedLock struct {
	sync.Mutex
	n int
}

func (l *countedLock) Lock() { l.Mutex.Lock(); l.n++ }

// TestSilentFleetIsCountedOnce: what is silent is not looked at again to count it.
func TestSilentFleetIsCountedOnce(t *testing.T) {
	f := silentFleet(t, 10_000, 1)
	if got := f.Counts(500_000_000, &sync.Mutex{})[0].Silent; got != 10_000 {
		t.Fatalf("%d of 10000 devices are silent", got)
	}
	f.silence.list = f.silence.list[:f.silence.next]
	clear(f.silence.list) // so that a look at them would find none
	change(f, "press-00007", func(d *Device) { d.Received = 550_000_000 })
	change(f, "press-00008", func(d *Device) { d.State = "WARNING1" })
	for _, c := range f.Counts(501_000_000, &sync.Mutex{}) {
		if want := map[andon.State]int{"NORMAL": 9_998, "WARNING1": 1}[c.State]; c.Silent != want {
			t.Errorf("%d devices in %s are silent, want %d", c.Silent, c.State, want)
		}
	}
}

// TestPurgedDevicesAreNotSilent: a silent device that is purged is no longer counted, nor once it
// is back and heard.
func TestPurgedDevicesAreNotSilent(t *testing.T) {
	f := silentFleet(t, 3, 1)
	want := func(devices, silent int) {
		t.Helper()
		counts := f.Counts(500_000_000, &sync.Mutex{})
		if len(counts) != 1 || counts[0].Count != devices || counts[0].Silent != silent {
			t.Errorf("got %+v, want %d devices, %d of them silent", counts, devices, silent)
		}
	}
	want(3, 3)
	change(f, "press-00001", func(d *Device) { *d = Device{ID: d.ID} })
	f.Drop(f.Slot("press-00001"))
	want(2, 2)
	change(f, "press-00001", func(d *Device) {
		d.Received = 600_000_000
		if err := d.Apply(entry(1, "NORMAL"), andon.DefaultStates(), nil); err != nil {
			t.Fatal(err)
		}
	})
	want(3, 2)
}

// BenchmarkCounts counts a fleet of 100,000 of which some are silent.
func BenchmarkCounts(b *testing.B) {
	for _, each := range []int{100, 1} {
		b.Run(fmt.Sprintf("silent=%d", 100_000/each), func(b *testing.B) {
			f := silentFleet(b, 100_000, each)
			var lock sync.RWMutex
			before := andon.Time(500_000_000)
			for b.Loop() {
				before += 1000
				f.Counts(before, lock.RLocker())
			}
		})
	}
}

// silentFleet makes a fleet of which one in so many is silent.
func silentFleet(t testing.TB, devices, each int) *Fleet {
	f := NewFleet()
	for i := range devices {
		change(f, andon.DeviceID(fmt.Sprintf("press-%05d", i)), func(d *Device) {
			if d.Received = 1_000_000_000_000; i%each == 0 {
				d.Received = 1
			}
			if err := d.Apply(entry(1, "NORMAL"), andon.DefaultStates(), nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	return f
}

// change stages and shows a change of one device.
func change(f *Fleet, id andon.DeviceID, do func(*Device)) {
	slot := f.Slot(id)
	if slot == nil {
		slot = f.NewSlot(id)
	}
	c := NewChanges(1)
	do(c.Copy(f, slot, id))
	c.Stage(f)
	f.Publish(c)
}
