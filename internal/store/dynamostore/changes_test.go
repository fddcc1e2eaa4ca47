package dynamostore

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// changesAfter reads the feed after a position, and where it ends.
func changesAfter(
	t *testing.T, s *Store, at andon.Position,
) (all []andon.Change, end andon.Position) {
	t.Helper()
	for c, err := range s.Changes(t.Context(), andon.DefaultTenant, at) {
		if err != nil {
			t.Fatal(err)
		}
		all, at = append(all, c), c.Position
	}
	return all, at
}

// asText writes a change as d:A>B:entry.
func asText(c andon.Change) string {
	side := func(d *andon.Device) string {
		if d == nil {
			return "-"
		}
		return string(d.State)
	}
	return fmt.Sprintf("%s:%s>%s:%s", c.Device, side(c.Before), side(c.After), c.Kind)
}

func newestPosition(t *testing.T, s *Store) andon.Position {
	t.Helper()
	_, at, err := s.ChangesKept(t.Context(), andon.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestChangesOfTwoProcesses: two processes write to the same devices, with clients that leave. Both
// read the same changes in the same order, each once, and each change follows the one before it.
func TestChangesOfTwoProcesses(t *testing.T) {
	c := newWriters(t)
	at := newestPosition(t, c.stores[0])
	c.write(20, func(r *rand.Rand, s *Store, device andon.DeviceID) error {
		return c.append(r, s, c.events(r, device, true))
	})
	first, end := changesAfter(t, c.stores[0], at)
	second, other := changesAfter(t, c.stores[1], at)
	if len(first) == 0 || end != other || !slices.EqualFunc(first, second,
		func(a, b andon.Change) bool {
			return a.Position == b.Position &&
				asText(a) == asText(b)
		}) {
		t.Errorf("one process reads %d changes up to %v, and the other %d up to %v",
			len(first), end, len(second), other)
	}
	shown := map[andon.DeviceID]*andon.Device{}
	for _, change := range first {
		if !andon.ShowAlike(shown[change.Device], change.Before) {
			t.Errorf("%s follows %+v", asText(change), shown[change.Device])
		}
		shown[change.Device] = change.After
	}
	for _, id := range c.devices {
		is, err := c.stores[1].Device(t.Context(), andon.DefaultTenant, id)
		if err != nil || !andon.ShowAlike(shown[id], &is) {
			t.Errorf("the changes lead to %+v, and it shows %+v, %v", shown[id], is, err)
		}
	}
}

// TestChangeSeenSoon: what one process acknowledges, a reader at another one knows within a second.
func TestChangeSeenSoon(t *testing.T) {
	o := newTables(t)
	a, b := open(t, o), open(t, o)
	at := newestPosition(t, b)
	for n := range 3 {
		var reader sync.WaitGroup
		var seen time.Time
		reader.Go(func() {
			if err := b.AwaitChange(t.Context(), andon.DefaultTenant, at); err != nil {
				t.Error(err)
			}
			seen = time.Now()
		})
		sendUntil(t, a, []andon.Event{{Device: "d", Time: minute(n),
			State: andon.State(fmt.Sprint(n))}})
		sent := time.Now()
		reader.Wait()
		if late := seen.Sub(sent); late > time.Second {
			t.Errorf("it was seen %s later", late)
		}
		at = newestPosition(t, b)
	}
}

// withoutLog fails the puts of the log, as if the process ended before each.
func withoutLog(p *proxy, w http.ResponseWriter, c call) {
	item, _ := c.body["Item"].(map[string]any)
	key, _ := item[items.AttrKey].(map[string]any)
	if text, _ := key["S"].(string); strings.HasPrefix(text, "change#") {
		p.refuse(w, c, http.StatusBadRequest, "ValidationException", "the process has ended")
		return
	}
	p.serve(w, c)
}

// TestProcessEnds: a process ends between the put of a device and that of the log. The change is in
// the feed once the device is written again, or all devices are read, by any process.
func TestProcessEnds(t *testing.T) {
	for name, next := range map[string]func(t *testing.T, o Options, e andon.Event) *Store{
		"sent again": func(t *testing.T, o Options, e andon.Event) *Store {
			s := open(t, o)
			sendUntil(t, s, []andon.Event{e})
			return s
		},
		"read": func(t *testing.T, o Options, _ andon.Event) *Store {
			o.Now = func() andon.Time { return realClock().Add(2 * 60e6) }
			s := open(t, o)
			if err := s.countAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s
		},
	} {
		t.Run(name, func(t *testing.T) { processEnds(t, next) })
	}
}

func processEnds(t *testing.T, next func(t *testing.T, o Options, e andon.Event) *Store) {
	p, through := behindProxy(t)
	direct := through
	direct.Endpoint = p.upstream
	ending := open(t, through)
	id := andon.DefaultTenant
	sendUntil(t, ending, []andon.Event{{Device: "d", Time: minute(0), State: "A"}})
	at := newestPosition(t, ending)
	p.inject(fault{operation: "PutItem", every: 1, do: withoutLog})
	e := andon.Event{Device: "d", Time: minute(1), State: "B"}
	if err := ending.Append(t.Context(), id, realClock(), []andon.Event{e}); err == nil {
		t.Fatal("a change that is not in the feed was acknowledged")
	}
	s := next(t, direct, e)
	later := andon.Event{Device: "d", Time: minute(2), State: "C"}
	sendUntil(t, s, []andon.Event{later, {Device: "e", Time: minute(2), State: "A"}})
	var got []string
	for _, c := range first(changesAfter(t, s, at)) {
		got = append(got, asText(c))
	}
	slices.Sort(got[1:]) // of one request, in any order
	want := []string{"d:A>B:entry", "d:B>C:entry", "e:->A:entry"}
	if !slices.Equal(got, want) {
		t.Errorf("the changes are %s, want %s", got, want)
	}
}

func first[A, B any](a A, _ B) A { return a }

// TestPurgeAndTenantLeft: the same of a purged device and of a tenant's record, which only a read
// of all finds.
func TestPurgeAndTenantLeft(t *testing.T) {
	p, through := behindProxy(t)
	ending := open(t, through)
	id := andon.DefaultTenant
	sendUntil(t, ending, []andon.Event{{Device: "d", Time: minute(0), State: "A"}})
	at := newestPosition(t, ending)
	p.inject(fault{operation: "PutItem", every: 1, do: withoutLog})
	record, err := ending.Tenant(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	record.SilentAfter += 60e6
	if _, err = ending.PutTenant(t.Context(), record); err == nil {
		t.Error("a tenant's change that is not in the feed was acknowledged")
	}
	if err := ending.Purge(t.Context(), id, "d"); err == nil {
		t.Error("a purge that is not in the feed was acknowledged")
	}
	o := through
	o.Endpoint = p.upstream
	o.Now = func() andon.Time { return realClock().Add(2 * 60e6) }
	s := open(t, o)
	for range 2 { // the second finds that all is done
		if err := s.countAll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, c := range first(changesAfter(t, s, at)) {
		got = append(got, asText(c))
	}
	slices.Sort(got)
	if want := []string{":->-:tenant", "d:A>-:purge"}; !slices.Equal(got, want) {
		t.Errorf("the changes are %s", got)
	}
}

// TestPendingDropped: a device that reports no more is put once without the change that it carries.
func TestPendingDropped(t *testing.T) {
	o := newTables(t)
	s := open(t, o)
	sendUntil(t, s, []andon.Event{{Device: "d", Time: minute(0), State: "A"}})
	carries := func(s *Store) bool {
		d, err := s.readDevice(t.Context(), mustTenant(t, s), "d")
		if err != nil {
			t.Fatal(err)
		}
		return d.Pending != nil
	}
	if !carries(s) {
		t.Error("the item does not carry its change")
	}
	at := newestPosition(t, s)
	o.Now = func() andon.Time { return realClock().Add(3600e6) }
	later := open(t, o)
	if err := later.countAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, _ := changesAfter(t, later, at); carries(later) || len(all) > 0 {
		t.Errorf("the item carries its change: %t; it is followed by %v", carries(later), all)
	}
}
