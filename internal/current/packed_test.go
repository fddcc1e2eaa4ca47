package current

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

// shown is a fleet as a plain map.
type shown map[andon.DeviceID]Device

// random changes a device at random, and forgets some.
func (m shown) random(rng *rand.Rand, f *Fleet, id andon.DeviceID) {
	at := func() andon.Time { return andon.Time(rng.IntN(3)) }
	change(f, id, func(d *Device) {
		*d = Device{ID: id}
		if rng.IntN(4) == 0 {
			return
		}
		d.Time, d.Since, d.PrevTime, d.Received = 1+at(), at(), at(), at()
		d.State = andon.State(fmt.Sprint("S", rng.IntN(4)))
		d.PrevState = andon.State(fmt.Sprint("S", rng.IntN(4)))
		d.Operator = andon.PersonID(fmt.Sprint("op", rng.IntN(1000)))
		if rng.IntN(3) == 0 {
			d.Incident, d.LastNormal, d.AsideAt, d.Retired = at(), at(), at(), at()
			d.Assignee, d.AssignedFrom = "liz", at()
			d.Escalated = Escalation{Entry: 1, State: d.State, At: 1, To: "sara"}
		}
		m[id] = *d
	})
	slot := f.Slot(id)
	if d := f.Shown(slot); !d.Known() {
		delete(m, id)
		f.Drop(slot)
	}
}

// check compares a fleet with what it should show: device by device, in lists, and counted.
func (m shown) check(t *testing.T, f *Fleet) {
	t.Helper()
	got, states := shown{}, map[andon.State]int{}
	var listed, hidden []andon.DeviceID
	for id, d := range m {
		if slot := f.Slot(id); slot != nil && f.Numbered(slot.Number()) == slot {
			got[id] = f.Shown(slot)
		}
		if d.Alive() {
			listed = append(listed, id)
			states[d.State]++
		} else {
			hidden = append(hidden, id)
		}
	}
	if diff := cmp.Diff(m, got); diff != "" || f.Len() != len(m) {
		t.Fatalf("%d devices instead of %d: %s", f.Len(), len(m), diff)
	}
	slices.Sort(listed)
	if diff := cmp.Diff(listed, pages(f, andon.ShownDevices)); diff != "" {
		t.Fatal(diff)
	}
	if n := f.hidden.count; n != len(hidden) {
		t.Fatalf("%d devices are hidden instead of %d", n, len(hidden))
	}
	counts := map[andon.State]int{}
	for _, n := range f.Counts(0, &sync.Mutex{}) {
		counts[n.State] = n.Count
	}
	if diff := cmp.Diff(states, counts); diff != "" {
		t.Fatal(diff)
	}
}

// pages reads a list in pages.
func pages(f *Fleet, kind andon.DeviceKind) (ids []andon.DeviceID) {
	q := andon.DeviceQuery{Kind: kind, Limit: 100}
	for {
		p := NewPage(q)
		for !p.Done {
			f.Read(p, andon.DefaultStates(), 30)
		}
		for _, d := range p.Devices {
			ids = append(ids, d.ID)
		}
		if len(p.Devices) < q.Limit {
			return ids
		}
		last := p.Devices[len(p.Devices)-1].Position()
		q.After = &last
	}
}

// TestPacked changes, drops and loads the devices of a large fleet at random, against a plain map.
func TestPacked(t *testing.T) {
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 5))
		f, want := NewFleet(), shown{}
		for range 3000 {
			want.random(rng, f, andon.DeviceID(fmt.Sprint("plant-", rng.IntN(3000))))
		}
		want.check(t, f)
		loaded := NewFleet()
		for s := range f.Slots(0, f.end) {
			d := f.Shown(s)
			loaded.Load(s.Number(), &Device{ID: "another", Time: 1, State: "S0"})
			loaded.Load(s.Number(), &d)
		}
		loaded.Load(f.Numbers(), &Device{ID: "of which nothing is known"})
		loaded.Loaded()
		want.check(t, loaded)
		if loaded.Numbers() > f.Numbers() {
			t.Fatalf("the next device has number %d", loaded.Numbers())
		}
		for range 1000 {
			want.random(rng, loaded, andon.DeviceID(fmt.Sprint("plant-", rng.IntN(3000))))
		}
		want.check(t, loaded)
		for id := range maps.Clone(want) {
			change(loaded, id, func(d *Device) { *d = Device{ID: id} })
			loaded.Drop(loaded.Slot(id))
			delete(want, id)
		}
		want.check(t, loaded)
		if n := len(loaded.names.numbers); n != 0 {
			t.Fatalf("%d names are kept of a fleet without devices", n)
		}
		if slices.ContainsFunc(loaded.slabs, func(b slab) bool { return b.slots != nil }) {
			t.Fatalf("slots are kept of a fleet without devices")
		}
	}
}

// TestNamesAreBounded gives a device one operator after the other.
func TestNamesAreBounded(t *testing.T) {
	f := NewFleet()
	for n := range 10_000 {
		change(f, "d", func(d *Device) {
			d.Time, d.State, d.Operator = 1, "NORMAL", andon.PersonID(fmt.Sprint("op", n))
			d.Assignee, d.AssignedFrom = d.Operator+"a", andon.Time(n%2)
		})
	}
	if len(f.names.numbers) > 3 || len(f.names.list) > 8 || f.extras.made > 1 {
		t.Errorf("%d names with %d places and %d extras are kept of one device",
			len(f.names.numbers), len(f.names.list), f.extras.made)
	}
}

// TestMemory bounds what a device takes, when it is made and when it is loaded.
func TestMemory(t *testing.T) {
	const devices, most = 30_000, 140
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	made := NewFleet()
	for n := range devices {
		d := Device{Time: 1, Since: 1, Received: 2, State: "NORMAL", Operator: "liz"}
		change(made, andon.DeviceID(fmt.Sprintf("plant-1-dev-%06d", n)), func(is *Device) {
			d.ID = is.ID
			*is = d
		})
	}
	if took := (live() - before) / devices; took > most {
		t.Errorf("a device takes %d bytes, more than %d", took, most)
	}
	before = live()
	loaded := NewFleet()
	for s := range made.Slots(0, made.end) {
		d := made.Shown(s)
		loaded.Load(s.Number(), &d)
	}
	loaded.Loaded()
	if took := (live() - before) / devices; took > most {
		t.Errorf("a device that was loaded takes %d bytes, more than %d", took, most)
	}
	runtime.KeepAlive(made)
	runtime.KeepAlive(loaded)
}

// A request that names devices in the order in which they were made finds each after the one
// before; any other order finds the same places.
func TestSlotAfter(t *testing.T) {
	f := NewFleet()
	ids := make([]andon.DeviceID, 2*slabSlots)
	for i := range ids {
		ids[i] = andon.DeviceID(fmt.Sprintf("press-%03d", i))
		f.NewSlot(ids[i])
	}
	f.Drop(f.Slot(ids[7]))
	for i, id := range ids {
		want := f.Slot(id)
		earlier, last := f.Slot(ids[max(i-1, 0)]), f.Slot(ids[len(ids)-1])
		for _, before := range []*Slot{nil, earlier, last, want} {
			if got := f.SlotAfter(before, id); got != want {
				t.Fatalf("SlotAfter(%v, %s) = %v, want %v", before, id, got, want)
			}
		}
	}
	if got := f.SlotAfter(f.Slot(ids[3]), "press"); got != nil {
		t.Errorf("SlotAfter finds %v for a device that has no place", got)
	}
}

// TestSlotsHaveNoPointers: the collector of garbage would follow them in all of a million slots.
func TestSlotsHaveNoPointers(t *testing.T) {
	for field := range reflect.TypeFor[Slot]().Fields() {
		switch kind := field.Type.Kind(); kind {
		case reflect.Pointer, reflect.String, reflect.Slice, reflect.Map, reflect.Interface,
			reflect.Chan, reflect.Func, reflect.UnsafePointer:
			t.Errorf("%s is a %s", field.Name, kind)
		}
		if strings.Contains(field.Type.String(), "Pointer") {
			t.Errorf("%s is a %s", field.Name, field.Type)
		}
	}
}
