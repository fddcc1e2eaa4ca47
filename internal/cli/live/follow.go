package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// follower prints the changes of the devices that a watch selects.
type follower struct {
	*watch
	client *client.Client
	describer
	devices devices // as they were last; nil before the first list
	stale   bool    // the devices have to be listed again
	changed int
	failing bool // the server did not answer last time
}

// follow prints changes until the context ends. An error at the first requests ends it; later it
// keeps trying.
func (f *follower) follow(ctx context.Context) error {
	if err := f.readColours(ctx); err != nil {
		return err
	}
	for t, err := range f.client.Follow(ctx, client.FollowOptions{}) {
		if err == nil {
			err = f.take(ctx, f.Now(), &t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) readColours(ctx context.Context) error {
	states, _, err := f.client.States(ctx)
	f.colours = coloursOf(states)
	return err
}

// take applies one message of the stream and prints what it changed.
func (f *follower) take(ctx context.Context, now andon.Time, t *client.Update) error {
	if t.Kind == client.Lost {
		return f.reportFailure(now, t.Err)
	}
	switch t.Kind {
	case client.Begun, client.Reset, client.Settings: // other severities make others worth a line
		f.stale = true
	case client.Silence:
		f.stale = f.stale || f.query.Silent != nil // the server has those that are selected now
	}
	if !f.stale {
		if err := f.reportAnswer(now); err != nil {
			return err
		}
		return f.printChanges(now, f.apply(now, t))
	}
	err := f.update(ctx, now)
	if err != nil && f.devices != nil && isTemporary(ctx, err) {
		return f.reportFailure(now, err)
	}
	return err
}

// isTemporary reports whether the server may answer when it is asked again: it can't be reached, or
// it says that it can't serve now.
func isTemporary(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, errClosed) {
		return false
	}
	e, answered := errors.AsType[*client.Error](err)
	return !answered || e.Status >= 500 || e.Status == http.StatusTooManyRequests ||
		e.Status == http.StatusRequestTimeout
}

// update lists the devices, and prints what changed.
func (f *follower) update(ctx context.Context, now andon.Time) error {
	if err := f.readColours(ctx); err != nil { // the settings of the tenant may have changed
		return err
	}
	was, listed := f.devices, devices{}
	for d, err := range f.client.Devices(ctx, f.query) {
		if err != nil {
			return err
		}
		d.Attributes = "" // may be long, and is not printed
		listed[d.Device] = d
	}
	f.devices, f.stale = listed, false
	if err := f.reportAnswer(now); err != nil {
		return err
	}
	if was == nil {
		return f.printFirst(now)
	}
	return f.printChanges(now, f.changes(was, listed, now))
}

// apply changes what is known of some devices, and describes the difference.
func (f *follower) apply(now andon.Time, t *client.Update) []string {
	was, is := devices{}, devices{}
	put := func(d client.Device, there bool) {
		if known, ok := f.devices[d.Device]; ok {
			was[d.Device] = known
		}
		delete(f.devices, d.Device)
		if there {
			f.devices[d.Device], is[d.Device] = d, d
		}
	}
	d := t.Device
	d.Attributes = ""
	switch t.Kind {
	case client.Gone:
		put(d, false)
	case client.Shows: // what is older than what is known is in the list already
		if d.Received >= f.devices[d.Device].Received {
			put(d, f.selects(&d))
		}
	case client.Silence:
		for i, id := range slices.Concat(t.Silent, t.Heard) {
			if d, known := f.devices[id]; known {
				d.Silent = i < len(t.Silent)
				put(d, true)
			}
		}
	}
	return f.changes(was, is, now)
}

// selects reports whether the flags select a device.
func (w *watch) selects(d *client.Device) bool {
	q := &w.query
	states, err := andon.ParseStateFilter(q.State)
	prefix, isPrefix := strings.CutSuffix(q.Device, "*")
	named := string(d.Device) == q.Device || q.Device == "" ||
		isPrefix && strings.HasPrefix(string(d.Device), prefix)
	return err == nil && states.Match(d.State) && named &&
		(q.Operator == "" || q.Operator == d.Operator) && !(q.NoOperator && d.Operator != "") &&
		(q.EscalatedTo == "" || q.EscalatedTo == d.EscalatedTo) &&
		(q.Silent == nil || *q.Silent == d.Silent)
}

// printFirst prints how many devices there are, and those that are not normal.
func (f *follower) printFirst(now andon.Time) error {
	err := f.print(now, fmt.Sprintf("watching %s: %s", f.selection(),
		draw.Count(len(f.devices), "device")))
	for _, id := range slices.Sorted(maps.Keys(f.devices)) {
		if d := f.devices[id]; d.Severity > 0 && err == nil {
			err = f.print(now, f.named(&d, now))
		}
	}
	return err
}

func (f *follower) printChanges(now andon.Time, changes []string) error {
	for _, text := range changes {
		f.changed++
		if err := f.print(now, text); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) print(now andon.Time, text string) error {
	return printLine(f.Stdout, "%sZ  %s", now.Std().Format("2006-01-02T15:04:05"), text)
}

// reportFailure prints why the server does not answer, once until it answers again.
func (f *follower) reportFailure(now andon.Time, reason error) error {
	if f.failing {
		return nil
	}
	f.failing = true
	first, _, _ := strings.Cut(reason.Error(), "\n")
	return f.print(now, draw.Legible("no answer: "+first))
}

func (f *follower) reportAnswer(now andon.Time) error {
	if !f.failing {
		return nil
	}
	f.failing = false
	return f.print(now, "the server answers again")
}
