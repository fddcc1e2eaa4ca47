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
				if rng.IntN(6) == 0 && d.Alive() {
					d.Retire(now)
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
			for s := range f.all() {
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

// BenchmarkCounts counts a fleet of 100,000 of which one in a hundred is silent.
func BenchmarkCounts(b *testing.B) {
	f := NewFleet()
	for i := range 100_000 {
		change(f, andon.DeviceID(fmt.Sprintf("press-%05d", i)), func(d *Device) {
			if d.Received = 1_000_000_000; i%100 == 0 {
				d.Received = 1
			}
			if err := d.Apply(entry(1, "NORMAL"), andon.DefaultStates(), nil); err != nil {
				b.Fatal(err)
			}
		})
	}
	var lock sync.RWMutex
	for b.Loop() {
		f.Counts(500_000_000, lock.RLocker())
	}
}

// change stages and shows a change of one device.
func change(f *Fleet, id andon.DeviceID, do func(*Device)) {
	slot := f.Slot(id)
	if slot == nil {
		slot = f.NewSlot(id)
	}
	c := NewChanges(1)
	do(c.Copy(f, slot, id))
	c.Stage()
	f.Show(c)
}
