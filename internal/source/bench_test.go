package source_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/source"
	"github.com/andonhq/andon/internal/store/memstore"
)

// BenchmarkWrite writes a thousand messages of one event each; next to it intake alone takes the
// same events. What is between them is mapping, and what a source adds.
func BenchmarkWrite(b *testing.B) {
	const n = 1000
	var all []mapping.Message
	var items []ingest.Item[andon.Event]
	for i := range n {
		e := andon.Event{
			Device: andon.DeviceID(fmt.Sprint("press-", i)), Time: now, State: "WARNING1",
			Message: "overheat at the bearing",
		}
		items = append(items, ingest.Item[andon.Event]{Value: e, Index: i})
		all = append(all, mapping.Message{Place: fmt.Sprint(i), Value: fmt.Appendf(nil,
			`{"device":%q,"time":%q,"state":%q,"message":%q}`, e.Device, e.Time, e.State, e.Message,
		)})
	}
	store := memstore.New()
	in := intake.New(store, intake.Options{Now: clock})
	w := source.New(source.Options{
		Name: "line-3", Tenant: andon.DefaultTenant, Intake: in, Now: clock,
		Refused: &source.Rejections{Store: store, Now: clock, Keep: 1000},
		Metrics: source.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
	})
	for name, work := range map[string]func() error{
		"source": func() error { return w.Write(b.Context(), all) },
		"intake": func() error {
			batch := ingest.Batch[andon.Event]{Items: items}
			_, err := in.Events(b.Context(), andon.DefaultTenant, batch)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := work(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
		})
	}
}
