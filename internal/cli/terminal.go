package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vbauerster/cupwriter"
)

// isTerminal reports whether what is written to w is seen by a person as it is written.
func isTerminal(w io.Writer) bool { return cupwriter.New(w, false).IsTerminal() }

// page is output for a person: headings, tables, colours where they can be seen.
type page struct {
	w      io.Writer
	colour bool
}

// newPage makes a page on standard output. NO_COLOR, as https://no-color.org has it, takes colours
// away; so does output that is not a terminal.
func (p *program) newPage() page {
	return page{w: p.stdout, colour: p.variable("NO_COLOR") == "" && isTerminal(p.stdout)}
}

func (p page) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// heading begins a part.
func (p page) heading(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.colour {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	p.line("\n%s", text)
}

// cell is one text of a table.
type cell struct {
	text   string
	colour string // "#rrggbb", or none
	right  bool   // aligned at its right end
}

// table prints rows with their columns below each other.
func (p page) table(rows [][]cell) {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, c := range row {
			b.WriteString("  " + p.padded(c, widths[i]))
		}
		p.line("%s", strings.TrimRight(b.String(), " "))
	}
}

// padded aligns first and colours then: what colours is not seen, but would be counted.
func (p page) padded(c cell, width int) string {
	space := strings.Repeat(" ", width-utf8.RuneCountInString(c.text))
	text := p.paint(c.colour, c.text)
	if c.right {
		return space + text
	}
	return text + space
}

// paint colours a text as "#rrggbb" says.
func (p page) paint(colour, text string) string {
	rgb, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 24)
	if err != nil || !p.colour {
		return text
	}
	return fmt.Sprintf("\x1b[38;2;%d;%d;%dm%s\x1b[0m", rgb>>16, rgb>>8&0xff, rgb&0xff, text)
}

// texts makes plain cells.
func texts(all ...string) []cell {
	row := make([]cell, len(all))
	for i, text := range all {
		row[i].text = text
	}
	return row
}
