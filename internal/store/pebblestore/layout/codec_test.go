package layout

import (
	"bytes"
	"cmp"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// textID makes an identifier out of anything, so that fuzzing wastes no input.
func textID(s string) string {
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

func timeOf(n uint64) andon.Time {
	return andon.MinTime + andon.Time(n%uint64(andon.MaxTime-andon.MinTime))
}

// FuzzEscalationKey proves that a key gives back what it was built from, and that keys are in the
// order that reads rely on: by device, the newest entry first, then by state.
func FuzzEscalationKey(f *testing.F) {
	f.Add("press-7", "NORMAL", uint64(5), "press-7", "NORMAL", uint64(6))
	f.Add("a", "A", uint64(0), "a!", "A#", uint64(1)<<62)
	f.Add("a#b/c% d😀", "WARNING1", uint64(1), "a", "WARNING", uint64(86_400_000_000))
	f.Fuzz(func(t *testing.T, d1, s1 string, t1 uint64, d2, s2 string, t2 uint64) {
		escalation := func(device, state string, at uint64) andon.Escalation {
			return andon.Escalation{
				Device: andon.DeviceID(textID(device)), State: andon.State(textID(state)),
				Time: timeOf(at), At: timeOf(at / 2), To: "Sara",
			}
		}
		keyOf := func(e *andon.Escalation) Key {
			k := NewKey(TableEscalation, 7).Entry(e.Device, e.Time, e.State)
			return append(k.InvertedTime(e.At), e.To...)
		}
		a, b := escalation(d1, s1, t1), escalation(d2, s2, t2)
		ka, kb := keyOf(&a), keyOf(&b)
		device, rest, ok := TakeText(ka[5:])
		got, whole := SplitEscalation(rest)
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
// that a text never reaches into what is after it.
func FuzzHintKeys(f *testing.F) {
	f.Add("Liz", "press-7", "WARNING1", uint64(5))
	f.Add("a#b/c% d😀", "a", "A", uint64(1)<<40)
	f.Fuzz(func(t *testing.T, p, d, s string, n uint64) {
		person, device, at := textID(p), andon.DeviceID(textID(d)), timeOf(n)
		entry := andon.EventKey{Time: at, Device: device, State: andon.State(textID(s))}
		k := SupervisorKey(7, andon.PersonID(person), entry)
		text, rest, ok := TakeText(k[5:])
		got, ok2 := SplitSupervisor(rest)
		if !ok || !ok2 || text != person || got != entry {
			t.Errorf("supervisor: %q gave back %q and %+v", k, text, got)
		}
		k = NewKey(TablePosting, 7).Text(person).Number(at.Hour()).Text(string(device))
		text, rest, _ = TakeText(k[5:])
		hour, rest, _ := TakeNumber(rest)
		of, rest, ok := TakeText(rest)
		if text != person || hour != at.Hour() || of != string(device) || !ok || len(rest) != 0 {
			t.Errorf("operator: %q gave back %q, %d, %q", k, text, hour, of)
		}
		k = NewKey(TableReading, 7).Reading(0x123456789abc, device, at, n%1000)
		row, ok := SplitReading(k[5:])
		if !ok || row.Generation != 0x123456789abc || row.Day != at.Day() || row.At != at ||
			string(row.Device) != string(device) {
			t.Errorf("reading: %q gave back %+v", k, row)
		}
		k = NewKey(TableAssignment, 7).Text(string(device)).InvertedTime(at)
		of, rest, _ = TakeText(k[5:])
		if back, _, ok := TakeInvertedTime(rest); !ok || of != string(device) || back != at {
			t.Errorf("assignment: %q gave back %q, %s", k, of, back)
		}
		k = NewKey(TableReadingDay, 7).Text(string(device)).Inverted(at.Day())
		_, rest, _ = TakeText(k[5:])
		if n, _, ok := TakeNumber(rest); !ok || ^n != at.Day() {
			t.Errorf("day: %q gave back %d", k, ^n)
		}
	})
}

// FuzzDamagedRows proves that no reader panics, whatever is on the disk.
func FuzzDamagedRows(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("NORMAL\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add(AppendRow(nil, 1, 5, &eventlog.Names{}))
	f.Add(AppendCheckpoint(nil, &current.Device{ID: "d", State: "NORMAL"}))
	f.Add(AppendReading(nil, andon.Metrics{{Name: "t", Value: 1}}, `{"a":1}`))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		SplitSupervisor(b)
		_ = ReadEscalation(&andon.Escalation{}, b)
		if metrics, metadata, err := ReadReading(nil, b, nil); err == nil {
			again := AppendReading(nil, metrics, metadata)
			if _, _, err := ReadReading(nil, again, nil); err != nil {
				t.Errorf("what was read can't be read again: %v", err)
			}
		}
		_ = ReadCheckpoint(new(current.Device), b, nil)
		SplitEscalation(b)
		SplitBlock(b)
		_, _ = ReadPosting(nil, b)
		_ = DecodeDocument(&andon.Record{}, b)
		SplitDue(b)
	})
}
