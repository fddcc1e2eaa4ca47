package index

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// givenOut returns the devices of an hour in the order in which a page is looked for in them.
func givenOut(d *Devices) (all []layout.InHour) {
	for !d.Empty() {
		all = append(all, d.take())
	}
	return all
}

// TestDevicesOfAnHourAreGivenOutInOrder: those in memory and of several postings come as if they
// had been joined and sorted, each once and with the bound that comes first.
func TestDevicesOfAnHourAreGivenOutInOrder(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	some := func() (devices []layout.InHour) {
		for range dice.IntN(20) {
			oldest := dice.Uint32N(100)
			devices = append(devices, layout.InHour{
				Device: dice.Uint32N(15), Oldest: oldest, Newest: oldest + dice.Uint32N(50),
			})
		}
		return devices
	}
	for i := range 500 {
		q := &andon.EventQuery{Order: andon.Order(i % 2)}
		all := some()
		for range dice.IntN(4) {
			all = append(all, layout.JoinDevices(some())...)
		}
		bound := func(d layout.InHour) uint32 {
			if q.Order == andon.Asc {
				return d.Oldest
			}
			return 1000 - d.Newest
		}
		want := map[uint32]uint32{}
		for _, d := range all {
			if first, known := want[d.Device]; !known || bound(d) < first {
				want[d.Device] = bound(d)
			}
		}
		got := givenOut(NewDevices(Hour{490_000, slices.Clone(all)}, q))
		byBound := func(a, b layout.InHour) int { return cmp.Compare(bound(a), bound(b)) }
		if !slices.IsSortedFunc(got, byBound) {
			t.Fatalf("%d: not in order: %v", i, got)
		}
		for _, d := range got {
			if first, left := want[d.Device]; !left || first != bound(d) {
				t.Fatalf("%d: %v was given out, its bound is %d, %v", i, d, first, left)
			}
			delete(want, d.Device)
		}
		if len(want) > 0 {
			t.Fatalf("%d: not given out: %v", i, want)
		}
	}
}

// TestAPostingOfAPartOfItsHour has the devices that may have entries in the span, as a look at each
// of them says.
func TestAPostingOfAPartOfItsHour(t *testing.T) {
	const hour = 490_000
	start := andon.HourStart(hour)
	var devices []layout.InHour
	for i, of := range [][2]uint32{{0, 0}, {5, 9}, {9, 3_000_000}, {3_599_999, 3_599_999}} {
		devices = append(devices,
			layout.InHour{Device: uint32(i * 300), Oldest: of[0], Newest: of[1]})
	}
	bounds := []andon.Time{0, start - 1, start, start + 1, start + 9*millisecond,
		start + 10*millisecond - 1, start + 10*millisecond,
		andon.HourStart(hour+1) - 1, andon.HourStart(hour + 1)}
	for _, from := range bounds {
		for _, to := range bounds {
			span := andon.Span{From: from, To: to}
			if to != 0 && (to < start || to < from) || from > andon.HourStart(hour+1)-1 {
				continue // the hour is not read
			}
			got := inSpan(t, devices, hour, span)
			var want []layout.InHour
			for _, d := range devices {
				oldest := start + andon.Time(d.Oldest)*millisecond
				end := start + andon.Time(d.Newest+1)*millisecond
				if end > from && (to == 0 || oldest <= to) {
					want = append(want, d)
				}
			}
			slices.SortFunc(got, layout.ByDevice)
			if !slices.Equal(got, want) {
				t.Errorf("from %d to %d: %v, want %v", from-start, to-start, got, want)
			}
		}
	}
}

// inSpan returns the devices of an hour that Hours has within a span, from a posting and from
// memory.
func inSpan(
	t *testing.T, devices []layout.InHour, hour uint32, span andon.Span,
) (got []layout.InHour) {
	t.Helper()
	db := emptyDB(t)
	const operator = "Liz"
	half := len(devices) / 2
	k := layout.NewKey(layout.TablePosting, 1).Text(operator).Number(hour).Uint(1, 8).Uint(0, 2)
	if err := db.Set(k, layout.AppendPosting(nil, devices[:half]), pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	m := hourInMemory{hour, devices[half:]}
	for h, err := range Hours(t.Context(), db, m, 1, operator, &andon.EventQuery{Span: span}) {
		if err != nil || h.Hour != hour {
			t.Fatal(h.Hour, err)
		}
		got = append(got, h.Devices...)
	}
	return got
}

func emptyDB(t *testing.T) *pebble.DB {
	t.Helper()
	db, err := pebble.Open("db", &pebble.Options{FS: vfs.NewMem(), Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// quiet is a logger of Pebble.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) { panic("pebble can't go on") }

// hourInMemory is a Memory of one hour.
type hourInMemory struct {
	hour    uint32
	devices []layout.InHour
}

func (m hourInMemory) Hours(uint32, andon.PersonID) []uint32 { return []uint32{m.hour} }

func (m hourInMemory) AppendHour(
	all []layout.InHour, _ uint32, _ andon.PersonID, hour uint32,
) []layout.InHour {
	if hour != m.hour {
		return all
	}
	return append(all, m.devices...)
}

// TestHoursComeInOrder: those of postings and those in memory, each once, and only within the span.
func TestHoursComeInOrder(t *testing.T) {
	db := emptyDB(t)
	device := []layout.InHour{{Device: 7, Oldest: 1, Newest: 2}}
	for _, hour := range []uint32{90, 100, 102, 104, 110} {
		k := layout.NewKey(layout.TablePosting, 1).Text("Liz").Number(hour).Uint(1, 8).Uint(0, 2)
		if err := db.Set(k, layout.AppendPosting(nil, device), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	for _, inMemory := range []uint32{95, 101, 102, 105} {
		want := []uint32{100, 102, 104}
		if inMemory != 95 && inMemory != 102 {
			want = append(want, inMemory)
			slices.Sort(want)
		}
		for _, order := range []andon.Order{andon.Asc, andon.Desc} {
			q := &andon.EventQuery{Order: order, Span: andon.Span{
				From: andon.HourStart(100), To: andon.HourStart(106) - 1,
			}}
			var got []uint32
			m := hourInMemory{inMemory, device}
			for h, err := range Hours(t.Context(), db, m, 1, "Liz", q) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, h.Hour)
			}
			if order == andon.Desc {
				slices.Reverse(got)
			}
			if !slices.Equal(got, want) {
				t.Errorf("with hour %d in memory there are %v, want %v", inMemory, got, want)
			}
		}
	}
}
