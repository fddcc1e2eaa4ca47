package table

import (
	"fmt"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
)

// Times in files are written in more ways than RFC 3339 has: PostgreSQL ends them with "+00", other
// programs with "+0200" or " UTC", and many are those of a clock on a wall.

// Clock is the clock on a wall that times without a zone are read from. Where the clocks go back an
// hour comes twice, and its times are taken as the first of the two.
type Clock struct {
	Zone  *time.Location // nil is UTC
	Dates Dates

	twice     int // times that came twice
	firstLine int // the line of the first of them
}

// Twice returns how many times came twice, and the line of the first; 0 in an array of JSON.
func (c *Clock) Twice() (n, line int) {
	if c == nil {
		return 0, 0
	}
	return c.twice, c.firstLine
}

// parse reads a time that is no number.
func (c *Clock) parse(text string, line int) (andon.Time, error) {
	if c == nil {
		c = &Clock{}
	}
	rewritten, err := c.Dates.rewrite(text, line)
	if err != nil {
		return 0, err
	}
	t, err := c.read(rewritten, line)
	if err != nil && rewritten != text { // the file does not have what that quotes
		err = andon.Errorf(andon.Invalid, "%s: %w", ingest.Clip(text), err)
	}
	return t, err
}

// read reads a time whose date is that of RFC 3339.
func (c *Clock) read(text string, line int) (andon.Time, error) {
	wall, zone := splitZone(text)
	if zone != "" || c.Zone == nil {
		return andon.ParseTime(wall + zone)
	}
	t, err := andon.ParseTime(wall)
	if err != nil {
		return 0, err
	}
	return c.instant(t, line)
}

// instant returns when the clock showed what t is in UTC.
func (c *Clock) instant(wall andon.Time, line int) (andon.Time, error) {
	before, after := c.offset(wall.Std().AddDate(0, 0, -1)), c.offset(wall.Std().AddDate(0, 0, 1))
	first, second := wall.Std().Add(-before), wall.Std().Add(-after)
	isFirst, isSecond := c.offset(first) == before, c.offset(second) == after
	switch {
	case !isFirst && !isSecond:
		return 0, andon.Errorf(andon.Invalid,
			"time %q does not exist in %s: the clocks go forward by %s there",
			strings.TrimSuffix(wall.String(), "Z"), c.Zone, andon.DurationOf(after-before))
	case isFirst && isSecond && first != second:
		if c.twice++; c.twice == 1 {
			c.firstLine = line
		}
	case !isFirst:
		first = second
	}
	return andon.TimeOf(first), nil
}

func (c *Clock) offset(at time.Time) time.Duration {
	_, seconds := at.In(c.Zone).Zone()
	return time.Duration(seconds) * time.Second
}

// splitZone splits a time into what a clock shows and its zone as RFC 3339 has it: "" where it has
// none.
func splitZone(text string) (wall, zone string) {
	const shortest = len("2006-01-02T15:04")
	for _, name := range []string{"UTC", "GMT", "Z", "z"} {
		if wall, ok := strings.CutSuffix(text, name); ok {
			return strings.TrimRight(wall, " "), "Z"
		}
	}
	i := strings.LastIndexAny(text, "+-")
	if i < shortest {
		return text, ""
	}
	wall, sign, digits := strings.TrimRight(text[:i], " "), text[i:i+1], text[i+1:]
	switch {
	case len(digits) == 2:
		return wall, sign + digits + ":00"
	case len(digits) == 4:
		return wall, sign + digits[:2] + ":" + digits[2:]
	}
	return wall, sign + digits
}

// ParseZone reads the name of a zone, as Europe/Berlin, or an offset, as +02:00.
func ParseZone(text string) (*time.Location, error) {
	if text == "" {
		return time.UTC, nil
	}
	if text[0] == '+' || text[0] == '-' {
		_, zone := splitZone("2006-01-02T15:04" + text)
		t, err := time.Parse("Z07:00", zone)
		if err == nil {
			_, seconds := t.Zone()
			return time.FixedZone(text, seconds), nil
		}
	}
	if text != "Local" { // it would depend on the machine
		if zone, err := time.LoadLocation(text); err == nil {
			return zone, nil
		}
	}
	return nil, fmt.Errorf("%q is neither the name of a time zone, such as Europe/Berlin, "+
		"nor an offset, such as +02:00", text)
}
