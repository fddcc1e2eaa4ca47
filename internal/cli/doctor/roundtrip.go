package doctor

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/sleep"
)

// roundTrip sends what one device reports, and what people do with it, to a throwaway tenant, and
// compares each answer with the right one.
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

var warnings = client.DeviceQuery{State: "WARNING*"}

func (r *roundTrip) steps(ctx context.Context) []step {
	return slices.Concat(r.reports(ctx), r.questions(ctx), r.changes(ctx))
}

func (r *roundTrip) fault() andon.Time { return r.began.Add(60_000_000) }

// reports sends two events, the newer one first, and one reading.
func (r *roundTrip) reports(ctx context.Context) []step {
	send := func(events ...andon.Event) func() (string, error) {
		return func() (string, error) { return counted(r.AppendEvents(ctx, events)) }
	}
	fault := andon.Event{
		Device: tripDevice, Time: r.fault(), State: tripFault, Operator: tripOperator,
	}
	before := andon.Event{
		Device: tripDevice, Time: r.began, State: "NORMAL", Operator: tripOperator,
	}
	reading := andon.Reading{
		Device: tripDevice, Time: r.began, Metrics: andon.Metrics{{Name: tripMetric, Value: 20.5}},
	}
	return []step{
		{"send events", "2 accepted, 0 rejected", send(fault, before)},
		{"send an event again", "1 accepted, 0 rejected", send(fault)},
		{"send an event without a state", "0 accepted, 1 rejected",
			send(andon.Event{Device: tripDevice, Time: r.began})},
		{"send a reading", "1 accepted, 0 rejected", func() (string, error) {
			return counted(r.AppendReadings(ctx, []andon.Reading{reading}))
		}},
	}
}

// questions asks everything that a client can ask about one device.
func (r *roundTrip) questions(ctx context.Context) []step {
	const both = "WARNING2 NORMAL"
	all, span := client.Query{}, client.Query{From: r.began, To: r.fault()}
	metric := func(m andon.MetricReading) string { return fmt.Sprint(m.Value) }
	reading := func(m andon.Reading) string {
		value, _ := m.Metrics.Get(tripMetric)
		return fmt.Sprint(value)
	}
	interval := func(i client.Interval) string { return string(i.State) }
	return []step{
		{"current state of a device", "WARNING2 after 1m0s, Liz", func() (string, error) {
			d, err := r.Device(ctx, tripDevice)
			after := d.Since.Sub(r.began).Std()
			return fmt.Sprintf("%s after %s, %s", d.State, after, d.Operator), err
		}},
		{"an entry", string(tripFault), func() (string, error) {
			e, err := r.Entry(ctx, tripDevice, r.fault(), tripFault)
			return stateOf(e.Event), err
		}},
		{"entries of a device", both, listed(stateOf, r.DeviceEvents(ctx, tripDevice, all))},
		{"entries of an operator", both, listed(stateOf, r.OperatorEvents(ctx, tripOperator, all))},
		{"entries of all devices", both, listed(stateOf, r.Events(ctx, all))},
		{"intervals of one state", both, listed(interval, r.Intervals(ctx, tripDevice, all))},
		{"devices in a state", string(tripDevice), r.devices(ctx, warnings)},
		{"devices by severity", string(tripDevice),
			r.devices(ctx, client.DeviceQuery{Sort: "severity"})},
		{"count of each state", "1 WARNING2", func() (string, error) { return r.count(ctx) }},
		{"readings of a device", "20.5", listed(reading, r.DeviceReadings(ctx, tripDevice, span))},
		{"latest reading", "20.5", func() (string, error) {
			latest, err := r.LatestReading(ctx, tripDevice)
			return reading(latest), err
		}},
		{"one metric of all devices", "20.5",
			listed(metric, r.MetricReadings(ctx, tripMetric, span))},
	}
}

// changes does what people do, and asks for the result each time.
func (r *roundTrip) changes(ctx context.Context) []step {
	escalate := func(to andon.PersonID) func() (string, error) {
		return func() (string, error) {
			e, err := r.Escalate(ctx, client.Escalation{
				Device: tripDevice, Time: r.fault(), State: tripFault,
				Record: client.Record{To: to, By: tripOperator},
			})
			return string(e.To), err
		}
	}
	supervised := listed(stateOf, r.SupervisorEvents(ctx, tripBoss, client.Query{}))
	operator := func(a client.Assignment) string { return string(a.Operator) }
	return []step{
		{"escalate", string(tripBoss), escalate(tripBoss)},
		{"entries of a supervisor", string(tripFault), supervised},
		{"withdraw an escalation", "", escalate("")},
		{"entries of a supervisor, withdrawn", "", supervised},
		{"assign", "Sue", func() (string, error) {
			a, err := r.Assign(ctx, tripDevice, "Sue")
			return operator(a), err
		}},
		{"assignments of a device", "Sue",
			listed(operator, r.Assignments(ctx, tripDevice, client.Query{}))},
		{"withdraw an entry", "", func() (string, error) {
			_, err := r.Withdraw(ctx, tripDevice, r.fault(), tripFault, client.Withdrawal{})
			return "", err
		}},
		{"devices in a state, withdrawn", "", r.devices(ctx, warnings)},
		{"retire", "", func() (string, error) {
			_, err := r.Retire(ctx, tripDevice)
			return "", err
		}},
		{"devices, one retired", "", r.devices(ctx, client.DeviceQuery{})},
		{"purge", "", func() (string, error) { return "", r.Purge(ctx, tripDevice) }},
		{"entries of a purged device", "",
			listed(stateOf, r.DeviceEvents(ctx, tripDevice, client.Query{}))},
	}
}

func (r *roundTrip) devices(ctx context.Context, q client.DeviceQuery) func() (string, error) {
	return listed(func(d client.Device) string { return string(d.Device) }, r.Devices(ctx, q))
}

func (r *roundTrip) count(ctx context.Context) (string, error) {
	states, _, err := r.States(ctx)
	var counts []string
	for _, s := range states {
		if s.Count > 0 {
			counts = append(counts, fmt.Sprint(s.Count, " ", s.State))
		}
	}
	return strings.Join(counts, ", "), err
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

// within asks until the answer is right, or the time is up: a store may show what it acknowledged
// only after a while.
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
