package draw

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/cupwriter"

	"github.com/andonhq/andon"
)

// Clock shows a time to the second, for a person.
func Clock(t andon.Time) string { return t.Std().Format("2006-01-02 15:04:05") }

// Age shows a length of time by its two greatest units.
func Age(d andon.Duration) string {
	const minute, hour, day = andon.Duration(60e6), andon.Duration(3600e6), andon.Duration(86400e6)
	switch {
	case d >= day:
		return fmt.Sprintf("%dd%02dh", d/day, d%day/hour)
	case d >= hour:
		return fmt.Sprintf("%dh%02dm", d/hour, d%hour/minute)
	case d >= minute:
		return fmt.Sprintf("%dm%02ds", d/minute, d%minute/1e6)
	}
	return fmt.Sprintf("%ds", d/1e6)
}

// Grouped shows a number with its thousands apart: 1,234,567.
func Grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// ColumnsOf returns how many columns of a terminal a text takes: of characters of East Asia two
// each, of marks that join others none.
func ColumnsOf(text string) int {
	return (&runewidth.Condition{}).StringWidth(text)
}

// Clip cuts a text to so many columns.
func Clip(text string, columns int) string {
	if ColumnsOf(text) <= columns {
		return text
	}
	if columns <= 0 {
		return ""
	}
	return (&runewidth.Condition{}).Truncate(text, columns, "…")
}

// Count is "1 setting" or "2 settings".
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// GroupedCount is count with the thousands of the number apart.
func GroupedCount(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return Grouped(n) + " " + what
}

// Bytes is a number of bytes for people.
func Bytes(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	if v >= 100 || v == math.Trunc(v) {
		return fmt.Sprintf("%.0f %s", v, units[i])
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// SizeOf returns the columns and rows of the terminal that w is.
func SizeOf(w io.Writer) (width, height int) {
	width, height, err := cupwriter.New(w, false).GetTermSize()
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24 // as it has been since the VT100
	}
	return width, height
}

// Legible makes a text fit for a cell. What a device sends may hold anything: an escape sequence
// must not reach the terminal, nor may marks of direction swap what stands around them.
func Legible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			return utf8.RuneError
		}
		return r
	}, text)
}
