package pebblestore

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// TestFullDiskIsRelieved fills the disk below the reserve. What gives space back is let in, and
// does give it back by itself; all else is refused.
func TestFullDiskIsRelieved(t *testing.T) {
	fs := vfs.NewCrashableMem()
	storeWithHistory(t, fs, true)
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, id := t.Context(), andon.DefaultTenant
	other, err := s.PutTenant(ctx, andon.NewTenant("other"))
	if err != nil {
		t.Fatal(err)
	}
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 100 << 20, TotalBytes: 1 << 40})
	s.dir.Disk.Refresh()
	refused := map[string]error{
		"append": s.Append(ctx, id, 1, []andon.Event{
			{Device: "d", Time: andon.MinTime, State: "A"},
		}),
	}
	_, refused["tenant"] = s.PutTenant(ctx, andon.NewTenant("third"))
	r := andon.Record{Tenant: id, Kind: "k", ID: "r", Data: "{}"}
	_, refused["record"] = s.PutRecord(ctx, r)
	for what, err := range refused {
		if andon.KindOf(err) != andon.Full {
			t.Errorf("%s on a full disk: %v", what, err)
		}
	}
	urgent := andon.Urgent(ctx)
	if r, err = s.PutRecord(urgent, r); err != nil {
		t.Errorf("an urgent record: %v", err)
	}
	operator := []andon.Assignment{{Device: numbered(0), Operator: "Liz"}}
	if _, err = s.Assign(urgent, id, andon.DayStart(200), operator); err != nil {
		t.Errorf("an urgent assignment: %v", err)
	}
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 80 << 20, TotalBytes: 1 << 40})
	s.dir.Disk.Refresh()
	if _, err = s.PutRecord(urgent, r); andon.KindOf(err) != andon.Full {
		t.Errorf("an urgent record below what is left to it: %v", err)
	}
	record, err := s.Tenant(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutTenant(ctx, record); err != nil {
		t.Errorf("change of retention: %v", err)
	}
	if _, err := s.Retire(ctx, id, numbered(0), andon.DayStart(200)); err != nil {
		t.Errorf("retirement: %v", err)
	}
	if err := s.DeleteTenant(ctx, other.ID); err != nil {
		t.Errorf("deletion: %v", err)
	}
	table := largestTable(t, fs)
	if err := s.Expire(ctx, id, andon.Horizon{Events: andon.DayStart(150)}); err != nil {
		t.Errorf("sweep: %v", err)
	}
	for there := true; there; {
		_, err := fs.Stat(table)
		there = err == nil
		select {
		case <-t.Context().Done():
			t.Fatal("the table of what was swept is still there")
		case <-time.After(time.Millisecond):
		}
	}
}

// TestStartOnAFullDisk has too little space for what starting writes.
func TestStartOnAFullDisk(t *testing.T) {
	fs := killed(t, 10)
	was := strings.Join(list(t, fs), " ")
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 20, TotalBytes: 1 << 40})
	_, err := Open("store", Options{FS: fs})
	if andon.KindOf(err) != andon.Full || !strings.Contains(err.Error(), "make room") {
		t.Errorf("start on a full disk: %v", err)
	}
	if is := strings.Join(list(t, fs), " "); is != was {
		t.Errorf("the directory has %s, and had %s", is, was)
	}
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 40})
	if there, err := opens(t, fs, 10); err != nil || there != 10 {
		t.Errorf("start with space: %v, %d devices", err, there)
	}
}

// gatedFS asks before it makes a table.
type gatedFS struct {
	vfs.FS
	gate func() error
}

func (g gatedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".sst") {
		if err := g.gate(); err != nil {
			return nil, err
		}
	}
	return g.FS.Create(name, c)
}

// TestDiskFillsUpWhileStarting lets the disk say that it has space, and be full.
func TestDiskFillsUpWhileStarting(t *testing.T) {
	fs := killed(t, 10)
	var full atomic.Bool
	full.Store(true)
	gated := gatedFS{fs, func() error {
		if full.Load() {
			return syscall.ENOSPC
		}
		return nil
	}}
	_, err := Open("store", Options{FS: gated})
	if andon.KindOf(err) != andon.Full || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("start: %v", err)
	}
	full.Store(false)
	opensInTheEnd(t, fs)
}

// opensInTheEnd waits until a start that was broken off has let the directory go.
func opensInTheEnd(t *testing.T, fs vfs.FS) {
	t.Helper()
	for {
		there, err := opens(t, fs, 10)
		if err == nil && there == 10 {
			return
		}
		if andon.KindOf(err) != andon.Conflict {
			t.Fatalf("start with space: %v, %d devices", err, there)
		}
		<-time.After(time.Millisecond)
	}
}

// TestStartIsBrokenOff ends the context while the engine opens.
func TestStartIsBrokenOff(t *testing.T) {
	fs := killed(t, 10)
	begun, end := make(chan struct{}, 9), make(chan struct{})
	gated := gatedFS{fs, func() error {
		begun <- struct{}{}
		<-end
		return nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if _, err := OpenContext(ctx, "store", Options{FS: gated}); !errors.Is(err, context.Canceled) {
		t.Errorf("start: %v", err)
	}
	close(end)
	opensInTheEnd(t, fs)
}
