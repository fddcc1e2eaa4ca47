package plan

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The picture of a sweep, in pixels.
const (
	svgWide, svgHigh = 760, 460
	svgLeft, svgTop  = 70, 40
	svgPlotWide      = 560
	svgPlotHigh      = 350
)

// svgColours tell series apart for people who see colours in another way, too (Okabe and Ito); each
// line is labelled at its end as well.
var svgColours = [...]string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000"}

// SVG draws a sweep.
func (w *Sweep) SVG(title string) string {
	s, ok := w.scaleOf()
	if !ok {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" `+
		`font-family="sans-serif" font-size="12">`+"\n<title>%s</title>\n"+
		`<rect width="%d" height="%d" fill="#ffffff"/>`+"\n"+
		`<text x="%d" y="20" font-size="14">%s</text>`+"\n",
		svgWide, svgHigh, html.EscapeString(title), svgWide, svgHigh, svgLeft,
		html.EscapeString(title))
	b.WriteString(s.grid())
	for i := range w.Series {
		b.WriteString(w.line(s, i))
	}
	for i, c := range w.Crossings {
		b.WriteString(s.crossing(c, i))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (s scale) pixels(x, y float64) (float64, float64) {
	return svgLeft + x*svgPlotWide, svgTop + (1-y)*svgPlotHigh
}

// grid draws the powers of ten.
func (s scale) grid() string {
	var b strings.Builder
	rule := func(x1, y1, x2, y2 float64) {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dddddd"/>`+"\n",
			x1, y1, x2, y2)
	}
	for e := math.Ceil(s.minX); e <= s.maxX; e++ {
		x, y := s.pixels((e-s.minX)/(s.maxX-s.minX), 0)
		rule(x, svgTop, x, y)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", x, y+18,
			brief(math.Pow(10, e)))
	}
	for e := s.minY; e <= s.maxY; e++ {
		x, y := s.pixels(0, (e-s.minY)/(s.maxY-s.minY))
		rule(x, y, svgLeft+svgPlotWide, y)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end">$%s</text>`+"\n", x-8, y+4,
			brief(math.Pow(10, e)))
	}
	x, y := s.pixels(0.5, 0)
	fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">devices; cost a month</text>`+
		"\n", x, y+40)
	return b.String()
}

// line draws a series, in pieces where it does not hold everywhere, with its name at the end.
func (w *Sweep) line(s scale, i int) string {
	var b strings.Builder
	of, colour := &w.Series[i], svgColours[i%len(svgColours)]
	var points []string
	var x, y float64
	flush := func() {
		if len(points) > 0 {
			fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="2.5" points="%s"/>`+
				"\n", colour, strings.Join(points, " "))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x, y, colour)
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n", x+7, y+4, colour,
				html.EscapeString(of.Store))
		}
		points = nil
	}
	for n, cost := range of.Cost {
		if cost <= 0 {
			flush()
			continue
		}
		x, y = s.pixels(s.at(w.Devices[n], cost))
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, y))
	}
	flush()
	return b.String()
}

// crossing draws where another store becomes the cheapest; the texts stand below each other.
func (s scale) crossing(c Crossing, row int) string {
	x, y := s.pixels((math.Log10(float64(c.Devices))-s.minX)/(s.maxX-s.minX), 1)
	text := c.To
	if text == "" {
		text = "none holds"
	}
	below := y + 12 + float64(14*row)
	return fmt.Sprintf(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#666666" `+
		`stroke-dasharray="4 3"/>`+"\n"+`<text x="%.1f" y="%.1f" fill="#444444" font-size="11" `+
		`text-anchor="end">%s from %s on</text>`+"\n", x, y, x, y+svgPlotHigh, x-4, below,
		html.EscapeString(text), show(float64(c.Devices)))
}
