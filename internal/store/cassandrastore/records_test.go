package cassandrastore

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/records"
	"github.com/andonhq/andon/internal/store/shared"
)

func aTimer(tenant andon.TenantID, id string, due andon.Time) andon.Record {
	return andon.Record{Tenant: tenant, Kind: "timer", ID: id, Due: due, Data: `{"to":"Sara"}`}
}

// recordTest has records of a kind of its own, and a clock that it moves.
type recordTest struct {
	*testing.T
	options Options
	kind    andon.RecordKind
	ahead   atomic.Int64
}

// TestRecords runs in one keyspace, since making one takes longer than all of them.
func TestRecords(t *testing.T) {
	t.Parallel()
	o := newKeyspace(t, "buckets")
	for name, test := range map[string]func(*recordTest){
		"due is forgotten": dueIsForgotten, "stale due": staleDue,
		"two processes claim": twoProcessesClaim, "next incarnation": nextIncarnation,
	} {
		t.Run(name, func(t *testing.T) {
			r := &recordTest{T: t, options: o, kind: andon.RecordKind(name)}
			r.options.Now = func() andon.Time { return realClock() + andon.Time(r.ahead.Load()) }
			test(r)
		})
	}
}

// timer is a record of the test.
func (t *recordTest) timer(id string, due andon.Time) andon.Record {
	r := aTimer(andon.DefaultTenant, id, due)
	r.Kind = t.kind
	return r
}

func (t *recordTest) put(s *Store, r andon.Record) andon.Record {
	t.Helper()
	r, err := s.PutRecord(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// due returns the ids of the timers that are due.
func (t *recordTest) due(s *Store, until andon.Time) (ids []string) {
	t.Helper()
	for r, err := range s.DueRecords(t.Context(), t.kind, until, 100) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

// rows counts the rows of the test in a table.
func (t *recordTest) rows(s *Store, table string) int {
	t.Helper()
	return len(scan[string](t.T, s, "SELECT kind FROM "+table+" WHERE kind = ? ALLOW FILTERING",
		string(t.kind)))
}

// dueIsForgotten: what was due leaves no index row, and its slot is forgotten once it is over
// and nothing can be on its way to it. What is put there later is found all the same.
func dueIsForgotten(t *recordTest) {
	s := open(t, t.options)
	at := t.options.Now()
	rows := func() string {
		return fmt.Sprint(t.rows(s, "due_by_slot"), t.rows(s, "due_slots"),
			t.rows(s, "records_by_kind"))
	}
	want := func(what, want string, due ...string) {
		t.Helper()
		if got := t.due(s, t.options.Now()); !slices.Equal(got, due) || rows() != want {
			t.Errorf("%s: %v are due, and the rows of due, slots and list are %s, not %s",
				what, got, rows(), want)
		}
	}
	first := t.put(s, t.timer("a", at))
	want("put", "1 1 1", "a")
	first.Due += 3 * records.DueSlot
	first = t.put(s, first)
	want("moved", "1 2 1")
	if err := s.DeleteRecord(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	want("deleted", "0 2 0")
	t.ahead.Add(3*records.DueSlot + records.DueMargin)
	t.due(s, t.options.Now())
	want("once it is over", "0 0 0")
	t.put(s, t.timer("b", at))
	want("put after that", "1 1 1", "b")
}

// staleDue: an index row that leads to nothing is left alone while its record may be on its
// way, and taken away then; one that a later version has overtaken goes at once.
func staleDue(t *recordTest) {
	s := open(t, t.options)
	at := t.options.Now()
	stray := t.timer("stray", at)
	row := shared.Document{Version: int64(at), Due: at, Data: "{}"}
	if err := s.db.Write(t.Context(), records.DueRows("default", &stray, row)...); err != nil {
		t.Fatal(err)
	}
	there := t.put(s, t.timer("there", at))
	overtaken := shared.Document{Version: int64(there.Version) - 1, Due: at - 1, Data: "{}"}
	err := s.db.Write(t.Context(), records.DueRows("default", &there, overtaken)...)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(want int) {
		t.Helper()
		if ids := t.due(s, t.options.Now()); !slices.Equal(ids, []string{"there"}) {
			t.Errorf("%v are due", ids)
		}
		if n := t.rows(s, "due_by_slot"); n != want {
			t.Errorf("%d rows are left, not %d", n, want)
		}
	}
	rows(2)
	t.ahead.Add(records.DueMargin + 1_000_000)
	rows(1)
}

// twoProcessesClaim: what one process puts is due in the other at once, and of what both claim
// each is claimed once.
func twoProcessesClaim(t *recordTest) {
	const timers = 20
	stores := []*Store{open(t, t.options), open(t, t.options)}
	at := t.options.Now()
	for i := range timers {
		t.put(stores[i%2], t.timer(fmt.Sprint(i), at-andon.Time(i)))
		if n := len(t.due(stores[1-i%2], at)); n != i+1 {
			t.Fatalf("%d of %d timers are due in the other process", n, i+1)
		}
	}
	var claimed atomic.Int32
	var both sync.WaitGroup
	for _, s := range stores {
		both.Go(func() {
			for r, err := range s.DueRecords(t.Context(), "timer", at, timers) {
				if err != nil {
					t.Error(err)
					return
				}
				if s.DeleteRecord(t.Context(), r) == nil {
					claimed.Add(1)
				}
			}
		})
	}
	both.Wait()
	left := len(t.due(stores[0], at))
	if n := int(claimed.Load()); n+left != timers {
		t.Errorf("%d timers: %d claimed, %d left", timers, n, left)
	}
}

// nextIncarnation: a process whose clock is slow gives greater versions, too, so that what the
// former incarnation left can't take its index rows away.
func nextIncarnation(t *recordTest) {
	s := open(t, t.options)
	t.ahead.Store(2 * records.DueMargin)
	at := realClock()
	first := t.put(s, t.timer("a", at))
	if err := s.DeleteRecord(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	t.ahead.Store(0)
	other := open(t, t.options)
	again := t.put(other, t.timer("a", at))
	if again.Version <= first.Version {
		t.Errorf("the versions are %d, and then %d", first.Version, again.Version)
	}
	if ids := t.due(other, at); !slices.Equal(ids, []string{"a"}) {
		t.Errorf("%v are due", ids)
	}
	if ttl := scan[int](t.T, s, "SELECT TTL(version) FROM records WHERE tenant = 'default' "+
		"AND kind = ? AND id = 'a'", string(t.kind)); !slices.Equal(ttl, []int{0}) {
		t.Errorf("the next incarnation ends after %v s", ttl)
	}
}
