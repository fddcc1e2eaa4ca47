package keeper_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/all"
)

// TestBegins runs begins on the stores that ask no other machine.
func TestBegins(t *testing.T) {
	for _, e := range all.New() {
		if e.Place() != adapter.Elsewhere {
			t.Run(e.Name(), func(t *testing.T) {
				t.Parallel()
				env := adapter.Env{Log: slog.New(slog.DiscardHandler), Now: clock, Dir: t.TempDir()}
				store, err := e.Open(t.Context(), env)
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				begins(t, store)
			})
		}
	}
}

// begins checks that what was over before a tenant was first followed is news where the tenant was
// just made, also as one of that name was deleted, and not where its feed is older.
func begins(t *testing.T, store andon.Store) {
	t.Helper()
	id := andon.TenantID(fmt.Sprintf("begins-%08x", rand.Uint32()))
	for _, c := range []struct {
		name string
		late andon.Duration // how long nobody follows
		told int
		log  string
	}{
		{"just made", 0, 1, "opened, policy started, notified, returned to normal"},
		{"made again", 0, 1, "opened, policy started, notified, returned to normal"},
		{"old", parsed(t, "2m"), 0, ""},
	} {
		if err := store.DeleteTenant(t.Context(), id); err != nil && c.name != "just made" {
			t.Fatal(err)
		}
		if _, err := store.PutTenant(t.Context(), andon.NewTenant(id)); err != nil {
			t.Fatal(err)
		}
		for _, state := range []andon.State{"WARNING4", "NORMAL"} {
			e := andon.Event{Device: "d1", Time: clock(), State: state}
			if err := store.Append(t.Context(), id, clock(), []andon.Event{e}); err != nil {
				t.Fatal(err)
			}
		}
		h := newHouse(t, store, func() andon.Time { return clock().Add(c.late) })
		h.tenant, h.known = id, &people.Known{Policies: []people.Policy{{
			Name: "p", Steps: []people.PolicyStep{{To: "person Liz"}},
		}}}
		stop := h.keep("a")
		h.follow()
		stop()
		var log []string
		all, err := h.incidents.OfDevice(t.Context(), id, "d1", andon.Span{}, 10)
		for i := range all {
			for _, s := range all[i].Steps {
				log = append(log, s.What)
			}
		}
		if got := strings.Join(log, ", "); err != nil || got != c.log || len(h.told) != c.told {
			t.Errorf("%s: told %d, the log is %q, want %q, %v",
				c.name, len(h.told), got, c.log, err)
		}
	}
}

// follow waits until the changes of the tenant are taken in.
func (h *house) follow() {
	h.Helper()
	for over := time.After(time.Minute); ; {
		_, newest, err := h.store.ChangesKept(h.Context(), h.tenant)
		if err != nil {
			h.Fatal(err)
		}
		r, _ := h.store.Record(h.Context(), "", lease.Kind, "incidents/of "+string(h.tenant))
		var is struct{ Position struct{ At andon.Position } }
		if json.Unmarshal([]byte(r.Data), &is) == nil && is.Position.At == newest {
			return
		}
		select {
		case <-over:
			h.Fatal("the changes are not taken in: ", r.Data)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestReadAgain: a process that is killed after it stored incidents, and before it stored how far
// it has followed, leaves changes that are read again. The store that is opened again knows of each
// incident which of them it has taken in.
func TestReadAgain(t *testing.T) {
	for _, e := range all.New() {
		if e.Place() == adapter.Elsewhere {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			open := func() *house {
				store, err := e.Open(t.Context(),
					adapter.Env{Log: slog.New(slog.DiscardHandler), Now: clock, Dir: dir})
				if err != nil {
					t.Fatal(err)
				}
				h := newHouse(t, store, clock)
				h.known = &people.Known{Policies: []people.Policy{{
					Name: "p", Steps: []people.PolicyStep{{To: "person Liz"}},
				}}}
				return h
			}
			h := open()
			defer func() { h.store.Close() }()
			if !h.store.Capabilities().ChangesDurable {
				t.Skip("its changes end with it")
			}
			readAgain(h)
			for range 2 {
				want := h.logs()
				if len(want) != 4 {
					t.Fatalf("there are %q", want)
				}
				if err := h.store.Close(); err != nil {
					t.Fatal(err)
				}
				h = open()
				h.followAgain()
				if diff := gocmp.Diff(want, h.logs()); diff != "" || len(h.told) > 0 {
					t.Errorf("read again: told %q, %s", h.told, diff)
				}
			}
		})
	}
}

// readAgain has incidents of which no change may be taken in twice: one that is open and has
// returned to normal, one that is closed and one after it, and one of a device that was purged
// before.
func readAgain(h *house) {
	h.Helper()
	stop := h.keep("a")
	defer stop()
	add := func(device andon.DeviceID, states ...andon.State) {
		for _, state := range states {
			all := []andon.Event{{Device: device, Time: clock(), State: state}}
			if err := h.store.Append(h.Context(), h.tenant, clock(), all); err != nil {
				h.Fatal(err)
			}
		}
		h.follow()
	}
	add("returned", "WARNING1", "NORMAL")
	add("again", "WARNING1", "NORMAL", "WARNING2")
	add("purged", "WARNING1")
	if err := h.store.Purge(h.Context(), h.tenant, "purged"); err != nil {
		h.Fatal(err)
	}
	add("purged", "WARNING3")
}

// logs returns the log of each incident, in the order of devices.
func (h *house) logs() (logs []string) {
	h.Helper()
	for _, device := range []andon.DeviceID{"again", "purged", "returned"} {
		some, err := h.incidents.OfDevice(h.Context(), h.tenant, device, andon.Span{}, 10)
		if err != nil {
			h.Fatal(err)
		}
		for i := range some {
			logs = append(logs, fmt.Sprintf("%s: %+v", device, some[i].Steps))
		}
	}
	return logs
}

// followAgain has a keeper follow all changes that are kept, as if nothing but the incidents had
// been stored.
func (h *house) followAgain() {
	h.Helper()
	oldest, _, err := h.store.ChangesKept(h.Context(), h.tenant)
	if err != nil {
		h.Fatal(err)
	}
	r, err := h.store.Record(h.Context(), "", lease.Kind, "incidents/of "+string(h.tenant))
	if err != nil {
		h.Fatal(err)
	}
	r.Data = andon.JSON(fmt.Sprintf(`{"position":{"at":%q}}`, oldest))
	if _, err := h.store.PutRecord(h.Context(), r); err != nil {
		h.Fatal(err)
	}
	stop := h.keep("b")
	defer stop()
	h.follow()
}
