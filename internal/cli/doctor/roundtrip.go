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
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/sleep"
)

// step is one request of the round trip.
type step struct {
	name string
	want string // the answer, in short
	ask  func() (string, error)
}

const (
	tripDevice = andon.DeviceID("press #1/ü") // must be escaped in a path
	tripFault  = andon.State("WARNING2")
)

// roundTrip sends what one device reports, and what people do with it, to a temporary tenant, and
// compares each answer with the right one. What a store must answer in every case is checked by
// package storecheck; this checks that requests of each kind get to the store and back.
func roundTrip(ctx context.Context, c *client.Client, began andon.Time) []step {
	const both = "WARNING2 NORMAL"
	before := andon.Event{Device: tripDevice, Time: began, State: "NORMAL", Operator: "Liz"}
	fault, wrong := before, before
	fault.Time, fault.State, wrong.State = began.Add(60_000_000), tripFault, ""
	reading := andon.Reading{
		Device: tripDevice, Time: began, Metrics: andon.Metrics{{Name: "temp", Value: 20.5}},
	}
	sending := func(events ...andon.Event) func() (string, error) {
		return func() (string, error) { return counted(c.AppendEvents(ctx, events)) }
	}
	entries := listed(stateOf, c.DeviceEvents(ctx, tripDevice, client.Query{}))
	return append([]step{
		{"send events", "2 accepted, 0 rejected", sending(fault, before)},
		{"send an event without a state", "0 accepted, 1 rejected", sending(wrong)},
		{"send a reading", "1 accepted, 0 rejected", func() (string, error) {
			return counted(c.AppendReadings(ctx, []andon.Reading{reading}))
		}},
		{"current state of a device", "WARNING2 after 1m0s, Liz", func() (string, error) {
			d, err := c.Device(ctx, tripDevice)
			after := d.Since.Sub(began).Std()
			return fmt.Sprintf("%s after %s, %s", d.State, after, d.Operator), err
		}},
		{"entries of a device", both, entries},
		{"entries of an operator", both,
			listed(stateOf, c.OperatorEvents(ctx, "Liz", client.Query{}))},
		{"intervals of one state", both, listed(func(i client.Interval) any { return i.State },
			c.Intervals(ctx, tripDevice, client.Query{}))},
		{"count of all devices", "1", func() (string, error) {
			_, total, err := c.States(ctx)
			return fmt.Sprint(total), err
		}},
		{"latest reading", "20.5", func() (string, error) {
			latest, err := c.LatestReading(ctx, tripDevice)
			value, _ := latest.Metrics.Get("temp")
			return fmt.Sprint(value), err
		}},
		{"one metric of all devices", "20.5", listed(
			func(m andon.MetricReading) any { return m.Value },
			c.MetricReadings(ctx, "temp", client.Query{From: began, To: fault.Time}))},
	}, append(changes(ctx, c, fault.Time), step{"entries of a purged device", "", entries})...)
}

// changes does what people do, after the device failed at a time.
func changes(ctx context.Context, c *client.Client, failed andon.Time) []step {
	faulty := listed(func(d client.Device) any { return d.Device },
		c.Devices(ctx, client.DeviceQuery{State: "WARNING*"}))
	return []step{
		{"devices in a state", string(tripDevice), faulty},
		{"escalate", "Sara", func() (string, error) {
			e, _, err := c.Escalate(ctx, andon.Escalation{
				Device: tripDevice, Time: failed, State: tripFault, To: "Sara", By: "Liz",
			})
			return string(e.To), err
		}},
		{"entries of a supervisor", string(tripFault),
			listed(stateOf, c.SupervisorEvents(ctx, "Sara", client.Query{}))},
		{"assign", "Sue", func() (string, error) {
			a, err := c.Assign(ctx, tripDevice, "Sue")
			return string(a.Operator), err
		}},
		{"withdraw an entry", "", func() (string, error) {
			_, err := c.Withdraw(ctx, tripDevice, failed, tripFault, client.Withdrawal{})
			return "", err
		}},
		{"devices in a state, withdrawn", "", faulty},
		{"retire", "", func() (string, error) {
			_, err := c.Retire(ctx, tripDevice)
			return "", err
		}},
		{"purge", "", func() (string, error) { return "", c.Purge(ctx, tripDevice) }},
	}
}

func stateOf(e andon.Event) any { return e.State }

func counted(r client.Result, err error) (string, error) {
	return fmt.Sprintf("%d accepted, %d rejected", r.Accepted, len(r.Rejected)), err
}

func listed[T any](word func(T) any, list iter.Seq2[T, error]) func() (string, error) {
	return func() (string, error) {
		words, err := seq.Collect(seq.Map(list, func(item T) string {
			return fmt.Sprint(word(item))
		}))
		return strings.Join(words, " "), err
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
