package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scale maps the sizes of a sweep and its costs onto a picture; both axes are logarithmic.
type scale struct {
	minX, maxX, minY, maxY float64 // logarithms to the base 10
}

// scaleOf is false where there is nothing to draw.
func (w *Sweep) scaleOf() (s scale, ok bool) {
	s = scale{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	for _, devices := range w.Devices {
		x := math.Log10(float64(devices))
		s.minX, s.maxX = min(s.minX, x), max(s.maxX, x)
	}
	for _, of := range w.Series {
		for _, cost := range of.Cost {
			if cost > 0 {
				y := math.Log10(cost)
				s.minY, s.maxY = min(s.minY, math.Floor(y)), max(s.maxY, math.Ceil(y))
			}
		}
	}
	s.maxY = max(s.maxY, s.minY+1)
	return s, s.maxX > s.minX && !math.IsInf(s.minY, 0)
}

// at is where a point is, each from 0 to 1.
func (s scale) at(devices int, cost float64) (x, y float64) {
	return (math.Log10(float64(devices)) - s.minX) / (s.maxX - s.minX),
		(math.Log10(cost) - s.minY) / (s.maxY - s.minY)
}

// between is the cost of a series between its points, and false where it has none.
func (w *Sweep) between(of *Series, devices float64) (float64, bool) {
	for i := 1; i < len(w.Devices); i++ {
		low, high := float64(w.Devices[i-1]), float64(w.Devices[i])
		if devices < low || devices > high || of.Cost[i-1] <= 0 || of.Cost[i] <= 0 {
			continue
		}
		part := math.Log(devices/low) / math.Log(high/low)
		return of.Cost[i-1] * math.Pow(of.Cost[i]/of.Cost[i-1], part), true
	}
	return 0, false
}

// mark is the letter that a series is drawn with.
func mark(store string) string {
	r, _ := utf8.DecodeRuneInString(store)
	return string(r)
}

// Chart draws a sweep with letters, so many columns wide: the first letter of each store, and *
// where two meet.
func (w *Sweep) Chart(columns, rows int) string {
	s, ok := w.scaleOf()
	if !ok {
		return ""
	}
	const margin = 11
	wide := max(columns-margin, 20)
	grid := make([][]string, rows)
	for i := range grid {
		grid[i] = strings.Split(strings.Repeat(" ", wide), "")
	}
	for i := range w.Series {
		w.trace(grid, s, &w.Series[i])
	}
	var b strings.Builder
	for i, row := range grid {
		label := ""
		if y := s.maxY - (s.maxY-s.minY)*float64(i)/float64(rows-1); labelled(s, i, rows) {
			label = "$" + brief(math.Pow(10, math.Round(y)))
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%*s |%s", margin-2, label,
			strings.Join(row, "")), " ") + "\n")
	}
	b.WriteString(strings.Repeat(" ", margin-1) + "+" + strings.Repeat("-", wide) + "\n")
	b.WriteString(s.axis(margin, wide))
	return b.String()
}

// labelled reports whether a row is the one next to a power of ten.
func labelled(s scale, row, rows int) bool {
	step := (s.maxY - s.minY) / float64(rows-1)
	y := s.maxY - step*float64(row)
	return math.Abs(y-math.Round(y)) < step/2
}

// trace draws one series into a grid.
func (w *Sweep) trace(grid [][]string, s scale, of *Series) {
	rows, wide := len(grid), len(grid[0])
	for column := range wide {
		x := s.minX + (s.maxX-s.minX)*float64(column)/float64(wide-1)
		cost, ok := w.between(of, math.Pow(10, x))
		if !ok {
			continue
		}
		_, y := s.at(w.Devices[0], cost)
		cell := &grid[rows-1-int(math.Round(y*float64(rows-1)))][column]
		if *cell != " " {
			*cell = "*"
		} else {
			*cell = mark(of.Store)
		}
	}
}

// axis labels the powers of ten below a chart.
func (s scale) axis(margin, wide int) string {
	line := []byte(strings.Repeat(" ", margin+wide+4))
	for x := math.Ceil(s.minX); x <= s.maxX; x++ {
		label := brief(math.Pow(10, x))
		at := margin + int(math.Round((x-s.minX)/(s.maxX-s.minX)*float64(wide-1)))
		copy(line[min(at, len(line)-len(label)):], label)
	}
	return strings.TrimRight(string(line), " ") + "  devices\n"
}

// brief writes a power of ten: 100, 10k, 1M, 1G.
func brief(x float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= u.size {
			return strconv.FormatFloat(x/u.size, 'f', -1, 64) + u.name
		}
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
