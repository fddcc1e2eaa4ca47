package query

import (
	"testing"

	"github.com/andonhq/andon/client"
)

// TestSecondsHaveNoExponent: a spreadsheet would round them.
func TestSecondsHaveNoExponent(t *testing.T) {
	i := client.Interval{Seconds: 12_345_678.000001}
	for _, c := range intervalColumns() {
		if c.Name == "seconds" && c.Text(&i) != "12345678.000001" {
			t.Errorf("got %s", c.Text(&i))
		}
	}
}
