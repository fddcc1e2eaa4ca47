package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
)

// TestLongWorkHoldsItsDevice: a write that takes long to work a device out, and is overtaken again
// and again, has others of that device wait, and none of other devices.
func TestLongWorkHoldsItsDevice(t *testing.T) {
	const id = andon.DefaultTenant
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	n := andon.Time(0)
	send := func(device andon.DeviceID) error {
		n++
		return s.Append(t.Context(), id, 1, []andon.Event{
			{Device: device, Time: andon.MinTime + n, State: "S"},
		})
	}
	if err := send("long"); err != nil {
		t.Fatal(err)
	}
	calls, waits := 0, make(chan error, 1)
	tenant := s.tenants[id]
	err := s.change(t.Context(), tenant, andon.ByWithdrawal, []andon.DeviceID{"long"}, 10,
		func(w *writing) {
			w.fold = func(int, *current.Device) error {
				const expensive = 1000 // looks into the log
				w.past.folded.reads = expensive
				calls++
				sent := make(chan error) // by another goroutine: this one holds locks
				if w.holds == nil {      // it is overtaken
					go func() { sent <- send("long") }()
					return <-sent
				}
				go func() { sent <- send("other") }()
				if err := <-sent; err != nil {
					return err
				}
				go func() { waits <- send("long") }()
				awaitIn(t, "(*writing).await(", nil)
				if len(waits) > 0 {
					t.Error("another write changed the device meanwhile")
				}
				return nil
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-waits; err != nil {
		t.Error(err)
	}
	if most := 6; calls > most {
		t.Errorf("it was worked out %d times, more than %d", calls, most)
	}
	if tenant.held.some.Load() != 0 || len(tenant.held.devices) != 0 {
		t.Errorf("%v are held still", tenant.held.devices)
	}
	got, err := howMany(s.DeviceEvents(t.Context(), id, "long", andon.EventQuery{Limit: 99}))
	if err != nil || got != calls+1 {
		t.Errorf("the device has %d entries, %v, want %d", got, err, calls+1)
	}
}
