package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/simulate"
)

// receiver takes what the factory reports: the client of the server, and in tests also a second
// store.
type receiver interface {
	AppendEvents(context.Context, []andon.Event) (client.Result, error)
	AppendReadings(context.Context, []andon.Reading) (client.Result, error)
	AssignMany(context.Context, []client.Assignment) (client.Result, error)
	Escalate(context.Context, client.Escalation) (client.Escalation, error)
	Restore(context.Context, client.History) (client.Result, error)
}

const (
	reportsAnHour = 12
	batchSize     = 5000 // entries of a request, about 1 MB

	// The past is as long as pastEntries of all devices allow, within bounds.
	pastEntries           = 120_000
	shortPast, longerPast = 2, 10 // hours of the factory
)

// pastHours returns how long the factory has run before the demo begins.
func pastHours(devices int) int {
	return max(shortPast, min(longerPast, pastEntries/reportsAnHour/devices))
}

// factory sends receivers what a simulated fleet reports.
type factory struct {
	fleet *simulate.Fleet
	every andon.Duration // between two reports of a device
	to    []receiver
	past  andon.Time // when its past begins
	until andon.Time // everything before this was sent
	sent  tally
}

// newFactory makes a factory whose past ends now.
func (d *demo) newFactory(c *client.Client) *factory {
	every := andon.Duration(float64(simulate.DefaultEvery) / d.speed)
	reports := andon.Duration(pastHours(d.devices) * reportsAnHour)
	f := &factory{every: every, past: d.Now().Add(-reports * every), to: []receiver{c}}
	f.fleet = simulate.New(simulate.Options{
		Seed: d.seed, Devices: d.devices, Start: f.past, Every: every,
	})
	if d.mirror != nil {
		f.to = append(f.to, d.mirror)
	}
	return f
}

// tally counts what was sent.
type tally struct {
	events, readings, assignments, escalations int

	refused int    // of those
	reason  string // of the first that was refused
}

func (t tally) String() string {
	return fmt.Sprintf("%s events, %s readings, %s assignments and %s escalations",
		draw.Grouped(t.events), draw.Grouped(t.readings), draw.Grouped(t.assignments),
		draw.Grouped(t.escalations))
}

func (t *tally) refuse(n int, reason string) {
	t.refused += n
	t.reason = cmp.Or(t.reason, reason)
}

// sendPast sends the past of the factory up to now: what people did has its own times.
func (f *factory) sendPast(ctx context.Context, now andon.Time) error {
	f.until = now
	past := f.fleet.Advance(now)
	err := f.restore(ctx, client.History{Assignments: assignmentsOf(past)})
	if err == nil {
		err = f.send(ctx, simulate.Messages{Events: past.Events, Readings: past.Readings})
	}
	if err != nil {
		return err
	}
	return f.restore(ctx, client.History{Escalations: escalationsOf(past)}) // each needs its entry
}

// restore sends all receivers what people did in the past.
func (f *factory) restore(ctx context.Context, h client.History) error {
	f.sent.assignments += len(h.Assignments)
	f.sent.escalations += len(h.Escalations)
	for _, to := range f.to {
		result, err := to.Restore(ctx, h)
		if err != nil {
			return err
		}
		if len(result.Rejected) > 0 {
			f.sent.refuse(len(result.Rejected), result.Rejected[0].Error)
		}
	}
	return nil
}

// sendUntil sends what the factory reported until now, in steps of one report of each device: a
// computer that was asleep has many reports to send.
func (f *factory) sendUntil(ctx context.Context, now andon.Time) error {
	for f.until < now {
		f.until = min(f.until.Add(f.every), now)
		if err := f.send(ctx, f.fleet.Advance(f.until)); err != nil {
			return err
		}
	}
	return nil
}

// send sends to all receivers, and counts what the first one was sent.
func (f *factory) send(ctx context.Context, m simulate.Messages) error {
	for i, to := range f.to {
		count := &f.sent
		if i > 0 {
			count = &tally{}
		}
		if err := deliver(ctx, m, count, to); err != nil {
			return err
		}
	}
	return nil
}

// deliver sends messages. Escalations come last, since each needs its entry.
func deliver(ctx context.Context, m simulate.Messages, count *tally, to receiver) error {
	err := inBatches(ctx, m.Events, &count.events, count, to.AppendEvents)
	if err == nil {
		err = inBatches(ctx, m.Readings, &count.readings, count, to.AppendReadings)
	}
	if err == nil {
		err = inBatches(ctx, assignmentsOf(m), &count.assignments, count, to.AssignMany)
	}
	if err == nil {
		err = escalate(ctx, escalationsOf(m), count, to)
	}
	return err
}

func assignmentsOf(m simulate.Messages) []client.Assignment {
	all := make([]client.Assignment, len(m.Assignments))
	for i, a := range m.Assignments {
		all[i] = client.Assignment{Device: a.Device, Operator: a.Operator, From: a.From}
	}
	return all
}

func escalationsOf(m simulate.Messages) []client.Escalation {
	all := make([]client.Escalation, len(m.Escalations))
	for i, e := range m.Escalations {
		all[i] = client.Escalation{
			Device: e.Device, Time: e.Time, State: e.State,
			Record: client.Record{To: e.To, At: e.At, By: e.By, Note: e.Note},
		}
	}
	return all
}

// inBatches sends entries and counts them.
func inBatches[T any](
	ctx context.Context, all []T, n *int, count *tally,
	send func(context.Context, []T) (client.Result, error),
) error {
	for part := range slices.Chunk(all, batchSize) {
		result, err := send(ctx, part)
		if err != nil {
			return err
		}
		*n += len(part)
		if len(result.Rejected) > 0 {
			count.refuse(len(result.Rejected), result.Rejected[0].Error)
		}
	}
	return nil
}

// escalate sends escalations one by one. The user of the demo may have deleted what one is about;
// that does not end the demo.
func escalate(ctx context.Context, all []client.Escalation, count *tally, to receiver) error {
	for _, e := range all {
		_, err := to.Escalate(ctx, e)
		var refused *client.Error
		switch {
		case errors.As(err, &refused) && refused.Status < 500:
			count.refuse(1, refused.Error())
		case err != nil:
			return err
		}
		count.escalations++
	}
	return nil
}
