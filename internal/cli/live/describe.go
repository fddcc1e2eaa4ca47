package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// describer describes devices and their changes in one line each. States have their colours where
// the printer shows any.
type describer struct {
	draw.Printer
	colours map[andon.State]string // "#rrggbb"
}

func coloursOf(states []client.StateCount) map[andon.State]string {
	colours := map[andon.State]string{}
	for _, s := range states {
		colours[s.State] = s.Colour
	}
	return colours
}

func (d describer) state(s andon.State) string {
	return d.Paint(d.colours[s], draw.Legible(string(s)))
}

// device describes what a device shows: state, age, people.
func (d describer) device(v *client.Device, now andon.Time) string {
	text := fmt.Sprintf("%s for %s", d.state(v.State), draw.Age(now.Sub(v.Since)))
	if v.Operator != "" {
		text += ", " + draw.Legible(string(v.Operator))
	}
	if v.EscalatedTo != "" {
		text += ", escalated to " + draw.Legible(string(v.EscalatedTo))
	}
	return text
}

// named is device, with the name of the device before it.
func (d describer) named(v *client.Device, now andon.Time) string {
	return draw.Legible(string(v.Device)) + " " + d.device(v, now)
}

// devices is what devices show, by id.
type devices map[andon.DeviceID]client.Device

// changes describes the differences between two times, ordered by device.
func (d describer) changes(was, is devices, now andon.Time) (lines []string) {
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
		text := d.change(&before, &after)
		switch {
		case !there:
			text = "is not listed any more, was " + d.state(before.State)
		case !known:
			text = "is new here: " + d.device(&after, now)
		}
		if text != "" {
			lines = append(lines, draw.Legible(string(id))+" "+text)
		}
	}
	return lines
}

// change describes what changed for one device; "" means nothing.
func (d describer) change(was, is *client.Device) string {
	var parts []string
	if was.State != is.State || was.Since < is.Since { // a late entry may make Since earlier
		parts = append(parts, d.stateChange(was, is))
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
		parts = append(parts, "silent")
	case was.Silent && !is.Silent:
		parts = append(parts, "heard again")
	}
	return strings.Join(parts, "; ")
}

// stateChange describes the old and the new state. If a device left its state and returned to it
// before it was listed again, the states in between are not known.
func (d describer) stateChange(was, is *client.Device) string {
	text := d.state(was.State) + " → "
	if was.State == is.State {
		text += "… → "
	}
	text += d.state(is.State)
	if is.Message != "" {
		text += " (" + draw.Legible(is.Message) + ")"
	}
	return text
}
