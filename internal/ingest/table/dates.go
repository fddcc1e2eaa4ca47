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

// Spreadsheets and many programs write a date as their country does: 21/11/2026, 11/21/2026,
// 21.11.2026, 21/11/26. With slashes it does not say which number is the day.

// DateOrder is the order of the day, the month and the year in a date.
type DateOrder uint8

// The orders.
const (
	DMY DateOrder = 1 << iota
	MDY
	YMD

	anyOrder = DMY | MDY | YMD
)

// String is the name that ParseDateOrder reads; "" of several orders.
func (o DateOrder) String() string {
	return map[DateOrder]string{DMY: "dmy", MDY: "mdy", YMD: "ymd"}[o]
}

// ParseDateOrder reads dmy, mdy or ymd, which PostgreSQL calls them, too.
func ParseDateOrder(text string) (DateOrder, error) {
	for order := DMY; order <= YMD; order <<= 1 {
		if strings.EqualFold(text, order.String()) {
			return order, nil
		}
	}
	return 0, andon.Errorf(andon.Invalid, "%s is none of dmy, mdy, ymd", ingest.Clip(text))
}

// Dates reads dates that are written as a country does. The zero value does not know the order, and
// learns it from the dates that it reads.
type Dates struct {
	Order DateOrder // 0: not known

	excluded DateOrder // orders in which not all dates exist that were read
	example  string    // the one that shows most
	line     int       // its line
	others   bool      // a time was read that leaves nothing open
}

// Proven returns the only order in which all dates exist that were read, with the one that showed
// it and its line. It is false where there were none, or several orders are left.
func (d *Dates) Proven() (order DateOrder, example string, line int, ok bool) {
	order = anyOrder &^ d.excluded
	return order, d.example, d.line, order.String() != ""
}

// IsDecided reports whether enough was read: the order is proven, or no time leaves it open.
func (d *Dates) IsDecided() bool {
	_, _, _, proven := d.Proven()
	return proven || d.others && d.example == ""
}

// Doubt says how a date that was read can be understood; "" where none leaves that open.
func (d *Dates) Doubt() string {
	if _, _, _, proven := d.Proven(); d.Order != 0 || proven || d.example == "" {
		return ""
	}
	var ways []string
	for order := DMY; order <= YMD; order <<= 1 {
		if day, ok := dayOf(d.example, order); ok && d.excluded&order == 0 {
			ways = append(ways, fmt.Sprintf("%s (%s)", day, order))
		}
	}
	return fmt.Sprintf("the date %s can be %s", d.example, strings.Join(ways, " or "))
}

// rewrite returns a time with its date and its time of day as RFC 3339 has them; as it is where
// these are no numbers.
func (d *Dates) rewrite(text string, line int) (string, error) {
	if isPlain(text) {
		d.others = true
		return text, nil
	}
	text = strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(text) // before "PM"
	found := datePattern.FindStringSubmatch(text)
	if found == nil {
		d.others = d.others || text != ""
		return text, nil
	}
	date := found[1]
	order := d.orderOf(date, line)
	if order == 0 {
		return "", andon.Errorf(andon.Invalid, "date %s does not say which number is the day", date)
	}
	day, ok := dayOf(date, order)
	if !ok {
		return "", andon.Errorf(andon.Invalid, "date %s does not exist, read as %s", date, order)
	}
	return day + timeOfDay(found[2]), nil
}

// isPlain reports whether a time begins as most do: 2026-11-20T06:00, without AM or PM.
func isPlain(text string) bool {
	return len(text) > 13 && text[4] == '-' && text[7] == '-' && text[13] == ':' &&
		text[len(text)-1]|0x20 != 'm'
}

// orderOf returns the order of a date. A year of four digits says it, where it comes first; no
// country writes the month first with points.
func (d *Dates) orderOf(date string, line int) DateOrder {
	switch {
	case strings.IndexAny(date, "/.-") == 4:
		d.others = true
		return YMD
	case d.Order != 0:
		return d.Order
	case strings.Contains(date, "."):
		d.others = true
		return DMY
	}
	d.learn(date, line)
	return 0
}

// learn excludes the orders in which a date does not exist, unless these are all.
func (d *Dates) learn(date string, line int) {
	var excluded DateOrder
	for order := DMY; order <= YMD; order <<= 1 {
		if _, ok := dayOf(date, order); !ok {
			excluded |= order
		}
	}
	if excluded == anyOrder || excluded|d.excluded == anyOrder {
		return
	}
	if d.example == "" || excluded&^d.excluded != 0 || isTwin(d.example) {
		d.example, d.line = date, line
	}
	d.excluded |= excluded
}

// isTwin reports whether the day and the month of a date are the same number: it shows nothing.
func isTwin(date string) bool {
	dmy, _ := dayOf(date, DMY)
	mdy, _ := dayOf(date, MDY)
	return dmy == mdy
}

// datePattern matches a time that begins with a date of three numbers, and what follows the date.
var datePattern = regexp.MustCompile(
	`(?s)^(\d+(?:/\d+/\d+|\.\d+\.\d+|-\d+-\d+))([^\d/.-].*)?$`)

// dayOf returns the day that a date names in an order, as RFC 3339 has it, if there is one. Years
// of two digits are those of 1969 to 2068, as POSIX has it for %y.
func dayOf(date string, order DateOrder) (day string, ok bool) {
	layouts := map[DateOrder][]string{
		DMY: {"2-1-2006", "2-1-06"}, MDY: {"1-2-2006", "1-2-06"}, YMD: {"2006-1-2", "06-1-2"},
	}
	date = strings.NewReplacer("/", "-", ".", "-").Replace(date)
	for _, layout := range layouts[order] {
		if t, err := time.Parse(layout, date); err == nil {
			return t.Format(time.DateOnly), true
		}
	}
	return "", false
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
