package bench_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options() bench.Options {
	return bench.Options{
		Now: time.Now, Seed: 7, Devices: 200, Events: 600, Writers: 8, Batch: 50,
		Duration: 5 * time.Millisecond,
	}
}

// able is a store with an engine next to it that takes no time.
type able struct {
	andon.Store
	appended, baseline atomic.Int64
}

func (a *able) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	a.appended.Add(int64(len(events)))
	return a.Store.Append(ctx, id, received, events)
}

func (a *able) ceiling(_ context.Context, events []andon.Event) error {
	a.baseline.Add(int64(len(events)))
	return nil
}

func (a *able) Size(context.Context) (int64, error) { return 10 * a.appended.Load(), nil }

// measureStore fills a store and writes to it, in a tenant of its own.
func measureStore(ctx context.Context, s andon.Store, o bench.Options) ([]bench.Row, error) {
	t, end, err := bench.Store(ctx, "store", s, "bench", false)
	if err != nil {
		return nil, err
	}
	targets := []bench.Target{t}
	if a, ok := s.(*able); ok {
		targets = append(targets, bench.Direct("ceiling", a.ceiling))
	}
	b, err := bench.New(o, targets...)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	rows, err := b.Measure(ctx, slices.Concat(b.Filling(), b.Asking(), b.Writes()))
	return bench.Compare(rows, "store", "ceiling"), errors.Join(err, end())
}

func TestMeasureStore(t *testing.T) {
	s := &able{Store: memstore.New()}
	var steps atomic.Int64
	o := options()
	o.Report = func(bench.Step) { steps.Add(1) }
	rows, err := measureStore(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	var loads []string
	for _, r := range rows {
		loads = append(loads, r.Load)
		if r.Subject != "store" || r.Ops == 0 || r.OpsRate <= 0 || r.P50 > r.P99 {
			t.Errorf("%+v", r)
		}
		if r.BytesPerEvent == nil || *r.BytesPerEvent != 10 || r.OfCeiling == nil ||
			r.EventsRate == nil || r.CeilingRate == nil {
			t.Errorf("%+v", r)
		}
	}
	want := []string{
		"fill: 50 events of 50 devices", "write: 1 event",
		"write: 50 events of 1 device", "write: 50 events of 50 devices",
	}
	if diff := cmp.Diff(want, loads); diff != "" {
		t.Error(diff)
	}
	if s.baseline.Load() == 0 || steps.Load() == 0 {
		t.Errorf("%d events, %d steps", s.baseline.Load(), steps.Load())
	}
	noTenantLeft(t, s)
}

// TestMeasurePlain: what a store can't say is not made up, and the smallest fleet works.
func TestMeasurePlain(t *testing.T) {
	s, o := memstore.New(), options()
	o.Devices, o.Events, o.Batch, o.Writers = bench.MinDevices, bench.MinDevices, 1, 1
	o.Kinds = []string{bench.Single}
	rows, err := measureStore(t.Context(), s, o)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	for _, r := range rows {
		if r.CeilingRate != nil || r.OfCeiling != nil || r.BytesPerEvent != nil {
			t.Errorf("%+v", r)
		}
	}
	noTenantLeft(t, s)
}

func TestMeasureInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, o := &able{Store: memstore.New()}, options()
	o.Report = func(step bench.Step) {
		if step.Number == 4 {
			cancel()
		}
	}
	rows, err := measureStore(ctx, s, o)
	if !errors.Is(err, context.Canceled) || len(rows) != 2 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	noTenantLeft(t, s)
}

// forgetful is a store that loses a device, and may say so.
type forgetful struct{ andon.Store }

func (f forgetful) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	kept := slices.DeleteFunc(events, func(e andon.Event) bool {
		return strings.HasSuffix(string(e.Device), "17")
	})
	return f.Store.Append(ctx, id, received, kept)
}

func TestMeasureWrongStore(t *testing.T) {
	s := forgetful{memstore.New()}
	_, err := measureStore(t.Context(), s, options())
	if err == nil || !strings.Contains(err.Error(), "the store is wrong") {
		t.Errorf("got %v", err)
	}
	noTenantLeft(t, s)
}

func TestKeptTenant(t *testing.T) {
	s := memstore.New()
	_, end, err := bench.Store(t.Context(), "memory", s, "bench", true)
	if err != nil || end() != nil {
		t.Fatal(err)
	}
	if _, err := s.Tenant(t.Context(), "bench"); err != nil {
		t.Error(err)
	}
	if _, _, err := bench.Store(t.Context(), "memory", s, "bench", true); err == nil {
		t.Error("opened a tenant that exists")
	}
}

// TestOpenLoop: operations at a fixed rate are timed from when they were due, also where no caller
// was free.
func TestOpenLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.Duration = 50 * time.Second
		b, err := bench.New(o, slow("slow"))
		if err != nil {
			t.Fatal(err)
		}
		closed := bench.Load{Kind: "k", Name: "closed", Callers: 2, Do: wait}
		late := bench.Load{Kind: "k", Name: "open", Callers: 1, Share: 0.75, Do: wait}
		rows, err := b.Measure(t.Context(), []bench.Load{closed, late})
		if err != nil {
			t.Fatal(err)
		}
		// One caller does one a second, where 1.5 are due.
		if r := rows[0]; r.OpsRate != 2 || r.P50.Round(100*time.Millisecond) != time.Second {
			t.Errorf("closed: %+v", r)
		}
		if r := rows[1]; !r.Open || r.P99.Round(100*time.Millisecond) < 4*time.Second {
			t.Errorf("open: %+v", r)
		}
	})
}

// slow is a target for operations that need none.
func slow(name string) bench.Target {
	return bench.Target{Name: name, Dial: func(context.Context) (bench.Conn, error) {
		return idle{}, nil
	}}
}

type idle struct{}

func (idle) Append(context.Context, []andon.Event, func()) error { return nil }
func (idle) Close() error                                        { return nil }

func wait(ctx context.Context, _ bench.Conn, _ int64, _ func()) error {
	return sleep.For(ctx, time.Second)
}

func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*bench.Options){
		"":                                     func(*bench.Options) {},
		"devices 9 is not within":              func(o *bench.Options) { o.Devices = 9 },
		"events 199 is not within 200 to":      func(o *bench.Options) { o.Events = 199 },
		"writers 0 is not within 1 to 4,096":   func(o *bench.Options) { o.Writers = 0 },
		"batch 100,001 is not within 1 to 100": func(o *bench.Options) { o.Batch = 100_001 },
		"duration 0 is not within 1 to":        func(o *bench.Options) { o.Duration = 0 },
	} {
		o := options()
		change(&o)
		_, err := bench.New(o)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if err != nil && andon.KindOf(err) != andon.Invalid {
			t.Errorf("%v is not Invalid", err)
		}
	}
}

func noTenantLeft(t *testing.T, s andon.Store) {
	t.Helper()
	if tenants, err := s.Tenants(context.Background()); err != nil || len(tenants) != 1 {
		t.Errorf("tenants %v, %v", tenants, err)
	}
}
