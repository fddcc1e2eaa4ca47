// Package draw formats text for people, on a terminal and elsewhere: tables, colours, numbers,
// progress bars. It knows nothing of commands.
package draw

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vbauerster/cupwriter"
)

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool { return cupwriter.New(w, false).IsTerminal() }

// Printer prints for people: headings, tables, and colours if Colours is set.
type Printer struct {
	W       io.Writer
	Colours bool
	Width   int // of the terminal; 0: it is none
}

// Line prints a line.
func (p Printer) Line(format string, args ...any) { fmt.Fprintf(p.W, format+"\n", args...) }

// Heading prints a heading after an empty line.
func (p Printer) Heading(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.Colours {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	p.Line("\n%s", text)
}

// Cell is a cell of a table.
type Cell struct {
	Text   string
	Colour string // "#rrggbb", or none
	Right  bool   // aligned at its right end
	Whole  bool   // must not be cut
}

// Table prints rows with aligned columns, on a terminal in its width. Text in a file or a pipe is
// never cut.
func (p Printer) Table(rows [][]Cell) {
	if p.Width > 0 && len(rows) > 0 {
		narrow(rows, p.Width)
	}
	for _, row := range aligned(rows) {
		var b strings.Builder
		for _, c := range row {
			b.WriteString("  " + p.Paint(c.Colour, c.Text))
		}
		p.Line("%s", strings.TrimRight(b.String(), " "))
	}
}

func widthsOf(rows [][]Cell) (widths []int) {
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ColumnsOf(c.Text))
		}
	}
	return widths
}

// Fitted is Table, but also in a file or a pipe it cuts cells at 100 columns: one long cell would
// pad all rows to its width. It prints where all of a text can be had.
func (p Printer) Fitted(rows [][]Cell) {
	const most = 100
	fitted := make([][]Cell, len(rows))
	for i, row := range rows {
		fitted[i] = slices.Clone(row)
		for j := range row {
			fitted[i][j].Text = clip(row[j].Text, most)
		}
	}
	p.Table(fitted)
	if !slices.EqualFunc(rows, fitted, slices.Equal[[]Cell]) {
		p.Line("\nText that ends in … was cut: --output json has all of it.")
	}
}

// narrow cuts the widest columns until the rows fit, as far as columns can be cut. If the rows do
// not fit, it first empties columns that have a text in the first row only.
func narrow(rows [][]Cell, width int) {
	const least = 8
	for i := range rows[0] {
		hasText := func(row []Cell) bool { return row[i].Text != "" }
		if tableWidth(rows) > width && !slices.ContainsFunc(rows[1:], hasText) {
			rows[0][i].Text = ""
		}
	}
	widths := widthsOf(rows)
	for over := tableWidth(rows) - width; over > 0; {
		widest := -1
		for i, w := range widths {
			c := rows[len(rows)-1][i]
			if !c.Right && !c.Whole && w > least && (widest < 0 || w >= widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
		over--
		for _, row := range rows {
			row[widest].Text = clip(row[widest].Text, widths[widest])
		}
	}
}

func tableWidth(rows [][]Cell) (width int) {
	for _, w := range widthsOf(rows) {
		width += 2 + w
	}
	return width
}

// aligned pads the cells of each column to one width. Colours are added afterwards, since escape
// sequences have no width.
func aligned(rows [][]Cell) [][]Cell {
	widths := widthsOf(rows)
	aligned := make([][]Cell, len(rows))
	for n, row := range rows {
		aligned[n] = slices.Clone(row)
		for i, c := range row {
			space := strings.Repeat(" ", widths[i]-ColumnsOf(c.Text))
			if c.Right {
				aligned[n][i].Text = space + c.Text
			} else {
				aligned[n][i].Text += space
			}
		}
	}
	return aligned
}

// Texts makes plain cells.
func Texts(all ...string) []Cell {
	row := make([]Cell, len(all))
	for i, text := range all {
		row[i].Text = text
	}
	return row
}

// Paint returns a text with a background colour, "#rrggbb", in black or white, whichever has more
// contrast: so it can be read on a terminal of any colour. It uses the 6×6×6 colours that terminals
// have had since xterm. Spaces around the text are not coloured.
func (p Printer) Paint(colour, text string) string {
	n, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 24)
	inner := strings.Trim(text, " ")
	if err != nil || !p.Colours || inner == "" {
		return text
	}
	place, front := nearest(byte(n>>16), byte(n>>8), byte(n))
	before, after, _ := strings.Cut(text, inner)
	return fmt.Sprintf("%s\x1b[48;5;%d;38;5;%dm%s\x1b[0m%s", before, place, front, inner, after)
}

// The places of black and white among the 256 colours.
const (
	black = 16
	white = 231
)

// nearest returns the place of the nearest of the 6×6×6 colours, and of the text on it.
func nearest(parts ...byte) (place, front int) {
	luminance := 0.0 // relative luminance of WCAG 2.2
	for i, part := range parts {
		level := 0 // the levels are 0, 95, 135, 175, 215 and 255
		if part >= 48 {
			level = max(1, (int(part)-35)/40)
		}
		x := float64(min(level, 1)*55+level*40) / 255
		light := x / 12.92
		if x > 0.04045 {
			light = math.Pow((x+0.055)/1.055, 2.4)
		}
		luminance += light * []float64{0.2126, 0.7152, 0.0722}[i]
		place = 6*place + level
	}
	// The contrast of two colours is (l+0.05)/(d+0.05), where l is the lighter one.
	if (luminance+0.05)*(luminance+0.05) >= 1.05*0.05 {
		return black + place, black
	}
	return black + place, white
}
