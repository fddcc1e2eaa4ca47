package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
)

// TestTurns: where one share of the work is taken up, its requests are refused once they have
// waited, and those of the other shares are not.
func TestTurns(t *testing.T) {
	const reading, writing, importing = "GET /devices", "POST /events", "POST /events, large"
	for _, taken := range []string{reading, writing, importing} {
		t.Run(taken, func(t *testing.T) {
			var in *intake.Intake
			w := newWorld(t, func(o *httpapi.Options) {
				o.Intake = intake.New(o.Store, intake.Options{
					Now: o.Now, MaxReads: 1, MaxRequests: 1, MaxWait: time.Millisecond,
				})
				in = o.Intake
			})
			share := map[string]*intake.Share{
				reading: in.Reads, writing: in.Writes, importing: in.Imports,
			}[taken]
			turn, err := share.Enter(t.Context(), 1<<40)
			if err != nil {
				t.Fatal(err)
			}
			for name, ask := range map[string]func() answer{
				reading:   func() answer { return w.get("/devices") },
				writing:   func() answer { return w.post("/events", oneEvent) },
				importing: func() answer { return w.post("/events", large()) },
				"latest readings": func() answer {
					return w.post("/readings/latest", `{"devices":["d"]}`)
				},
				"retire": func() answer { return w.do("DELETE", base+"/devices/none", "") },
			} {
				got := ask()
				refused := name == taken || taken == reading && name == "latest readings" ||
					taken == writing && name == "retire"
				if refused {
					got.fails(http.StatusTooManyRequests, share.Name)
				} else if got.status == http.StatusTooManyRequests {
					t.Errorf("%s: %s", name, got.body)
				}
				if refused && got.header.Get("Retry-After") != "1" {
					t.Errorf("%s: %v", name, got.header)
				}
			}
			w.do(http.MethodGet, "/readyz", "").is(http.StatusOK)
			text := w.do(http.MethodGet, "/metrics", "").is(http.StatusOK).body
			for _, line := range []string{
				`andon_refused_total{lack="` + share.Name + `"} `,
				`andon_slot_wait_seconds_count{share="` + share.Name + `"} `,
			} {
				if !strings.Contains(text, line) {
					t.Errorf("no %s", line)
				}
			}
			turn.Leave()
			w.get("/devices").is(http.StatusOK)
			w.post("/events", oneEvent).is(http.StatusOK)
			w.post("/events", large()).is(http.StatusOK)
		})
	}
}

// large is one event in the body of an import.
func large() string { return strings.Repeat(" ", intake.LargeRequest) + oneEvent }

// TestTurnEndsBeforeTheAnswer: a client that does not read its answer is not worked at any more.
func TestTurnEndsBeforeTheAnswer(t *testing.T) {
	w, s := newGenerous(t, func(o *httpapi.Options) {
		o.Intake = intake.New(o.Store, intake.Options{
			Now: o.Now, MaxReads: 1, MaxWait: time.Minute,
		})
	})
	statuses, letGo := w.readers(5, http.MethodGet, "/devices/d/events?limit=1000", "")
	defer letGo()
	if statuses[http.StatusOK] != 5 {
		t.Errorf("of five slow readers %v were served", statuses)
	}
	s.size = 10
	w.get("/devices/d/events").is(http.StatusOK)
}
