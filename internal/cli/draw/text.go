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

// Clock formats a time to the second; 0 is empty.
func Clock(t andon.Time) string {
	if t == 0 {
		return ""
	}
	return t.Std().Format("2006-01-02 15:04:05")
}

// Age formats a duration by its two largest units.
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

// Grouped formats a number with separators: 1,234,567.
func Grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// ColumnsOf returns the width of a text in columns of a terminal: two for East Asian characters,
// none for combining marks.
func ColumnsOf(text string) int {
	return (&runewidth.Condition{}).StringWidth(text)
}

func clip(text string, columns int) string {
	if ColumnsOf(text) <= columns {
		return text
	}
	if columns <= 0 {
		return ""
	}
	return (&runewidth.Condition{}).Truncate(text, columns, "…")
}

// Count is "1 setting" or "1,200 settings".
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return Grouped(n) + " " + what
}

// Bytes formats a number of bytes.
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

// WidthOf returns the columns of a terminal, and 0 of anything else.
func WidthOf(w io.Writer) int {
	if !IsTerminal(w) {
		return 0
	}
	width, _, err := cupwriter.New(w, false).GetTermSize()
	if err != nil || width <= 0 {
		return 80 // as it has been since the VT100
	}
	return width
}

// Legible makes a text safe to print. What a device sends may hold anything: no escape sequence may
// reach the terminal, and no mark of direction may swap the text around it.
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
