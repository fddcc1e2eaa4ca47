package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// errAway is what a store says that can't be reached.
var errAway = andon.Errorf(andon.Unavailable, "no node can be reached")

// withFaults is a store whose methods the test can make fail.
func withFaults(s andon.Store) (andon.Store, func(fault error, methods ...string)) {
	var faults wrap.Faults
	return wrap.Around(s, faults.Hook), func(err error, methods ...string) {
		faults.Set(wrap.Fail(err), methods...)
	}
}

// startOn starts an App on a store of the test's own, and stops it at the end.
func startOn(t *testing.T, store andon.Store) *App {
	t.Helper()
	a := serveOn(t, store)
	t.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a
}

// serveOn starts an App that the test stops.
func serveOn(t *testing.T, store andon.Store) *App {
	t.Helper()
	a := openOn(t, store)
	a.services.start(a.fail)
	return a
}

// openOn is serveOn of an App whose services do not serve yet.
func openOn(t *testing.T, store andon.Store) *App {
	t.Helper()
	c := DefaultConfig()
	c.Listen = "127.0.0.1:0"
	a := New(Options{
		Config: c, Log: slog.New(slog.DiscardHandler),
		Now: func() andon.Time { return andon.TimeOf(time.Now()) },
	})
	if err := a.services.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.startClock(t.Context(), memstore.New()); err != nil {
		t.Fatal(err)
	}
	a.store = wrap.Retain(store, a.Now)
	a.wire()
	a.tasks.start(a.background()...)
	return a
}

// exchangeOf sends a request and returns the status, and after how many seconds to ask again.
func exchangeOf(t *testing.T, method, url, body string) (text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	text = fmt.Sprint(answer.StatusCode)
	if after := answer.Header.Get("Retry-After"); after != "" {
		text += " again after " + after
	}
	if strings.Contains(string(said), "no node can be reached") {
		text += ", saying why"
	}
	return text
}

// TestStoreGoesAway: while a store can't be reached, /readyz and all requests say so, and that it
// helps to ask again; once it can be reached again, all goes on as if nothing had been.
func TestStoreGoesAway(t *testing.T) {
	store, fail := withFaults(memstore.New())
	a := startOn(t, store)
	const there, without = "200", "503 again after 5, saying why"
	for _, gone := range []bool{false, true, false, true, false} {
		want, err := there, error(nil)
		if gone {
			want, err = without, errAway
		}
		fail(err, "Ready", "Tenants", "Tenant", "Append", "Assign")
		for _, ask := range []struct{ method, path, body string }{
			{http.MethodGet, "/readyz", ""},
			{http.MethodGet, "/api/v1/states", ""},
			{http.MethodGet, "/api/v1/devices", ""},
			{http.MethodGet, "/api/v1/tenants", ""},
			{http.MethodPost, "/api/v1/events", `{"device":"d","state":"NORMAL"}`},
			{http.MethodPost, "/api/v1/readings", `{"device":"d","metrics":{"t":1}}`},
			{http.MethodPut, "/api/v1/devices/d/operator", `{"operator":"Liz"}`},
			{http.MethodPut, "/api/v1/tenants/plant", `{}`},
		} {
			got := exchangeOf(t, ask.method, a.URL()+ask.path, ask.body)
			if got != want && (gone || got != "201") {
				t.Errorf("%s %s, gone: %v: got %s, want %s", ask.method, ask.path, gone, got, want)
			}
		}
		if got := exchangeOf(t, http.MethodGet, a.URL()+"/livez", ""); got != there {
			t.Errorf("/livez, gone: %v: got %s", gone, got)
		}
		if ready := a.readyGauge(); ready == 1 == gone {
			t.Errorf("andon_ready is %v, gone: %v", ready, gone)
		}
	}
}

// TestSweepGoesOn: what can't be swept is logged, and swept next time.
func TestSweepGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		store, fail := withFaults(memstore.New())
		measure(t, store)
		fail(errAway, "Tenants", "Tenant")
		now := func() andon.Time { return andon.TimeOf(time.Now()) }
		logger := slog.New(slog.NewTextHandler(&log, nil))
		a := New(Options{Config: DefaultConfig(), Now: now, Log: logger})
		a.store = store
		a.intake = intake.New(store, intake.Options{Now: now})
		a.tasks.start(a.background()...)
		synctest.Wait()
		if !strings.Contains(log.String(), "no node can be reached") {
			t.Errorf("logged %q", log.String())
		}
		fail(nil, "Tenants", "Tenant")
		time.Sleep(a.Config.Expiry.Every)
		synctest.Wait()
		record, err := store.Tenant(t.Context(), andon.DefaultTenant)
		if err != nil || record.Floor.Readings == 0 {
			t.Errorf("nothing was swept: %v, %v", record.Floor, err)
		}
		a.tasks.stop()
		a.tasks.wait()
	})
}
