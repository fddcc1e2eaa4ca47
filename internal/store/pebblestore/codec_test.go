package pebblestore

import (
	"bytes"
	"cmp"
	"math"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/eventlog"
)

// id makes an identifier out of anything, so that fuzzing wastes no input.
func id(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if s == "" || s == "." || s == ".." {
		return "x"
	}
	return s
}

func instant(n uint64) andon.Time {
	return andon.MinTime + andon.Time(n%uint64(andon.MaxTime-andon.MinTime))
}

// FuzzEscalationKey proves that a key gives back what it was built from, and that keys stand in the
// order that reads rely on: by device, the newest entry first, then by state.
func FuzzEscalationKey(f *testing.F) {
	f.Add("press-7", "NORMAL", uint64(5), "press-7", "NORMAL", uint64(6))
	f.Add("a", "A", uint64(0), "a!", "A#", uint64(1)<<62)
	f.Add("a#b/c% d😀", "WARNING1", uint64(1), "a", "WARNING", uint64(86_400_000_000))
	f.Fuzz(func(t *testing.T, d1, s1 string, t1 uint64, d2, s2 string, t2 uint64) {
		escalation := func(device, state string, at uint64) andon.Escalation {
			return andon.Escalation{
				Device: andon.DeviceID(id(device)), State: andon.State(id(state)),
				Time: instant(at), At: instant(at / 2), To: "Sara",
			}
		}
		keyOf := func(e *andon.Escalation) key {
			k := newKey(tableEscalation, 7).escalated(e.Device, e.Time, e.State)
			return append(k.invertedTime(e.At), e.To...)
		}
		a, b := escalation(d1, s1, t1), escalation(d2, s2, t2)
		ka, kb := keyOf(&a), keyOf(&b)
		device, rest, ok := takeText(ka[5:])
		got, whole := splitEscalation(rest)
		if got.Device = andon.DeviceID(device); !ok || !whole || got != a {
			t.Fatalf("%q gave back %+v, want %+v", ka, got, a)
		}
		want := cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(b.Time, a.Time),
			cmp.Compare(a.State, b.State), cmp.Compare(b.At, a.At))
		if got := bytes.Compare(ka, kb); got != want {
			t.Errorf("%+v against %+v: keys compare %d, want %d", a, b, got, want)
		}
	})
}

// FuzzHintKeys proves that the keys of the other tables give back what they were built from, and
// that a text never reaches into what stands behind it.
func FuzzHintKeys(f *testing.F) {
	f.Add("Liz", "press-7", "WARNING1", uint64(5))
	f.Add("a#b/c% d😀", "a", "A", uint64(1)<<40)
	f.Fuzz(func(t *testing.T, p, d, s string, n uint64) {
		person, device, at := id(p), andon.DeviceID(id(d)), instant(n)
		entry := andon.EventKey{Time: at, Device: device, State: andon.State(id(s))}
		k := supervisorKey(7, andon.PersonID(person), entry)
		text, rest, ok := takeText(k[5:])
		got, ok2 := splitSupervisor(rest)
		if !ok || !ok2 || text != person || got != entry {
			t.Errorf("supervisor: %q gave back %q and %+v", k, text, got)
		}
		k = newKey(tablePosting, 7).text(person).number(at.Hour()).text(string(device))
		text, rest, _ = takeText(k[5:])
		hour, rest, _ := takeNumber(rest)
		of, rest, ok := takeText(rest)
		if text != person || hour != at.Hour() || of != string(device) || !ok || len(rest) != 0 {
			t.Errorf("operator: %q gave back %q, %d, %q", k, text, hour, of)
		}
		k = newKey(tableReading, 7).reading(0x123456789abc, device, at)
		row, ok := splitReading(k[5:])
		if !ok || row.generation != 0x123456789abc || row.day != at.Day() || row.at != at ||
			string(row.device) != string(device) {
			t.Errorf("reading: %q gave back %+v", k, row)
		}
		k = newKey(tableAssignment, 7).text(string(device)).invertedTime(at)
		of, rest, _ = takeText(k[5:])
		if back, _, ok := takeInvertedTime(rest); !ok || of != string(device) || back != at {
			t.Errorf("assignment: %q gave back %q, %s", k, of, back)
		}
		k = newKey(tableReadingDay, 7).text(string(device)).inverted(at.Day())
		_, rest, _ = takeText(k[5:])
		if n, _, ok := takeNumber(rest); !ok || ^n != at.Day() {
			t.Errorf("day: %q gave back %d", k, ^n)
		}
	})
}

// FuzzDamagedRows proves that no reader panics, whatever is on the disk.
func FuzzDamagedRows(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("NORMAL\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add(appendRow(nil, 1, 5, &eventlog.Names{}))
	f.Add(appendCheckpointed(nil, &current.Device{ID: "d", State: "NORMAL"}))
	f.Add(appendReading(nil, andon.Metrics{{Name: "t", Value: 1}}, `{"a":1}`))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		splitSupervisor(b)
		_ = readEscalation(&andon.Escalation{}, b)
		if metrics, metadata, err := readReading(b); err == nil {
			if _, _, err := readReading(appendReading(nil, metrics, metadata)); err != nil {
				t.Errorf("what was read can't be read again: %v", err)
			}
		}
		_ = readCheckpointed(new(current.Device), b, nil)
		r := newRebuilding(newTenant(1, andon.Tenant{}))
		_ = newRowReader(&folding{tenants: map[uint32]*rebuilding{1: r}}).unpack(b)
		filled := filling{tenants: map[uint32]bool{1: true}, head: eventlog.NewHead()}
		_ = newRowReader(&filled).unpack(b)
		splitEscalation(b)
		splitBlock(b)
		splitMeasured(b, 3)
		_, _ = readPosting(nil, b)
		_ = decodeDocument(&andon.Record{}, b)
		splitDue(b)
	})
}

// FuzzRecord proves that a change replayed onto what was before gives what is after, onto what is
// after changes nothing, and that a checkpoint gives back a whole device.
func FuzzRecord(f *testing.F) {
	f.Add("press-7", "NORMAL", "WARNING1", "Liz", "Sara",
		uint64(1), uint64(2), uint64(3), byte(0xff))
	f.Add("d", "A", "B", "", "", uint64(9), uint64(0), uint64(1)<<60, byte(0))
	f.Fuzz(func(t *testing.T, device, s1, s2, p1, p2 string, t1, t2, t3 uint64, parts byte) {
		was := current.Device{
			ID: andon.DeviceID(id(device)), State: andon.State(id(s1)),
			Time: instant(t1), Since: instant(t2),
		}
		is := was
		changed := current.Device{
			ID: was.ID, Time: instant(t2), State: andon.State(id(s2)), Since: instant(t3),
			PrevTime: instant(t1), PrevState: was.State,
			Incident: instant(t3), LastNormal: instant(t2),
			Operator: andon.PersonID(p1),
			Escalations: []current.Escalation{
				{Entry: instant(t2), State: was.State, At: instant(t1), To: andon.PersonID(p2)},
				{Entry: instant(t1), State: was.State, At: instant(t3)},
			},
			AsideAt:  instant(t2),
			Assignee: andon.PersonID(p2), AssignedFrom: instant(t3), Retired: instant(t1),
		}
		if parts != 0 {
			is = changed
		}
		is.Received = instant(t3)
		var names eventlog.Names
		change := names.AppendEntries(nil, 0, nil, nil)
		change = appendChange(change, changedParts(&was, &is), parts&1 == 1, &is, is.Received)
		record := appendNumbered(appendRow(nil, 1, is.Received, &names), 3, change)
		r := newRebuilding(newTenant(1, andon.Tenant{}))
		fleet := r.tenant.fleet
		fleet.Load(3, &was)
		for range 2 {
			rows := newRowReader(&folding{tenants: map[uint32]*rebuilding{1: r}})
			if err := rows.unpack(record); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(is, fleet.Shown(fleet.At(3))); diff != "" {
				t.Fatal(diff)
			}
		}
		var got current.Device
		err := readCheckpointed(&got, appendCheckpointed(nil, &is), r.names)
		if diff := gocmp.Diff(is, got); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
	})
}

// FuzzReadingMerge proves that messages of one time join to the same reading however the engine
// groups them.
func FuzzReadingMerge(f *testing.F) {
	f.Add("a", "b", "c", 1.0, 2.0, `{"x":1}`, "")
	f.Add("a", "a", "a", math.MaxFloat64, -0.5, "", `{}`)
	f.Fuzz(func(t *testing.T, m1, m2, m3 string, v1, v2 float64, j1, j2 string) {
		message := func(metric string, value float64, metadata string) []byte {
			metrics := andon.Metrics{{Name: andon.MetricName(metric), Value: value}}
			return appendReading(nil, metrics, andon.JSON(metadata))
		}
		messages := [][]byte{message(m1, v1, j1), message(m2, v2, j2), message(m3, v1, "")}
		join := func(older bool, values ...[]byte) []byte {
			first, rest := values[0], values[1:]
			if older {
				first, rest = values[len(values)-1], values[:len(values)-1]
			}
			m, err := readingMerger.Merge(nil, first)
			for i := range rest {
				if err != nil {
					t.Fatal(err)
				}
				if older {
					err = m.MergeOlder(rest[len(rest)-1-i])
				} else {
					err = m.MergeNewer(rest[i])
				}
			}
			joined, _, finish := m.Finish(true)
			if err != nil || finish != nil {
				t.Fatal(err, finish)
			}
			return joined
		}
		want := join(false, messages...)
		for _, got := range [][]byte{
			join(true, messages...),
			join(false, join(false, messages[:2]...), messages[2]),
			join(true, messages[0], join(true, messages[1:]...)),
		} {
			if !bytes.Equal(got, want) {
				t.Errorf("joined %x, want %x", got, want)
			}
		}
	})
}
