package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/andonhq/andon/internal/store/memstore"
)

// manyEvents is a body that is worth it to be read into room that was used before.
func manyEvents(of string, n int) string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"device":"%s-%d","time":"2020-04-24T10:00:00Z",`+
			`"state":"NORMAL","operator":"Op %s","message":"of %s","attributes":{"of":"%s"}}`,
			of, i, of, of, of))
	}
	return strings.Join(lines, "\n")
}

// TestBodiesAreReadIntoRoomThatWasUsed: what a request brought stays what it was while others are
// read into its room, one after the other and side by side; and so does the answer of one that
// rejects some.
func TestBodiesAreReadIntoRoomThatWasUsed(t *testing.T) {
	const senders, requests, events = 4, 5, 40
	w := newWorld(t)
	var all sync.WaitGroup
	for sender := range senders {
		all.Go(func() {
			for request := range requests {
				of := fmt.Sprint(sender, "-", request)
				body := manyEvents(of, events-request) + "\n{\"device\":\"wrong\"}"
				got := w.post("/events", body, "Content-Type: application/x-ndjson")
				got.is(http.StatusOK)
				want := fmt.Sprintf(`{"accepted":%d,"rejected":[{"index":%[1]d,`, events-request)
				if !strings.HasPrefix(got.body, want) {
					t.Errorf("%s: %s, want %s", of, got.body, want)
				}
			}
		})
	}
	all.Wait()
	for sender := range senders {
		for request := range requests {
			of := fmt.Sprint(sender, "-", request)
			got := w.get(fmt.Sprintf("/devices/%s-%d", of, events-request-1))
			got.is(http.StatusOK)
			for _, want := range []string{
				`"operator":"Op ` + of + `"`, `"message":"of ` + of + `"`, `{"of":"` + of + `"}`,
			} {
				if !strings.Contains(got.body, want) {
					t.Errorf("%s: %s is not in %s", of, want, got.body)
				}
			}
		}
	}
}

// TestRequestsLeaveLittleGarbage: the body of a request of many events, its items, and the events
// that it becomes, are in room that was used before. A collection takes that away, and the race
// detector does so at random, so it is enough that one of many requests finds all of it.
func TestRequestsLeaveLittleGarbage(t *testing.T) {
	api, body := benchAPI(forgetful{memstore.New()}), manyEvents("d", 500)
	for range 1000 {
		if made := madeBy(func() { postEvents(t, api, body) }); made < uint64(len(body)/2) {
			return
		}
	}
	t.Error("each request makes garbage of half its body or more")
}

func madeBy(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func postEvents(t *testing.T, to http.Handler, body string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, base+"/events",
		strings.NewReader(body))
	r.Host = "localhost:8080"
	r.Header.Set("Content-Type", "application/x-ndjson")
	w := httptest.NewRecorder()
	to.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
}
