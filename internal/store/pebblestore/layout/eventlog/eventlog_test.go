package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

// randomEntries returns entries of one device, newest first.
func randomEntries(rng *rand.Rand, n int) []Entry {
	unit := []andon.Time{1, 1_000, 1_000_000, 300_000_000}[rng.IntN(4)]
	at := andon.Time(1_764_806_400_000_000)
	entries := make([]Entry, n)
	for i := range entries {
		at -= unit * andon.Time(rng.IntN(3))
		entries[i] = Entry{
			Time: at, State: andon.State(fmt.Sprint("S", rng.IntN(4))),
			Operator: andon.PersonID([]string{"", "Liz", "Ödön"}[rng.IntN(3)]),
		}
		if rng.IntN(3) > 0 {
			entries[i].Message = []byte(fmt.Sprintf("bearing %d is hot", rng.IntN(20)))
			entries[i].Attributes = []byte(fmt.Sprintf(`{"line":"L3","t":%d}`, rng.IntN(1000)))
		}
	}
	return entries
}

func equal(t *testing.T, want, got []Entry) {
	t.Helper()
	same := cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) })
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Fatal(diff)
	}
}

func TestBlocksKeepEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var x Encoder
	var d Decoder
	for range 300 {
		want := randomEntries(rng, 1+rng.IntN(MaxBlock))
		block := x.Append(nil, want)
		got, err := d.Entries(block, want[0].Time)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, want, got)
		first := 1 + rng.IntN(len(want))
		got, err = d.Rows(block, want[0].Time, func(andon.State) bool { return true })
		if err = errors.Join(err, d.Texts(first)); err != nil {
			t.Fatal(err)
		}
		equal(t, want[:first], got[:first])
	}
}

func TestABlockWithoutAWantedStateHasNone(t *testing.T) {
	var x Encoder
	var d Decoder
	b := x.Append(nil, []Entry{{Time: 9, State: "A"}, {Time: 8, State: "B"}})
	got, err := d.Rows(b, 9, func(s andon.State) bool { return s == "C" })
	if len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	got, err = d.Rows(b, 9, func(s andon.State) bool { return s == "B" })
	if len(got) != 2 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// BenchmarkBlock says what a block of 16 entries costs.
func BenchmarkBlock(b *testing.B) {
	entries := randomEntries(rand.New(rand.NewPCG(1, 1)), 16)
	var x Encoder
	var d Decoder
	block := x.Append(nil, entries)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			block = x.Append(block[:0], entries)
		}
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.Entries(block, entries[0].Time); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// row encodes entries as a request does, and reads them again.
func row(t *testing.T, events []andon.Event, base andon.Time) (got []Entry) {
	t.Helper()
	var names Names
	operators := make([]andon.PersonID, len(events))
	for i := range events {
		operators[i] = events[i].Operator
	}
	entries := names.AppendEntries(nil, base, events, operators)
	var r Row
	rest, err := r.ReadNames(append(names.Append(nil), append(entries, "after"...)...))
	if err != nil {
		t.Fatal(err)
	}
	rest, last, err := r.ReadEntries(rest, base, func(e Entry) { got = append(got, e) })
	if err != nil || string(rest) != "after" || last != events[len(events)-1].Time {
		t.Fatalf("%q, %d, %v", rest, last, err)
	}
	return got
}

func TestRowsKeepEvents(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 100 {
		want := randomEntries(rng, 1+rng.IntN(300))
		events := make([]andon.Event, len(want))
		for i, e := range want {
			if i%7 == 0 { // more names than a row can hold
				want[i].Operator = andon.PersonID(fmt.Sprint("person ", i))
			}
			events[i] = andon.Event{
				Time: e.Time, State: e.State, Operator: want[i].Operator,
				Message: string(e.Message), Attributes: andon.JSON(e.Attributes),
			}
		}
		equal(t, want, row(t, events, andon.Time(rng.Int64N(1<<50))))
	}
}

// TestMemtableWalksFromNewToOld: of each entry its last delivery, in order where the device is
// sorted.
func TestMemtableWalksFromNewToOld(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	h := NewMemtable()
	type identity struct {
		tenant, device uint32
		at             andon.Time
		state          andon.State
	}
	want := map[identity]Entry{}
	const apart = pageDevices * 2 / 3
	for n := range 20_000 { // more than a slab of cells
		e := randomEntries(rng, 1)[0]
		of := identity{tenant: 1 + rng.Uint32N(2), device: apart * rng.Uint32N(50)}
		if of.device > 20*apart { // else the devices become unsorted
			e.Time, e.State = andon.Time(n/8*8+rng.IntN(100)*8), "A"
			e.Time += andon.Time(of.device % 8)
		}
		of.at, of.state = e.Time, e.State
		h.Add(of.tenant, of.device, e)
		want[of] = e
	}
	h.Forget(1, 7*apart)
	maps.DeleteFunc(want, func(of identity, _ Entry) bool {
		return of.tenant == 1 && of.device == 7*apart
	})
	got, sorted := map[identity]Entry{}, 0
	for tenant := range uint32(3) {
		for n := range uint32(120) {
			device := n/2*apart + n%2 // and the one after it, which has none
			before, inOrder := andon.MaxTime, h.Sorted(tenant, device)
			h.Walk(tenant, device, func(e Entry) bool {
				of := identity{tenant, device, e.Time, e.State}
				if _, again := got[of]; !again {
					got[of] = e
				} else if inOrder {
					t.Errorf("%+v twice", of)
				}
				if inOrder && e.Time >= before {
					t.Errorf("%+v after %d", of, before)
				}
				if inOrder {
					sorted++
				}
				before = e.Time
				return true
			})
		}
	}
	if sorted < 8000 {
		t.Errorf("only %d entries are of sorted devices", sorted)
	}
	if !maps.EqualFunc(want, got, func(a, b Entry) bool {
		return a.Operator == b.Operator && bytes.Equal(a.Message, b.Message) &&
			bytes.Equal(a.Attributes, b.Attributes)
	}) {
		t.Errorf("%d entries are other ones than the %d that were added last", len(got), len(want))
	}
	if least := 10_000 * cellBytes; h.Bytes() < least {
		t.Errorf("the memtable says %d bytes, and has at least %d", h.Bytes(), least)
	}
}

// TestMemtableKnowsWhetherAWalkIsSorted: it is, but where two states are at one instant, or an
// entry is far older than the newest.
func TestMemtableKnowsWhetherAWalkIsSorted(t *testing.T) {
	h := NewMemtable()
	past := make([]andon.Time, 100)
	for i := range past {
		past[i] = andon.Time(len(past) - i)
	}
	for device, times := range [][]andon.Time{{1, 2, 3}, {1, 2, 2}, {3, 1, 4, 2}, {}, past} {
		for _, at := range times {
			h.Add(1, uint32(device), Entry{Time: at, State: "A"})
		}
	}
	h.Add(1, 5, Entry{Time: 2, State: "A"})
	h.Add(1, 5, Entry{Time: 2, State: "B"})
	for device, want := range []bool{true, true, true, true, false, false} {
		if got := h.Sorted(1, uint32(device)); got != want {
			t.Errorf("device %d: %v", device, got)
		}
	}
}

// TestMemtableKnowsWhenAPersonHasEntries: the devices of an hour are those that have entries of a
// person in it; of those whose entries came in order it says between which times they are.
func TestMemtableKnowsWhenAPersonHasEntries(t *testing.T) {
	const hour = 3_600_000
	rng := rand.New(rand.NewPCG(5, 5))
	h := NewMemtable()
	type of struct{ hour, device uint32 }
	want := map[of]InHour{}
	for device := range uint32(200) {
		at := andon.Time(0)
		for range rng.IntN(20) {
			e := Entry{State: "A", Operator: []andon.PersonID{"", "Liz", "Ann"}[rng.IntN(3)]}
			at += andon.Time(1+rng.IntN(hour/3)) * milli
			if e.Time = at; device%7 == 0 && rng.IntN(2) == 0 {
				e.Time = at / 2
			}
			h.Add(1, device, e)
			if rng.IntN(5) == 0 {
				h.Add(1, device, e) // sent again
			}
			if e.Operator != "Liz" {
				continue
			}
			k, ms := of{e.Time.Hour(), device}, MilliOf(e.Time)
			w, seen := want[k]
			if !seen {
				w = InHour{device, ms, ms}
			}
			w.Oldest, w.Newest = min(w.Oldest, ms), max(w.Newest, ms)
			want[k] = w
		}
	}
	for k := range want {
		if !h.Sorted(1, k.device) {
			want[k] = InHour{k.device, 0, lastMilli}
		}
	}
	got := map[of]InHour{}
	for n := range uint32(10) {
		for _, d := range h.AppendHour(nil, 1, "Liz", n) {
			k := of{n, d.Device}
			if g, seen := got[k]; seen {
				d.Oldest, d.Newest = min(d.Oldest, g.Oldest), max(d.Newest, g.Newest)
			}
			got[k] = d
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := h.AppendHour(nil, 2, "Liz", 0); got != nil {
		t.Errorf("another tenant has %v", got)
	}
}

func FuzzBlock(f *testing.F) {
	rng := rand.New(rand.NewPCG(4, 4))
	var x Encoder
	for range 20 {
		f.Add(x.Append(nil, randomEntries(rng, 1+rng.IntN(20))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Decoder
		entries, err := d.Entries(b, 1<<50)
		if err == nil && (len(entries) == 0 || len(entries) > len(b)) {
			t.Errorf("%d entries", len(entries))
		}
	})
}

func FuzzRow(f *testing.F) {
	var names Names
	entries := names.AppendEntries(nil, 5, []andon.Event{{
		Time: 7, State: "A", Message: "m", Attributes: "{}",
	}}, []andon.PersonID{"Liz"})
	f.Add(append(names.Append(nil), entries...))
	f.Fuzz(func(_ *testing.T, b []byte) {
		var r Row
		rest, err := r.ReadNames(b)
		for err == nil && len(rest) > 0 {
			rest, _, err = r.ReadEntries(rest, 0, func(Entry) {})
		}
	})
}

// A Row that reads one row after the other has the names of the last one.
func TestRowsOneAfterTheOther(t *testing.T) {
	var r Row
	for _, states := range [][]andon.State{{"N", "W"}, {"N", "X", "Y"}, {"X"}, {"W", "X", "Y"}} {
		var names Names
		events := make([]andon.Event, len(states))
		for i, state := range states {
			events[i] = andon.Event{Time: andon.Time(i + 1), State: state}
		}
		operators := make([]andon.PersonID, len(events))
		entries := names.AppendEntries(nil, 0, events, operators)
		if _, err := r.ReadNames(names.Append(nil)); err != nil {
			t.Fatal(err)
		}
		var got []andon.State
		_, _, err := r.ReadEntries(entries, 0, func(e Entry) { got = append(got, e.State) })
		if err != nil || !slices.Equal(got, states) {
			t.Errorf("read %v, %v; want %v", got, err, states)
		}
	}
}

// TestNamesBeyondTheList: names that are more, or longer, than a row lists come back where they are
// used, also twice in a row, and as short once the names are used for another row.
func TestNamesBeyondTheList(t *testing.T) {
	var names Names
	for long, most := range map[int]int{3: 3 * mostNames, 200: 20} {
		events, operators := make([]andon.Event, 4*most), make([]andon.PersonID, 4*most)
		for i := range events {
			events[i].Time, events[i].State = andon.Time(i+1), "S"
			operators[i] = andon.PersonID(fmt.Sprintf("%0*d", long, i/2%most))
		}
		length := 0
		for range 2 {
			names = Names{}
			entries := names.AppendEntries(nil, 0, events, operators)
			var r Row
			if _, err := r.ReadNames(names.Append(nil)); err != nil {
				t.Fatal(err)
			}
			var got []andon.PersonID
			_, _, err := r.ReadEntries(entries, 0, func(e Entry) { got = append(got, e.Operator) })
			if err != nil || !slices.Equal(got, operators) {
				t.Errorf("read %q, %v; want %q", got, err, operators)
			}
			if length == 0 {
				length = len(entries)
			}
			if len(entries) != length {
				t.Errorf("%d bytes, and at first %d", len(entries), length)
			}
		}
	}
}

// TestMemtableCountsItsBytes: what a memtable says that it takes is about what it takes, also where
// each entry names another person.
func TestMemtableCountsItsBytes(t *testing.T) {
	for name, entry := range map[string]func(n int) Entry{
		"one person": func(n int) Entry {
			return Entry{Time: andon.MinTime + andon.Time(n)*1e6, State: "NORMAL", Operator: "Liz"}
		},
		"a person each": func(n int) Entry {
			return Entry{
				Time: andon.MinTime + andon.Time(n)*1e6, State: "NORMAL",
				Operator: andon.PersonID(fmt.Sprint("somebody by the name of ", n)),
			}
		},
		"an hour each": func(n int) Entry {
			return Entry{
				Time: andon.MinTime + andon.Time(n)*3_600_000_000, State: "NORMAL", Operator: "Liz",
			}
		},
		"late": func(n int) Entry {
			return Entry{
				Time: andon.MinTime - andon.Time(n)*1e6, State: "NORMAL", Message: []byte("m"),
			}
		},
	} {
		const entries, devices = 200_000, 50_000
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		h := NewMemtable()
		for n := range entries {
			if err := h.Add(1, uint32(n%devices), entry(n)); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		took := int(after.HeapAlloc - before.HeapAlloc)
		if said := h.Bytes(); said < took*3/4 || said > took*3/2 {
			t.Errorf("%s: a memtable takes %d bytes, and says %d", name, took, said)
		}
		runtime.KeepAlive(h)
	}
}

// TestFullMemtableRefuses: texts that can't be pointed into are refused, and those that are there
// stay.
func TestFullMemtableRefuses(t *testing.T) {
	h := NewMemtable()
	h.mostSlabs = 2
	text := bytes.Repeat([]byte("x"), 1000)
	n := 0
	for ; n < 10_000; n++ {
		e := Entry{Time: andon.MinTime + andon.Time(n), State: "S", Message: text}
		if err := h.Add(1, 0, e); errors.Is(err, ErrMemtableFull) {
			break
		}
	}
	there := 0
	h.Walk(1, 0, func(e Entry) bool {
		if there++; !bytes.Equal(e.Message, text) {
			t.Fatalf("an entry has the text %q", e.Message)
		}
		return true
	})
	if there != n || n < 2000 || n >= 10_000 {
		t.Errorf("%d entries of %d", there, n)
	}
}
