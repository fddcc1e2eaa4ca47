package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
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
	s := memory(t, fs) // not the first opening: it goes on behind versions that may have been lost
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

// TestDueIsSoughtBesideWrites: no read of the disk that seeks what is due keeps writes waiting.
// What is put while it seeks is found the next time, though it may be in front of what was found.
func TestDueIsSoughtBesideWrites(t *testing.T) {
	const timers = 20_000 // more than one block of a table
	fs, during := vfs.NewMem(), func() {}
	s := memory(t, fs)
	fill(t, s, timers)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = memory(t, errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst") {
			during()
		}
		return nil
	})))
	defer s.Close()
	early, late := timer("0", andon.MinTime), timer("0", andon.MinTime+timers/2)
	// the index of blocks is in memory behind this
	if _, err := s.get(layout.DueKey(&early)); err != nil {
		t.Fatal(err)
	}
	if err := s.db.DeleteRange(layout.DueKey(&early), layout.DueKey(&late),
		pebble.NoSync); err != nil {
		t.Fatal(err) // the first block was read; the next must be sought
	}
	puts := 0
	during = func() {
		if puts++; puts > 1 {
			return
		}
		if !s.documents.mu.TryLock() {
			t.Error("writes wait while the disk is read")
			return
		}
		s.documents.mu.Unlock()
		if _, err := s.PutRecord(t.Context(), timer("sooner", andon.MinTime)); err != nil {
			t.Error(err)
		}
	}
	if due(t, s, andon.MinTime+timers, 1); puts == 0 {
		t.Fatal("the disk was not read")
	}
	if ids := due(t, s, andon.MinTime, 9); len(ids) != 1 || ids[0] != "sooner" {
		t.Errorf("%v are due, want what was put while another call sought", ids)
	}
}

// TestManyTimers: what is due is found without reading what is due later, nor what was due before
// and was deleted.
func TestManyTimers(t *testing.T) {
	const timers, each = 20_000, 100
	s := memory(t, vfs.NewMem())
	defer s.Close()
	fill(t, s, timers)
	for n := each; n <= timers/2; n += each {
		it, err := s.firstDue(t.Context(), "timer")
		if err != nil {
			t.Fatal(err)
		}
		if read := it.Stats().InternalStats.PointCount; read > 3*each {
			t.Fatalf("%d rows are read to find what is due, behind %d that were", read, n-each)
		}
		it.Release()
		found := 0
		for r, err := range s.DueRecords(t.Context(), "timer", andon.MinTime+andon.Time(n), 1000) {
			if err != nil {
				t.Fatal(err)
			}
			found++
			b := s.newBatch()
			err = errors.Join(s.deleteDocument(b, 1, &r), b.Commit(pebble.NoSync), b.Close())
			if err != nil {
				t.Fatal(err)
			}
		}
		if found != each {
			t.Fatalf("%d timers are due, not %d", found, each)
		}
	}
}

// BenchmarkDue claims a hundred timers that are due, of as many as there are; ceiling reads and
// deletes as many documents by their keys. Both without waiting for the disk.
func BenchmarkDue(b *testing.B) {
	for _, timers := range []int{10_000, 1_000_000} {
		for name, claim := range map[string]func(*testing.B, *Store, *engine.Batch, int){
			"andon": claimDue, "ceiling": claimByKey,
		} {
			b.Run(fmt.Sprintf("%s/of_%d", name, timers), func(b *testing.B) {
				s := benchStore(b)
				fill(b, s, timers+b.N*dueAtOnce)
				b.ResetTimer()
				for n := range b.N {
					batch := s.newBatch()
					claim(b, s, batch, n*dueAtOnce)
					if err := batch.Commit(pebble.NoSync); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

const dueAtOnce = 100

func claimDue(b *testing.B, s *Store, batch *engine.Batch, from int) {
	until := andon.MinTime + andon.Time(from+dueAtOnce)
	for r, err := range s.DueRecords(context.Background(), "timer", until, dueAtOnce) {
		if err := errors.Join(err, s.deleteDocument(batch, 1, &r)); err != nil {
			b.Fatal(err)
		}
	}
}

func claimByKey(b *testing.B, s *Store, batch *engine.Batch, from int) {
	for i := from; i < from+dueAtOnce; i++ {
		r := timer(fmt.Sprint(i), andon.MinTime+1+andon.Time(i))
		k := layout.DocumentKey(1, r.Kind, r.ID)
		_, err := s.get(k)
		err = errors.Join(err, batch.Delete(k, nil), batch.Delete(layout.DueKey(&r), nil))
		if err != nil {
			b.Fatal(err)
		}
	}
}

// fill keeps n timers, one a µs.
func fill(t testing.TB, s *Store, n int) {
	t.Helper()
	b := s.newBatch()
	for i := range n {
		r := timer(fmt.Sprint(i), andon.MinTime+1+andon.Time(i))
		if err := s.putDocument(b, 1, &r); err != nil {
			t.Fatal(err)
		}
		if b.Len() > 1<<20 || i == n-1 {
			if err := b.Commit(pebble.NoSync); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
}
