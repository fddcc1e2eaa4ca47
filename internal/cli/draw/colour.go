package draw

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

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
