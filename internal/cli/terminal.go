package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/vbauerster/cupwriter"
)

// isTerminal reports whether what is written to w is seen by a person as it is written.
func isTerminal(w io.Writer) bool { return cupwriter.New(w, false).IsTerminal() }

// page is output for a person: headings, tables, colours where they can be seen.
type page struct {
	w      io.Writer
	depth  depth
	styled bool // it is a terminal, which may be told to show text inverted or dim
}

// newPage makes a page on standard output.
func (p *program) newPage() page { return page{w: p.stdout, depth: p.depth()} }

func (p page) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// heading begins a part.
func (p page) heading(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.depth > noColours {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	p.line("\n%s", text)
}

// cell is one text of a table.
type cell struct {
	text   string
	colour string // "#rrggbb", or none
	right  bool   // aligned at its right end
	drawn  bool   // it is no text but a picture
	whole  bool   // half of it says nothing
}

// table prints rows with their columns below each other.
func (p page) table(rows [][]cell) {
	widths := widthsOf(rows)
	for _, row := range rows {
		var b strings.Builder
		for i, c := range row {
			b.WriteString("  " + p.padded(c, widths[i]))
		}
		p.line("%s", strings.TrimRight(b.String(), " "))
	}
}

// widthsOf returns how wide each column of rows is.
func widthsOf(rows [][]cell) (widths []int) {
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columnsOf(c.text))
		}
	}
	return widths
}

// fitted prints rows whose last cell says where the one before it is from. On a terminal that is
// too narrow the last is left out, and then the one before it is cut.
func (p *program) fitted(page page, rows [][]cell) {
	if !isTerminal(p.stdout) {
		page.table(rows)
		return
	}
	width, _ := sizeOf(cupwriter.New(p.stdout, false))
	rows, whole := fit(rows, width)
	page.table(rows)
	if !whole {
		page.line("\nThe terminal is too narrow for all of it: --output json has the rest.")
	}
}

// fit returns rows that are at most so wide, as far as their last two columns allow, and whether
// they are as they were.
func fit(rows [][]cell, width int) (fitting [][]cell, whole bool) {
	if tableWidth(rows) <= width {
		return rows, true
	}
	for _, row := range rows {
		fitting = append(fitting, slices.Clone(row[:len(row)-1]))
	}
	var before [][]cell
	for _, row := range fitting {
		before = append(before, row[:len(row)-1])
	}
	room := max(width-tableWidth(before)-2, 1)
	for _, row := range fitting {
		last := &row[len(row)-1]
		last.text = clip(last.text, room)
	}
	return fitting, false
}

// narrow cuts the widest columns of rows until they fit, as far as they can be cut.
func narrow(rows [][]cell, width int) {
	const least = 8
	widths := widthsOf(rows)
	for over := tableWidth(rows) - width; over > 0; {
		widest := -1
		for i, w := range widths {
			c := rows[len(rows)-1][i]
			if !c.right && !c.whole && w > least && (widest < 0 || w >= widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
		over--
		for _, row := range rows {
			row[widest].text = clip(row[widest].text, widths[widest])
		}
	}
}

// tableWidth returns how wide a table of rows is.
func tableWidth(rows [][]cell) (width int) {
	for _, w := range widthsOf(rows) {
		width += 2 + w
	}
	return width
}

// padded aligns first and colours then: what colours is not seen, but would be counted.
func (p page) padded(c cell, width int) string {
	space := strings.Repeat(" ", width-columnsOf(c.text))
	text := p.paint(c.colour, c.text)
	if c.right {
		return space + text
	}
	return text + space
}

// texts makes plain cells.
func texts(all ...string) []cell {
	row := make([]cell, len(all))
	for i, text := range all {
		row[i].text = text
	}
	return row
}
