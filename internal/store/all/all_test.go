package all_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/all"
)

// TestOpenEach opens the stores that need nothing beside this machine.
func TestOpenEach(t *testing.T) {
	for _, name := range all.Names() {
		if all.HasSchema(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := all.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
			s, err := all.Open(t.Context(), name, c)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Capabilities().Name; !strings.HasPrefix(got, name) {
				t.Errorf("the store calls itself %q", got)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			err = all.Init(t.Context(), name, c, all.Setup{}, nil)
			if andon.KindOf(err) != andon.Unsupported || all.Designs(name) != nil {
				t.Errorf("it has a schema: %v", err)
			}
		})
	}
}

// TestCloseBesideCalls: those who call while the store closes, and after, get one error and no
// crash of the engine.
func TestCloseBesideCalls(t *testing.T) {
	c := all.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	s, err := all.Open(t.Context(), "pebble", c)
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
		"dynamodb": `store "dynamodb" is not in this build yet: ` +
			`this one has pebble, memory, cassandra`,
		"pebbel": `store "pebbel" is unknown: this build has pebble, memory, cassandra`,
	} {
		_, err := all.Open(t.Context(), name, all.Config{})
		if err == nil || err.Error() != want || andon.KindOf(err) != andon.Invalid {
			t.Errorf("Open(%q): got %v, want %s", name, err, want)
		}
		err = all.Init(t.Context(), name, all.Config{}, all.Setup{}, nil)
		if err == nil || err.Error() != want || all.Designs(name) != nil || all.HasSchema(name) {
			t.Errorf("Init(%q): got %v, want %s", name, err, want)
		}
	}
}

// TestCassandraIsChecked: what is wrong with the settings is told before anybody is asked.
func TestCassandraIsChecked(t *testing.T) {
	var c all.Config
	_, open := all.Open(t.Context(), "cassandra", c)
	made := all.Init(t.Context(), "cassandra", c, all.Setup{}, nil)
	for _, err := range []error{all.Check("cassandra", c), open, made} {
		if andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(), "cassandra.hosts") {
			t.Errorf("got %v", err)
		}
	}
	if len(all.Designs("cassandra")) == 0 || !all.HasSchema("cassandra") {
		t.Error("the store has no designs, or no schema")
	}
}
