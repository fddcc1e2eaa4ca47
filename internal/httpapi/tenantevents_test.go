package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/store/shared"
)

const asLines = "Accept: application/x-ndjson"

// fillFleet keeps n events of seven devices, a second apart, all warnings but every tenth.
func (w *world) fillFleet(n int) {
	w.Helper()
	var body strings.Builder
	first := andon.Time(w.now.Load()).Add(-andon.Duration(n) * 1_000_000)
	for i := range n {
		state := "WARNING1"
		if i%10 == 0 {
			state = "NORMAL"
		}
		fmt.Fprintf(&body, `{"device":"d%d","time":%q,"state":%q,"message":"%d"}`+"\n",
			i%7, first.Add(andon.Duration(i)*1_000_000), state, i)
	}
	w.post("/events", body.String(), "Content-Type: application/x-ndjson").is(http.StatusOK)
}

// lines returns the messages of an answer line by line.
func (a answer) lines() (all []string) {
	a.t.Helper()
	a.is(http.StatusOK)
	if kind := a.header.Get("Content-Type"); kind != "application/x-ndjson" {
		a.t.Fatalf("content type %q", kind)
	}
	for line := range strings.Lines(a.body) {
		var e struct{ Message string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			a.t.Fatalf("%q: %v", line, err)
		}
		all = append(all, e.Message)
	}
	return all
}

func TestEventsOfAllDevices(t *testing.T) {
	w := newWorld(t)
	w.get("/events").equals(`{"items":[]}`)
	w.fillFleet(25)
	var all []string
	for path := "/events?limit=10"; path != ""; {
		p := w.get(path).page()
		all, path = append(all, p.column("message")...), ""
		if p.Next != "" {
			path = "/events?limit=10&cursor=" + p.Next
		}
	}
	var want []string
	for i := range 25 {
		want = append(want, fmt.Sprint(24-i))
	}
	if !slices.Equal(all, want) {
		t.Errorf("got %q", all)
	}
	for query, want := range map[string]string{
		"?state=NORMAL":              "20 10 0",
		"?state=NORMAL&order=asc":    "0 10 20",
		"?from=2020-04-24T11:59:58Z": "24 23",
		"?to=2020-04-24T11:59:36Z":   "1 0",
	} {
		if got := strings.Join(w.get("/events"+query).page().column("message"), " "); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		if got := strings.Join(w.get("/events"+query, asLines).lines(), " "); got != want {
			t.Errorf("%s by lines: %s, want %s", query, got, want)
		}
	}
	w.get("/events", "Andon-Tenant: absent").fails(http.StatusNotFound, "absent")
	w.get("/events", asLines, "Andon-Tenant: absent").fails(http.StatusNotFound, "absent")
	w.get("/events?limit=5&cursor=x", asLines).
		fails(http.StatusBadRequest, "query.limit", "query.cursor")
	if got := w.get("/events?from=2021-01-01", asLines).lines(); len(got) != 0 {
		t.Errorf("of another time: %q", got)
	}
}

// TestSerialLongAnswerByLines: it is made of several parts, which join without a gap.
func TestSerialLongAnswerByLines(t *testing.T) {
	w := newWorld(t)
	const n = 20_000
	w.fillFleet(n)
	for _, order := range []string{"desc", "asc"} {
		got := w.get("/events?order="+order, asLines).lines()
		if order == "desc" {
			slices.Reverse(got)
		}
		for i := range got {
			if got[i] != fmt.Sprint(i) {
				t.Fatalf("%s: line %d is %s", order, i, got[i])
			}
		}
		if len(got) != n {
			t.Errorf("%s: %d lines", order, len(got))
		}
	}
	w.put("/devices/d0/group", `{"group":"g"}`).is(http.StatusOK)
	const ofGroup = (n + 6) / 7
	if got := w.get("/events?group=g", asLines).lines(); len(got) != ofGroup {
		t.Errorf("%d lines of a group, want %d", len(got), ofGroup)
	}
}

// byDevice is a store that can't list the entries of all devices, or breaks off after some.
type byDevice struct {
	andon.Store
	after int // entries; 0: it can't at all
}

func (s *byDevice) TenantEvents(
	ctx context.Context, id andon.TenantID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	if s.after == 0 {
		return shared.DeviceLog{}.TenantEvents(ctx, id, q)
	}
	return func(yield func(andon.Event, error) bool) {
		for e, err := range s.Store.TenantEvents(ctx, id, q) {
			if s.after--; s.after == 0 {
				err = andon.Errorf(andon.Unavailable, "the store is away")
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func TestEventsOfAllDevicesUnserved(t *testing.T) {
	s := &byDevice{}
	w := newWorld(t, func(o *httpapi.Options) { s.Store = o.Store; o.Store = s })
	for _, form := range []string{asLines, "Accept: application/json"} {
		w.get("/events", form).fails(http.StatusNotImplemented, "of a device, an operator")
	}
	w.fillFleet(10_000)
	s.after = 5 // before anything is sent
	w.get("/events", asLines).fails(http.StatusServiceUnavailable, "away")
	s.after = 9000 // an answer that is broken off must not look whole
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+base+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/x-ndjson")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if n, err := io.Copy(io.Discard, answer.Body); err == nil || n == 0 {
		t.Errorf("%d bytes, then %v", n, err)
	}
}
