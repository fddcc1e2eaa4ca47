package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// escalatedEvents returns reports of one device and incident, each of which says to whom.
func escalatedEvents(from, n int) []andon.Event {
	events := make([]andon.Event, n)
	for i := range events {
		events[i] = andon.Event{
			Device: "press-7", State: "WARNING1", Time: andon.MinTime + andon.Time(from+i),
			EscalatedTo: andon.PersonID(fmt.Sprintf("Sara %06d", from+i)),
		}
	}
	return events
}

// TestEscalationsWriteTheSame: an event that says to whom it is escalated writes as many bytes when
// a thousand of its incident did before as when five did, one by one or in one request.
func TestEscalationsWriteTheSame(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	n := 0
	perEvent := func(requests, size int) uint64 {
		t.Helper()
		before := s.db.Metrics().WAL.BytesIn
		for range requests {
			events := escalatedEvents(n, size)
			if n += size; s.Append(t.Context(), andon.DefaultTenant, 1, events) != nil {
				t.Fatal("the append failed")
			}
		}
		return (s.db.Metrics().WAL.BytesIn - before) / uint64(requests*size)
	}
	perEvent(10, 1)
	early := perEvent(20, 1)
	perEvent(1, 10_000)
	if late := perEvent(20, 1); late > early+early/10 {
		t.Errorf("an event after 10,000 writes %d bytes, an early one %d", late, early)
	}
	if large := perEvent(1, 10_000); large > early {
		t.Errorf("in a large request an event writes %d bytes, a single one %d", large, early)
	}
}

// TestEscalationsSetAsideComeBack withdraws one escalation after the other, newest first, when all
// entries have expired and the store was opened after a crash: each reveals the one before.
func TestEscalationsSetAsideComeBack(t *testing.T) {
	const id, entries = andon.DefaultTenant, 20
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	ctx := t.Context()
	if err := s.Append(ctx, id, 1, escalatedEvents(0, entries)); err != nil {
		t.Fatal(err)
	}
	s, fs = crashed(t, s, fs)
	after := andon.DayStart(andon.MinTime.Day() + 2)
	if err := s.Expire(ctx, id, andon.Horizon{Events: after}); err != nil {
		t.Fatal(err)
	}
	for left := entries - 1; left >= 0; left-- {
		if left%7 == 0 {
			s, fs = crashed(t, s, fs)
		}
		d, err := s.Device(ctx, id, "press-7")
		want := andon.PersonID(fmt.Sprintf("Sara %06d", left))
		if err != nil || d.EscalatedTo != want {
			t.Fatalf("escalated to %q, %v; want %s", d.EscalatedTo, err, want)
		}
		_, _, err = s.Escalate(ctx, id, andon.Escalation{
			Device: d.ID, Time: d.EscalatedEntry.Time, State: d.EscalatedEntry.State,
			At: andon.MinTime + andon.Time(1000-left),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if d, err := s.Device(ctx, id, "press-7"); err != nil || d.EscalatedTo != "" {
		t.Errorf("escalated to %q, %v; want nobody", d.EscalatedTo, err)
	}
	kept := layout.NewKey(layout.TableEscalation, s.tenants[id].number)
	rows := func() (n int) {
		for range s.rows(kept) {
			n++
		}
		return n
	}
	if rows() < entries {
		t.Error("escalations of the incident have expired")
	}
	normal := []andon.Event{{Device: "press-7", State: "NORMAL", Time: andon.MinTime + 5000}}
	err := errors.Join(s.Append(ctx, id, 1, normal),
		s.Expire(ctx, id, andon.Horizon{Events: after}))
	if err != nil || rows() != 0 {
		t.Errorf("%v; %d rows are left after the incident", err, rows())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkEscalated appends reports of one incident, each escalated: what one costs must not grow
// with their number. The ceiling is the same reports without.
func BenchmarkEscalated(b *testing.B) {
	for _, c := range []struct {
		name      string
		escalated bool
	}{{"escalated", true}, {"plain", false}} {
		b.Run(c.name, func(b *testing.B) {
			s := benchStore(b)
			const request = 1000
			for n := 0; b.Loop(); n++ {
				events := escalatedEvents(n*request, request)
				for i := range events {
					if !c.escalated {
						events[i].EscalatedTo = ""
					}
				}
				must(b, s.Append(b.Context(), andon.DefaultTenant, 1, events))
			}
			b.ReportMetric(float64(b.N*request)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// TestEscalationsAreNoted: lists note who escalated an entry and why, so nobody reads it again,
// whether the entry is in memory or in blocks.
func TestEscalationsAreNoted(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	id, to := andon.DefaultTenant, andon.PersonID("Sara")
	e := escalatedEvents(1, 1)[0]
	e.EscalatedTo = ""
	if err := s.Append(t.Context(), id, 1, []andon.Event{e}); err != nil {
		t.Fatal(err)
	}
	want := andon.Escalation{
		Device: e.Device, Time: e.Time, State: e.State, To: to, At: 7, By: "Liz", Note: "leaks",
	}
	if _, _, err := s.Escalate(t.Context(), id, want); err != nil {
		t.Fatal(err)
	}
	lists := map[string]func(context.Context) (int, error){
		"device": func(ctx context.Context) (int, error) {
			return listed(s.DeviceEvents(ctx, id, e.Device, andon.EventQuery{Limit: 9}))
		},
		"supervisor": func(ctx context.Context) (int, error) {
			return listed(s.SupervisorEvents(ctx, id, to, andon.EventQuery{Limit: 9}))
		},
		"shown": func(ctx context.Context) (int, error) {
			_, err := s.Device(ctx, id, e.Device)
			return 1, err
		},
		"devices": func(ctx context.Context) (int, error) {
			return listed(s.Devices(ctx, id, andon.DeviceQuery{Limit: 9}))
		},
	}
	for _, flush := range []bool{false, true} {
		if flush {
			if err := s.flushDue(); err != nil {
				t.Fatal(err)
			}
		}
		for name, read := range lists {
			ctx := andon.CollectEscalations(t.Context())
			n, err := read(ctx)
			of := andon.EntryRef{Time: e.Time, State: e.State}
			got, noted := andon.NotedEscalation(ctx, e.Device, of)
			if err != nil || n != 1 || !noted || got != want {
				t.Errorf("%s, flushed %t: %d, noted %t: %+v, %v", name, flush, n, noted, got, err)
			}
		}
	}
}

// TestNotesWhileEscalated: who reads a device after an escalation was acknowledged sees its note
// or a newer one, while lists remember what they read and other escalations go on.
func TestNotesWhileEscalated(t *testing.T) {
	t.Parallel()
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	id, events := andon.DefaultTenant, escalatedEvents(1, 2)
	events[0].EscalatedTo, events[1].EscalatedTo = "", ""
	if err := s.Append(t.Context(), id, 1, events); err != nil {
		t.Fatal(err)
	}
	e := events[0] // the device shows the escalation of an entry that is not its newest
	const most = 300
	var acknowledged atomic.Int64
	var readers sync.WaitGroup
	defer readers.Wait()
	read := func(one func(ctx context.Context) error) {
		for acknowledged.Load() < most && !t.Failed() {
			ctx, least, note := andon.CollectEscalations(t.Context()), acknowledged.Load(), 0
			if err := one(ctx); err != nil {
				t.Error(err)
			}
			of := andon.EntryRef{Time: e.Time, State: e.State}
			r, _ := andon.NotedEscalation(ctx, e.Device, of)
			fmt.Sscan(r.Note, &note)
			if int64(note) < least {
				t.Errorf("the note is %q after that of %d was acknowledged", r.Note, least)
			}
		}
	}
	readers.Go(func() {
		read(func(ctx context.Context) error {
			_, err := listed(s.Devices(ctx, id, andon.DeviceQuery{Limit: 9}))
			return err
		})
	})
	readers.Go(func() {
		read(func(ctx context.Context) error {
			_, err := s.Device(ctx, id, e.Device)
			return err
		})
	})
	readers.Go(func() {
		read(func(ctx context.Context) error {
			q := andon.EventQuery{Limit: 9}
			_, err := listed(s.SupervisorEvents(ctx, id, "Sara", q))
			return err
		})
	})
	for i := int64(1); i <= most; i++ {
		r := andon.Escalation{
			Device: e.Device, Time: e.Time, State: e.State, To: "Sara", Note: fmt.Sprint(i),
		}
		if _, added, err := s.Escalate(t.Context(), id, r); err != nil || !added {
			t.Errorf("escalation %d: added %t, %v", i, added, err)
		}
		acknowledged.Store(i)
	}
}

func listed[T any](list iter.Seq2[T, error]) (n int, err error) {
	for _, err := range list {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
