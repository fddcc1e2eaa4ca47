package pebblestore

import (
	"errors"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// TestNothingIsShownBeforeTheDisk holds the disk up: what is pending by then is not shown, neither
// by its own write nor by a checkpoint.
func TestNothingIsShownBeforeTheDisk(t *testing.T) {
	s, h := openHeld(t)
	defer s.Close()
	h.held.Lock()
	done := make(chan error, 2)
	go func() {
		done <- s.Append(t.Context(), andon.DefaultTenant, 1, warnings(1))
	}()
	<-h.reached // the log is being synced
	go func() { done <- s.flushDue() }()
	for range 1000 {
		_, err := s.Device(t.Context(), andon.DefaultTenant, "device-000000")
		if andon.KindOf(err) != andon.NotFound {
			t.Errorf("a device is shown before it is on the disk: %v", err)
			break
		}
		if err := s.ordered(t.Context(), func() error { return nil }); err != nil {
			t.Fatal(err) // others are let in, such as the checkpoint
		}
	}
	if len(done) > 0 {
		t.Error("something was acknowledged before it was on the disk")
	}
	h.held.Unlock()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Device(t.Context(), andon.DefaultTenant, "device-000000"); err != nil {
		t.Error(err)
	}
}

// TestCheckpointDeletesNoRecordTooMany: where replay would begin, there is a record, once there is
// any after the checkpoint.
func TestCheckpointDeletesNoRecordTooMany(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	const enough = 20 // checkpoints during writes
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			events := warnings(1)
			events[0].Time += andon.Time(n)
			if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for during := 0; during < enough && !t.Failed(); {
		if err := s.flushDue(); err != nil {
			t.Fatal(err)
		}
		err := s.ordered(t.Context(), func() error {
			first, err := s.fixed("checkpoint")
			if err != nil || first == nil ||
				string(layout.RowKey(s.pipe.Next)[1:]) == string(first) {
				return err
			}
			during++
			record, err := s.get(append(layout.Key{layout.TableRow}, first...))
			if record == nil {
				t.Errorf("the record that replay begins at is not there, %v", err)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	writer.Wait()
}

// TestSerialCheckpointHoldsAllDevices: those after the first part, too, and late entries are
// folded onto what comes back of them as before: onto the entry before the run, and the normal one
// before the incident, from the checkpoint and from a record.
func TestSerialCheckpointHoldsAllDevices(t *testing.T) {
	for _, checkpoint := range []bool{true, false} {
		fs := vfs.NewCrashableMem()
		s := openMem(t, fs)
		add := func(at andon.Time, state andon.State) {
			t.Helper()
			events := manyDevices()
			for i := range events {
				events[i].Time, events[i].State = andon.MinTime+at, state
			}
			if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
				t.Fatal(err)
			}
		}
		add(10, "NORMAL")
		add(20, "WARNING1")
		add(30, "WARNING2")
		if checkpoint {
			if err := s.flushDue(); err != nil {
				t.Fatal(err)
			}
		}
		s, _ = crashed(t, s, fs)
		add(25, "WARNING2") // lengthens the run to its front
		add(5, "WARNING1")  // is before the incident
		for _, e := range manyDevices() {
			d, err := s.Device(t.Context(), andon.DefaultTenant, e.Device)
			since, incident := d.Since-andon.MinTime, d.IncidentSince-andon.MinTime
			if err != nil || since != 25 || incident != 20 {
				t.Fatalf("checkpoint %v, %s: since %d, incident since %d, %v",
					checkpoint, e.Device, since, incident, err)
			}
		}
		add(15, "WARNING2") // is before the entry before the run
		d, err := s.Device(t.Context(), andon.DefaultTenant, "device-00001")
		since, incident := d.Since-andon.MinTime, d.IncidentSince-andon.MinTime
		if err != nil || since != 25 || incident != 15 {
			t.Errorf("since %d, incident since %d, %v", since, incident, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDevicesAreDeferred: a flush that does not write the devices keeps the rows that opening makes
// them of, and opening knows how many there are. The next flush that writes them gives all back.
func TestDevicesAreDeferred(t *testing.T) {
	fs := vfs.NewMem()
	o := Options{FS: fs, lag: 1 << 40, ArrivalsBytes: 1}
	begin := func() *Store {
		s, err := Open("store", o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := begin()
	err := s.Append(t.Context(), andon.DefaultTenant, 1, warnings(50))
	if err := errors.Join(err, s.flushDue()); err != nil {
		t.Fatal(err)
	}
	lag := s.checkpoints.lag.Load()
	if err := s.Close(); lag == 0 || err != nil {
		t.Fatalf("%d bytes of rows are flushed and kept, %v", lag, err)
	}
	o.lag = 1
	s = begin()
	defer s.Close()
	if got := s.checkpoints.lag.Load(); got != lag || s.log.Memory.Entries() != 0 {
		t.Errorf("opening found %d bytes of %d, and %d entries that are in no block",
			got, lag, s.log.Memory.Entries())
	}
	n, err := howMany(s.Devices(t.Context(), andon.DefaultTenant, andon.DeviceQuery{Limit: 100}))
	if n != 50 || err != nil {
		t.Errorf("%d devices, %v, want 50", n, err)
	}
	if err := s.flushDue(); err != nil {
		t.Fatal(err)
	}
	for range s.rows(layout.Key{layout.TableRow}) {
		t.Fatal("rows are left")
	}
	if lag := s.checkpoints.lag.Load(); lag != 0 {
		t.Errorf("%d bytes of rows are said to be left", lag)
	}
}
