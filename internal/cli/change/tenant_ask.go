package change

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// loss is what a shorter retention takes away at once, and for good.
type loss struct {
	kind   string // "events"
	before andon.Time
	count  int  // that were counted
	more   bool // there are more than were counted
}

// String says it in words.
func (l loss) String() string {
	text := fmt.Sprintf("%s %s before %s", draw.Grouped(l.count), l.kind, l.before)
	if l.more {
		return "at least " + text
	}
	return text
}

// mostCounted bounds how long counting takes.
const mostCounted = 10_000

func losses(
	ctx context.Context, p *command.Program, c *client.Client, is client.Tenant,
	wanted client.TenantChange,
) (all []loss, err error) {
	id := is.Tenant
	of := c.ForTenant(id)
	if r := wanted.EventsRetention; r != nil && shorter(*r, is.Retention.Events) {
		l := loss{kind: "events", before: p.Now() - andon.Time(*r)}
		err = l.add(ctx, of, func(d andon.DeviceID, q client.Query) (int, error) {
			return lengthOf(of.DeviceEvents(ctx, d, q))
		})
		all = append(all, l)
	}
	if r := wanted.ReadingsRetention; r != nil && err == nil && shorter(*r, is.Retention.Readings) {
		l := loss{kind: "readings", before: p.Now() - andon.Time(*r)}
		err = l.add(ctx, of, func(d andon.DeviceID, q client.Query) (int, error) {
			return lengthOf(of.DeviceReadings(ctx, d, q))
		})
		all = append(all, l)
	}
	return all, err
}

// lengthOf returns how many a list has, and mostCounted where there are more.
func lengthOf[T any](list iter.Seq2[T, error]) (n int, err error) {
	for _, err := range list {
		if err != nil || n == mostCounted {
			return n, err
		}
		n++
	}
	return n, nil
}

// shorter reports whether a retention keeps less than another; forever keeps the most.
func shorter(a, b andon.Retention) bool {
	return a != andon.Forever && (b == andon.Forever || cmp.Less(a, b))
}

// add counts what the devices have that is older, device by device, until it is enough.
func (l *loss) add(
	ctx context.Context, c *client.Client, count func(andon.DeviceID, client.Query) (int, error),
) error {
	const mostDevices = 1000
	devices := 0
	for _, q := range []client.DeviceQuery{{}, {Retired: true}, {Measuring: true}} {
		for d, err := range c.Devices(ctx, q) {
			if err != nil {
				return err
			}
			if devices++; devices > mostDevices || l.count >= mostCounted {
				l.more = true
				return nil
			}
			n, err := count(d.Device, client.Query{To: l.before - 1, Page: andon.MaxLimit})
			if err != nil {
				return err
			}
			l.count += n
		}
	}
	return nil
}

// allow asks whether what a change takes away may go. Where nothing goes there is nothing to ask;
// where not all devices were looked at, something may go.
func allow(ctx context.Context, p *command.Program, id andon.TenantID, all []loss) error {
	text := ""
	for _, l := range all {
		if l.count > 0 || l.more {
			text += fmt.Sprintf("\n  %s", l)
		}
	}
	if text == "" {
		return nil
	}
	return p.ConfirmThat(ctx, string(id), fmt.Sprintf("The shorter retention of tenant %s takes "+
		"away at once, and for good:%s", draw.Legible(string(id)), text))
}

// showChange prints what a change would make of a tenant, and what it would take away.
func showChange(
	p *command.Program, t client.Tenant, there bool, wanted client.TenantChange, all []loss,
	form *command.Choice,
) error {
	if id := t.Tenant; !there {
		fresh := andon.NewTenant(id)
		t = client.Tenant{
			Tenant: id, MaxFuture: fresh.MaxFuture, SilentAfter: fresh.SilentAfter,
			Retention: client.Retention{Events: fresh.Events, Readings: fresh.Readings},
			States:    fresh.States.Defs(), UnknownStates: fresh.Unknown,
		}
		fmt.Fprintf(p.Stderr, "Tenant %s would be made.\n", draw.Legible(string(id)))
	}
	set(&t.Retention.Events, wanted.EventsRetention)
	set(&t.Retention.Readings, wanted.ReadingsRetention)
	set(&t.MaxFuture, wanted.MaxFuture)
	set(&t.SilentAfter, wanted.SilentAfter)
	set(&t.UnknownStates, wanted.UnknownStates)
	if wanted.States != nil {
		t.States = wanted.States
	}
	for _, l := range all {
		fmt.Fprintf(p.Stderr, "It would take away %s.\n", l)
	}
	return command.ShowOne(p, &command.Output{Format: form}, tenantColumns(), t)
}

func set[T any](field *T, wanted *T) {
	if wanted != nil {
		*field = *wanted
	}
}
