package changelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// memory is a Store in memory, of all processes of a test.
type memory struct {
	mu    sync.Mutex
	items map[string]map[uint64]Item
	reads atomic.Int64
	// fail is called before an insertion; it may return an error, and whether the item is stored
	// nevertheless.
	fail func(partition string, i Item) (stored bool, err error)
}

func newMemory() *memory { return &memory{items: map[string]map[uint64]Item{}} }

func (m *memory) Insert(_ context.Context, of string, i Item) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, err := true, error(nil)
	if m.fail != nil {
		stored, err = m.fail(of, i)
	}
	_, there := m.items[of][i.Number]
	if stored && !there {
		if m.items[of] == nil {
			m.items[of] = map[uint64]Item{}
		}
		i.Data = bytes.Clone(i.Data)
		m.items[of][i.Number] = i
	}
	return err == nil && !there, err
}

func (m *memory) Read(
	_ context.Context, of string, from uint64, o andon.Order, limit int,
) (all []Item, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads.Add(1)
	for n, i := range m.items[of] {
		if n >= from {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b Item) int { return int(a.Number) - int(b.Number) })
	if o == andon.Desc {
		slices.Reverse(all)
	}
	return all[:min(limit, len(all))], nil
}

func (m *memory) Extend(_ context.Context, of string, i Item) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.items[of][i.Number] = i
	return nil
}

func (m *memory) Drop(_ context.Context, of string, before uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range m.items[of] {
		if n < before {
			delete(m.items[of], n)
		}
	}
	return nil
}

// expire deletes what has expired.
func (m *memory) expire(now andon.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, items := range m.items {
		for n, i := range items {
			if i.Expires != 0 && i.Expires < now {
				delete(items, n)
			}
		}
	}
}

var plant = &shared.Tenant{Key: "plant", Record: andon.NewTenant("plant")}

// process returns the logs as one process has them. The clock is that of the test.
func process(t *testing.T, m *memory) *Logs {
	t.Helper()
	return New(Config{
		Store: m, Log: slog.New(slog.DiscardHandler), For: 24 * time.Hour, Bytes: 1 << 20,
		Now: func() andon.Time { return andon.TimeOf(time.Now()) },
		Tenant: func(_ context.Context, id andon.TenantID) (*shared.Tenant, error) {
			if id != "plant" {
				return nil, andon.NoTenant(id)
			}
			return plant, nil
		},
		Work: func(do func(context.Context)) { do(t.Context()) },
	})
}

// entered is the change of a device that enters a state, as its nth version.
func entered(device andon.DeviceID, version int, from uint64) Change {
	shows := func(n int) *andon.Device {
		if n == 0 {
			return nil
		}
		return &andon.Device{ID: device, State: andon.State(fmt.Sprint(n)), Time: andon.MinTime +
			andon.Time(n)}
	}
	return Change{From: from, Version: int64(version), Change: andon.Change{
		Kind: andon.ByEntry, Device: device, Before: shows(version - 1), After: shows(version),
		Entry: andon.EntryRef{Time: andon.MinTime + andon.Time(version), State: "x"},
	}}
}

// reported reads the feed after a position, as d:1 d:2 e:1, and returns where it ends.
func reported(t *testing.T, s *Logs, after andon.Position) (string, andon.Position) {
	t.Helper()
	var all []string
	for c, err := range s.Changes(t.Context(), "plant", after) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Position.Compare(after) <= 0 {
			t.Fatalf("position %v comes after %v", c.Position, after)
		}
		after = c.Position
		all = append(all, fmt.Sprintf("%s:%s", c.Device, c.After.State))
	}
	return strings.Join(all, " "), after
}

func begin(t *testing.T, s *Logs) andon.Position {
	t.Helper()
	_, newest, err := s.ChangesKept(t.Context(), "plant")
	if err != nil {
		t.Fatal(err)
	}
	return newest
}

func add(t *testing.T, s *Logs, all ...Change) {
	t.Helper()
	for _, c := range all {
		if err := s.ForTenant(plant).Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOnce: a change that is appended by several processes, or again, is in the log once.
func TestOnce(t *testing.T) {
	m := newMemory()
	a, b := process(t, m), process(t, m)
	at := begin(t, a)
	add(t, a, entered("d", 1, 0), entered("d", 1, 0))
	add(t, b, entered("d", 1, 0), entered("d", 2, 0), entered("e", 1, 0))
	add(t, a, entered("d", 2, 0), entered("d", 3, 2))
	add(t, process(t, m), entered("d", 2, 0), entered("e", 1, 0))
	for _, s := range []*Logs{a, b, process(t, m)} {
		if got, _ := reported(t, s, at); got != "d:1 d:2 e:1 d:3" {
			t.Errorf("it is %s", got)
		}
	}
}

// TestNewest: changes that are appended together are in their order, and the newest of a device is
// found among the items in memory and among those that are only stored.
func TestNewest(t *testing.T) {
	m := newMemory()
	a := process(t, m)
	at := begin(t, a)
	err := a.ForTenant(plant).Append(t.Context(), entered("e", 1, 0), entered("d", 1, 0),
		entered("e", 2, 0))
	if err != nil {
		t.Fatal(err)
	}
	add(t, a, entered("d", 2, 0))
	if got, _ := reported(t, a, at); got != "e:1 d:1 e:2 d:2" {
		t.Errorf("the log has %s", got)
	}
	l := process(t, m).ForTenant(plant)
	want := func(device andon.DeviceID, from uint64, version int64) {
		t.Helper()
		c, there, err := l.Newest(t.Context(), device, from)
		if err != nil || there != (version != 0) || c.Version != version {
			t.Errorf("from %d on the newest of %s is %d, %v", from, device, c.Version, err)
		}
	}
	want("d", 0, 2)
	want("e", l.end(), 2)
	want("f", 0, 0)
	for len(l.newest) > 0 {
		l.forgetOldest()
	}
	want("d", 0, 2)
	want("e", 0, 2)
	want("e", 1, 0)
	want("d", l.end(), 0)
}

// TestLostAnswers: an insertion may be done although its answer is an error.
func TestLostAnswers(t *testing.T) {
	m := newMemory()
	a := process(t, m)
	at := begin(t, a)
	lost := errors.New("lost")
	for _, stored := range []bool{true, false} {
		m.fail = func(string, Item) (bool, error) { return stored, lost }
		device := andon.DeviceID(fmt.Sprint(stored))
		err := a.ForTenant(plant).Append(t.Context(), entered(device, 1, 0))
		if !errors.Is(err, lost) {
			t.Fatalf("the error is %v", err)
		}
		m.fail = nil
		add(t, a, entered(device, 1, 0))
	}
	if got, _ := reported(t, a, at); got != "true:1 false:1" {
		t.Errorf("it is %s", got)
	}
}

// TestProcesses: several goroutines of three processes append changes of few devices, some twice
// and some with lost answers. All processes read the same.
func TestProcesses(t *testing.T) {
	m := newMemory()
	all := []*Logs{process(t, m), process(t, m), process(t, m)}
	at := begin(t, all[0])
	m.fail = func(string, Item) (bool, error) {
		if rand.IntN(5) > 0 {
			return true, nil
		}
		return rand.IntN(2) == 0, errors.New("lost")
	}
	const devices, versions = 8, 40
	var work sync.WaitGroup
	for n := range devices {
		device := andon.DeviceID(fmt.Sprint(n))
		work.Go(func() {
			for v := range versions {
				for range 1 + rand.IntN(2) {
					s := all[rand.IntN(len(all))]
					from, err := s.ForTenant(plant).Next(t.Context())
					if err != nil {
						t.Error(err)
					}
					from = min(from, uint64(v)) // as its writer knew it
					for s.ForTenant(plant).Append(t.Context(), entered(device, v+1, from)) != nil {
						s = all[rand.IntN(len(all))]
					}
				}
			}
		})
	}
	work.Wait()
	first, end := reported(t, all[0], at)
	if n := len(strings.Fields(first)); n != devices*versions {
		t.Errorf("it has %d changes", n)
	}
	for n := range devices {
		last := 0
		for _, c := range strings.Fields(first) {
			var device, version int
			_, _ = fmt.Sscanf(c, "%d:%d", &device, &version)
			if device == n {
				if version != last+1 {
					t.Errorf("of device %d, %d follows %d", n, version, last)
				}
				last = version
			}
		}
	}
	for _, s := range all {
		if got, is := reported(t, s, at); got != first || is != end {
			t.Errorf("another process reads\n%s\nand not\n%s", got, first)
		}
	}
}

// TestPositions: reading goes on at every position, in memory or not, also within an item.
func TestPositions(t *testing.T) {
	m := newMemory()
	a := process(t, m)
	at := begin(t, a)
	var work sync.WaitGroup
	for n := range 30 { // some of them in one item
		work.Go(func() { add(t, a, entered(andon.DeviceID(fmt.Sprint(n)), 1, 0)) })
	}
	work.Wait()
	add(t, a, entered("last", 1, 0))
	b := process(t, m)
	begin(t, b)
	b.ForTenant(plant).newest = nil
	all, _ := reported(t, a, at)
	rest := strings.Fields(all)
	for c, err := range a.Changes(t.Context(), "plant", at) {
		if err != nil {
			t.Fatal(err)
		}
		rest = rest[1:]
		for _, s := range []*Logs{a, b} {
			if got, _ := reported(t, s, c.Position); got != strings.Join(rest, " ") {
				t.Errorf("after %v it is %s", c.Position, got)
			}
		}
	}
}

func gone(t *testing.T, s *Logs, at andon.Position) bool {
	t.Helper()
	for _, err := range s.Changes(t.Context(), "plant", at) {
		return andon.KindOf(err) == andon.Gone
	}
	return false
}

// TestTrimming: a position is Gone once an item after it is too old, whether that was deleted or
// not, and not before. The newest position stays.
func TestTrimming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := process(t, m)
		at := begin(t, a)
		var positions []andon.Position
		for n := range 30 {
			positions = append(positions, at)
			add(t, a, entered("d", n+1, uint64(n)))
			at = begin(t, a)
			<-time.After(time.Hour)
		}
		for _, s := range []*Logs{a, process(t, m)} {
			for n, p := range positions {
				if want := n < 6; gone(t, s, p) != want {
					t.Errorf("position %d is gone: %t", n, !want)
				}
			}
			oldest, _, err := s.ChangesKept(t.Context(), "plant")
			if err != nil || oldest != positions[6] {
				t.Errorf("the oldest is %v, %v and not %v", oldest, err, positions[6])
			}
			m.expire(a.config.Now())
		}
		for range 48 {
			<-time.After(5 * time.Hour)
			m.expire(a.config.Now())
			if err := a.Tend(t.Context(), plant); err != nil {
				t.Fatal(err)
			}
		}
		oldest, newest, err := a.ChangesKept(t.Context(), "plant")
		if got, _ := reported(t, a, at); err != nil || got != "" || newest != at || oldest != at {
			t.Errorf("it is %s, %v to %v, %v", got, oldest, newest, err)
		}
		add(t, a, entered("d", 31, 30))
		if got, _ := reported(t, process(t, m), at); got != "d:31" {
			t.Errorf("it goes on with %s", got)
		}
		at = begin(t, a)
		<-time.After(240 * time.Hour) // no process is there
		m.expire(a.config.Now())
		b := process(t, m)
		if now := begin(t, b); !gone(t, b, at) || now.Compare(at) <= 0 || now.Feed != at.Feed {
			t.Errorf("after %v it goes on at %v", at, now)
		}
	})
}

// TestDeletedInAnyOrder: a database may delete what has expired in any order. A process that begins
// then goes on where the log ends.
func TestDeletedInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := process(t, m)
		begin(t, a)
		for n := range 30 {
			add(t, a, entered("d", n+1, uint64(n)))
			<-time.After(time.Hour)
		}
		delete(m.items["plant#0"], 3)
		b := process(t, m)
		at := begin(t, b)
		add(t, b, entered("d", 31, 30))
		if got, _ := reported(t, a, at); got != "d:31" {
			t.Errorf("it goes on with %q", got)
		}
	})
}

// TestBytes: beyond a number of bytes the oldest partitions are deleted.
func TestBytes(t *testing.T) {
	m := newMemory()
	a := process(t, m)
	a.config.Bytes = 100 << 10
	begun := begin(t, a)
	for n := range 3*perPartition + 10 {
		add(t, a, entered("d", n+1, uint64(n)))
	}
	if !gone(t, a, begun) || len(m.items["plant#0"]) > 0 || len(m.items["plant"]) > 3 {
		t.Errorf("it has %d items of the first partition and %d marks", len(m.items["plant#0"]),
			len(m.items["plant"]))
	}
	oldest, _, err := a.ChangesKept(t.Context(), "plant")
	if err != nil || oldest.Sequence%perPartition != 0 || oldest.Sequence == 0 {
		t.Fatalf("the oldest is %v, %v", oldest, err)
	}
	all, _ := reported(t, process(t, m), oldest)
	if n := len(strings.Fields(all)); uint64(n) != 3*perPartition+10-oldest.Sequence {
		t.Errorf("it has %d changes from %v on", n, oldest)
	}
	if err := a.Delete(t.Context(), "plant"); err != nil {
		t.Fatal(err)
	}
	for of, items := range m.items {
		if len(items) > 0 {
			t.Errorf("%s is left", of)
		}
	}
	if !gone(t, a, oldest) {
		t.Error("a position of a deleted log is not gone")
	}
}

// TestAwait: what another process appends is found within a beat, and waiting costs a read a beat,
// however many wait.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := process(t, m), process(t, m)
		at := begin(t, a)
		begin(t, b)
		var work sync.WaitGroup
		for range 20 {
			work.Go(func() {
				begun := time.Now()
				err := b.AwaitChange(t.Context(), "plant", at)
				if d := time.Since(begun); err != nil || d < 10*time.Second || d > 11*time.Second {
					t.Errorf("it waited for %s, %v", d, err)
				}
			})
		}
		before := m.reads.Load()
		<-time.After(10*time.Second + time.Millisecond)
		if n := m.reads.Load() - before; n > 50 {
			t.Errorf("there were %d reads", n)
		}
		add(t, a, entered("d", 1, 0))
		work.Wait()
		foreign := at
		foreign.Feed++
		if err := a.AwaitChange(t.Context(), "plant", foreign); andon.KindOf(err) != andon.Gone {
			t.Errorf("at a foreign position: %v", err)
		}
	})
}

// TestSuspended: a process that was suspended takes no number again whose item was deleted.
func TestSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := process(t, m), process(t, m)
		begin(t, a)
		for n := range perPartition + 10 {
			add(t, b, entered("d", n+1, uint64(n)))
		}
		<-time.After(100 * time.Hour)
		m.expire(a.config.Now())
		at := begin(t, b)
		add(t, a, entered("e", 1, 0))
		if got, _ := reported(t, b, at); got != "e:1" {
			t.Errorf("it is %s", got)
		}
	})
}

// TestTenantChange: a change of the tenant's record comes back whole.
func TestTenantChange(t *testing.T) {
	m := newMemory()
	a := process(t, m)
	at := begin(t, a)
	is := &shared.Tenant{Key: "plant", Record: andon.NewTenant("plant")}
	is.Record.Version, is.Record.SilentAfter = 7, 12
	if err := a.AppendTenant(t.Context(), is); err != nil { // it is new
		t.Fatal(err)
	}
	if err := a.PrepareTenant(t.Context(), is); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Logs{a, process(t, m)} {
		if err := s.AppendTenant(t.Context(), is); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for c, err := range process(t, m).Changes(t.Context(), "plant", at) {
		n++
		if err != nil || c.Kind != andon.OfTenant || c.Tenant.Version != 7 ||
			c.Tenant.SilentAfter != 12 || c.Tenant.ID != "plant" {
			t.Errorf("the change is %+v, %v", c, err)
		}
	}
	if n != 1 {
		t.Errorf("there are %d changes", n)
	}
}
