package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
)

// forgetful is a store with a defect that only a history of several steps shows: once a device was
// retired, it takes no more assignments.
type forgetful struct {
	andon.Store
	retired map[andon.DeviceID]bool
}

func (f *forgetful) Retire(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, at andon.Time,
) (andon.Time, error) {
	f.retired[device] = true
	return f.Store.Retire(ctx, tenant, device, at)
}

func (f *forgetful) Assign(
	ctx context.Context, tenant andon.TenantID, now andon.Time, assignments []andon.Assignment,
) ([]andon.Assignment, error) {
	kept := slices.DeleteFunc(slices.Clone(assignments), func(a andon.Assignment) bool {
		return f.retired[a.Device]
	})
	return f.Store.Assign(ctx, tenant, now, kept)
}

// TestSerialHistoriesFind: a defect is found, and shown by the two steps that it takes, also where
// little is asked on the way.
func TestSerialHistoriesFind(t *testing.T) {
	for _, asks := range []int{1, 3} {
		findForgetful(t, Options{Asks: asks})
	}
}

func findForgetful(t *testing.T, o Options) {
	t.Helper()
	open := func(*testing.T) andon.Store {
		return &forgetful{memstore.New(), map[andon.DeviceID]bool{}}
	}
	for seed := range uint64(20) {
		h := newHistory(seed, 40)
		err := h.run(t, open, o)
		if err == nil {
			continue
		}
		short, err := h.shrink(t, open, o, err)
		if err == nil || len(short.steps) != 2 || !strings.Contains(short.steps[1].text, "assign") {
			t.Errorf("shrunk to these steps:\n%s%v", short, err)
		}
		return
	}
	t.Error("20 histories found nothing")
}

// TestAttemptsAreLetGo: while a shorter history is looked for, one store is open at a time, and
// none after that. The number of attempts is bounded.
func TestAttemptsAreLetGo(t *testing.T) {
	opened, closed := 0, 0
	open := func(t *testing.T) andon.Store {
		if opened++; opened-closed > 1 {
			t.Errorf("%d stores are open at once", opened-closed)
		}
		return &forgetful{memstore.New(), map[andon.DeviceID]bool{}}
	}
	fails := errors.New("it can't be closed")
	o := Options{Close: func(andon.Store) error { closed++; return fails }}
	h := history{steps: make([]step, mostAttempts)} // of which no step can be left out
	if err := h.run(t, open, o); !errors.Is(err, fails) {
		t.Fatalf("a history whose store can't be closed ends with %v", err)
	}
	fails = nil
	_, _ = h.shrink(t, open, o, errors.New("it differed once"))
	if opened != closed || opened != 1+mostAttempts {
		t.Errorf("%d stores were opened, %d closed, want 1 and %d attempts",
			opened, closed, mostAttempts)
	}
}

// TestSeedGivesHistory: a seed that was printed gives the same steps again.
func TestSeedGivesHistory(t *testing.T) {
	if a, b := newHistory(7, 60), newHistory(7, 60); a.String() != b.String() {
		t.Error("one seed gives two histories")
	}
}
