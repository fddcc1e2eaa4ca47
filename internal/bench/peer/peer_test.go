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
