package jsonfeed_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
)

// fleet returns n events of about 180 bytes.
func fleet(n int) (events []string) {
	for i := range n {
		events = append(events, fmt.Sprintf(`{"device":"press-%05d",`+
			`"time":"2025-12-04T12:%02d:%02d.%06dZ",`+
			`"state":"WARNING%d","operator":"Liz Example",`+
			`"message":"overheat at the main bearing",`+
			`"attributes":{"line":"L%d","shift":2}}`, i%1000, i/60%60, i%60, i, i%4+1, i%9))
	}
	return events
}

func BenchmarkEvents(b *testing.B) {
	const n = 1000
	for name, body := range map[string]string{
		"ndjson": strings.Join(fleet(n), "\n"),
		"json":   "[" + strings.Join(fleet(n), ",") + "]",
	} {
		format := jsonfeed.JSON
		if name == "ndjson" {
			format = jsonfeed.NDJSON
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				batch, err := jsonfeed.Events(body, format, andon.Milliseconds, nil)
				if err != nil || len(batch.Items) != n {
					b.Fatal(len(batch.Items), batch.Rejected, err)
				}
			}
			perEvent(b, n)
		})
	}
}

// BenchmarkEncodingJSON reads the same events as BenchmarkEvents with the standard library.
func BenchmarkEncodingJSON(b *testing.B) {
	const n = 1000
	body := []byte("[" + strings.Join(fleet(n), ",") + "]")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var events []andon.Event
		if err := json.Unmarshal(body, &events); err != nil || len(events) != n {
			b.Fatal(len(events), err)
		}
	}
	perEvent(b, n)
}

func BenchmarkReadings(b *testing.B) {
	const n = 1000
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"device":"press-%05d","time":%d,`+
			`"metrics":{"humidity":%d.%d,`+
			`"light":true,"pressure":1013.25,"temperature":21.%d},"metadata":{"fw":"1.2"}}`,
			i, 1764851696000+i, 30+i%40, i%10, i%100))
	}
	body := strings.Join(lines, "\n")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		batch, err := jsonfeed.Readings(body, jsonfeed.NDJSON, andon.Milliseconds, nil)
		if err != nil || len(batch.Items) != n {
			b.Fatal(len(batch.Items), batch.Rejected, err)
		}
	}
	perEvent(b, n)
}

func perEvent(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
}
