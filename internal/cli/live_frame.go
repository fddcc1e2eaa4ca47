package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// frame draws a board as lines that are at most so wide, and at most so many. It is a function of
// what it is given, so that a test can hold it against a picture.
type frame struct {
	page
	*board
	width, height int
}

const fewestRows = 3 // of devices, below which the notes give way

// lines returns the lines. Where there is little room, the addresses give way first, then the
// notes, then what is lowest.
func (f frame) lines() []string {
	head := f.head()
	var foot []string
	for _, part := range [][]string{f.old(), f.notes, f.addresses()} {
		part = f.clipAll(part)
		if len(part) > 0 && len(head)+len(foot)+len(part)+1+fewestRows+2 <= f.height {
			foot = append(append(foot, ""), part...)
		}
	}
	lines := append(head, f.list(f.height-len(head)-len(foot))...)
	lines = append(lines, foot...)
	return lines[:min(len(lines), f.height)]
}

// head is the title and the counts.
func (f frame) head() []string {
	clock := f.now.Std().Format("15:04:05 UTC")
	title := clip(f.title, f.width)
	if space := f.width - utf8.RuneCountInString(title) - len(clock); space > 1 {
		title += strings.Repeat(" ", space) + clock
	}
	if f.colour {
		title = "\x1b[1m" + title + "\x1b[0m"
	}
	return append(append([]string{title, ""}, f.counts()...), "")
}

// counts draws a bar for each state. Of very many states only those that hold devices are drawn,
// the severest of them.
func (f frame) counts() []string {
	states := f.states
	if most := max(f.height/3, 1); len(states) > most {
		empty := func(s client.StateCount) bool { return s.Count == 0 }
		states = slices.DeleteFunc(slices.Clone(states), empty)
		states = states[max(0, len(states)-most):]
	}
	rows := make([][]cell, len(states))
	for i, s := range states {
		rows[i] = []cell{
			{text: stateText(s.Symbol, s.State), colour: s.Colour},
			{text: grouped(s.Count), right: true},
		}
	}
	align(rows)
	for i, s := range states {
		room := f.width - widthOf(rows[i]) - 2
		rows[i] = append(rows[i], cell{text: bar(s.Count, f.total, room), colour: s.Colour})
	}
	return f.drawn(rows)
}

// bar draws a part of a whole as a bar, with an eighth of a column as its finest step. What is more
// than nothing is seen.
func bar(part, whole, columns int) string {
	if part <= 0 || whole <= 0 || columns <= 0 {
		return ""
	}
	eighths := max(1, part*columns*8/whole)
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text
}

// list draws the devices, in at most so many lines.
func (f frame) list(most int) []string {
	if len(f.devices) == 0 {
		return f.clipAll([]string{"  " + f.none})
	}
	shown := f.devices
	room := max(most-1, 1) // below the heading
	if len(shown) > room {
		shown = shown[:max(room-1, 1)]
	}
	looks := map[andon.State]client.StateCount{}
	for _, s := range f.states {
		looks[s.State] = s
	}
	rows := [][]cell{texts("DEVICE", "STATE", "SINCE", "OPERATOR", "ESCALATED TO", "MESSAGE")}
	for i := range shown {
		rows = append(rows, f.row(&shown[i], looks))
	}
	align(rows)
	lines := f.drawn(rows)
	if more := f.worried() - len(shown); more > 0 && len(shown) < room {
		lines = append(lines, clip(fmt.Sprintf("  and %s more", grouped(more)), f.width))
	}
	return lines
}

// row is one device. A device that is silent says so in the place of its message, which is old.
func (f frame) row(d *client.Device, looks map[andon.State]client.StateCount) []cell {
	look, message := looks[d.State], d.Message
	if d.Silent {
		message = "silent for " + age(f.now.Sub(d.Received))
	}
	return []cell{
		{text: brief(string(d.Device))},
		{text: stateText(look.Symbol, d.State), colour: look.Colour},
		{text: age(f.now.Sub(d.Since)), right: true},
		{text: brief(string(d.Operator))}, {text: brief(string(d.EscalatedTo))},
		{text: brief(message)},
	}
}

// brief makes a text fit for a column, behind which others shall be seen.
func brief(text string) string { return clip(legible(text), widestCell) }

func stateText(symbol string, s andon.State) string {
	return strings.TrimSpace(symbol + " " + legible(string(s)))
}

// addresses are shown whole, since half of one leads nowhere. Where there is no room, what they are
// about gives way, then those that are too long.
func (f frame) addresses() []string {
	var rows, alone [][]cell
	for _, l := range f.links {
		if row := texts(l.url); widthOf(row) <= f.width {
			alone = append(alone, row)
			rows = append(rows, texts(l.url, l.text))
		}
	}
	align(rows)
	if len(rows) > 0 && widthOf(rows[0]) > f.width { // all are as wide now
		rows = alone
	}
	return f.drawn(rows)
}

// old says that what is shown is old.
func (f frame) old() []string {
	if f.trouble == "" {
		return nil
	}
	return []string{"  " + legible(f.trouble)}
}

// drawn returns rows as lines, each cell two columns behind the one before. A line is cut before it
// is coloured: what colours is not seen, but would be counted.
func (f frame) drawn(rows [][]cell) []string {
	lines := make([]string, len(rows))
	for i, row := range rows {
		var line strings.Builder
		left := f.width
		for j, c := range row {
			text := "  " + c.text
			if isLast(row, j) {
				text = strings.TrimRight(text, " ")
			}
			text = clip(text, left)
			left -= utf8.RuneCountInString(text)
			line.WriteString(f.paint(c.colour, text))
		}
		lines[i] = line.String()
	}
	return lines
}

// isLast reports whether all cells behind one are empty.
func isLast(row []cell, at int) bool {
	return !slices.ContainsFunc(row[at+1:], func(c cell) bool {
		return strings.Trim(c.text, " ") != ""
	})
}

func (f frame) clipAll(lines []string) []string {
	clipped := make([]string, len(lines))
	for i, line := range lines {
		clipped[i] = clip(line, f.width)
	}
	return clipped
}

// align pads the cells of rows, so that those below each other are equally wide.
func align(rows [][]cell) {
	widths := widthsOf(rows)
	for _, row := range rows {
		for i := range row {
			c := &row[i]
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text))
			if c.right {
				c.text = space + c.text
			} else {
				c.text += space
			}
		}
	}
}

func widthOf(row []cell) (n int) {
	for _, c := range row {
		n += 2 + utf8.RuneCountInString(c.text)
	}
	return n
}
