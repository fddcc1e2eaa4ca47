// Package sheet makes cells of CSV that is read by people, in a spreadsheet.
package sheet

import (
	"strconv"
	"strings"
)

// Cell returns a text as a cell. One that a spreadsheet would run as a formula gets an apostrophe
// before it: names and messages come from devices, and a formula can send what is in the sheet
// elsewhere. A number is no formula.
func Cell(text string) string {
	_, err := strconv.ParseFloat(text, 64)
	if err != nil && strings.IndexAny(text, "=+-@\t\r\n＝＋－＠") == 0 {
		return "'" + text
	}
	return text
}
