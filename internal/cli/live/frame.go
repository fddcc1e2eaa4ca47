package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// frame draws a board as lines that are at most so wide, and at most so many. It is a function of
// what it is given, so that a test can hold it against a picture.
type frame struct {
	draw.Printer
	*board
	width, height int
}

const (
	fewestRows = 3  // of devices, below which the notes give way
	tallEnough = 30 // lines; on fewer, states stand side by side and the foot is one line
)

// lines returns the lines. Where there is little room, the addresses give way first, then the
// notes, then what is lowest.
func (f frame) lines() []string {
	if f.trouble != "" { // what is old must not look like news
		f.Depth = draw.NoColours
	}
	head, foot := f.head(), f.foot()
	list := f.list(f.height - len(head) - len(foot))
	lines := slices.Concat(head, list, foot)
	lines = lines[:min(len(lines), f.height)]
	if f.trouble != "" && f.Styled {
		for i := range lines {
			lines[i] = "\x1b[2m" + lines[i] + "\x1b[0m"
		}
		lines[0] = "\x1b[7m" + f.alarm() + "\x1b[0m"
	}
	return lines
}

// head is the title and the counts.
func (f frame) head() []string {
	if f.height < tallEnough {
		return append(append([]string{f.heading()}, f.sideBySide()...), "")
	}
	return append(append([]string{f.heading(), ""}, f.counts()...), "")
}

func (f frame) heading() string {
	if f.trouble != "" {
		return f.alarm()
	}
	clock := f.now.Std().Format("15:04:05 UTC")
	title := draw.Clip(f.title, f.width)
	if space := f.width - draw.ColumnsOf(title) - len(clock); space > 1 {
		title += strings.Repeat(" ", space) + clock
	}
	if f.Depth > draw.NoColours {
		title = "\x1b[1m" + title + "\x1b[0m"
	}
	return title
}

// alarm says that what is shown is old, since when, and why, over the whole width.
func (f frame) alarm() string {
	text := draw.Clip(fmt.Sprintf("NO ANSWER FOR %s, since %s: %s", draw.Age(f.asked.Sub(f.now)),
		f.now.Std().Format("15:04:05 UTC"), draw.Legible(f.trouble)), f.width)
	return text + strings.Repeat(" ", max(f.width-draw.ColumnsOf(text), 0))
}

// shownStates are those that are counted. Of very many only those that hold devices, the severest
// of them.
func (f frame) shownStates() []client.StateCount {
	states := f.states
	if most := max(f.height/3, 1); len(states) > most {
		empty := func(s client.StateCount) bool { return s.Count == 0 }
		states = slices.DeleteFunc(slices.Clone(states), empty)
		states = states[max(0, len(states)-most):]
	}
	return states
}

// counts draws a bar for each state.
func (f frame) counts() []string {
	states := f.shownStates()
	rows := make([][]draw.Cell, len(states))
	for i, s := range states {
		rows[i] = []draw.Cell{
			{Text: stateText(s.Symbol, s.State), Colour: s.Colour},
			{Text: draw.Grouped(s.Count), Right: true},
		}
	}
	rows = draw.Aligned(rows)
	for i, s := range states {
		room := f.width - draw.TableWidth(rows[i:i+1]) - 2
		rows[i] = append(rows[i],
			draw.Cell{Text: bar(s.Count, f.total, room), Colour: s.Colour, Drawn: true})
	}
	return f.drawn(rows, 2)
}

// sideBySide counts each state in as few lines as they need, at most three.
func (f frame) sideBySide() []string {
	const most = 3
	lines, left := []string{""}, f.width
	for _, s := range f.shownStates() {
		text, count := stateText(s.Symbol, s.State), " "+draw.Grouped(s.Count)
		width := 2 + draw.ColumnsOf(text) + len(count)
		if width > left && left < f.width {
			if len(lines) == most {
				return lines
			}
			lines, left = append(lines, ""), f.width
		}
		if width <= left {
			lines[len(lines)-1] += "  " + f.Paint(s.Colour, text) + count
			left -= width
		}
	}
	return lines
}

// foot is what stands below the devices: what arrives, the keys, where to look.
func (f frame) foot() []string {
	if f.height < tallEnough {
		line := strings.Join(append(slices.Clone(f.notes), f.keyHelp()), "  ")
		if f.height < fewestRows+6 {
			return nil
		}
		return []string{draw.Clip("  "+strings.TrimSpace(line), f.width)}
	}
	var foot []string
	notes := f.keyHelp()
	for _, part := range [][]string{append(slices.Clone(f.notes), notes), f.addresses()} {
		for i, line := range part {
			if !strings.HasPrefix(line, "  ") {
				part[i] = draw.Clip("  "+line, f.width)
			}
		}
		if len(part) > 0 && len(f.states)+len(foot)+len(part)+5+fewestRows <= f.height {
			foot = append(append(foot, ""), part...)
		}
	}
	return foot
}

// keyHelp says which keys do what, and what is typed.
func (f frame) keyHelp() string {
	switch {
	case f.typing:
		return "filter: " + draw.Legible(f.filter) + "_  Enter keeps it, Esc drops it"
	case !f.keys:
		return "Ctrl-C ends it."
	case f.filter != "":
		return "filter: " + draw.Legible(f.filter) + "  / changes it, Esc drops it, q ends"
	}
	return "q ends, / filters, arrows scroll"
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

// brief makes a text fit for a column, behind which others shall be seen.
func brief(text string) string { return draw.Clip(draw.Legible(text), command.WidestCell) }

func stateText(symbol string, s andon.State) string {
	return strings.TrimSpace(symbol + " " + draw.Legible(string(s)))
}

// addresses are shown whole, since half of one leads nowhere. Where there is no room, what they are
// about gives way, then those that are too long.
func (f frame) addresses() []string {
	var rows, alone [][]draw.Cell
	for _, l := range f.links {
		if row := draw.Texts(l.url); draw.TableWidth([][]draw.Cell{row}) <= f.width {
			alone = append(alone, row)
			rows = append(rows, draw.Texts(l.url, l.text))
		}
	}
	rows = draw.Aligned(rows)
	if draw.TableWidth(rows) > f.width {
		rows = alone
	}
	return f.drawn(rows, 2)
}

// drawn returns rows as lines, each cell so many columns behind the one before. A line is cut
// before it is coloured: what colours is not seen, but would be counted.
func (f frame) drawn(rows [][]draw.Cell, gap int) []string {
	lines := make([]string, len(rows))
	for i, row := range rows {
		var line strings.Builder
		left := f.width
		for j, c := range row {
			text := strings.Repeat(" ", gap) + c.Text
			if isLast(row, j) {
				text = strings.TrimRight(text, " ")
			}
			text = draw.Clip(text, left)
			left -= draw.ColumnsOf(text)
			if c.Drawn {
				line.WriteString(f.Ink(c.Colour, text))
			} else {
				line.WriteString(f.Paint(c.Colour, text))
			}
		}
		lines[i] = line.String()
	}
	return lines
}

// isLast reports whether all cells behind one are empty.
func isLast(row []draw.Cell, at int) bool {
	return !slices.ContainsFunc(row[at+1:], func(c draw.Cell) bool {
		return strings.Trim(c.Text, " ") != ""
	})
}
