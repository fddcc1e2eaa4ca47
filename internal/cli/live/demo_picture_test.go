package live

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/golden"
)

// TestDemoPicture: the picture in the README is what the demo draws. Each character has its place,
// and what fonts draw differently or not at all is drawn as shapes: so it looks the same in all
// viewers.
func TestDemoPicture(t *testing.T) {
	const width, height = 97, 30
	var out, drawn bytes.Buffer
	d := newDemo(newClockwork(t), &out, 30*time.Second)
	d.devices = 500
	d.terminal = func(func()) *screen {
		size := func() (int, int) { return width, height }
		return &screen{&draw.Screen{Out: &drawn, Size: size, Depth: draw.AllColours}}
	}
	if err := d.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	frames := strings.Split(drawn.String(), "\x1b[H")
	last, _, _ := strings.Cut(frames[len(frames)-1], "\x1b[J") // clears what is below
	last = strings.ReplaceAll(last, "\x1b[K", "")              // clears the rest of a line
	last = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(last, "127.0.0.1:8080")
	golden.File(t, "../../../docs/demo.svg", pictureOf(strings.Split(last, "\r\n"), width))
}

const (
	cellWidth, cellHeight, margin = 8.4, 19.0, 14.0
	paper, pencil                 = "#1e2327", "#d7dde1"
)

// pictureOf draws the lines of a terminal as SVG.
func pictureOf(lines []string, width int) string {
	var b strings.Builder
	w, h := 2*margin+cellWidth*float64(width), 2*margin+cellHeight*float64(len(lines))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" `+
		`aria-label="The demo's live table: devices by state, the worst devices, since when, `+
		`who answers">`+"\n"+`<rect width="%.0f" height="%.0f" rx="8" fill="%s"/>`+"\n"+
		`<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" `+
		`font-size="14" fill="%s">`+"\n", w, h, w, h, paper, pencil)
	for i, line := range lines {
		drawLine(&b, line, margin+cellHeight*float64(i))
	}
	return b.String() + "</g>\n</svg>\n"
}

var looksLike = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// drawLine draws one line, whose top is at y: the runs between what changes the look.
func drawLine(b *strings.Builder, line string, y float64) {
	p := pen{b: b, x: margin, y: y}
	for line != "" {
		at := looksLike.FindStringSubmatchIndex(line)
		if at == nil {
			p.write(line)
			return
		}
		p.write(line[:at[0]])
		p.look(line[at[2]:at[3]])
		line = line[at[1]:]
	}
}

// pen writes from left to right.
type pen struct {
	b            *strings.Builder
	x, y         float64
	front, under string // colours, "" is the paper's
	bold         bool
}

// look changes what the pen writes with, as ECMA-48 has it.
func (p *pen) look(codes string) {
	all := strings.Split(codes, ";")
	for i := 0; i < len(all); i++ {
		switch all[i] {
		case "0":
			p.front, p.under, p.bold = "", "", false
		case "1":
			p.bold = true
		case "38", "48":
			colour := "#"
			for _, part := range all[i+2 : i+5] {
				n, _ := strconv.Atoi(part)
				colour += fmt.Sprintf("%02x", n)
			}
			if all[i] == "38" {
				p.front = colour
			} else {
				p.under = colour
			}
			i += 4
		}
	}
}

func (p *pen) fill() string {
	if p.front == "" {
		return ""
	}
	return ` fill="` + p.front + `"`
}

// write draws a text: words with a place for each character, the rest as shapes.
func (p *pen) write(text string) {
	if p.under != "" {
		fmt.Fprintf(p.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n",
			p.x-2, p.y+0.5, cellWidth*float64(utf8.RuneCountInString(text))+4, cellHeight-1,
			p.under)
	}
	word, places := "", ""
	flush := func() {
		if word != "" {
			weight := ""
			if p.bold {
				weight = ` font-weight="bold"`
			}
			fmt.Fprintf(p.b, `<text x="%s" y="%.1f"%s%s>%s</text>`+"\n", places[1:], p.y+14.2,
				p.fill(), weight, html.EscapeString(word))
		}
		word, places = "", ""
	}
	for _, r := range text {
		switch {
		case r == ' ':
			flush()
		case p.shape(r):
			flush()
		default:
			word += string(r)
			places += fmt.Sprintf(" %.1f", p.x)
		}
		p.x += cellWidth
	}
	flush()
}

// shape draws a character that fonts do not agree on; false for all others.
func (p *pen) shape(r rune) bool {
	x, y := p.x+cellWidth/2, p.y+cellHeight/2
	corners := ""
	switch r {
	case '▲':
		corners = fmt.Sprintf("M%.1f %.1fl4 7h-8z", x, y-4)
	case '◆':
		corners = fmt.Sprintf("M%.1f %.1fl4 4-4 4-4-4z", x, y-4)
	case '■':
		corners = fmt.Sprintf("M%.1f %.1fh7v7h-7z", x-3.5, y-3.5)
	case '✖':
		corners = fmt.Sprintf("M%.1f %.1fl2-2 2 2 2-2 2 2-2 2 2 2-2 2-2-2-2 2-2-2 2-2z", x-4, y-2)
	case '●':
		corners = fmt.Sprintf("M%.1f %.1fa3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z", x-3.6, y)
	default:
		eighths := strings.IndexRune("▏▎▍▌▋▊▉█", r) / 3
		if r < '▁' || r > '▏' {
			return false
		}
		wide := cellWidth*float64(eighths+1)/8 + 0.3 // over the seam to the next
		corners = fmt.Sprintf("M%.2f %.1fh%.2fv13h-%.2fz", p.x, p.y+3, wide, wide)
	}
	fmt.Fprintf(p.b, `<path d="%s"%s/>`+"\n", corners, p.fill())
	return true
}
