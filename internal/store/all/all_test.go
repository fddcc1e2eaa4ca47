package all_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/all"
)

// TestOpenEach opens the stores that need nothing but this machine.
func TestOpenEach(t *testing.T) {
	for _, e := range all.New() {
		if e.Place() == adapter.Elsewhere {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			env := adapter.Env{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
			s, err := all.New().Open(t.Context(), e.Name(), env)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Capabilities().Name; !strings.HasPrefix(got, e.Name()) {
				t.Errorf("the store calls itself %q", got)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCloseBesideCalls: those who call while the store closes, and after, get one error and no
// crash of the engine.
func TestCloseBesideCalls(t *testing.T) {
	env := adapter.Env{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	s, err := all.New().Open(t.Context(), "pebble", env)
	if err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	begun := make(chan struct{}, 4)
	for i := range cap(begun) {
		device := andon.DeviceID(rune('a' + i))
		callers.Go(func() {
			var err error
			for n := andon.Time(0); err == nil; n++ {
				at := andon.MinTime + n
				e := []andon.Event{{Device: device, Time: at, State: "NORMAL"}}
				err = s.Append(t.Context(), andon.DefaultTenant, at, e)
				q := andon.EventQuery{Limit: 10}
				for _, read := range s.DeviceEvents(t.Context(), andon.DefaultTenant, device, q) {
					err = errors.Join(err, read)
				}
				if n == 1 {
					begun <- struct{}{}
				}
			}
			if andon.KindOf(err) != andon.Unavailable {
				t.Error(err)
			}
		})
	}
	for range cap(begun) {
		<-begun
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	callers.Wait()
}

func TestOpenUnknown(t *testing.T) {
	for name, want := range map[string]string{
		"pebbel": `store "pebbel" is unknown: this build has pebble, memory, cassandra, dynamodb`,
		"":       `store "" is unknown: this build has pebble, memory, cassandra, dynamodb`,
	} {
		_, err := all.New().Open(t.Context(), name, adapter.Env{})
		if err == nil || err.Error() != want || andon.KindOf(err) != andon.Invalid {
			t.Errorf("Open(%q): got %v, want %s", name, err, want)
		}
	}
}

// TestSettingsStandApart: each engine has its settings under its own name.
func TestSettingsStandApart(t *testing.T) {
	for _, e := range all.New() {
		if got := e.Settings().Name; got != e.Name() {
			t.Errorf("the settings of %s are called %s", e.Name(), got)
		}
	}
}
