package archive

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/memstore"
)

// generated is a store that makes up the readings of a day as it is asked for them, so that nothing
// but the archive is in memory.
type generated struct {
	andon.Store
	devices, times int
}

func (g *generated) Devices(
	_ context.Context, _ andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	return seq.Of(func(yield func(andon.Device) bool) error {
		first := 0
		if q.After != nil && q.After.Device != "" {
			n, _ := strconv.Atoi(string(q.After.Device[len("press-"):]))
			first = n + 1
		}
		for n := first; n < min(g.devices, first+q.Limit); n++ {
			if !yield(andon.Device{ID: andon.DeviceID(fmt.Sprintf("press-%06d", n))}) {
				break
			}
		}
		return nil
	})
}

func (g *generated) DeviceReadings(
	_ context.Context, _ andon.TenantID, device andon.DeviceID, q andon.ReadingQuery,
) iter.Seq2[andon.Reading, error] {
	return seq.Of(func(yield func(andon.Reading) bool) error {
		midnight := andon.DayStart(noon.Day())
		step := dayLong / andon.Duration(g.times)
		number, _ := strconv.Atoi(string(device[len("press-"):]))
		noise := rand.New(rand.NewPCG(uint64(number), 1))
		for n, sent := 0, 0; n < g.times && sent < q.Limit; n++ {
			at := midnight.Add(andon.Duration(n) * step)
			if at <= q.After || !q.Span.Holds(at) {
				continue
			}
			sent++
			r := andon.Reading{Device: device, Time: at, Metadata: `{"fw":"1.2"}`}
			r.Metrics = andon.Metrics{
				{Name: "rpm", Value: float64(1500 + noise.IntN(40))},
				{Name: "temperature", Value: 20 + float64(noise.IntN(200))/16},
			}
			if !yield(r) {
				break
			}
		}
		return nil
	})
}

// BenchmarkArchive archives a day of readings, 5 million rows with ANDON_LONG=1, in little memory.
// Next to it parquet-go alone writes rows of the same day that are in memory, a hundredth of them
// again and again.
func BenchmarkArchive(b *testing.B) {
	g := &generated{Store: memstore.New(), devices: 500, times: 250}
	if os.Getenv("ANDON_LONG") != "" {
		g.devices *= 20
	}
	rows := int64(g.devices) * int64(g.times) * 2
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(128 << 20))
	for b.Loop() {
		p := newPlant(b)
		p.store, p.conf.Kinds = g, []string{string(Readings)}
		var peak atomic.Uint64
		stop := watchMemory(&peak)
		began := cpu()
		done := p.run()
		took := cpu() - began
		stop()
		if done.Rows != rows {
			b.Fatalf("%+v, want %d rows", done, rows)
		}
		contents, err := p.archive().Verify(b.Context(), Selection{}, func(string, string) {})
		if err != nil {
			b.Fatal(err)
		}
		ceiling := alone(b, g)
		b.ReportMetric(float64(rows)/took.Seconds(), "rows/cpu-s")
		b.ReportMetric(ceiling/(float64(rows)/took.Seconds()), "alone/archive")
		b.ReportMetric(float64(contents.Bytes)/float64(rows), "B/row")
		b.ReportMetric(float64(peak.Load())/(1<<20), "peak-MB")
		began = cpu()
		if _, err := p.archive().Run(b.Context(), Selection{
			Span: andon.Span{From: noon, To: noon},
		}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(rows)/(cpu()-began).Seconds(), "compared/cpu-s")
	}
}

// alone returns how many rows a second of CPU parquet-go writes.
func alone(b *testing.B, g *generated) float64 {
	few := *g
	few.devices = 50
	var all []readingRow
	tenant := andon.NewTenant(andon.DefaultTenant)
	for row, err := range readings().read(b.Context(), &few, &tenant, andon.Span{}) {
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, row)
	}
	began, n := cpu(), 0
	w := parquet.NewGenericWriter[readingRow](io.Discard, parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1), parquet.MaxRowsPerRowGroup(groupRows))
	for range g.devices / few.devices {
		written, err := w.Write(all)
		if n += written; err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return float64(n) / (cpu() - began).Seconds()
}

// cpu returns what this process took of the processors.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// watchMemory notes the most memory that Go has in use until it is stopped.
func watchMemory(peak *atomic.Uint64) (stop func()) {
	ended := make(chan struct{})
	go func() {
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse+m.StackInuse))
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() { close(ended) }
}
