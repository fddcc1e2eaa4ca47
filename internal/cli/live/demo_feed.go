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

// receiver takes what the factory says. It is the client of the server; in tests also a second
// store beside it.
type receiver interface {
	AppendEvents(context.Context, []andon.Event) (client.Result, error)
	AppendReadings(context.Context, []andon.Reading) (client.Result, error)
	AssignMany(context.Context, []client.Assignment) (client.Result, error)
	Escalate(context.Context, client.Escalation) (client.Escalation, error)
}

const (
	roundsOfHour = 12
	feedBatch    = 5000 // entries of a request, about 1 MB

	// The past is as long as fits into so many entries of all devices, within bounds.
	pastEntries           = 120_000
	shortPast, longerPast = 2, 10 // hours of the factory
)

// pastHours returns how long the factory has lived before the demo begins.
func pastHours(devices int) int {
	return max(shortPast, min(longerPast, pastEntries/roundsOfHour/devices))
}

// factory feeds receivers with what a simulated fleet says.
type factory struct {
	fleet   *simulate.Fleet
	every   andon.Duration // a round
	to      []receiver
	past    andon.Time // when its past begins
	reached andon.Time // what was before is sent
	sent    tally
}

// newFactory makes a factory whose past ends now.
func (d *demo) newFactory(c *client.Client) *factory {
	every := andon.Duration(float64(simulate.DefaultEvery) / d.speed)
	rounds := andon.Duration(pastHours(d.devices) * roundsOfHour)
	f := &factory{every: every, past: d.Now().Add(-rounds * every), to: []receiver{c}}
	f.fleet = simulate.New(simulate.Options{
		Seed: d.seed, Devices: d.devices, Start: f.past, Every: every,
	})
	if d.beside != nil {
		f.to = append(f.to, d.beside)
	}
	return f
}

// tally counts what was sent.
type tally struct {
	events, readings, assignments, escalations int

	refused int    // of them
	reason  string // of the first that was refused
}

// String says it in words.
func (t tally) String() string {
	return fmt.Sprintf("%s events, %s readings, %s assignments and %s escalations",
		draw.Grouped(t.events), draw.Grouped(t.readings), draw.Grouped(t.assignments),
		draw.Grouped(t.escalations))
}

func (t *tally) refuse(n int, reason string) {
	t.refused += n
	t.reason = cmp.Or(t.reason, reason)
}

// catchUp sends the past of the factory, up to now, as the log that somebody kept of it.
func (f *factory) catchUp(ctx context.Context, now andon.Time) error {
	var past simulate.Past
	for at := f.past; at < now && ctx.Err() == nil; {
		at = min(at.Add(f.every), now)
		past.Add(f.fleet.Advance(at))
	}
	f.reached = now
	return f.send(ctx, past.Messages())
}

// goOn sends what the factory says up to now: a round at a time, since a machine that was asleep
// has many rounds to make up for.
func (f *factory) goOn(ctx context.Context, now andon.Time) error {
	for f.reached < now {
		f.reached = min(f.reached.Add(f.every), now)
		if err := f.send(ctx, f.fleet.Advance(f.reached)); err != nil {
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

// deliver sends in an order in which nothing comes before what it needs: an escalation needs its
// entry.
func deliver(ctx context.Context, m simulate.Messages, count *tally, to receiver) error {
	err := inBatches(ctx, m.Events, &count.events, count, to.AppendEvents)
	if err == nil {
		err = inBatches(ctx, m.Readings, &count.readings, count, to.AppendReadings)
	}
	if err == nil {
		err = inBatches(ctx, assignmentsOf(m), &count.assignments, count, to.AssignMany)
	}
	if err == nil {
		err = escalate(ctx, m.Escalations, count, to)
	}
	return err
}

func assignmentsOf(m simulate.Messages) []client.Assignment {
	all := make([]client.Assignment, len(m.Assignments))
	for i, a := range m.Assignments {
		all[i] = client.Assignment{Device: a.Device, Operator: a.Operator}
	}
	return all
}

// inBatches sends entries and counts them.
func inBatches[T any](
	ctx context.Context, all []T, n *int, count *tally,
	send func(context.Context, []T) (client.Result, error),
) error {
	for part := range slices.Chunk(all, feedBatch) {
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

// escalate sends escalations one by one. Who looks around in the demo may have taken away what one
// is about; that is no reason to end.
func escalate(ctx context.Context, all []andon.Escalation, count *tally, to receiver) error {
	for _, e := range all {
		_, err := to.Escalate(ctx, client.Escalation{
			Device: e.Device, Time: e.Time, State: e.State,
			Record: client.Record{To: e.To, By: e.By, Note: e.Note},
		})
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
