package live

import (
	"fmt"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

const leastMessage = 32 // columns; of fewer a message says little, and who answers gives way

// list draws the devices, in at most so many lines.
func (f frame) list(most int) []string {
	devices := f.selected()
	if len(devices) == 0 {
		none := f.none
		if f.filter != "" {
			none = "None has this in its name, state, operator or message."
		}
		return []string{draw.Clip("  "+none, f.width)}
	}
	room := max(most-1, 1) // below the heading
	first := min(f.offset, max(len(devices)-room, 0))
	shown := devices[first:]
	below := f.below(len(devices)) - first
	if len(shown) > room || below > len(shown) {
		shown = shown[:min(max(room-1, 1), len(shown))]
	}
	rows, gap := f.columns(shown)
	lines := f.drawn(rows, gap)
	if more := below - len(shown); len(shown) < room && (more > 0 || first > 0) {
		lines = append(lines, draw.Clip(moreText(first, more), f.width))
	}
	return lines
}

func moreText(above, below int) string {
	if above == 0 {
		return fmt.Sprintf("  and %s more", draw.Grouped(below))
	}
	return fmt.Sprintf("  %s above, %s below", draw.Grouped(above), draw.Grouped(below))
}

// below returns how many devices there are to see, of which so many are known.
func (b *board) below(known int) int {
	if b.filter != "" {
		return known
	}
	return max(b.worried(), known)
}

// selected are the devices that the filter lets through.
func (b *board) selected() []client.Device {
	if b.filter == "" {
		return b.devices
	}
	wanted := strings.ToLower(b.filter)
	var kept []client.Device
	for i := range b.devices {
		d := &b.devices[i]
		for _, text := range []string{
			string(d.Device), string(d.State), string(d.Operator), string(d.EscalatedTo), d.Message,
		} {
			if strings.Contains(strings.ToLower(text), wanted) {
				kept = append(kept, *d)
				break
			}
		}
	}
	return kept
}

// columns makes the rows of devices, and says how far apart their cells stand. The message is what
// says the most: where it has too little room, the columns move together, then who answers and who
// it is escalated to share one, and at last give way. A name takes a quarter of the width at most.
func (f frame) columns(devices []client.Device) (rows [][]draw.Cell, gap int) {
	looks := map[andon.State]client.StateCount{}
	for _, s := range f.states {
		looks[s.State] = s
	}
	for _, people := range []int{apart, together, nobody} {
		rows = f.rows(devices, looks, people)
		gap = 2
		if people != apart {
			gap = 1
		}
		widths := draw.WidthsOf(rows)
		last := len(widths) - 1
		left := f.width - gap
		for _, w := range widths[:last] {
			left -= w + gap
		}
		if left >= widths[last] || people == together && left >= leastMessage {
			break
		}
	}
	return draw.Aligned(rows), gap
}

// How the people of a device are shown.
const (
	apart = iota
	together
	nobody
)

func (f frame) rows(
	devices []client.Device, looks map[andon.State]client.StateCount, people int,
) [][]draw.Cell {
	head := draw.Texts("DEVICE", "STATE", "SINCE", "OPERATOR", "ESCALATED TO", "MESSAGE")
	switch people {
	case together:
		head = draw.Texts("DEVICE", "STATE", "SINCE", "WHO", "MESSAGE")
	case nobody:
		head = draw.Texts("DEVICE", "STATE", "SINCE", "MESSAGE")
	}
	rows := [][]draw.Cell{head}
	for i := range devices {
		rows = append(rows, f.row(&devices[i], looks[devices[i].State], people))
	}
	return rows
}

// row is one device. A device that is silent says so in the place of its message, which is old.
func (f frame) row(d *client.Device, look client.StateCount, people int) []draw.Cell {
	message := d.Message
	if d.Silent {
		message = "silent for " + draw.Age(f.now.Sub(d.Received))
	}
	most := max(f.width/4, 1)
	row := []draw.Cell{
		{Text: draw.Clip(draw.Legible(string(d.Device)), most)},
		{Text: draw.Clip(stateText(look.Symbol, d.State), most), Colour: look.Colour},
		{Text: draw.Age(f.now.Sub(d.Since)), Right: true},
	}
	operator, to := brief(string(d.Operator)), brief(string(d.EscalatedTo))
	switch {
	case people == apart:
		row = append(row, draw.Cell{Text: operator}, draw.Cell{Text: to})
	case people == together && to != "":
		row = append(row, draw.Cell{Text: draw.Clip(operator+">"+to, most)})
	case people == together:
		row = append(row, draw.Cell{Text: draw.Clip(operator, most)})
	}
	return append(row, draw.Cell{Text: brief(message)})
}
