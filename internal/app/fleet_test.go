package app

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
)

const testSecond = andon.Time(1_000_000)

func TestFleetGauges(t *testing.T) {
	ctx, store := t.Context(), memstore.New()
	if _, err := store.PutTenant(ctx, andon.NewTenant("metro")); err != nil {
		t.Fatal(err)
	}
	now := 1_000_000 * testSecond
	report := func(tenant andon.TenantID, device andon.DeviceID, state andon.State) {
		t.Helper()
		events := []andon.Event{{Device: device, Time: now, State: state}}
		if err := store.Append(ctx, tenant, now, events); err != nil {
			t.Fatal(err)
		}
	}
	report("default", "d1", "NORMAL")
	report("default", "d2", "WARNING1")
	report("default", "d3", "ODD")
	report("metro", "m1", "ELSE")
	report("metro", "m2", "ODD")
	g := fleetGauges(store, func() andon.Time { return now }, slog.New(slog.DiscardHandler))
	check := func(changed ...string) {
		t.Helper()
		want := strings.NewReplacer(changed...).Replace(`andon_devices default (others) 1
andon_devices default NORMAL 1
andon_devices default WARNING1 1
andon_devices default WARNING2 0
andon_devices default WARNING3 0
andon_devices default WARNING4 0
andon_devices metro (others) 2
andon_devices metro NORMAL 0
andon_devices metro WARNING1 0
andon_devices metro WARNING2 0
andon_devices metro WARNING3 0
andon_devices metro WARNING4 0
andon_devices_silent default 0
andon_devices_silent metro 0`)
		if diff := cmp.Diff(want, strings.Join(gather(t, g), "\n")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	check()
	now += 16 * 60 * testSecond
	report("default", "d1", "NORMAL")
	silent := []string{"silent default 0", "silent default 2", "silent metro 0", "silent metro 2"}
	check(silent...)
	now += 4 * testSecond
	report("default", "d2", "WARNING1")
	check(silent...) // what was counted a moment ago
	now += 2 * testSecond
	silent[1] = "silent default 1"
	check(silent...)
}

// gather returns what a collector shows: name, labels and value of each.
func gather(t *testing.T, c prometheus.Collector) (lines []string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue()
			words := []string{family.GetName(), "", "", fmt.Sprint(value)}
			for _, label := range m.GetLabel() {
				at := map[string]int{"tenant": 1, "state": 2, "task": 1}[label.GetName()]
				words[at] = label.GetValue()
			}
			words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
			lines = append(lines, strings.Join(words, " "))
		}
	}
	slices.Sort(lines)
	return lines
}

// TestFleetGaugesAreBounded has more tenants than have labels of their own.
func TestFleetGaugesAreBounded(t *testing.T) {
	store := memstore.New()
	for i := range tenantsShown + 20 {
		id := andon.TenantID(fmt.Sprintf("t%04d", i))
		if _, err := store.PutTenant(t.Context(), andon.NewTenant(id)); err != nil {
			t.Fatal(err)
		}
	}
	g := fleetGauges(store, func() andon.Time { return 1 }, slog.New(slog.DiscardHandler))
	want := (tenantsShown)*(len(andon.DefaultStates().Defs())+1) + 1
	if got := len(gather(t, g)); got != want {
		t.Errorf("%d series, not %d", got, want)
	}
}

func TestFleetGaugesOfAStoreThatIsAway(t *testing.T) {
	store, fail := withFaults(memstore.New())
	fail(errAway, "Counts")
	now := func() andon.Time { return 1 << 40 }
	g := fleetGauges(store, now, slog.New(slog.DiscardHandler))
	if found := gather(t, g); len(found) > 0 {
		t.Errorf("it shows %v", found)
	}
}
