package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/store/shared"
)

// since is a page of what arrived.
type since struct {
	Items []struct {
		Message  string
		Position string
	}
	Next, Position string
}

func (a answer) since() (s since) {
	a.t.Helper()
	a.is(http.StatusOK)
	if err := json.Unmarshal([]byte(a.body), &s); err != nil {
		a.t.Fatalf("%s: %v", a.body, err)
	}
	return s
}

func (s since) messages() (all []string) {
	for _, i := range s.Items {
		all = append(all, i.Message)
	}
	return all
}

// arrive sends an event of a device some minutes before noon.
func (w *world) arrive(device string, minutes int, state, message string) {
	w.Helper()
	w.post("/events", fmt.Sprintf(`{"device":%q,"time":"2020-04-24T11:%02d:00Z","state":%q,`+
		`"message":%q}`, device, 59-minutes, state, message)).is(http.StatusOK)
}

func TestEventsSince(t *testing.T) {
	w := newWorld(t)
	var fleet struct{ Position string }
	if err := json.Unmarshal([]byte(w.get("/fleet").body), &fleet); err != nil {
		t.Fatal(err)
	}
	none := w.get("/events?after=" + fleet.Position).since()
	if len(none.Items) > 0 || none.Next != "" || none.Position == "" {
		t.Errorf("before anything came: %+v", none)
	}
	w.arrive("a", 1, "NORMAL", "0")
	w.arrive("b", 9, "WARNING1", "1") // late
	w.arrive("a", 1, "NORMAL", "2")   // once more, with another text
	w.arrive("c", 5, "NORMAL", "3")
	for _, after := range []string{fleet.Position, none.Position, "oldest"} {
		if got := w.get("/events?order=asc&after=" + after).since().messages(); !slices.Equal(got,
			[]string{"0", "1", "2", "3"}) {
			t.Errorf("after %s: %q", after, got)
		}
	}
	var all []string
	var last since
	for next := "&limit=3"; next != "" && len(all) < 9; {
		last = w.get("/events?after=" + fleet.Position + next).since()
		all = append(all, last.messages()...)
		for i, item := range last.Items {
			rest := w.get("/events?after=" + item.Position).since().messages()
			if want := 4 - len(all) + len(last.Items) - i - 1; len(rest) != want {
				t.Errorf("after %q there are %q", item.Message, rest)
			}
		}
		next = ""
		if last.Next != "" {
			next = "&limit=2&cursor=" + last.Next
		}
	}
	if strings.Join(all, "") != "0123" {
		t.Errorf("page by page: %q", all)
	}
	if got := w.get("/events?state=WARNING*&after=oldest").since().messages(); len(got) != 1 {
		t.Errorf("of a state: %q", got)
	}
	if got := w.get("/events?from=2020-04-24T11:54:00Z&after=oldest").since().messages(); strings.
		Join(got, "") != "023" {
		t.Errorf("of a time: %q", got)
	}
	now := w.get("/events?after=newest").since()
	w.arrive("d", 3, "NORMAL", "4")
	for _, after := range []string{now.Position, last.Position} {
		if got := w.get("/events?after=" + after).since(); len(got.Items) != 1 ||
			got.Items[0].Message != "4" {
			t.Errorf("after what was read: %+v", got)
		}
	}
}

// TestSerialEventsSinceByLines: an answer is whole, and says where to go on.
func TestSerialEventsSinceByLines(t *testing.T) {
	w := newWorld(t)
	begin := w.get("/events?after=newest").since().Position
	empty := w.get("/events?after="+begin, asLines)
	if got := empty.lines(); len(got) != 0 || empty.header.Get("Andon-Position") == "" {
		t.Errorf("nothing came: %q, %q", got, empty.header)
	}
	const n = 20_000
	w.fillFleet(n) // in the order of devices
	whole := w.get("/events?after="+begin, asLines)
	got := whole.lines()
	slices.Sort(got)
	if got = slices.Compact(got); len(got) != n {
		t.Errorf("%d lines", len(got))
	}
	w.arrive("late", 50, "NORMAL", "late")
	at := whole.header.Get("Andon-Position")
	for _, after := range []string{at, empty.header.Get("Andon-Position")} {
		got := w.get("/events?after="+after, asLines).lines()
		if len(got) == 0 || got[len(got)-1] != "late" || after == at && len(got) != 1 {
			t.Errorf("after %s there are %d lines", after, len(got))
		}
	}
}

// byArrival is a store that keeps no order of arrival, or no longer what is asked for.
type byArrival struct {
	andon.Store
	gone bool
}

func (s *byArrival) Arrivals(
	ctx context.Context, id andon.TenantID, q andon.ArrivalQuery,
) (andon.Arrived, error) {
	if s.gone {
		return s.Store.Arrivals(ctx, id, q)
	}
	return shared.DeviceLog{}.Arrivals(ctx, id, q)
}

func TestEventsSinceRefused(t *testing.T) {
	s := &byArrival{gone: true}
	w := newWorld(t, func(o *httpapi.Options) { s.Store = o.Store; o.Store = s })
	for _, form := range []string{asLines, "Accept: application/json"} {
		w.get("/events?after=no", form).fails(http.StatusBadRequest, "query.after", "no position")
		w.get("/events?after=oldest&order=desc", form).
			fails(http.StatusBadRequest, "query.order", "order of their arrival")
		w.get("/events?after=1-1", form).
			fails(http.StatusGone, "query.after", "the oldest position that is kept is ")
		w.get("/events?after=oldest", form, "Andon-Tenant: absent").
			fails(http.StatusNotFound, "absent")
	}
	w.get("/events?after=oldest&limit=5", asLines).fails(http.StatusBadRequest, "query.limit")
	s.gone = false
	w.get("/events?after=oldest").fails(http.StatusNotImplemented, "order in which entries arrive")
}

// TestStreamGoesOnFromArrivals: no change is missed after a position between two entries.
func TestStreamGoesOnFromArrivals(t *testing.T) {
	w := newWorld(t)
	begin := w.get("/events?after=newest").since().Position
	w.post("/events", `[{"device":"a","time":"2020-04-24T11:00:00Z","state":"WARNING1"},`+
		`{"device":"b","time":"2020-04-24T11:00:00Z","state":"WARNING1"}]`).is(http.StatusOK)
	first := w.get("/events?limit=1&after=" + begin).since()
	if len(first.Items) != 1 {
		t.Fatalf("%+v", first)
	}
	w.stream("", "Last-Event-ID: "+first.Position).shows("a WARNING1", "b WARNING1")
	w.stream("?after="+first.Position).shows("a WARNING1", "b WARNING1")
}

// TestSerialLongPagesOfArrivals: a page, or a part of lines, that ends because its items are long
// goes on with the next of them.
func TestSerialLongPagesOfArrivals(t *testing.T) {
	const events = 120
	w := newWorld(t)
	text := strings.Repeat("x", andon.MaxJSONBytes-20)
	for n := range events {
		w.post("/events", fmt.Sprintf(`{"device":"d","time":"2020-04-24T11:00:00.%03dZ",`+
			`"state":"NORMAL","message":"%d","attributes":{"a":%q}}`, n, n, text)).is(http.StatusOK)
	}
	var pages int
	var got []string
	for next := ""; pages < events; pages++ {
		p := w.get("/events?limit=1000&after=oldest" + next).since()
		got = append(got, p.messages()...)
		if next = "&cursor=" + p.Next; p.Next == "" {
			break
		}
	}
	var want []string
	for n := range events {
		want = append(want, fmt.Sprint(n))
	}
	if !slices.Equal(got, want) || pages == 0 {
		t.Errorf("after %d pages: %q", pages, got)
	}
	lines := w.get("/events?after=oldest", "Accept: application/x-ndjson").is(http.StatusOK).body
	got = nil
	for line := range strings.Lines(lines) {
		var e struct{ Message string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Message)
	}
	if !slices.Equal(got, want) {
		t.Errorf("as lines: %q", got)
	}
}
