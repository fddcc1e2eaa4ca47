package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// lineView prints what changes, as lines.
type lineView struct {
	*watch
	client  *client.Client
	devices map[andon.DeviceID]client.Device // as they were last; nil at first
	changed int
	failing bool

	news   *news      // nil: all devices are asked for again and again
	missed bool       // something was not told: they are asked for once
	looked andon.Time // when they were asked for, or for those that are silent
}

func (v *lineView) show(ctx context.Context, now andon.Time) error {
	if v.news != nil && v.devices != nil && !v.missed {
		return v.showSilent(ctx, now)
	}
	devices, err := v.list(ctx, v.selected)
	if err != nil {
		return err
	}
	was := v.devices
	v.devices, v.missed, v.looked = devices, false, now
	if err := v.answered(now); err != nil {
		return err
	}
	if was == nil {
		return v.begin(now)
	}
	return v.tell(now, changes(was, devices, now))
}

func (v *lineView) list(
	ctx context.Context, q client.DeviceQuery,
) (map[andon.DeviceID]client.Device, error) {
	devices := map[andon.DeviceID]client.Device{}
	for d, err := range v.client.Devices(ctx, q) {
		if err != nil {
			return nil, err
		}
		d.Attributes = "" // may be long, and is not shown
		devices[d.Device] = d
	}
	return devices, nil
}

// answered says that the server answers, where it did not.
func (v *lineView) answered(now andon.Time) error {
	if !v.failing {
		return nil
	}
	v.failing = false
	return v.print(now, "the server answers again")
}

func (v *lineView) tell(now andon.Time, changes []string) error {
	for _, text := range changes {
		v.changed++
		if err := v.print(now, text); err != nil {
			return err
		}
	}
	return nil
}

func (v *lineView) print(now andon.Time, text string) error {
	return printLine(v.Stdout, "%sZ  %s", now.Std().Format("2006-01-02T15:04:05"), text)
}

// begin says how it is at first: how many there are, and those that are not normal.
func (v *lineView) begin(now andon.Time) error {
	text := fmt.Sprintf("watching %s: %s", v.what(), draw.GroupedCount(len(v.devices), "device"))
	if err := v.print(now, text); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(v.devices)) {
		if d := v.devices[id]; d.Severity > 0 {
			if err := v.print(now, summary(&d, now)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *lineView) stale(now andon.Time, reason error) error {
	if v.failing {
		return nil
	}
	v.failing = true
	return v.print(now, draw.Legible("no answer: "+firstLine(reason)))
}

func (v *lineView) pause(ctx context.Context, d time.Duration) error {
	if v.news == nil {
		return v.watch.pause(ctx, d)
	}
	return v.listen(ctx, d)
}

func (v *lineView) end() string { return ": " + draw.GroupedCount(v.changed, "change") }

// changes says what became different, by device.
func changes(was, is map[andon.DeviceID]client.Device, now andon.Time) (lines []string) {
	ids := slices.Collect(maps.Keys(is))
	for id := range was {
		if _, still := is[id]; !still {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		before, known := was[id]
		after, there := is[id]
		text := change(&before, &after, now)
		switch {
		case !there:
			text = "is not listed any more, was " + draw.Legible(string(before.State))
		case !known:
			text = "is new here: " + shows(&after, now)
		}
		if text != "" {
			lines = append(lines, draw.Legible(string(id))+" "+text)
		}
	}
	return lines
}

// change says what became different for one device; "" where nothing did.
func change(was, is *client.Device, now andon.Time) string {
	var parts []string
	if was.State != is.State || was.Since < is.Since { // a late entry may make it earlier
		parts = append(parts, stateChange(was, is))
	}
	if was.Operator != is.Operator {
		parts = append(parts, "operator "+cmp.Or(draw.Legible(string(is.Operator)), "nobody"))
	}
	switch {
	case was.EscalatedTo == is.EscalatedTo:
	case is.EscalatedTo == "":
		parts = append(parts, "not escalated any more")
	default:
		parts = append(parts, "escalated to "+draw.Legible(string(is.EscalatedTo)))
	}
	switch {
	case is.Silent && !was.Silent:
		parts = append(parts, "silent for "+draw.Age(now.Sub(is.Received)))
	case was.Silent && !is.Silent:
		parts = append(parts, "heard again")
	}
	return strings.Join(parts, "; ")
}

// stateChange says from where to where. That a device left a state and came back between two looks
// is a change, too.
func stateChange(was, is *client.Device) string {
	text := draw.Legible(string(was.State)) + " → "
	if was.State == is.State {
		text += "… → "
	}
	text += draw.Legible(string(is.State))
	if is.Message != "" {
		text += " (" + draw.Legible(is.Message) + ")"
	}
	return text
}
