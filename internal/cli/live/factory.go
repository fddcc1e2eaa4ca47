package live

import (
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
	AssignMany(context.Context, []andon.Assignment) (client.Result, error)
	Escalate(context.Context, andon.Escalation) (kept andon.Escalation, added bool, err error)
	Restore(context.Context, andon.History) (client.Result, error)
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

type factory struct {
	fleet *simulate.Fleet
	every andon.Duration // between two reports of a device
	to    receiver
	past  andon.Time // when its past begins
	until andon.Time // everything before this was sent
	sent  tally
}

// newFactory makes a factory whose past ends now.
func (d *demo) newFactory(to receiver) *factory {
	every := andon.Duration(float64(simulate.DefaultEvery) / d.speed)
	reports := andon.Duration(pastHours(d.devices) * reportsAnHour)
	f := &factory{every: every, past: d.Now().Add(-reports * every), to: to}
	f.fleet = simulate.New(simulate.Options{
		Seed: d.seed, Devices: d.devices, Start: f.past, Every: every,
	})
	return f
}

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

func (t *tally) refuse(all []andon.Rejection) {
	if t.refused == 0 && len(all) > 0 {
		t.reason = all[0].Error
	}
	t.refused += len(all)
}

// sendPast sends the past of the factory up to now: what people did has its own times.
func (f *factory) sendPast(ctx context.Context, now andon.Time) error {
	f.until = now
	past := f.fleet.Advance(now)
	err := f.restore(ctx, andon.History{Assignments: past.Assignments})
	if err == nil {
		err = f.send(ctx, simulate.Messages{Events: past.Events, Readings: past.Readings})
	}
	if err != nil {
		return err
	}
	return f.restore(ctx, andon.History{Escalations: past.Escalations}) // each needs its entry
}

// restore sends what people did in the past.
func (f *factory) restore(ctx context.Context, h andon.History) error {
	result, err := f.to.Restore(ctx, h)
	f.sent.assignments += len(h.Assignments)
	f.sent.escalations += len(h.Escalations)
	f.sent.refuse(result.Rejected)
	return err
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

// send sends messages. Escalations come last, since each needs its entry.
func (f *factory) send(ctx context.Context, m simulate.Messages) error {
	t := &f.sent
	err := inBatches(ctx, t, &t.events, m.Events, f.to.AppendEvents)
	if err == nil {
		err = inBatches(ctx, t, &t.readings, m.Readings, f.to.AppendReadings)
	}
	if err == nil {
		err = inBatches(ctx, t, &t.assignments, m.Assignments, f.to.AssignMany)
	}
	if err == nil {
		err = f.escalate(ctx, m.Escalations)
	}
	return err
}

// inBatches sends entries and counts them.
func inBatches[T any](
	ctx context.Context, t *tally, n *int, all []T,
	send func(context.Context, []T) (client.Result, error),
) error {
	for part := range slices.Chunk(all, batchSize) {
		result, err := send(ctx, part)
		if err != nil {
			return err
		}
		*n += len(part)
		t.refuse(result.Rejected)
	}
	return nil
}

// escalate sends escalations one by one. The user of the demo may have deleted what one is about;
// that does not end the demo.
func (f *factory) escalate(ctx context.Context, all []andon.Escalation) error {
	for _, e := range all {
		_, _, err := f.to.Escalate(ctx, e)
		var refused *client.Error
		switch {
		case errors.As(err, &refused) && refused.Status < 500:
			f.sent.refuse([]andon.Rejection{{Error: refused.Error()}})
		case err != nil:
			return err
		}
		f.sent.escalations++
	}
	return nil
}
