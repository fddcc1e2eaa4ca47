package draw

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Depth is how many colours a terminal shows.
type Depth int

// The depths.
const (
	NoColours  Depth = iota // NO_COLOR, or no terminal
	FewColours              // 16, which the terminal defines
	AllColours              // 16 million
)

// rgb is a colour of the sRGB space, each part from 0 to 1.
type rgb [3]float64

// parseRGB reads "#rrggbb".
func parseRGB(text string) (c rgb, ok bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 16, 24)
	if err != nil {
		return c, false
	}
	for i := range c {
		c[i] = float64(n>>(16-8*i)&0xff) / 255
	}
	return c, true
}

func (c rgb) bytes() (r, g, b int) {
	return int(c[0]*255 + 0.5), int(c[1]*255 + 0.5), int(c[2]*255 + 0.5)
}

// linear returns the parts as linear light.
func (c rgb) linear() (light rgb) {
	for i, x := range c {
		if light[i] = x / 12.92; x > 0.04045 {
			light[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return light
}

// luminance is the relative luminance of WCAG 2.2, and contrast its contrast ratio.
func (c rgb) luminance() float64 {
	light := c.linear()
	return 0.2126*light[0] + 0.7152*light[1] + 0.0722*light[2]
}

func (c rgb) contrast(other rgb) float64 {
	a, b := c.luminance()+0.05, other.luminance()+0.05
	return max(a/b, b/a)
}

// Paint returns a text with a background colour, in black or white, whichever has more contrast: so
// it can be read on a terminal of any colour. Spaces around the text are not coloured.
func (p Printer) Paint(colour, text string) string {
	c, ok := parseRGB(colour)
	inner := strings.Trim(text, " ")
	if !ok || p.Depth == NoColours || inner == "" {
		return text
	}
	before, after, _ := strings.Cut(text, inner)
	return before + p.ground(c) + inner + "\x1b[0m" + after
}

// ground returns the escape sequence that sets the background and the colour of the text.
func (p Printer) ground(c rgb) string {
	black := c.contrast(rgb{}) >= c.contrast(rgb{1, 1, 1})
	if p.Depth == AllColours {
		r, g, b := c.bytes()
		front := "255;255;255"
		if black {
			front = "0;0;0"
		}
		return fmt.Sprintf("\x1b[48;2;%d;%d;%d;38;2;%sm", r, g, b, front)
	}
	place, front := near16(c), 97
	if place == 2 || place == 3 || place == 6 || place == 7 { // the bright ones
		front = 30
	}
	return fmt.Sprintf("\x1b[%d;%dm", 40+place, front)
}

// near16 returns the nearest of the eight colours that every terminal has, except black, which may
// be the terminal's background.
func near16(c rgb) (place int) {
	place = 7
	least := math.Inf(1)
	for i := 1; i < 8; i++ {
		var far float64
		for part := range 3 {
			far += math.Pow(c[part]-float64(i>>part&1)*205/255, 2)
		}
		if far < least {
			place, least = i, far
		}
	}
	return place
}
