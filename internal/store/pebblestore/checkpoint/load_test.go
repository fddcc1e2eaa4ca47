package checkpoint

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

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
			Escalated: current.Escalation{
				Entry: instant(t2), State: was.State, At: instant(t1), To: andon.PersonID(p2),
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
		change = layout.AppendDeviceChange(change, layout.ChangedParts(&was, &is), parts&1 == 1,
			&is, is.Received)
		record := append(append(layout.AppendRow(nil, 1, is.Received, &names), 3), change...)
		fleet := current.NewFleet()
		fleet.Load(3, &was)
		for range 2 {
			if err := apply(fleet, record); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(is, fleet.Shown(fleet.Numbered(3))); diff != "" {
				t.Fatal(diff)
			}
		}
		var got current.Device
		err := layout.ReadCheckpoint(&got, layout.AppendCheckpoint(nil, &is), varint.NewInterner())
		if diff := gocmp.Diff(is, got); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
	})
}

// apply applies a row as it is stored to a fleet.
func apply(fleet *current.Fleet, value []byte) error {
	row, err := layout.UnpackRow(nil, value)
	if err != nil {
		return err
	}
	c := newChanges()
	if err := c.Begin(row); err != nil {
		return err
	}
	return c.load(fleet)
}

// FuzzDamagedRowsInMemory proves that no row makes opening panic, whatever is on the disk.
func FuzzDamagedRowsInMemory(f *testing.F) {
	f.Add([]byte{})
	f.Add(layout.AppendRow(nil, 1, 5, &eventlog.Names{}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = apply(current.NewFleet(), b)
		filled := filling{memory: eventlog.NewMemtable()}
		if row, err := layout.UnpackRow(nil, b); err == nil && filled.Begin(row) == nil {
			_ = filled.add()
		}
	})
}

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
