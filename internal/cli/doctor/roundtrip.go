package doctor

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/sleep"
)

// roundTrip sends what one device reports, and what people do with it, to a temporary tenant, and
// compares each answer with the right one. What a store must answer in every case is checked by
// package storecheck; this checks that requests of each kind get to the store and back.
type roundTrip struct {
	*client.Client
	began andon.Time
}

// step is one request.
type step struct {
	name string
	want string // the answer, in short
	ask  func() (string, error)
}

const (
	tripDevice   = andon.DeviceID("press #1/ü") // must be escaped in a path
	tripOperator = andon.PersonID("Liz")
	tripBoss     = andon.PersonID("Sara")
	tripMetric   = andon.MetricName("temp")
	tripFault    = andon.State("WARNING2")
)

func (r *roundTrip) fault() andon.Time { return r.began.Add(60_000_000) }

// sending sends two events, the newer one first, a wrong one, and a reading.
func (r *roundTrip) sending(ctx context.Context) []step {
	send := func(events ...andon.Event) func() (string, error) {
		return func() (string, error) { return counted(r.AppendEvents(ctx, events)) }
	}
	before := andon.Event{
		Device: tripDevice, Time: r.began, State: "NORMAL", Operator: tripOperator,
	}
	fault, wrong := before, before
	fault.Time, fault.State, wrong.State = r.fault(), tripFault, ""
	reading := andon.Reading{
		Device: tripDevice, Time: r.began, Metrics: andon.Metrics{{Name: tripMetric, Value: 20.5}},
	}
	return []step{
		{"send events", "2 accepted, 0 rejected", send(fault, before)},
		{"send an event without a state", "0 accepted, 1 rejected", send(wrong)},
		{"send a reading", "1 accepted, 0 rejected", func() (string, error) {
			return counted(r.AppendReadings(ctx, []andon.Reading{reading}))
		}},
	}
}

// asking queries what was sent.
func (r *roundTrip) asking(ctx context.Context) []step {
	const both = "WARNING2 NORMAL"
	span := client.Query{From: r.began, To: r.fault()}
	metric := func(m andon.MetricReading) string { return fmt.Sprint(m.Value) }
	interval := func(i client.Interval) string { return string(i.State) }
	return []step{
		{"current state of a device", "WARNING2 after 1m0s, Liz", func() (string, error) {
			d, err := r.Device(ctx, tripDevice)
			after := d.Since.Sub(r.began).Std()
			return fmt.Sprintf("%s after %s, %s", d.State, after, d.Operator), err
		}},
		{"entries of a device", both, r.entries(ctx)},
		{"entries of an operator", both,
			listed(stateOf, r.OperatorEvents(ctx, tripOperator, client.Query{}))},
		{"intervals of one state", both,
			listed(interval, r.Intervals(ctx, tripDevice, client.Query{}))},
		{"devices in a state", string(tripDevice), r.faulty(ctx)},
		{"count of all devices", "1", func() (string, error) {
			_, total, err := r.States(ctx)
			return fmt.Sprint(total), err
		}},
		{"latest reading", "20.5", func() (string, error) {
			latest, err := r.LatestReading(ctx, tripDevice)
			value, _ := latest.Metrics.Get(tripMetric)
			return fmt.Sprint(value), err
		}},
		{"one metric of all devices", "20.5",
			listed(metric, r.MetricReadings(ctx, tripMetric, span))},
	}
}

// changing does what people do.
func (r *roundTrip) changing(ctx context.Context) []step {
	return []step{
		{"escalate", string(tripBoss), func() (string, error) {
			e, err := r.Escalate(ctx, client.Escalation{
				Device: tripDevice, Time: r.fault(), State: tripFault,
				Record: client.Record{To: tripBoss, By: tripOperator},
			})
			return string(e.To), err
		}},
		{"entries of a supervisor", string(tripFault),
			listed(stateOf, r.SupervisorEvents(ctx, tripBoss, client.Query{}))},
		{"assign", "Sue", func() (string, error) {
			a, err := r.Assign(ctx, tripDevice, "Sue")
			return string(a.Operator), err
		}},
		{"withdraw an entry", "", func() (string, error) {
			_, err := r.Withdraw(ctx, tripDevice, r.fault(), tripFault, client.Withdrawal{})
			return "", err
		}},
		{"devices in a state, withdrawn", "", r.faulty(ctx)},
		{"retire", "", func() (string, error) {
			_, err := r.Retire(ctx, tripDevice)
			return "", err
		}},
		{"purge", "", func() (string, error) { return "", r.Purge(ctx, tripDevice) }},
		{"entries of a purged device", "", r.entries(ctx)},
	}
}

func (r *roundTrip) entries(ctx context.Context) func() (string, error) {
	return listed(stateOf, r.DeviceEvents(ctx, tripDevice, client.Query{}))
}

func (r *roundTrip) faulty(ctx context.Context) func() (string, error) {
	return listed(func(d client.Device) string { return string(d.Device) },
		r.Devices(ctx, client.DeviceQuery{State: "WARNING*"}))
}

func stateOf(e andon.Event) string { return string(e.State) }

func counted(r client.Result, err error) (string, error) {
	return fmt.Sprintf("%d accepted, %d rejected", r.Accepted, len(r.Rejected)), err
}

// listed reads a list and returns a word for each item.
func listed[T any](word func(T) string, list iter.Seq2[T, error]) func() (string, error) {
	return func() (string, error) {
		var words []string
		for item, err := range list {
			if err != nil {
				return "", err
			}
			words = append(words, word(item))
		}
		return strings.Join(words, " "), nil
	}
}

// within asks until the answer is right or the timeout passed: a store may show what it
// acknowledged only after a while.
func (s step) within(ctx context.Context, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for {
		got, err := s.ask()
		if err == nil && got != s.want {
			err = fmt.Errorf("the answer is %q, not %q", got, s.want)
		}
		if err == nil || command.IsUnsupported(err) || time.Now().After(deadline) {
			return err
		}
		if slept := sleep.For(ctx, 50*time.Millisecond); slept != nil {
			return err
		}
	}
}
