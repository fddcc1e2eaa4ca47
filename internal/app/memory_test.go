package app

import (
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/plan"
	"github.com/andonhq/andon/internal/store/memstore"
)

// TestMemoryLimitFollows: Go's limit is below what docs/operations.md states, and grows with the
// devices and the connections.
func TestMemoryLimitFollows(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	c := DefaultConfig()
	a := New(Options{Config: c})
	a.store = memstore.New()
	limit := func() int64 {
		if err := a.memory.follow(t.Context()); err != nil {
			t.Error(err)
		}
		return debug.SetMemoryLimit(-1)
	}
	fixed := 512<<20 + c.Limits.Memory + c.Takes().Cache.Bytes
	if got, want := limit(), fixed-fixed/10; got != want {
		t.Errorf("without devices it is %d, want %d", got, want)
	}
	var events []andon.Event
	for i := range 100 {
		device := andon.DeviceID(fmt.Sprint("d", i))
		events = append(events, andon.Event{Device: device, Time: 1e15, State: "NORMAL"})
	}
	if err := a.store.Append(t.Context(), andon.DefaultTenant, 1e15, events); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		a.memory.connected(nil, http.StateNew)
	}
	a.memory.connected(nil, http.StateClosed)
	more := fixed + 100<<10 + 2*32<<10
	if got, want := limit(), more-more/10; got != want {
		t.Errorf("with 100 devices and 2 connections it is %d, want %d", got, want)
	}
}

func TestWhoseMemoryLimitItIs(t *testing.T) {
	a := New(Options{Config: DefaultConfig()})
	if !a.memory.isOurs() {
		t.Error("it is not ours")
	}
	a.Config.Store = "memory"
	if a.memory.isOurs() {
		t.Error("a store without a bound has one")
	}
	a.Config.Store = "pebble"
	t.Setenv("GOMEMLIMIT", "1GiB")
	if a.memory.isOurs() {
		t.Error("that of the environment does not count")
	}
}

// TestPlanTakesTheSameMemory: a plan goes by the bound that the server keeps.
func TestPlanTakesTheSameMemory(t *testing.T) {
	m, err := plan.ReadMeasured()
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	embedded := m.Stores["pebble"]
	for what, is := range map[string][2]float64{
		"base_memory":     {m.Guide["base_memory"].Value, float64(programMemory + c.Limits.Memory)},
		"device_memory":   {embedded["device_memory"].Value, deviceMemory},
		"memtable_memory": {embedded["memtable_memory"].Value, float64(c.Takes().Newest.Bytes)},
	} {
		if is[0] != is[1] {
			t.Errorf("%s: a plan takes %g, the server %g", what, is[0], is[1])
		}
	}
}
