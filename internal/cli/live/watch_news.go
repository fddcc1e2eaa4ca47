package live

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// listen prints what is told, for a while, or until the devices have to be asked for.
func (v *lineView) listen(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !v.missed {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		case t, ok := <-v.news.channel():
			if !ok {
				return v.news.ended(ctx)
			}
			if err := v.hear(v.Now(), &t); err != nil {
				return err
			}
		}
	}
	return nil
}

// hear prints what is told.
func (v *lineView) hear(now andon.Time, t *client.Told) error {
	if t.Kind == client.Lost {
		return v.stale(now, t.Err)
	}
	if err := v.answered(now); err != nil {
		return err
	}
	switch t.Kind {
	case client.Shows, client.Gone:
		return v.tell(now, v.take(now, t))
	case client.Reset, client.Settings: // other severities are other news
		v.missed = true
	}
	return nil
}

// take takes in what a device shows, and says what became different. What is older than what is
// known came before the list was read, and is in it.
func (v *lineView) take(now andon.Time, t *client.Told) []string {
	d := t.Device
	d.Attributes = ""
	was, known := v.devices[d.Device]
	switch {
	case t.Kind == client.Shows && known && d.Received < was.Received:
		return nil
	case t.Kind == client.Shows && v.admits(&d):
		v.devices[d.Device] = d
	default:
		delete(v.devices, d.Device)
	}
	before, after := map[andon.DeviceID]client.Device{}, map[andon.DeviceID]client.Device{}
	if known {
		before[d.Device] = was
	}
	if is, there := v.devices[d.Device]; there {
		after[d.Device] = is
	}
	return changes(before, after, now)
}

// admits reports whether a device is one of those that the flags select.
func (w *watch) admits(d *client.Device) bool {
	q := &w.selected
	states, err := andon.ParseStateFilter(q.State)
	prefix, isPrefix := strings.CutSuffix(q.Device, "*")
	named := string(d.Device) == q.Device || q.Device == "" ||
		isPrefix && strings.HasPrefix(string(d.Device), prefix)
	return err == nil && states.Match(d.State) && named &&
		(q.Operator == "" || q.Operator == d.Operator) && !(q.NoOperator && d.Operator != "") &&
		(q.EscalatedTo == "" || q.EscalatedTo == d.EscalatedTo)
}

// showSilent looks for devices that fell silent, or are heard again, which comes with the clock and
// is not told.
func (v *lineView) showSilent(ctx context.Context, now andon.Time) error {
	if now.Sub(v.looked) < lookAnyway {
		return nil
	}
	q := v.selected
	q.Silent = new(true)
	silent, err := v.list(ctx, q)
	if err != nil {
		return err
	}
	v.looked = now
	var lines []string
	for id, d := range v.devices {
		is := d
		if s, ok := silent[id]; ok != d.Silent {
			if is.Silent = ok; ok {
				is.Received = s.Received
			}
			v.devices[id] = is
			lines = append(lines, draw.Legible(string(id))+" "+change(&d, &is, now))
		}
	}
	slices.Sort(lines)
	return v.tell(now, lines)
}
