package table

import (
	"strings"

	"github.com/andonhq/andon"
)

// digits counts times that are numbers by the digits before their point. A time of this century has
// 10 in seconds and three more in each smaller unit.
type digits struct {
	rows   int
	counts map[int]int
}

// add counts the time of a row, which may be a number.
func (d *digits) add(text string) {
	d.rows++
	whole, _, _ := strings.Cut(text, ".")
	if whole = strings.TrimLeft(whole, "+"); strings.Trim(whole, "0123456789") == "" {
		d.counts[len(whole)]++
	}
}

// Precision returns the unit that most of the times that were read so far look like by their
// digits, and false where most are no numbers or show nothing.
func (t *Table) Precision() (andon.Precision, bool) {
	for digits, unit := range map[int]andon.Precision{
		10: andon.Seconds, 13: andon.Milliseconds, 16: andon.Microseconds, 19: andon.Nanoseconds,
	} {
		if 2*t.digits.counts[digits] > t.digits.rows {
			return unit, true
		}
	}
	return 0, false
}
