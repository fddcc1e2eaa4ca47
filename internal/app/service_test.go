package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// consumer is a service that writes down what is done with it.
type consumer struct {
	called           string
	calls            *[]string
	refused, stopped error         // of open and stop
	ends             chan error    // what serve returns before it is stopped
	quit             chan struct{} // closed by stop
}

func newConsumer(name string, calls *[]string) *consumer {
	return &consumer{
		called: name, calls: calls, ends: make(chan error, 1), quit: make(chan struct{}),
	}
}

func (c *consumer) name() string { return c.called }

func (c *consumer) open(context.Context) error {
	*c.calls = append(*c.calls, "open "+c.called)
	return c.refused
}

func (c *consumer) serve() error {
	select {
	case err := <-c.ends:
		return err
	case <-c.quit:
		return nil
	}
}

func (c *consumer) stop(context.Context) error {
	*c.calls = append(*c.calls, "stop "+c.called)
	close(c.quit)
	return c.stopped
}

// TestServicesOpenAllOrNone: where one can't be opened, those before it are stopped again.
func TestServicesOpenAllOrNone(t *testing.T) {
	var calls []string
	one, two, three := newConsumer("1", &calls), newConsumer("2", &calls), newConsumer("3", &calls)
	two.refused = errors.New("no broker")
	s := newServices(one, two, three)
	if err := s.open(t.Context()); !errors.Is(err, two.refused) {
		t.Errorf("opening: %v", err)
	}
	if want := []string{"open 1", "open 2", "stop 1"}; !slices.Equal(calls, want) {
		t.Errorf("called %q, want %q", calls, want)
	}
}

// TestServiceThatEnds is reported with its name, and does not stop the others; stopping stops each
// once and returns all errors.
func TestServiceThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		one, two := newConsumer("1", &calls), newConsumer("2", &calls)
		two.stopped = errors.New("cut off")
		s := newServices(one, two)
		if err := s.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 2)
		s.start(func(err error) { failed <- err })
		one.ends <- errors.New("the broker is gone")
		if err := <-failed; !strings.HasPrefix(err.Error(), "1: the broker") {
			t.Errorf("reported %v", err)
		}
		for _, want := range []error{two.stopped, nil} {
			if err := s.stop(t.Context()); !errors.Is(err, want) {
				t.Errorf("stopping: %v, want %v", err, want)
			}
		}
		want := []string{"open 1", "open 2", "stop 1", "stop 2"}
		if len(failed) > 0 || !slices.Equal(calls, want) {
			t.Errorf("called %q, want %q; %d more failed", calls, want, len(failed))
		}
	})
}

// TestWorkersStopTogether: a worker that takes long to end does not keep the next one from being
// told.
func TestWorkersStopTogether(t *testing.T) {
	told := make(chan struct{})
	s := newServices(&worker{label: "slow", run: func(ctx context.Context) error {
		<-ctx.Done()
		select {
		case <-told:
		case <-time.After(10 * time.Second):
			t.Error("the other worker was not told")
		}
		return nil
	}}, &worker{label: "quick", run: func(ctx context.Context) error {
		<-ctx.Done()
		close(told)
		return nil
	}})
	if err := s.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.start(func(err error) { t.Error(err) })
	if err := s.stop(t.Context()); err != nil {
		t.Error(err)
	}
}
