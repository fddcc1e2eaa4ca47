package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// follow prints changes until the context ends. An error at the first requests ends it; later it
// keeps trying.
func (w *watch) follow(ctx context.Context) error {
	selected := client.FollowOptions{
		Device: w.query.Device, Selection: w.query.Selection, Incidents: w.incidents,
	}
	for t, err := range w.client.Follow(ctx, selected) {
		if err == nil {
			err = w.take(ctx, w.Now(), &t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take applies one message of the stream and prints what it changed.
func (w *watch) take(ctx context.Context, now andon.Time, t *client.Update) error {
	switch t.Kind {
	case client.Lost:
		if w.devices == nil {
			return t.Err
		}
		return w.reportFailure(now, t.Err)
	case client.Begun: // again: the changes since are sent, but for what is silent
		w.unheard = w.devices != nil
		w.stale = w.stale || !w.unheard || w.query.Silent != nil
	case client.Reset, client.Settings: // other severities make others worth a line
		w.stale = true
	case client.Silence:
		w.stale = w.stale || w.query.Silent != nil // the server has those that are selected now
	}
	if w.stale {
		err := w.list(ctx, now)
		if w.devices != nil && ctx.Err() == nil && err != errClosed && client.MayPass(err) {
			return w.reportFailure(now, err)
		}
		return err
	}
	if w.unheard {
		switch err := w.listSilence(ctx, now); {
		case err == nil:
		case err == errClosed || ctx.Err() != nil || !client.MayPass(err):
			return err
		default:
			return errors.Join(w.reportFailure(now, err), w.apply(now, t))
		}
	}
	if err := w.reportAnswer(now); err != nil {
		return err
	}
	return w.apply(now, t)
}

// listSilence reads which devices are silent, and prints where that changed. What else the list has
// may be newer than the changes that are still to come.
func (w *watch) listSilence(ctx context.Context, now andon.Time) error {
	silence := client.Update{Kind: client.Silence}
	for d, err := range w.client.Devices(ctx, w.query) {
		if err != nil {
			return err
		}
		if was := w.devices[d.Device]; was == nil || was.Silent == d.Silent {
			continue
		}
		if d.Silent {
			silence.Silent = append(silence.Silent, d.Device)
		} else {
			silence.Heard = append(silence.Heard, d.Device)
		}
	}
	w.unheard = false
	return w.apply(now, &silence)
}

// list reads the devices, and prints what changed. The first time it prints those that are not
// normal.
func (w *watch) list(ctx context.Context, now andon.Time) error {
	listed := map[andon.DeviceID]*client.Device{}
	var ids []andon.DeviceID
	for d, err := range w.client.Devices(ctx, w.query) {
		if err != nil {
			return err
		}
		listed[d.Device], ids = &d, append(ids, d.Device)
	}
	w.stale, w.unheard = false, false
	if err := w.reportAnswer(now); err != nil {
		return err
	}
	if w.devices == nil {
		defer func() { w.changed = 0 }() // what they show now is no change
		err := w.print(now, fmt.Sprintf("watching %s, tenant %s: %s", w.URL,
			draw.Legible(w.Tenant), draw.Count(len(listed), "device")))
		if err != nil {
			return err
		}
		w.devices = maps.Clone(listed)
		maps.DeleteFunc(w.devices, func(_ andon.DeviceID, d *client.Device) bool {
			return d.Severity > 0
		})
	}
	for id := range w.devices {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if err := w.show(now, id, listed[id]); err != nil {
			return err
		}
	}
	return nil
}

// apply prints what a message says of devices.
func (w *watch) apply(now andon.Time, t *client.Update) error {
	d := t.Device
	switch t.Kind {
	case client.Gone:
		return w.show(now, d.Device, nil)
	case client.Shows:
		was := w.devices[d.Device]
		switch {
		case was != nil && d.Received < was.Received: // the list had newer news
		case w.selects(&d):
			return w.show(now, d.Device, &d)
		default:
			return w.show(now, d.Device, nil)
		}
	case client.OfIncidents:
		return w.showIncidents(now, t.Incidents)
	case client.Silence:
		for i, id := range slices.Concat(t.Silent, t.Heard) {
			if was := w.devices[id]; was != nil {
				is := *was
				is.Silent = i < len(t.Silent)
				if err := w.show(now, id, &is); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// showIncidents prints a line for each incident that has changed, of a device that would be
// selected if it showed what the incident does.
func (w *watch) showIncidents(now andon.Time, all []client.Incident) error {
	if len(all) == 0 {
		return w.print(now, "many incidents have changed: andon incident list")
	}
	for i := range all {
		is := &all[i]
		if !w.selects(&client.Device{
			Device: is.Device, State: is.State, Operator: is.Operator,
			EscalatedTo: w.query.EscalatedTo, Silent: is.Kind == "silent",
		}) {
			continue
		}
		w.changed++
		if err := w.print(now, describeIncident(is, now)); err != nil {
			return err
		}
	}
	return nil
}

// describeIncident describes what an incident is, with the newest that somebody wrote about it.
func describeIncident(is *client.Incident, now andon.Time) string {
	text := fmt.Sprintf("%s incident %s: %s, %s %s for %s", is.Device, is.ID, is.Status, is.Kind,
		is.State, draw.Age(now.Sub(is.Since)))
	if is.Operator != "" {
		text += ", " + string(is.Operator)
	}
	if p := is.Escalation; p != nil {
		text += ", policy " + p.Policy
	}
	if n := is.Note; n != nil {
		text += fmt.Sprintf(", %s: %s", n.By, n.Note)
	}
	return draw.Legible(text)
}

func (w *watch) selects(d *client.Device) bool {
	q := &w.query
	states, err := andon.ParseStateFilter(q.State)
	prefix, isPrefix := strings.CutSuffix(q.Device, "*")
	named := string(d.Device) == q.Device || q.Device == "" ||
		isPrefix && strings.HasPrefix(string(d.Device), prefix)
	return err == nil && states.Match(d.State) && named &&
		(q.Operator == "" || q.Operator == cmp.Or(d.Operator, andon.NoPerson)) &&
		(q.EscalatedTo == "" || q.EscalatedTo == d.EscalatedTo) &&
		(q.Silent == nil || *q.Silent == d.Silent)
}

// show notes what a device shows, and prints a line if that has changed. nil means that the device
// is not selected any more.
func (w *watch) show(now andon.Time, id andon.DeviceID, is *client.Device) error {
	was := w.devices[id]
	if is == nil {
		delete(w.devices, id)
	} else {
		kept := *is
		kept.Attributes = "" // may be long, and is not printed
		w.devices[id] = &kept
	}
	text := ""
	switch {
	case was == nil && is == nil:
		return nil
	case is == nil:
		text = "is not listed any more, was " + draw.Legible(string(was.State))
	case was == nil || changed(was, is):
		text = describe(was, is, now)
	default:
		return nil
	}
	w.changed++
	return w.print(now, draw.Legible(string(id))+" "+text)
}

// changed reports whether a change is worth a line. A late entry may make Since earlier, which is
// not.
func changed(was, is *client.Device) bool {
	return was.State != is.State || was.Since < is.Since || was.Operator != is.Operator ||
		was.EscalatedTo != is.EscalatedTo || was.Silent != is.Silent
}

// describe describes what a device shows, after the state that it had before; was may be nil. If it
// left its state and returned before it was listed again, the states in between are not known.
func describe(was, is *client.Device, now andon.Time) string {
	text := ""
	switch {
	case was == nil:
	case was.State != is.State:
		text = string(was.State) + " → "
	case was.Since < is.Since:
		text = string(was.State) + " → … → "
	}
	text += fmt.Sprintf("%s for %s", is.State, draw.Age(now.Sub(is.Since)))
	if is.Operator != "" {
		text += ", " + string(is.Operator)
	}
	if is.EscalatedTo != "" {
		text += ", escalated to " + string(is.EscalatedTo)
	}
	if is.Silent {
		text += ", silent"
	}
	if is.Message != "" {
		text += ": " + is.Message
	}
	return draw.Legible(text)
}

func (w *watch) print(now andon.Time, text string) error {
	return printLine(w.Stdout, "%sZ  %s", now.Std().Format("2006-01-02T15:04:05"), text)
}

// reportFailure prints why the server does not answer, once until it answers again.
func (w *watch) reportFailure(now andon.Time, reason error) error {
	if w.failing {
		return nil
	}
	w.failing = true
	first, _, _ := strings.Cut(reason.Error(), "\n")
	return w.print(now, draw.Legible("no answer: "+first))
}

func (w *watch) reportAnswer(now andon.Time) error {
	if !w.failing {
		return nil
	}
	w.failing = false
	return w.print(now, "the server answers again")
}
