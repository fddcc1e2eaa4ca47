package plan

import (
	"math"
	"strconv"
)

// show writes a number for the arithmetic: with thousands apart, and with three digits at least.
func show(x float64) string {
	digits := 0
	for edge := 100.0; digits < 6 && math.Abs(x) < edge && x != math.Trunc(x); edge /= 10 {
		digits++
	}
	text := strconv.FormatFloat(x, 'f', digits, 64)
	point := len(text)
	if digits > 0 {
		point = len(text) - digits - 1
	}
	for i := point - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Show writes a number for people.
func Show(x float64) string { return show(x) }
