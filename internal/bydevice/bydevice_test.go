package bydevice_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bydevice"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/memstore"
)

const (
	tenant  = andon.DefaultTenant
	devices = 1100 // more than a page
	busy    = 1234 // entries of one device, three pages
	base    = andon.Time(1_700_000_000_000_000)
)

// filled is a store with an entry and a reading of each device, and many of one.
func filled(t *testing.T) andon.Store {
	s := memstore.New()
	var events []andon.Event
	var readings []andon.Reading
	for n := range devices {
		many := 1
		if n == 70 {
			many = busy
		}
		for i := range many {
			id := andon.DeviceID(fmt.Sprintf("d%04d", n))
			at := base + andon.Time(i)
			events = append(events, andon.Event{Device: id, Time: at, State: "NORMAL"})
			readings = append(readings, andon.Reading{
				Device: id, Time: at, Metrics: andon.Metrics{{Name: "a", Value: 1}},
			})
		}
	}
	err := s.Append(t.Context(), tenant, base, events)
	if err == nil {
		err = s.AppendReadings(t.Context(), tenant, base, readings)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAll: each is there once and in order, however many devices there are and however much one
// of them has.
func TestAll(t *testing.T) {
	s := filled(t)
	events, err := seq.Collect(bydevice.Events(t.Context(), s, tenant, bydevice.Query{}))
	if err != nil || len(events) != devices-1+busy {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if !slices.IsSortedFunc(events, func(a, b andon.Event) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Time, b.Time))
	}) || len(slices.Compact(events)) != devices-1+busy {
		t.Error("the events are out of order, or one is there twice")
	}
	readings, err := seq.Collect(bydevice.Readings(t.Context(), s, tenant, bydevice.Query{}))
	if err != nil || len(readings) != len(events) {
		t.Fatalf("%d readings, %v", len(readings), err)
	}
	for i, r := range readings {
		if r.Device != events[i].Device || r.Time != events[i].Time {
			t.Fatalf("reading %d is %+v, the event %+v", i, r, events[i])
		}
	}
}

// TestLeave: a reader may leave anywhere; TestMain finds what would still run.
func TestLeave(t *testing.T) {
	s := filled(t)
	for _, most := range []int{1, 69, 100, 700} {
		all := seq.First(most, bydevice.Events(t.Context(), s, tenant, bydevice.Query{}))
		if events, err := seq.Collect(all); err != nil || len(events) != most {
			t.Errorf("%d events of %d, %v", len(events), most, err)
		}
	}
}

var errBroken = errors.New("broken")

// broken fails with the entries of one device.
type broken struct {
	andon.Store
	device andon.DeviceID
}

func (b broken) DeviceEvents(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	if device == b.device && (q.After != nil || device != "d0070") {
		return seq.List(func() ([]andon.Event, error) { return nil, errBroken })
	}
	return b.Store.DeviceEvents(ctx, id, device, q)
}

// TestFails: what comes before an error is there, and nothing after it.
func TestFails(t *testing.T) {
	s := filled(t)
	for device, want := range map[andon.DeviceID]int{"d0007": 7, "d0070": 570, "d1099": 2332} {
		n, failed := 0, 0
		all := bydevice.Events(t.Context(), broken{s, device}, tenant, bydevice.Query{})
		for _, err := range all {
			if n++; err != nil {
				n--
				failed++
				if !errors.Is(err, errBroken) {
					t.Error(err)
				}
			}
		}
		if n != want || failed != 1 {
			t.Errorf("%s: %d events, want %d, and %d errors", device, n, want, failed)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range bydevice.Events(ctx, s, tenant, bydevice.Query{}) {
		if cancel(); err != nil {
			return
		}
	}
	t.Error("a context that ended was no error")
}
