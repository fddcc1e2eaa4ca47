package cli

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// summary prints what a server says of a fleet.
type summary struct {
	page
	client *client.Client
	now    andon.Time
	looks  map[andon.State]client.StateCount
}

const shown = 8 // rows of a table

func (s *summary) print(ctx context.Context) error {
	if err := s.states(ctx); err != nil {
		return err
	}
	worst, err := s.worst(ctx)
	if err != nil || len(worst) == 0 {
		return err
	}
	if err := s.intervals(ctx, worst[0].Device); err != nil {
		return err
	}
	return s.hour(ctx, worst[0])
}

// states prints how many devices are in each state.
func (s *summary) states(ctx context.Context) error {
	states, total, err := s.client.States(ctx)
	if err != nil {
		return err
	}
	s.looks = map[andon.State]client.StateCount{}
	s.heading("States of %d devices", total)
	var rows [][]cell
	for _, state := range states {
		s.looks[state.State] = state
		count := cell{text: strconv.Itoa(state.Count), right: true}
		rows = append(rows, []cell{s.state(state.State), count})
	}
	s.table(rows)
	return nil
}

// worst prints the devices that are the furthest from normal, the severest and longest first.
func (s *summary) worst(ctx context.Context) ([]client.Device, error) {
	q := client.DeviceQuery{Sort: "severity", Page: shown}
	devices, err := first(shown, s.client.Devices(ctx, q))
	if err != nil {
		return nil, err
	}
	s.heading("The worst devices")
	rows := [][]cell{texts("DEVICE", "STATE", "SINCE", "FOR", "OPERATOR", "ESCALATED TO")}
	for _, d := range devices {
		rows = append(rows, append(
			[]cell{{text: string(d.Device)}, s.state(d.State)},
			texts(clock(d.Since), age(s.now.Sub(d.Since)),
				string(d.Operator), string(d.EscalatedTo))...,
		))
	}
	s.table(rows)
	return devices, nil
}

// intervals prints the last runs of one device.
func (s *summary) intervals(ctx context.Context, device andon.DeviceID) error {
	runs, err := first(shown, s.client.Intervals(ctx, device, client.Query{Page: shown}))
	if err != nil {
		return err
	}
	s.heading("%s, newest first", device)
	rows := [][]cell{texts("STATE", "FROM", "TO", "FOR")}
	for _, r := range runs {
		to := "now"
		if r.To != 0 {
			to = clock(r.To)
		}
		length := andon.DurationOf(time.Duration(r.Seconds * float64(time.Second)))
		rows = append(rows,
			append([]cell{s.state(r.State)}, texts(clock(r.From), to, age(length))...))
	}
	s.table(rows)
	return nil
}

// hour prints what the operator of a device had to do in the last hour.
func (s *summary) hour(ctx context.Context, d client.Device) error {
	const length = andon.Time(3_600_000_000)
	q := client.Query{State: "WARNING*", From: s.now - length, To: s.now}
	events, err := first(1_000_000, s.client.OperatorEvents(ctx, d.Operator, q))
	if err != nil {
		return err
	}
	s.heading("%s in the last hour: %d warnings, the newest first", d.Operator, len(events))
	rows := [][]cell{texts("TIME", "DEVICE", "STATE", "MESSAGE")}
	for _, e := range events[:min(len(events), shown)] {
		rows = append(rows, []cell{
			{text: clock(e.Time)}, {text: string(e.Device)}, s.state(e.State), {text: e.Message},
		})
	}
	s.table(rows)
	return nil
}

// state is a cell that shows a state as its tenant wants it to look.
func (s *summary) state(name andon.State) cell {
	look := s.looks[name]
	return cell{text: fmt.Sprintf("%s %s", look.Symbol, name), colour: look.Colour}
}

// clock shows a time to the second, for a person.
func clock(t andon.Time) string { return t.Std().Format("2006-01-02 15:04:05") }

// age shows a length of time by its two greatest units.
func age(d andon.Duration) string {
	const minute, hour, day = andon.Duration(60e6), andon.Duration(3600e6), andon.Duration(86400e6)
	switch {
	case d >= day:
		return fmt.Sprintf("%dd%02dh", d/day, d%day/hour)
	case d >= hour:
		return fmt.Sprintf("%dh%02dm", d/hour, d%hour/minute)
	case d >= minute:
		return fmt.Sprintf("%dm%02ds", d/minute, d%minute/1e6)
	}
	return fmt.Sprintf("%ds", d/1e6)
}

// first returns the first n of a list.
func first[T any](n int, list iter.Seq2[T, error]) ([]T, error) {
	var items []T
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		if items = append(items, item); len(items) == n {
			break
		}
	}
	return items, nil
}
