package app

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
)

// TestStoreMetrics: /metrics has how long the calls of the store took, which of them failed and
// how, and what its engine says of itself until the store is closed.
func TestStoreMetrics(t *testing.T) {
	c := DefaultConfig()
	c.Listen, c.Data = "127.0.0.1:0", t.TempDir()
	a := New(Options{
		Config: c, Log: slog.New(slog.DiscardHandler),
		Now: func() andon.Time { return andon.TimeOf(time.Now()) },
	})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	api := a.URL() + "/api/v1"
	exchangeOf(t, http.MethodPost, api+"/events", `{"device":"d","state":"NORMAL"}`)
	exchangeOf(t, http.MethodGet, api+"/devices/none", "")
	text := scrape(t, a.URL())
	for _, want := range []string{
		"\nandon_store_call_duration_seconds_count{method=\"Append\",store=\"pebble\"} 1\n",
		"\nandon_store_errors_total{kind=\"not_found\",method=\"Device\",store=\"pebble\"} 1\n",
		"\n# TYPE andon_pebble_compactions_total counter\n",
		"\n# TYPE andon_pebble_memtables gauge\nandon_pebble_memtables 1\n",
		"\nandon_pebble_level0_files ",
		"\nandon_pebble_cache_hits_total ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\nandon_pebble_wal_written_bytes_total 0\n") {
		t.Error("an event was written in no byte of the log")
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if found := gather(t, engine("pebble", a.store)); len(found) > 0 {
		t.Errorf("of a store that is closed: %v", found)
	}
}

// TestFeedGauges: what is kept of a feed is shown only where the feed outlives the process. To ask
// would begin to keep it elsewhere.
func TestFeedGauges(t *testing.T) {
	for store, want := range map[string]bool{"pebble": true, "memory": false} {
		c := DefaultConfig()
		c.Listen, c.Store, c.Data = "127.0.0.1:0", store, t.TempDir()
		a := New(Options{
			Config: c, Log: slog.New(slog.DiscardHandler),
			Now: func() andon.Time { return andon.TimeOf(time.Now()) },
		})
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		text := scrape(t, a.URL())
		if got := strings.Contains(text, "\nandon_changes_newest_position "); got != want {
			t.Errorf("%s: shown is %v", store, got)
		}
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// scrape returns what /metrics has.
func scrape(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
