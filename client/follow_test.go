package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
)

// factory is a server whose streams a test can cut and whose store outlives it.
type factory struct {
	*testing.T
	store  *memstore.Store
	next   atomic.Int64
	server *httptest.Server
	client *client.Client

	mu   sync.Mutex
	api  *httpapi.API
	down bool
}

func newFactory(t *testing.T) *factory {
	f := &factory{T: t, store: memstore.New()}
	f.next.Store(int64(at(morning)))
	f.restart()
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		api, down := f.api, f.down
		f.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		api.ServeHTTP(w, r)
	}))
	c, err := client.New(client.Options{URL: f.server.URL, Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	f.client = c
	t.Cleanup(func() {
		f.api.EndLong()
		f.server.Close()
		c.Close()
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// restart makes a new API over the same store.
func (f *factory) restart() {
	now := func() andon.Time { return andon.Time(f.next.Load()) }
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = false
	f.api = httpapi.New(httpapi.Options{
		Store: f.store, Intake: intake.New(f.store, intake.Options{Now: now}), Now: now,
	})
}

// stop ends all connections, and refuses others until restart.
func (f *factory) stop() {
	f.mu.Lock()
	f.down = true
	f.mu.Unlock()
	f.server.CloseClientConnections()
}

func (f *factory) is(device andon.DeviceID, state andon.State) {
	f.Helper()
	now := andon.Time(f.next.Add(1))
	err := f.store.Append(f.Context(), andon.DefaultTenant, now,
		[]andon.Event{{Device: device, Time: now, State: state}})
	if err != nil {
		f.Fatal(err)
	}
}

// follow follows in the background, and returns the updates.
func (f *factory) follow(q client.FollowOptions) <-chan string {
	ctx, end := context.WithCancel(f.Context())
	updates, ended := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(ended)
		for t, err := range f.client.Follow(ctx, q) {
			if err != nil {
				updates <- "error " + err.Error()
				return
			}
			updates <- words(t)
		}
	}()
	f.Cleanup(func() { end(); <-ended })
	return updates
}

func words(t client.Update) string {
	switch t.Kind {
	case client.Shows:
		return fmt.Sprintf("%s %s", t.Device.Device, t.Device.State)
	case client.Gone:
		return fmt.Sprintf("%s gone", t.Device.Device)
	case client.Settings:
		return fmt.Sprintf("silent after %s", t.Tenant.SilentAfter)
	case client.Reset:
		return "reset"
	case client.Lost:
		return "lost"
	}
	return "connected"
}

const timeout = 20 * time.Second

// hears checks the next update. A server that is lost is reported again and again.
func (f *factory) hears(updates <-chan string, want ...string) {
	f.Helper()
	last := ""
	for _, w := range want {
		for got := last; got != w; {
			select {
			case got = <-updates:
			case <-time.After(timeout):
				f.Fatalf("nothing comes, want %s", w)
			}
			if got != w && got != "lost" && got != "connected" {
				f.Fatalf("got %s, want %s", got, w)
			}
		}
		last = ""
	}
}

func TestFollow(t *testing.T) {
	f := newFactory(t)
	f.is("press-1", "NORMAL")
	all := f.follow(client.FollowOptions{})
	warnings := f.follow(client.FollowOptions{State: "WARNING*", Device: "press*"})
	f.hears(all, "connected")
	f.hears(warnings, "connected")
	f.is("press-1", "WARNING1")
	f.is("oven-1", "WARNING1")
	f.is("press-2", "NORMAL")
	f.is("press-1", "NORMAL")
	f.hears(all, "press-1 WARNING1", "oven-1 WARNING1", "press-2 NORMAL", "press-1 NORMAL")
	f.hears(warnings, "press-1 WARNING1", "press-1 NORMAL")
	if _, err := f.client.Retire(t.Context(), "press-2"); err != nil {
		t.Fatal(err)
	}
	seven := andon.Duration(7 * time.Minute / time.Microsecond)
	_, err := f.client.PutTenant(t.Context(), andon.DefaultTenant,
		client.TenantChange{SilentAfter: &seven})
	if err != nil {
		t.Fatal(err)
	}
	f.hears(all, "press-2 gone", "silent after "+seven.String())
}

// TestFollowGoesOn: what changes while the server is away comes once it is back, each change once.
func TestFollowGoesOn(t *testing.T) {
	f := newFactory(t)
	updates := f.follow(client.FollowOptions{})
	f.hears(updates, "connected")
	f.is("a", "NORMAL")
	f.hears(updates, "a NORMAL")
	f.stop()
	f.hears(updates, "lost")
	f.is("a", "WARNING1")
	f.is("b", "NORMAL")
	f.restart()
	f.hears(updates, "a WARNING1", "b NORMAL")
	f.api.EndLong() // ended in order: nothing is lost
	f.restart()
	f.is("b", "WARNING1")
	f.hears(updates, "b WARNING1")
}

func TestFollowFromAPosition(t *testing.T) {
	f := newFactory(t)
	first := f.follow(client.FollowOptions{})
	f.hears(first, "connected")
	f.is("a", "NORMAL")
	f.hears(first, "a NORMAL")
	_, at, err := f.store.ChangesKept(t.Context(), andon.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	f.is("a", "WARNING1")
	f.hears(f.follow(client.FollowOptions{After: at}), "a WARNING1")
	lost := f.follow(client.FollowOptions{After: andon.Position{Feed: 1, Sequence: 1}})
	f.hears(lost, "reset", "connected")
	f.is("a", "WARNING2")
	f.hears(lost, "a WARNING2")
}

// TestFollowSilence: who fell silent is reported, and where that are too many, that they have to be
// loaded.
func TestFollowSilence(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: silence\ndata: {\"silent\":[\"a\"],\"heard\":[\"b\",\"c\"]}\n\n"+
			"event: silence\ndata: {\"silent\":[\"a\"],\"heard\":[],\"more\":true}\n\n")
	}))
	defer server.Close()
	c, err := client.New(client.Options{URL: server.URL, Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got []string
	for u, err := range c.Follow(t.Context(), client.FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Kind == client.Begun && len(got) > 0 {
			break
		}
		got = append(got, fmt.Sprintln(u.Kind, u.Silent, u.Heard))
	}
	want := []string{
		fmt.Sprintln(client.Begun, "[] []"), fmt.Sprintln(client.Silence, "[a] [b c]"),
		fmt.Sprintln(client.Reset, "[a] []"),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFollowEnds where asking again is in vain.
func TestFollowEnds(t *testing.T) {
	f := newFactory(t)
	wrong := <-f.follow(client.FollowOptions{State: "a*b"})
	if !strings.HasPrefix(wrong, "error ") || !strings.HasSuffix(wrong, "(HTTP 400)") {
		t.Errorf("a wrong query: %s", wrong)
	}
	for _, status := range []int{401, 403, 404, 501} {
		c := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		})
		for _, err := range c.Follow(t.Context(), client.FollowOptions{}) {
			if e, ok := err.(*client.Error); !ok || e.Status != status {
				t.Errorf("%d: %v", status, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range f.client.Follow(ctx, client.FollowOptions{}) {
		if err != context.Canceled {
			t.Errorf("ended: %v", err)
		}
	}
}

// TestFollowOfGarbage: what is no stream is no reason to end the program or to show nonsense.
func TestFollowOfGarbage(t *testing.T) {
	for _, text := range []string{
		"id: x\n\n", "event: state\ndata: {\n\n", "data: " + strings.Repeat("x", 2<<20),
	} {
		c := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, text)
		}, func(o *client.Options) { o.Pause = time.Millisecond })
		seen := 0
		for got, err := range c.Follow(t.Context(), client.FollowOptions{}) {
			if err != nil || got.Kind != client.Lost || got.Err == nil {
				t.Errorf("%.20q: %+v, %v", text, got, err)
			}
			if seen++; seen == 2 {
				break
			}
		}
	}
}
