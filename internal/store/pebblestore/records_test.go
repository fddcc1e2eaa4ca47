package pebblestore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

func memory(t testing.TB, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func timer(id string, due andon.Time) andon.Record {
	return andon.Record{
		Tenant: andon.DefaultTenant, Kind: "timer", ID: id, Due: due, Data: `{"to":"Sara"}`,
	}
}

// due returns the ids of what is due.
func due(t testing.TB, s *Store, until andon.Time, limit int) (ids []string) {
	t.Helper()
	for r, err := range s.DueRecords(context.Background(), "timer", until, limit) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

// TestClaimOnceAcrossCrashes has workers claim what is due while the power is cut again and again.
// Each timer is claimed once between two crashes, or is still due at the end.
func TestClaimOnceAcrossCrashes(t *testing.T) {
	const timers, crashes = 60, 6
	fs := vfs.NewCrashableMem()
	s := memory(t, fs)
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 2))
	for i := range timers {
		if _, err := s.PutRecord(ctx, timer(fmt.Sprint(i), andon.MinTime)); err != nil {
			t.Fatal(err)
		}
	}
	var claimed [timers]atomic.Int32
	for range crashes {
		var workers sync.WaitGroup
		for range 3 {
			workers.Go(func() { claimSome(t, s, timers/crashes/3, claimed[:]) })
		}
		// What was acknowledged by now survives; of the rest some may.
		before := acknowledged(claimed[:])
		after := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		workers.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for i := range claimed { // what was claimed after the cut never happened
			claimed[i].Store(before[i])
		}
		fs = after
		s = memory(t, fs)
		for _, id := range due(t, s, andon.MinTime, timers) {
			var n int
			_, _ = fmt.Sscan(id, &n)
			if before[n] != 0 {
				t.Errorf("timer %d was claimed, and is due again", n)
			}
		}
	}
	for i := range claimed {
		if n := claimed[i].Load(); n > 1 {
			t.Errorf("timer %d was claimed %d times", i, n)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func acknowledged(claimed []atomic.Int32) (by []int32) {
	for i := range claimed {
		by = append(by, claimed[i].Load())
	}
	return by
}

// claimSome claims timers that are due by deleting them.
func claimSome(t *testing.T, s *Store, n int, claimed []atomic.Int32) {
	for n > 0 {
		found := false
		for r, err := range s.DueRecords(context.Background(), "timer", andon.MinTime, 5) {
			if err != nil {
				t.Error(err)
				return
			}
			found = true
			if s.DeleteRecord(context.Background(), r) == nil {
				var i int
				_, _ = fmt.Sscan(r.ID, &i)
				claimed[i].Add(1)
				n--
			}
		}
		if !found {
			return
		}
	}
}

// TestVersionsAfterACrash: a version that was read and then lost in a crash is not given again.
func TestVersionsAfterACrash(t *testing.T) {
	fs := vfs.NewCrashableMem()
	if err := memory(t, fs).Close(); err != nil {
		t.Fatal(err)
	}
	s := memory(t, fs) // not the first opening: it goes on after versions that may have been lost
	before := fs.CrashClone(vfs.CrashCloneCfg{})
	lost, err := s.PutRecord(t.Context(), timer("1", 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = memory(t, before)
	defer s.Close()
	again, err := s.PutRecord(t.Context(), timer("1", 0))
	if err != nil || again.Version == lost.Version {
		t.Errorf("version %d is given again: %v", again.Version, err)
	}
}

// TestDueOfADeletedTenant is removed when it is met.
func TestDueOfADeletedTenant(t *testing.T) {
	s := memory(t, vfs.NewMem())
	defer s.Close()
	ctx, rows := t.Context(), func() (n int) {
		for range s.rows(layout.Key{layout.TableDue}) {
			n++
		}
		return n
	}
	if _, err := s.PutTenant(ctx, andon.NewTenant("other")); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		r := timer(fmt.Sprint(i), andon.MinTime+andon.Time(i))
		r.Tenant = "other"
		if _, err := s.PutRecord(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DeleteTenant(ctx, "other"); err != nil {
		t.Fatal(err)
	}
	for range s.rows(layout.NewKey(layout.TableDocument, 2)) {
		t.Error("a deleted tenant has a document")
	}
	if ids := due(t, s, andon.MinTime+2, 9); len(ids) > 0 || rows() != 2 {
		t.Errorf("%v are due, %d rows are left", ids, rows())
	}
	if _, err := s.PutRecord(ctx, timer("last", andon.MinTime+5)); err != nil {
		t.Fatal(err)
	}
	for r, err := range s.DueRecords(ctx, "timer", andon.MinTime+5, 9) {
		if err != nil || r.ID != "last" || rows() != 1 {
			t.Errorf("%s is due, %v, with %d rows; want each row removed before the next is read",
				r.ID, err, rows())
		}
	}
}
