package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
)

// hoarder is a store that keeps all that it is passed, as it is passed, next to copies of it.
type hoarder struct {
	andon.Store
	mu       sync.Mutex
	events   [][]andon.Event
	readings [][]andon.Reading
	copies   []string
}

func (h *hoarder) Append(
	ctx context.Context, id andon.TenantID, at andon.Time, events []andon.Event,
) error {
	h.mu.Lock()
	h.events = append(h.events, events)
	h.copies = append(h.copies, fmt.Sprintf("%+v", events))
	h.mu.Unlock()
	return h.Store.Append(ctx, id, at, events)
}

func (h *hoarder) AppendReadings(
	ctx context.Context, id andon.TenantID, at andon.Time, readings []andon.Reading,
) error {
	h.mu.Lock()
	h.readings = append(h.readings, readings)
	h.copies = append(h.copies, fmt.Sprintf("%+v", readings))
	h.mu.Unlock()
	return h.Store.AppendReadings(ctx, id, at, readings)
}

// manyEvents is a body of events that name what they are of.
func manyEvents(of string, n int) string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"device":"%s-%d","time":"2020-04-24T10:00:00Z",`+
			`"state":"NORMAL","operator":"Op %s","message":"of %s","attributes":{"of":"%s"}}`,
			of, i, of, of, of))
	}
	return strings.Join(lines, "\n")
}

// TestNothingOfARequestIsWrittenAgain: what a store was passed stays as it was, for as long as it
// keeps it: bodies of any size, compressed ones, and those of which some entries are rejected, one
// after the other and concurrently.
func TestNothingOfARequestIsWrittenAgain(t *testing.T) {
	h := &hoarder{}
	w := newWorld(t, func(o *httpapi.Options) {
		h.Store, o.Store = o.Store, h
		o.Intake = newIntake(h, o.Now)
	})
	const senders, requests, events = 4, 6, 60
	ndjson := "Content-Type: application/x-ndjson"
	var all sync.WaitGroup
	for sender := range senders {
		all.Go(func() {
			for request := range requests {
				of := fmt.Sprint(sender, "-", request)
				body := manyEvents(of, events-request) + "\n{\"device\":\"wrong\"}"
				got := w.post("/events", body, ndjson)
				got.is(http.StatusOK)
				want := fmt.Sprintf(`{"accepted":%d,"rejected":[{"index":%[1]d,`, events-request)
				if !strings.HasPrefix(got.body, want) {
					t.Errorf("%s: %s, want %s", of, got.body, want)
				}
				w.post("/events", gzipped(manyEvents("z"+of, events)), ndjson,
					"Content-Encoding: gzip").is(http.StatusOK)
				w.post("/events", manyEvents("one"+of, 1), ndjson).is(http.StatusOK)
				w.post("/readings", fmt.Sprintf(`{"device":"r%s","time":"2020-04-24T10:00:00Z",`+
					`"metrics":{"m%[1]s":1},"metadata":{"of":"%[1]s%s"}}`, of,
					strings.Repeat("x", 5000))).is(http.StatusOK)
			}
		})
	}
	all.Wait()
	var kept []string
	for _, e := range h.events {
		kept = append(kept, fmt.Sprintf("%+v", e))
	}
	for _, r := range h.readings {
		kept = append(kept, fmt.Sprintf("%+v", r))
	}
	slices.Sort(kept)
	slices.Sort(h.copies)
	if diff := cmp.Diff(h.copies, kept); diff != "" {
		t.Error(diff)
	}
}
