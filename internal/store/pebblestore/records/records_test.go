package records

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

func memory(t testing.TB, fs vfs.FS) *Records {
	t.Helper()
	db, err := pebble.Open("store", &pebble.Options{FS: fs, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	s := New(db, Owners{ // a store that works, and has all tenants
		Owns:   func(andon.TenantID, uint32) bool { return true },
		Failed: func() error { return nil },
		Fatal:  func(err error) error { return err },
	})
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	return s
}

// quiet is a logger of Pebble.
type quiet struct{}

func (quiet) Infof(string, ...any)         {}
func (quiet) Errorf(string, ...any)        {}
func (quiet) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

func timer(id string, due andon.Time) andon.Record {
	return andon.Record{
		Tenant: andon.DefaultTenant, Kind: "timer", ID: id, Due: due, Data: `{"to":"Sara"}`,
	}
}

// TestManyTimers: what is due is found without reading what is due later, nor what was due before
// and was deleted.
func TestManyTimers(t *testing.T) {
	const timers, each = 20_000, 100
	s := memory(t, vfs.NewMem())
	defer s.db.Close()
	fill(t, s, timers)
	for n := each; n <= timers/2; n += each {
		it, err := s.firstDue(t.Context(), "timer")
		if err != nil {
			t.Fatal(err)
		}
		if read := it.Stats().InternalStats.PointCount; read > 3*each {
			t.Fatalf("%d rows are read to find what is due, after %d that were", read, n-each)
		}
		it.Release()
		found := 0
		for r, err := range s.Due(t.Context(), "timer", andon.MinTime+andon.Time(n), 1000) {
			if err != nil {
				t.Fatal(err)
			}
			found++
			b := engine.NewBatch(s.db)
			err = errors.Join(s.Delete(b, 1, &r), b.Commit(pebble.NoSync), b.Close())
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
		for name, claim := range map[string]func(*testing.B, *Records, *engine.Batch, int){
			"andon": claimDue, "ceiling": claimByKey,
		} {
			b.Run(fmt.Sprintf("%s/of_%d", name, timers), func(b *testing.B) {
				s := memory(b, vfs.NewMem())
				fill(b, s, timers+b.N*dueAtOnce)
				b.ResetTimer()
				for n := range b.N {
					batch := engine.NewBatch(s.db)
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

func claimDue(b *testing.B, s *Records, batch *engine.Batch, from int) {
	until := andon.MinTime + andon.Time(from+dueAtOnce)
	for r, err := range s.Due(context.Background(), "timer", until, dueAtOnce) {
		if err := errors.Join(err, s.Delete(batch, 1, &r)); err != nil {
			b.Fatal(err)
		}
	}
}

func claimByKey(b *testing.B, s *Records, batch *engine.Batch, from int) {
	for i := from; i < from+dueAtOnce; i++ {
		r := timer(fmt.Sprint(i), andon.MinTime+1+andon.Time(i))
		k := layout.DocumentKey(1, r.Kind, r.ID)
		_, err := engine.Get(s.db, k)
		err = errors.Join(err, batch.Delete(k, nil), batch.Delete(layout.DueKey(&r), nil))
		if err != nil {
			b.Fatal(err)
		}
	}
}

// fill keeps n timers, one a µs.
func fill(t testing.TB, s *Records, n int) {
	t.Helper()
	b := engine.NewBatch(s.db)
	for i := range n {
		r := timer(fmt.Sprint(i), andon.MinTime+1+andon.Time(i))
		if err := s.Put(b, 1, &r); err != nil {
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
