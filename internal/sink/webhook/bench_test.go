package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/sink"
	"github.com/andonhq/andon/internal/sink/webhook"
	"github.com/andonhq/andon/internal/store/pebblestore"
)

// BenchmarkDeliver delivers changes of 1,000 devices to a receiver in this process, and then has a
// client that does nothing else post the same bodies to it. It reports both rates, and what both
// ends take of the CPU together for a change.
func BenchmarkDeliver(b *testing.B) {
	const changes, devices = 20_000, 1_000
	store, err := pebblestore.Open(b.TempDir(), pebblestore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	var bodies [][]byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			b.Error(err)
		}
		bodies = append(bodies, body)
	}))
	defer server.Close()
	api := httpapi.New(httpapi.Options{
		Store: store, Intake: intake.New(store, intake.Options{Now: clock}), Now: clock,
	})
	feed := func() *sink.Feed {
		f := &sink.Feed{
			Store: store, Show: api.Show, Now: clock, Log: slog.New(slog.DiscardHandler),
			Leases:      &lease.Holder{Records: store, Owner: "a", Alone: true, For: time.Minute},
			Destination: open(b, server.URL, func(*webhook.Config) {}),
		}
		f.Settings()
		f.Name, f.Config.Tenants, f.Wait = "f", []string{"default"}, 0
		return f
	}
	var delivering, posting, took, took1 time.Duration
	for round := range b.N {
		until(b, feed(), 0)
		fill(b, store, round, changes, devices)
		bodies = nil
		cpu, began := spent(), time.Now()
		until(b, feed(), changes)
		delivering, took = delivering+time.Since(began), took+spent()-cpu
		sent := bodies
		cpu, began = spent(), time.Now()
		for _, body := range sent {
			answer, err := http.Post(server.URL, "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			answer.Body.Close()
		}
		posting, took1 = posting+time.Since(began), took1+spent()-cpu
	}
	all := float64(b.N * changes)
	b.ReportMetric(all/delivering.Seconds(), "changes/s")
	b.ReportMetric(all/posting.Seconds(), "posted/s")
	b.ReportMetric(took.Seconds()*1e6/all, "µs-CPU/change")
	b.ReportMetric(took1.Seconds()*1e6/all, "µs-CPU/posted")
}

// until runs a feed until so many changes are delivered, or until it has begun.
func until(b *testing.B, f *sink.Feed, delivered int64) {
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := f.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	begun := func() bool {
		r, err := f.Store.Record(ctx, "", lease.Kind, "feed/f/of default")
		return err == nil && bytes.Contains([]byte(r.Data), []byte("epoch"))
	}
	for f.Delivered.Load() < delivered || !begun() {
		<-time.After(time.Millisecond)
	}
	cancel()
	running.Wait()
}

// fill appends changes, one device after the other.
func fill(b *testing.B, s andon.Store, round, changes, devices int) {
	for i := range changes / devices {
		n := round*changes/devices + i
		events := make([]andon.Event, devices)
		for d := range events {
			events[d] = andon.Event{
				Device:  andon.DeviceID(fmt.Sprintf("press-%04d", d)),
				Time:    1_600_000_000_000_000 + andon.Time(n)*1e6,
				State:   []andon.State{"NORMAL", "WARNING1"}[n%2],
				Message: "oil pressure low", Operator: "Liz",
			}
		}
		if err := s.Append(b.Context(), andon.DefaultTenant, clock(), events); err != nil {
			b.Fatal(err)
		}
	}
}

// spent is what this process has had of the CPU.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it can't fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
