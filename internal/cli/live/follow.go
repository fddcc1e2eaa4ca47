package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// follower prints the changes of the devices that a watch selects.
type follower struct {
	*watch
	client *client.Client
	describer

	stream  *stream // nil: the server is polled
	devices devices // as they were last; nil before the first list
	stale   bool    // the stream missed changes: the devices have to be listed again
	listed  andon.Time
	changed int
	failing bool // the server did not answer last time
}

// silenceEvery is how often silent devices are listed: silence comes with the clock, so the stream
// does not bring it.
const silenceEvery = andon.Duration(10_000_000)

// run prints changes until the watch ends, and then how many there were. An error at the first
// request ends it; later it keeps trying.
func (f *follower) run(ctx context.Context) (err error) {
	begun := f.Now()
	if err := f.readColours(ctx); err != nil {
		return err
	}
	if f.query.Silent == nil { // silence is polled for
		if f.stream, err = openStream(ctx, f.client); err != nil {
			return err
		}
	}
	if f.stream != nil {
		defer f.stream.close()
	}
	err = unlessEnded(ctx, f.follow(ctx, begun))
	if err == nil {
		f.Line("Watched for %s: %s.", draw.Age(f.Now().Sub(begun)),
			draw.Count(f.changed, "change"))
	}
	return err
}

func (f *follower) readColours(ctx context.Context) error {
	states, _, err := f.client.States(ctx)
	f.colours = coloursOf(states)
	return err
}

func (f *follower) follow(ctx context.Context, begun andon.Time) error {
	for {
		now := f.Now()
		err := f.update(ctx, now)
		if err != nil && isTemporary(ctx, err) {
			err = f.reportFailure(now, err)
		}
		if err != nil {
			return err
		}
		wait := f.every
		if f.length > 0 {
			wait = min(wait, f.length-now.Sub(begun).Std())
		}
		if f.length > 0 && wait <= 0 {
			return nil
		}
		if err := f.wait(ctx, wait); err != nil {
			return err
		}
	}
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

// update asks the server for what the stream does not bring, and prints what changed.
func (f *follower) update(ctx context.Context, now andon.Time) error {
	if f.stream != nil && f.devices != nil && !f.stale {
		return f.updateSilent(ctx, now)
	}
	if f.stale { // the settings of the tenant may have changed
		if err := f.readColours(ctx); err != nil {
			return err
		}
	}
	listed, err := f.list(ctx, f.query)
	if err != nil {
		return err
	}
	was := f.devices
	f.devices, f.stale, f.listed = listed, false, now
	if err := f.reportAnswer(now); err != nil {
		return err
	}
	if was == nil {
		return f.printFirst(now)
	}
	return f.printChanges(now, f.changes(was, listed, now))
}

func (f *follower) list(ctx context.Context, q client.DeviceQuery) (devices, error) {
	listed := devices{}
	for d, err := range f.client.Devices(ctx, q) {
		if err != nil {
			return nil, err
		}
		d.Attributes = "" // may be long, and is not printed
		listed[d.Device] = d
	}
	return listed, nil
}

// updateSilent lists the silent devices, if it is time to.
func (f *follower) updateSilent(ctx context.Context, now andon.Time) error {
	if now.Sub(f.listed) < silenceEvery {
		return nil
	}
	q, silent := f.query, true
	q.Silent = &silent
	listed, err := f.list(ctx, q)
	if err != nil {
		return err
	}
	f.listed = now
	is := maps.Clone(f.devices)
	for id, d := range is {
		if s, ok := listed[id]; ok != d.Silent {
			if d.Silent = ok; ok {
				d.Received = s.Received
			}
			is[id] = d
		}
	}
	was := f.devices
	f.devices = is
	return f.printChanges(now, f.changes(was, is, now))
}

// wait returns after d, or earlier if the devices have to be listed again. Meanwhile it prints what
// the stream brings.
func (f *follower) wait(ctx context.Context, d time.Duration) error {
	if f.stream == nil {
		return f.sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !f.stale {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		case t, ok := <-f.stream.messages:
			if !ok {
				return f.stream.err
			}
			if err := f.take(f.Now(), &t); err != nil {
				return err
			}
		}
	}
	return nil
}

// take applies one message of the stream and prints what it changed.
func (f *follower) take(now andon.Time, t *client.Update) error {
	if t.Kind == client.Lost {
		return f.reportFailure(now, t.Err)
	}
	if err := f.reportAnswer(now); err != nil {
		return err
	}
	switch t.Kind {
	case client.Shows, client.Gone:
		return f.printChanges(now, f.apply(now, t))
	case client.Reset, client.Settings: // other severities make other devices worth a line
		f.stale = true
	}
	return nil
}

// apply changes what is known of one device, and describes the difference. What is older than what
// is known came before the list was read, and is in it.
func (f *follower) apply(now andon.Time, t *client.Update) []string {
	d := t.Device
	d.Attributes = ""
	was, is := devices{}, devices{}
	if known, ok := f.devices[d.Device]; ok {
		if t.Kind == client.Shows && d.Received < known.Received {
			return nil
		}
		was[d.Device] = known
	}
	delete(f.devices, d.Device)
	if t.Kind == client.Shows && f.selects(&d) {
		f.devices[d.Device], is[d.Device] = d, d
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
		(q.EscalatedTo == "" || q.EscalatedTo == d.EscalatedTo)
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
