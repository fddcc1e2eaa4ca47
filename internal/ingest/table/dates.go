package table

import (
	"fmt"
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
// learns it from what it is asked to read.
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

// IsSettled reports whether enough was read: the order is proven, or no time leaves it open.
func (d *Dates) IsSettled() bool {
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
	date, clock := splitDate(text)
	if date == "" {
		d.others = d.others || text != ""
		return text, nil
	}
	order := d.orderOf(date, line)
	if order == 0 {
		return "", andon.Errorf(andon.Invalid, "date %s does not say which number is the day", date)
	}
	day, ok := dayOf(date, order)
	if !ok {
		return "", andon.Errorf(andon.Invalid, "date %s does not exist, read as %s", date, order)
	}
	return day + timeOfDay(clock), nil
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

// splitDate splits a time after a date of three numbers; date is "" where it has none.
func splitDate(text string) (date, rest string) {
	date = text[:len(text)-len(strings.TrimLeft(text, "0123456789/.-"))]
	i := strings.IndexAny(date, "/.-")
	if i < 0 {
		return "", text
	}
	numbers := strings.Split(date, date[i:i+1])
	if len(numbers) != 3 {
		return "", text
	}
	for _, n := range numbers {
		if _, err := strconv.ParseUint(n, 10, 16); err != nil {
			return "", text
		}
	}
	return date, text[len(date):]
}

// dayOf returns the day that a date names in an order, as RFC 3339 has it, if there is one.
func dayOf(date string, order DateOrder) (day string, ok bool) {
	sep := strings.IndexAny(date, "/.-")
	part := strings.Split(date, date[sep:sep+1])
	switch order {
	case DMY:
		part[0], part[2] = part[2], part[0]
	case MDY:
		part[0], part[1], part[2] = part[2], part[0], part[1]
	}
	y, ok := yearOf(part[0])
	m, _ := strconv.Atoi(part[1])
	d, _ := strconv.Atoi(part[2])
	if !ok || len(part[1]) > 2 || len(part[2]) > 2 {
		return "", false
	}
	at := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return at.Format(time.DateOnly), at.Day() == d && at.Month() == time.Month(m)
}

// yearOf reads a year of four or two digits. Those of two are of 1969 to 2068, as POSIX has it for
// %y.
func yearOf(text string) (year int, ok bool) {
	year, err := strconv.Atoi(text)
	switch {
	case err != nil, len(text) != 2 && len(text) != 4:
		return 0, false
	case len(text) == 4:
		return year, true
	case year >= 69:
		return 1900 + year, true
	}
	return 2000 + year, true
}

// timeOfDay returns what follows a date as RFC 3339 has it: with two digits of the hour, of
// 24 hours, and "" where there is nothing.
func timeOfDay(text string) string {
	text = strings.TrimLeft(text, "Tt, ")
	if text == "" {
		return ""
	}
	hour, rest, _ := strings.Cut(text, ":")
	h, err := strconv.Atoi(hour)
	if err != nil || len(hour) > 2 {
		return "T" + text
	}
	clock := strings.TrimLeft(rest, "0123456789:.,")
	half := strings.TrimLeft(clock, " ")
	if len(half) >= 2 && half[1]|0x20 == 'm' && (half[0]|0x20 == 'a' || half[0]|0x20 == 'p') {
		if h < 1 || h > 12 {
			return "T" + text
		}
		h %= 12
		if half[0]|0x20 == 'p' {
			h += 12
		}
		rest = rest[:len(rest)-len(clock)] + half[2:]
	}
	return fmt.Sprintf("T%02d:%s", h, rest)
}
