package peer_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/bench/peer"
)

// serve starts a peer for a test and returns its address.
func serve(t *testing.T, kind string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	dir := t.TempDir()
	go func() { ended <- peer.Serve(l, kind, dir) }()
	t.Cleanup(func() {
		_ = l.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return "http://" + l.Addr().String()
}

func body(t *testing.T, r *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r.Status, string(text), err)
	}
	return string(text)
}

// TestPeers: each takes events, and the last answers what is measured, newest first.
func TestPeers(t *testing.T) {
	var sent []string
	var text []byte
	for i := range 4 {
		e := andon.Event{
			Device: "line/1", Time: 1_587_729_600_000_000 + andon.Time(i)*60_000_000,
			State: andon.State([]string{"NORMAL", "WARNING1"}[i%2]), Operator: "Liz",
			Attributes: `{"a":1}`,
		}
		if i == 3 {
			e.EscalatedTo, e.Message = "Sara", "hot"
		}
		line := string(bench.AppendEvent(nil, &e))
		sent, text = append(sent, line), append(append(text, line...), '\n')
	}
	for _, kind := range peer.Kinds() {
		url := serve(t, kind)
		r, err := http.Post(url+"/api/v1/events", "application/x-ndjson",
			strings.NewReader(string(text)))
		body(t, r, err)
		r, err = http.Get(url + "/metrics")
		if got := body(t, r, err); kind != "read" && !strings.Contains(got, "written_bytes_total") {
			t.Errorf("%s: metrics %s", kind, got)
		}
		if able := peer.Able(kind); able&(bench.Answers|bench.Echoes) != 0 {
			r, err = http.Get(url + "/api/v1/states")
			if got := body(t, r, err); r.StatusCode != http.StatusOK || got == "" {
				t.Errorf("%s: states %q", kind, got)
			}
		}
		if kind != "keys" {
			continue
		}
		const between = "&from=2020-04-24T12:01:00Z&to=2020-04-24T12:02:00Z"
		for path, places := range map[string][]int{
			"/devices/line%2F1/events?limit=3":                 {3, 2, 1},
			"/devices/line%2F1/events?state=WARNING*&limit=10": {3, 1},
			"/operators/Liz/events?limit=10" + between:         {2, 1},
			"/supervisors/Sara/events?state=WARNING1&limit=10": {3},
			"/devices?state=WARNING1&limit=10":                 {3},
			"/devices?state=NORMAL&limit=10":                   {},
		} {
			var items []string
			for _, i := range places {
				items = append(items, sent[i])
			}
			r, err := http.Get(url + "/api/v1" + path)
			want := fmt.Sprintf("{\"items\":[%s]}\n", strings.Join(slices.Clone(items), ","))
			if got := body(t, r, err); got != want {
				t.Errorf("%s: got %s, want %s", path, got, want)
			}
		}
		r, err = http.Get(url + "/api/v1/devices/line%2F1")
		if got := body(t, r, err); got != sent[3]+"\n" {
			t.Errorf("device: %s", got)
		}
		r, err = http.Get(url + "/api/v1/states")
		if got := body(t, r, err); !strings.Contains(got, `{"state":"WARNING1","count":1}`) {
			t.Errorf("states: %s", got)
		}
	}
}

// TestPeersTakeReadings: each takes readings, and the last answers what is asked of them.
func TestPeersTakeReadings(t *testing.T) {
	var sent []string
	for i := range 3 {
		r := andon.Reading{
			Device: "line/1", Time: 1_587_729_600_000_000 + andon.Time(i)*60_000_000,
			Metrics: andon.Metrics{{Name: "a", Value: float64(i) / 4}, {Name: "b", Value: 1e9}},
		}
		sent = append(sent, string(bench.AppendReading(nil, &r)))
	}
	for _, kind := range peer.Kinds() {
		url := serve(t, kind)
		r, err := http.Post(url+"/api/v1/readings", "application/x-ndjson",
			strings.NewReader(strings.Join(sent, "\n")))
		body(t, r, err)
		if peer.Able(kind)&bench.AnswersReadings == 0 {
			continue
		}
		r, err = http.Get(url + "/api/v1/devices/line%2F1/readings?limit=2")
		if got, want := body(t, r, err), `{"items":[`+sent[2]+","+sent[1]+"]}\n"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		r, err = http.Post(url+"/api/v1/readings/latest", "application/json",
			strings.NewReader(`{"devices":["line/1"]}`))
		if got, want := body(t, r, err), `{"items":[`+sent[2]+"]}\n"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestRaw: Pebble in this process keeps each event, and says what it wrote.
func TestRaw(t *testing.T) {
	db, err := peer.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := peer.NewRaw(db)
	c, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	events := []andon.Event{
		{Device: "a", Time: 1, State: "NORMAL"}, {Device: "a", Time: 2, State: "NORMAL"},
	}
	if err := c.(bench.Keeper).Keep(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	all, err := db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	n := 0
	for more := all.First(); more; more = all.Next() {
		n++
	}
	used, err := s.Usage(t.Context())
	if n != 2 || err != nil || used.Written == 0 || used.Kept == 0 {
		t.Errorf("%d events, used %+v, %v", n, used, err)
	}
}
