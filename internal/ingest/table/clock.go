package table

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
)

// Times in files are written in more ways than andon.ParseTime reads. Programs end them with
// " UTC", and many are those of a clock on a wall. Spreadsheets write a date as their country does:
// 21/11/2026, 11/21/2026, 21.11.2026, 21/11/26. With slashes it does not say which number is the
// day.

// DateOrder is the order of the day, the month and the year in a date. The zero value does not know
// it.
type DateOrder string

// The orders, as PostgreSQL calls them, too.
const (
	DMY DateOrder = "dmy"
	MDY DateOrder = "mdy"
	YMD DateOrder = "ymd"
)

// ParseDateOrder reads dmy, mdy or ymd.
func ParseDateOrder(text string) (DateOrder, error) {
	switch order := DateOrder(text); order {
	case DMY, MDY, YMD:
		return order, nil
	}
	return "", andon.Errorf(andon.Invalid, "it is none of dmy, mdy, ymd")
}

// ParseTime reads a number of the precision, or a time as programs write it.
func (m *Mapping) ParseTime(text string) (andon.Time, error) {
	switch {
	case text == "":
		return 0, andon.Errorf(andon.Invalid, "time is missing")
	case isNumber(text):
		at, err := andon.ParseEpoch(text, m.Precision)
		if days, _ := strconv.ParseFloat(text, 64); days > 20_000 && days < 80_000 {
			err = andon.Errorf(andon.Invalid, "%s looks like the number that a spreadsheet has "+
				"for a date: give the column the form of a date before it is saved", text)
		}
		return at, err
	}
	t, failed := m.read(text)
	if failed == nil {
		return t, nil
	}
	text = strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(text) // before "PM"
	found := datePattern.FindStringSubmatch(text)
	if found == nil {
		return 0, failed
	}
	day, err := m.Dates.day(found[1])
	if err != nil {
		return 0, err
	}
	t, err = m.read(day + timeOfDay(found[2]))
	switch {
	case err == nil:
		return t, nil
	case strings.HasPrefix(text, day):
		return 0, failed
	}
	return 0, andon.Errorf(andon.Invalid, "%s: %w", ingest.Clip(text), err) // it quotes what is new
}

// isNumber distinguishes a number from a date, which has a '-' after its year, or two points.
func isNumber(text string) bool {
	return strings.Count(text, ".") < 2 && strings.Trim(text, "0123456789.eE+") == "" &&
		text[0] >= '0' && text[0] <= '9'
}

// zonePattern matches a time with a zone after its time of day.
var zonePattern = regexp.MustCompile(`^(.+:.+?) ?(UTC|GMT|[Zz]|[+-][\d:]+)$`)

// read reads a time whose date is that of RFC 3339.
func (m *Mapping) read(text string) (andon.Time, error) {
	if t, err := andon.ParseTime(text); err == nil && m.Zone == nil { // as nearly all are
		return t, nil
	}
	if found := zonePattern.FindStringSubmatch(text); found != nil {
		zone := found[2]
		if zone == "UTC" || zone == "GMT" {
			zone = "Z"
		}
		return andon.ParseTime(found[1] + zone)
	}
	t, err := andon.ParseTime(text)
	if err != nil || m.Zone == nil {
		return t, err
	}
	return m.instant(t)
}

// instant returns when the clocks of the zone showed what t is in UTC. Where they go back an hour
// comes twice, and its times are taken as the first of the two.
func (m *Mapping) instant(wall andon.Time) (andon.Time, error) {
	before, after := m.offset(wall.Std().AddDate(0, 0, -1)), m.offset(wall.Std().AddDate(0, 0, 1))
	first, second := wall.Std().Add(-before), wall.Std().Add(-after)
	switch {
	case m.offset(first) == before:
		return andon.TimeOf(first), nil
	case m.offset(second) == after:
		return andon.TimeOf(second), nil
	}
	return 0, andon.Errorf(andon.Invalid,
		"time %q does not exist in %s: the clocks go forward by %s there",
		strings.TrimSuffix(wall.String(), "Z"), m.Zone, andon.DurationOf(after-before))
}

func (m *Mapping) offset(at time.Time) time.Duration {
	_, seconds := at.In(m.Zone).Zone()
	return time.Duration(seconds) * time.Second
}

// ParseZone reads the name of a zone, as Europe/Berlin, or an offset, as +02:00.
func ParseZone(text string) (*time.Location, error) {
	for _, layout := range []string{"-07:00", "-0700", "-07"} {
		if t, err := time.Parse(layout, text); err == nil {
			_, seconds := t.Zone()
			return time.FixedZone(text, seconds), nil
		}
	}
	if text != "Local" { // it would depend on the machine
		if zone, err := time.LoadLocation(text); err == nil {
			return zone, nil
		}
	}
	return nil, andon.Errorf(andon.Invalid, "it is neither the name of a time zone, such as "+
		"Europe/Berlin, nor an offset, such as +02:00")
}

// datePattern matches a time that begins with a date of three numbers, and what follows the date.
var datePattern = regexp.MustCompile(
	`(?s)^(\d+(?:/\d+/\d+|\.\d+\.\d+|-\d+-\d+))([^\d/.-].*)?$`)

// day returns a date as RFC 3339 has it. Years of two digits are those of 1969 to 2068, as POSIX
// has it for %y.
func (o DateOrder) day(date string) (string, error) {
	switch { // some dates say their order
	case strings.IndexAny(date, "/.-") == 4: // after the year
		o = YMD
	case o == "" && strings.Contains(date, "."): // no country writes the month first so
		o = DMY
	case o == "":
		return "", andon.Errorf(andon.Invalid, "date %s does not say which number is the day: "+
			"say --date-order dmy, mdy or ymd", date)
	}
	numbers := strings.NewReplacer("/", "-", ".", "-").Replace(date)
	for _, layout := range map[DateOrder][]string{
		DMY: {"2-1-2006", "2-1-06"}, MDY: {"1-2-2006", "1-2-06"}, YMD: {"2006-1-2", "06-1-2"},
	}[o] {
		if t, err := time.Parse(layout, numbers); err == nil {
			return t.Format(time.DateOnly), nil
		}
	}
	return "", andon.Errorf(andon.Invalid, "date %s does not exist, read as %s", date, o)
}

// clockPattern matches a time of day: the hour, the rest, A or P, and what follows.
var clockPattern = regexp.MustCompile(`(?s)^(\d{1,2}):([\d:.,]*)(?: *([AaPp])[Mm])?(.*)$`)

// timeOfDay returns what follows a date as RFC 3339 has it: with two digits of the hour, of
// 24 hours, and "" where there is nothing.
func timeOfDay(text string) string {
	text = strings.TrimLeft(text, "Tt, ")
	m := clockPattern.FindStringSubmatch(text)
	if m == nil {
		return strings.TrimSuffix("T"+text, "T") // nothing follows nothing
	}
	h, _ := strconv.Atoi(m[1])
	if m[3] != "" {
		if h < 1 || h > 12 {
			return "T" + text
		}
		if h %= 12; m[3] == "P" || m[3] == "p" {
			h += 12
		}
	}
	return fmt.Sprintf("T%02d:%s%s", h, m[2], m[4])
}
