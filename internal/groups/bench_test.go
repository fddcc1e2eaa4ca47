package groups_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/store/pebblestore"
)

const (
	benchDevices = 1_000_000
)

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkMillion: counts and lists by group next to those by state, of a million devices in ten
// thousand groups on the embedded store.
func BenchmarkMillion(b *testing.B) {
	store, err := pebblestore.Open(b.TempDir(), pebblestore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	now := andon.TimeOf(time.Now())
	g := groups.New(store, func() andon.Time { return andon.TimeOf(time.Now()) })
	var all []andon.ProfileChange
	for from := 0; from < benchDevices; from += 10_000 {
		var events []andon.Event
		for i := from; i < from+10_000; i++ {
			id := andon.DeviceID(fmt.Sprintf("device-%07d", i))
			state := andon.State("NORMAL")
			if i%50 == 0 {
				state = "WARNING2"
			}
			events = append(events, andon.Event{Device: id, Time: now, State: state})
			path := fmt.Sprintf("plant-%d/hall-%d/line-%d", i%10, i/10%50, i/500%20)
			all = append(all, in(id, andon.Group(path)))
		}
		if err := store.Append(b.Context(), andon.DefaultTenant, now, events); err != nil {
			b.Fatal(err)
		}
	}
	before, began := heap(), time.Now()
	for from := 0; from < benchDevices; from += 100_000 {
		if err := g.Change(b.Context(), andon.DefaultTenant, all[from:from+100_000]); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("put in %s, %.0f bytes a device", time.Since(began), (heap()-before)/benchDevices)
	began = time.Now()
	g = groups.New(store, func() andon.Time { return andon.TimeOf(time.Now()) })
	if _, err := g.Rules(b.Context(), andon.DefaultTenant); err != nil {
		b.Fatal(err)
	}
	b.Logf("read in %s", time.Since(began))
	benchMillion(b, store, g, now+1) // all are silent
}

// benchMillion measures what is asked of the fleet.
func benchMillion(b *testing.B, store andon.Store, g *groups.Groups, silent andon.Time) {
	measure := func(name string, do func() error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	measure("states", func() error {
		_, err := store.Counts(b.Context(), andon.DefaultTenant, silent)
		return err
	})
	measure("groups", func() error {
		all, err := g.Tallies(b.Context(), andon.DefaultTenant, "", "", 1000, silent)
		if len(all) != 1000 {
			b.Fatalf("%d groups", len(all))
		}
		return err
	})
	count := func(s groups.Selection) func() error {
		return func() error {
			selected, err := g.Select(b.Context(), andon.DefaultTenant, s)
			if err == nil {
				_, err = g.Counts(b.Context(), andon.DefaultTenant, selected, silent)
			}
			return err
		}
	}
	measure("states of a plant", count(groups.Selection{Group: "plant-1"}))
	list := func(path andon.Group, state string) func() error {
		filter, _ := andon.ParseStateFilter(state)
		return func() error {
			selected, err := g.Select(b.Context(), andon.DefaultTenant,
				groups.Selection{Group: path})
			q := andon.DeviceQuery{States: filter, Limit: 100}
			for _, err := range g.Devices(b.Context(), andon.DefaultTenant, q, selected) {
				if err != nil {
					return err
				}
			}
			return err
		}
	}
	measure("a page of a line", list("plant-1/hall-3/line-7", ""))
	measure("a page of a plant", list("plant-1", ""))
	measure("a page of a plant in a state", list("plant-0", "WARNING*"))
	measure("move a device", func() error {
		return g.Change(b.Context(), andon.DefaultTenant, []andon.ProfileChange{
			in("device-0000001", andon.Group(fmt.Sprintf("plant-%d", time.Now().UnixNano()%10))),
		})
	})
}
