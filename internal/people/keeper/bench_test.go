package keeper_test

import (
	"context"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/keeper"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/all"
	"github.com/andonhq/andon/internal/wallclock"
)

// BenchmarkKeep is how much processor time it takes to keep incidents on the embedded store: of
// devices that leave NORMAL for the first time, come back to it, and leave it again.
func BenchmarkKeep(b *testing.B) {
	const devices = 20_000
	for _, e := range all.New() {
		if e.Name() != "pebble" {
			continue
		}
		for b.Loop() {
			env := adapter.Env{Log: slog.New(slog.DiscardHandler), Now: clock, Dir: b.TempDir()}
			store, err := e.Open(b.Context(), env)
			if err != nil {
				b.Fatal(err)
			}
			keepOn(b, store, 0, "NORMAL") // which starts it
			for _, part := range []struct {
				name  string
				state andon.State
			}{{"first", "WARNING1"}, {"return", "NORMAL"}, {"again", "WARNING2"}} {
				b.ReportMetric(keepOn(b, store, devices, part.state), "µs/"+part.name)
			}
			if err := store.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// keepOn has devices report a state, and then keeps incidents until all is taken in. It returns how
// many microseconds of the processor that took for each.
func keepOn(b *testing.B, store andon.Store, devices int, state andon.State) float64 {
	b.Helper()
	const batch = 1000
	now := clock()
	for i := 0; i < devices; i += batch {
		var events []andon.Event
		for n := i; n < min(devices, i+batch); n++ {
			events = append(events, andon.Event{
				Device: andon.DeviceID(fmt.Sprint("device-", n)), Time: now, State: state,
			})
		}
		if err := store.Append(b.Context(), "default", clock(), events); err != nil {
			b.Fatal(err)
		}
	}
	k := &keeper.Keeper{
		Store: store, Incidents: records.NewIncidents(store, clock), Now: clock,
		Clock: wallclock.New(clock, func() time.Duration { return clock().Sub(0).Std() },
			andon.ClockMark{}, nil),
		Log:    slog.New(slog.DiscardHandler),
		Leases: &lease.Holder{Records: store, Owner: "a", For: time.Minute},
		Setting: func(context.Context, andon.TenantID) (*people.Setting, error) {
			return &people.Setting{Known: &people.Known{}}, nil
		},
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	began := processorTime(b)
	go func() { done <- k.Run(ctx) }()
	for quiet := 0; quiet < 10; quiet++ {
		if <-time.After(20 * time.Millisecond); k.Lag() > 0 {
			quiet = 0
		}
	}
	used := processorTime(b) - began
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
	return float64(used.Microseconds()) / float64(max(devices, 1))
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var is syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &is); err != nil {
		b.Fatal(err)
	}
	return time.Duration(is.Utime.Nano() + is.Stime.Nano())
}
