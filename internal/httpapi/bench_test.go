package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

// BenchmarkPostEvents sends 1,000 events in a request to a store that keeps none, beside the time
// that decoding alone takes.
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
