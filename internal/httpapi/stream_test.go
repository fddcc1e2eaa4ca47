package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
)

// stream is a stream of changes as a client sees it.
type stream struct {
	*world
	lines *bufio.Scanner
	close func()
	last  string // id
}

// sentEvent is one event of a stream.
type sentEvent struct {
	event, data string
}

func (w *world) stream(query string, headers ...string) *stream {
	w.Helper()
	r, err := http.NewRequestWithContext(
		w.Context(), http.MethodGet, w.url+base+"/events/stream"+query, nil)
	if err != nil {
		w.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r) //nolint:bodyclose // at the end of the test
	if err != nil {
		w.Fatal(err)
	}
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		w.Fatalf("status %d, content type %q", answer.StatusCode, kind)
	}
	s := &stream{world: w, lines: bufio.NewScanner(answer.Body)}
	s.close = func() { answer.Body.Close() }
	timeout := time.AfterFunc(time.Minute, s.close) // else a test would wait forever
	w.Cleanup(func() {
		timeout.Stop()
		s.close()
	})
	return s
}

// next returns the next event; false: the stream has ended.
func (s *stream) next() (e sentEvent, ok bool) {
	s.Helper()
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch {
		case name == "id":
			s.last = value
		case name == "event":
			e.event = value
		case name == "data":
			e.data = value
		case s.lines.Text() == "" && e.event != "":
			return e, true
		}
	}
	return e, false
}

// begun waits until the stream has said where it begins.
func (s *stream) begun() *stream {
	s.Helper()
	for s.last == "" && s.lines.Scan() {
		if name, value, _ := strings.Cut(s.lines.Text(), ": "); name == "id" {
			s.last = value
		}
	}
	if s.last == "" {
		s.Fatalf("the stream does not say where it is: %v", s.lines.Err())
	}
	return s
}

// shows checks that the next events are of devices in states: "press-1 WARNING1".
func (s *stream) shows(want ...string) {
	s.Helper()
	for _, w := range want {
		e, ok := s.next()
		var d struct{ Device, State string }
		if err := json.Unmarshal([]byte(e.data), &d); !ok || err != nil {
			s.Fatalf("got %+v, %v, want %s", e, err, w)
		}
		got := strings.TrimSpace(d.Device + " " + d.State)
		if e.event != "state" {
			got = e.event + " " + got
		}
		if got != w {
			s.Fatalf("got %s, want %s", got, w)
		}
	}
}

// pairs is a store that answers what a device shows once two are asked for.
type pairs struct {
	andon.Store
	other chan struct{}
}

func (s pairs) Device(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (andon.Device, error) {
	select {
	case s.other <- struct{}{}:
	case <-s.other:
	case <-ctx.Done():
		return andon.Device{}, ctx.Err()
	}
	return s.Store.Device(ctx, id, device)
}

// TestStreamReadsConcurrently: devices that changed together are not read one after another.
func TestStreamReadsConcurrently(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) { o.Store = pairs{o.Store, make(chan struct{})} })
	s := w.stream("").begun()
	w.post("/events", `[{"device":"a","state":"WARNING1"},{"device":"b","state":"WARNING2"}]`).
		is(http.StatusOK)
	s.shows("a WARNING1", "b WARNING2")
}

// TestHeadOfAStream: it ends, and the next request of the connection is answered.
func TestHeadOfAStream(t *testing.T) {
	w := newWorld(t)
	one := &http.Client{
		Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: time.Minute,
	}
	t.Cleanup(one.CloseIdleConnections)
	for _, ask := range []struct{ method, path string }{
		{http.MethodHead, "/events/stream"}, {http.MethodGet, "/states"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), ask.method, w.url+base+ask.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := one.Do(r)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %v, %v", ask.method, ask.path, answer, err)
		}
		answer.Body.Close()
	}
}

func TestStream(t *testing.T) {
	w := newWorld(t)
	w.event("press-1", "2020-04-24T11:00:00Z", "NORMAL")
	s := w.stream("").begun()
	w.post("/events", `{"device":"press-1","time":"2020-04-24T11:05:00Z","state":"WARNING1",`+
		`"message":"overheat","attributes":{"line":"L3"}}`).is(http.StatusOK)
	e, _ := s.next()
	shown := w.get("/devices/press-1").is(http.StatusOK)
	shown.json(e.data)
	if e.event != "state" {
		t.Errorf("event %q", e.event)
	}
	w.event("press-1", "2020-04-24T11:10:00Z", "WARNING1") // nothing new
	w.event("press-1", "2020-04-24T10:00:00Z", "NORMAL")   // late: changes nothing that is shown
	w.put("/devices/press-1/operator", `{"operator":"Liz"}`).is(http.StatusOK)
	e, _ = s.next()
	if !strings.Contains(e.data, `"operator":"Liz"`) {
		t.Errorf("got %+v", e)
	}
	w.event("press-2", "2020-04-24T11:10:00Z", "NORMAL")
	w.do(http.MethodDelete, base+"/devices/press-2", "").is(http.StatusOK)
	s.shows("press-2 NORMAL", "gone press-2")
	w.put("/tenants/default", `{"silent_after":"7m"}`).is(http.StatusOK)
	if e, _ = s.next(); e.event != "tenant" || !strings.Contains(e.data, `"silent_after":"7m"`) {
		t.Errorf("got %+v", e)
	}
}

func TestStreamFilters(t *testing.T) {
	w := newWorld(t)
	w.put("/tenants/plant-2", `{}`).is(http.StatusCreated)
	warnings := w.stream("?state=WARNING*").begun()
	one := w.stream("?device=press-1").begun()
	prefix := w.stream("?device=oven*&state=NORMAL").begun()
	other := w.stream("?tenant=plant-2").begun()
	for i, e := range []string{
		"press-1 NORMAL", "press-10 WARNING1", "oven-1 NORMAL", "press-1 WARNING2",
		"press-1 NORMAL", "oven-2 WARNING1", "oven-1 WARNING3",
	} {
		device, state, _ := strings.Cut(e, " ")
		w.event(device, fmt.Sprintf("2020-04-24T11:00:%02dZ", i), state)
	}
	w.post("/events", `{"device":"far","time":"2020-04-24T11:00:00Z","state":"NORMAL"}`,
		"Andon-Tenant: plant-2").is(http.StatusOK)
	// A change comes that enters one of the states, or leaves it.
	warnings.shows("press-10 WARNING1", "press-1 WARNING2", "press-1 NORMAL", "oven-2 WARNING1",
		"oven-1 WARNING3")
	one.shows("press-1 NORMAL", "press-1 WARNING2", "press-1 NORMAL")
	prefix.shows("oven-1 NORMAL", "oven-1 WARNING3")
	other.shows("far NORMAL")
}

// Silence and its end are sent, of the devices and states that a stream is of.
func TestStreamTellsSilence(t *testing.T) {
	w := newWorld(t)
	w.event("a", "2020-04-24T11:00:00Z", "NORMAL")
	w.setClock("2020-04-24T12:10:00Z")
	w.event("b", "2020-04-24T11:00:00Z", "WARNING1")
	w.event("c", "2020-04-24T11:00:00Z", "NORMAL")
	w.setClock("2020-04-24T12:20:00Z") // a is silent
	all, some := w.stream("").begun(), w.stream("?state=WARNING*").begun()
	w.event("a", "2020-04-24T11:00:00Z", "NORMAL") // the same again: no change of what it shows
	w.setClock("2020-04-24T12:30:00Z")             // b and c are silent
	got := map[string]bool{}
	for len(got) < 3 {
		e, ok := all.next()
		var changed struct{ Silent, Heard []string }
		if err := json.Unmarshal([]byte(e.data), &changed); !ok || err != nil ||
			e.event != "silence" {
			t.Fatalf("got %+v, %v", e, err)
		}
		for _, d := range changed.Silent {
			got["-"+d] = true
		}
		for _, d := range changed.Heard {
			got["+"+d] = true
		}
	}
	if want := map[string]bool{"+a": true, "-b": true, "-c": true}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if e, _ := some.next(); e.data != `{"silent":["b"],"heard":[]}` {
		t.Errorf("got %+v", e)
	}
}

func TestStreamResumes(t *testing.T) {
	w := newWorld(t)
	s := w.stream("").begun()
	w.event("a", "2020-04-24T11:00:00Z", "NORMAL")
	s.shows("a NORMAL")
	s.close()
	w.event("a", "2020-04-24T11:00:01Z", "WARNING1")
	w.event("b", "2020-04-24T11:00:02Z", "NORMAL")
	w.stream("", "Last-Event-ID: "+s.last).shows("a WARNING1", "b NORMAL")
	w.stream("?after="+s.last).shows("a WARNING1", "b NORMAL")

	// A position of another feed: load again, and go on.
	lost := w.stream("", "Last-Event-ID: 1-1")
	if e, _ := lost.next(); e.event != "reset" || !strings.Contains(e.data, "/fleet") {
		t.Errorf("got %+v", e)
	}
	lost.begun()
	w.event("b", "2020-04-24T11:00:03Z", "WARNING1")
	lost.shows("b WARNING1")
}

func TestStreamsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	w.get("/events/stream?tenant=absent").fails(http.StatusNotFound, "absent")
	w.get("/events/stream?after=x").fails(http.StatusBadRequest, "query.after", "position")
	w.get("/events/stream", "Last-Event-ID: 1-2-3-4").fails(
		http.StatusBadRequest, "header.Last-Event-ID")
	w.get("/devices?tenant=default").fails(http.StatusBadRequest, "query.tenant")
}

// A stream ends in order when the program stops.
func TestStreamEnds(t *testing.T) {
	w := newWorld(t)
	s := w.stream("").begun()
	w.api.EndLong()
	if e, ok := s.next(); ok || s.lines.Err() != nil {
		t.Errorf("got %+v, %v", e, s.lines.Err())
	}
}

// A stream ends in order with its tenant.
func TestStreamOfADeletedTenantEnds(t *testing.T) {
	w := newWorld(t)
	w.put("/tenants/plant", "{}").is(http.StatusCreated)
	s := w.stream("?tenant=plant").begun()
	w.do(http.MethodDelete, base+"/tenants/plant", "").is(http.StatusNoContent)
	if e, ok := s.next(); ok || s.lines.Err() != nil {
		t.Errorf("got %+v, %v", e, s.lines.Err())
	}
}

func TestFleet(t *testing.T) {
	w := newWorld(t)
	empty := w.get("/fleet").is(http.StatusOK)
	if !strings.Contains(empty.body, `"devices":[],"silent":[]}`) {
		t.Errorf("got %s", empty.body)
	}
	w.event("b", "2020-04-24T11:59:00Z", "WARNING1")
	w.event(`"\ü`, "2020-04-24T11:59:01.5Z", "odd")
	w.event("a", "2020-04-24T11:59:02Z", "NORMAL")
	w.setClock("2020-04-24T13:00:00Z")
	w.event("a", "2020-04-24T13:00:00Z", "NORMAL")
	var got struct {
		Position string
		States   []andon.StateDef
		Devices  [][]any
		Silent   []int
	}
	answer := w.get("/fleet").is(http.StatusOK)
	if err := json.Unmarshal([]byte(answer.body), &got); err != nil {
		t.Fatal(answer.body, err)
	}
	var rows []string
	for i, d := range got.Devices {
		state := got.States[int(d[1].(float64))].Name
		since := time.Unix(int64(d[2].(float64)), 0).UTC().Format(time.TimeOnly)
		rows = append(rows, fmt.Sprint(i, d[0], " ", state, " ", since))
	}
	want := `0"\ü odd 11:59:01;1a NORMAL 11:59:02;2b WARNING1 11:59:00`
	if text := strings.Join(rows, ";"); text != want || fmt.Sprint(got.Silent) != "[0 2]" {
		t.Errorf("got %s, silent %v; want %s", text, got.Silent, want)
	}
	w.event("c", "2020-04-24T13:00:01Z", "NORMAL")
	w.stream("?after=" + got.Position).shows("c NORMAL")
	w.get("/fleet", "Andon-Tenant: absent").fails(http.StatusNotFound, "absent")
}

func TestStreamHeartbeat(t *testing.T) {
	w := newWorld(t)
	for _, wrong := range []string{"0s", "16s", "x", "-1s"} {
		w.get("/events/stream?heartbeat="+wrong).fails(400, `1s to 15s, not \"`+wrong)
	}
	begun := time.Now()
	s := w.stream("?heartbeat=1s").begun()
	s.last = ""
	s.begun() // the second comment
	if took := time.Since(begun); took >= 15*time.Second {
		t.Errorf("a stream with a heartbeat of 1s was silent for %v, as one without", took)
	}
}

// TestStreamHeartbeatWhileOthersChange: what is left out of a stream does not keep it silent.
func TestStreamHeartbeatWhileOthersChange(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	s := w.stream("?device=none&heartbeat=1s").begun()
	heard := make(chan bool, 1)
	go func() { // the second comment
		is := false
		for !is && s.lines.Scan() {
			is = strings.HasPrefix(s.lines.Text(), "id: ")
		}
		heard <- is
	}()
	for i := 0; ; i++ {
		select {
		case is := <-heard:
			if !is {
				t.Error("the stream ended")
			}
			return
		case <-ctx.Done():
			t.Fatal("a stream of one device is silent while others change")
		case <-time.After(200 * time.Millisecond):
			w.event("other", "", []string{"NORMAL", "WARNING1"}[i%2])
		}
	}
}
