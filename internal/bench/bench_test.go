package bench_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options() bench.Options {
	return bench.Options{
		Now: time.Now, Tenant: "bench", Seed: 7, Devices: 200, Events: 600, Writers: 8, Batch: 50,
		Duration: 5 * time.Millisecond,
	}
}

// able is a store with an engine beside it that takes no time.
type able struct {
	andon.Store
	appended, baseline, open atomic.Int64
}

func (a *able) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	a.appended.Add(int64(len(events)))
	return a.Store.Append(ctx, id, received, events)
}

func (a *able) ceiling() (
	keep func(context.Context, []andon.Event) error, end func() error, err error,
) {
	a.open.Add(1)
	keep = func(_ context.Context, events []andon.Event) error {
		a.baseline.Add(int64(len(events)))
		return nil
	}
	return keep, func() error { a.open.Add(-1); return nil }, nil
}

func (a *able) Size(context.Context) (int64, error) { return 10 * a.appended.Load(), nil }

// subject makes a subject of a store.
func subject(name string, s andon.Store) bench.Subject {
	subject := bench.Subject{Name: name, Store: s}
	if a, ok := s.(*able); ok {
		subject.Ceiling = a.ceiling
	}
	return subject
}

func TestMeasureAble(t *testing.T) {
	s := &able{Store: memstore.New()}
	var steps atomic.Int64
	o := options()
	o.Told = func(bench.Step) { steps.Add(1) }
	rows, err := bench.Measure(t.Context(), subject("able", s), o)
	if err != nil {
		t.Fatal(err)
	}
	var loads []string
	for _, r := range rows {
		loads = append(loads, r.Load)
		if r.Subject != "able" || r.Ops == 0 || r.OpsRate <= 0 || r.P50 > r.P99 {
			t.Errorf("%+v", r)
		}
		writes := r.EventsRate != nil
		if writes && (r.BytesPerEvent == nil || *r.BytesPerEvent != 10) {
			t.Errorf("%s: bytes/event %v", r.Load, r.BytesPerEvent)
		}
		if measured := r.OfCeiling != nil; measured != writes {
			t.Errorf("%s: of the ceiling: %v", r.Load, r.OfCeiling)
		}
	}
	want := []string{
		"fill: 50 events of 50 devices",
		"devices in a state: all 50",
		"what a device shows", "counts of all states",
		"last 100 entries of a device", "first 100 of an operator's hour",
		"write: 1 event of 1 device",
		"write: 50 events of 1 device",
		"write: 50 events of 50 devices",
		"write: 1 event beside an import by 50 events",
		"devices in a state that most left",
	}
	if diff := cmp.Diff(want, loads); diff != "" {
		t.Error(diff)
	}
	if s.open.Load() != 0 || s.baseline.Load() == 0 || steps.Load() == 0 {
		t.Errorf("%d baselines left, %d events, %d steps",
			s.open.Load(), s.baseline.Load(), steps.Load())
	}
	noTenantLeft(t, s)
}

// TestMeasurePlain: what a store can't say is not made up, and the smallest fleet works.
func TestMeasurePlain(t *testing.T) {
	s, o := memstore.New(), options()
	o.Devices, o.Events, o.Batch, o.Writers = bench.MinDevices, bench.MinDevices, 1, 1
	rows, err := bench.Measure(t.Context(), subject("memory", s), o)
	if err != nil {
		t.Fatal(err)
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
	o.Told = func(step bench.Step) {
		if step.Number == 8 {
			cancel()
		}
	}
	rows, err := bench.Measure(ctx, subject("able", s), o)
	if !errors.Is(err, context.Canceled) || len(rows) != 7 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if s.open.Load() != 0 {
		t.Error("a baseline is left")
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
	_, err := bench.Measure(t.Context(), subject("forgetful", s), options())
	if err == nil || !strings.Contains(err.Error(), "the store is wrong") {
		t.Errorf("got %v", err)
	}
	noTenantLeft(t, s)
}

func TestMeasureKeep(t *testing.T) {
	s, o := memstore.New(), options()
	o.Keep = true
	if _, err := bench.Measure(t.Context(), subject("memory", s), o); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tenant(t.Context(), o.Tenant); err != nil {
		t.Error(err)
	}
	if _, err := bench.Measure(t.Context(), subject("memory", s), o); err == nil {
		t.Error("measured in a tenant that was there")
	}
}

func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*bench.Options){
		"":                                     func(*bench.Options) {},
		"devices 9 is not within":              func(o *bench.Options) { o.Devices = 9 },
		"events 199 is not within 200 to":      func(o *bench.Options) { o.Events = 199 },
		"writers 0 is not within 1 to 4,096":   func(o *bench.Options) { o.Writers = 0 },
		"batch 100,001 is not within 1 to 100": func(o *bench.Options) { o.Batch = 100_001 },
		"duration 0s is not above 0":           func(o *bench.Options) { o.Duration = 0 },
	} {
		o := options()
		change(&o)
		err := o.Check()
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
