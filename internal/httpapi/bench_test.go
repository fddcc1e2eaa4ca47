package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
)

// forgetful is a store that keeps no event.
type forgetful struct{ andon.Store }

func (forgetful) Append(context.Context, andon.TenantID, andon.Time, []andon.Event) error {
	return nil
}

func thousandEvents(format string) string {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, format, i%100, i/100)
	}
	return b.String()
}

// BenchmarkPostEvents sends 1,000 events in a request to a store that keeps none, compared with the
// time that decoding alone takes.
func BenchmarkPostEvents(b *testing.B) {
	body := thousandEvents(`{"device":"press-%03d","time":"2020-04-24T10:%02d:00.123Z",` +
		`"state":"WARNING1","operator":"Liz","message":"overheat at the main bearing",` +
		`"attributes":{"line":"L3"}}` + "\n")
	now := func() andon.Time { return 1_587_729_600_000_000 }
	store := forgetful{memstore.New()}
	api := httpapi.New(httpapi.Options{
		Store: store, Now: now, Intake: intake.New(store, intake.Options{Now: now}),
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			batch, err := jsonfeed.Events(body, jsonfeed.NDJSON, andon.Milliseconds, nil)
			if err != nil || len(batch.Items) != 1000 {
				b.Fatal(err, batch.Rejected)
			}
		}
		b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
	b.Run("handler", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, base+"/events",
				strings.NewReader(body))
			r.Header.Set("Content-Type", "application/x-ndjson")
			recorder := httptest.NewRecorder()
			api.ServeHTTP(recorder, r)
			if recorder.Code != http.StatusOK {
				b.Fatal(recorder.Body)
			}
		}
		b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
}

// BenchmarkPostEvent sends one event in a request, as a device does, compared with a handler that
// only reads the body. The store keeps none.
func BenchmarkPostEvent(b *testing.B) {
	const body = `{"device":"line-07/press-0123","time":"2020-04-24T10:07:00.123Z",` +
		`"state":"NORMAL","operator":"Liz","attributes":{"line":"L3","temperature":71.5}}`
	b.Run("ceiling", func(b *testing.B) {
		repeat(b, http.MethodPost, "/events", body, http.HandlerFunc(readOnly))
	})
	b.Run("handler", func(b *testing.B) {
		repeat(b, http.MethodPost, "/events", body, benchAPI(forgetful{memstore.New()}))
	})
}

// BenchmarkListEvents reads the last 100 events of a device from memory.
func BenchmarkListEvents(b *testing.B) {
	store := memstore.New()
	events := make([]andon.Event, 100)
	for i := range events {
		events[i] = andon.Event{
			Device: "press-7", Time: andon.Time(1_587_729_600_123_000 + i), State: "WARNING1",
			Operator: "Liz", Message: "overheat at the main bearing",
			Attributes: `{"line": "L3", "temperature": 71.5}`,
		}
	}
	err := store.Append(b.Context(), andon.DefaultTenant, 1_587_729_600_000_000, events)
	if err != nil {
		b.Fatal(err)
	}
	comparedWithSending(b, store, "/devices/press-7/events")
}

// shown is a store that has found what devices show already.
type shown struct {
	andon.Store
	devices []andon.Device
}

func (s shown) Device(context.Context, andon.TenantID, andon.DeviceID) (andon.Device, error) {
	return s.devices[0], nil
}

func (s shown) Devices(
	context.Context, andon.TenantID, andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	return func(yield func(andon.Device, error) bool) {
		for _, d := range s.devices {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func (s shown) Counts(
	context.Context, andon.TenantID, andon.Time,
) ([]andon.StateCount, error) {
	return []andon.StateCount{{State: "NORMAL", Count: 95}, {State: "WARNING1", Count: 5}}, nil
}

// BenchmarkShown asks what a device shows, for 100 devices in a state, and for the counts.
func BenchmarkShown(b *testing.B) {
	devices := make([]andon.Device, 100)
	for i := range devices {
		const at = 1_587_729_600_123_000
		devices[i] = andon.Device{
			ID: "line-07/press-7", State: "WARNING1", Severity: 20, Since: at, Time: at + 1,
			Received: at + 2, IncidentSince: at, Operator: "Liz", Message: "overheat",
			Attributes: `{"line":"L3","temperature":71.5}`,
		}
	}
	for name, path := range map[string]string{
		"device": "/devices/line-07%2Fpress-7", "devices": "/devices?state=WARNING1",
		"counts": "/states",
	} {
		b.Run(name, func(b *testing.B) {
			comparedWithSending(b, shown{memstore.New(), devices}, path)
		})
	}
}

// comparedWithSending measures a path, compared with sending an answer of the same length that is
// there already.
func comparedWithSending(b *testing.B, store andon.Store, path string) {
	api := benchAPI(store)
	recorder := httptest.NewRecorder()
	made := httptest.NewRequestWithContext(b.Context(), http.MethodGet, base+path, nil)
	made.Host = "localhost"
	api.ServeHTTP(recorder, made)
	if recorder.Code != http.StatusOK {
		b.Fatal(recorder.Body)
	}
	b.Run("ceiling", func(b *testing.B) {
		there := func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(recorder.Body.Bytes())
		}
		repeat(b, http.MethodGet, path, "", http.HandlerFunc(there))
	})
	b.Run("handler", func(b *testing.B) { repeat(b, http.MethodGet, path, "", api) })
}

// readOnly reads the body and answers as if it had kept an event.
func readOnly(w http.ResponseWriter, r *http.Request) {
	text := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, text); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"accepted":1,"rejected":[]}`+"\n")
}

func benchAPI(store andon.Store) http.Handler {
	now := func() andon.Time { return 1_587_729_600_000_000 }
	return httpapi.New(httpapi.Options{
		Store: store, Now: now, Intake: intake.New(store, intake.Options{Now: now}), Loopback: true,
	})
}

// repeat sends the same request again and again. What a server makes new for each request is made
// new here; what it keeps with a connection is not.
func repeat(b *testing.B, method, path, body string, to http.Handler) {
	made := httptest.NewRequestWithContext(b.Context(), method, base+path, nil)
	made.Host, made.ContentLength = "localhost:8080", int64(len(body))
	b.ReportAllocs()
	for b.Loop() {
		r, w := *made, unkept{header: http.Header{}}
		r.Body = io.NopCloser(strings.NewReader(body))
		if to.ServeHTTP(&w, &r); w.status != 0 && w.status != http.StatusOK {
			b.Fatal(w.status)
		}
	}
}

// unkept is a ResponseWriter that keeps nothing.
type unkept struct {
	header http.Header
	status int
}

func (a *unkept) Header() http.Header         { return a.header }
func (a *unkept) WriteHeader(status int)      { a.status = status }
func (a *unkept) Write(p []byte) (int, error) { return len(p), nil }

func (*unkept) SetReadDeadline(time.Time) error  { return nil }
func (*unkept) SetWriteDeadline(time.Time) error { return nil }
