package people

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
)

// dayNames are the days of the week as time.Weekday counts them.
func dayNames() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

const minutesPerDay = 24 * 60

// Hours are times of the week by the clock on the wall: "mon-fri 06:00-14:00", "22:00-06:00",
// "sat,sun 08:00-24:00". Hours that end on the next day belong to the day on which they begin.
type Hours struct {
	days     [7]bool
	from, to int // minutes since midnight; to is above from, and may be on the next day
}

// ParseHours reads hours.
func ParseHours(text string) (h Hours, err error) {
	days, clock, both := strings.Cut(text, " ")
	if !both {
		days, clock = "sun-sat", text
	}
	from, to, isSpan := strings.Cut(strings.TrimSpace(clock), "-")
	if !isSpan {
		return h, fmt.Errorf("hours %q are not of the form \"mon-fri 06:00-14:00\"", text)
	}
	if h.days, err = parseDays(days); err != nil {
		return h, err
	}
	if h.from, err = parseClock(from); err != nil {
		return h, err
	}
	if h.to, err = parseClock(to); err != nil {
		return h, err
	}
	switch {
	case h.from == minutesPerDay || h.from == h.to:
		return h, fmt.Errorf("hours %q are empty: a whole day is 00:00-24:00", text)
	case h.to < h.from:
		h.to += minutesPerDay
	}
	return h, nil
}

// parseDays reads "mon-fri", "sat,sun", "mon".
func parseDays(text string) (days [7]bool, err error) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, isSpan := strings.Cut(part, "-")
		if !isSpan {
			last = first
		}
		from, to := slices.Index(dayNames(), first), slices.Index(dayNames(), last)
		if from < 0 || to < 0 {
			return days, fmt.Errorf("%q is no day, nor a span of days such as mon-fri", part)
		}
		if to < from {
			to += 7 // such as fri-mon
		}
		for day := from; day <= to; day++ {
			days[day%7] = true
		}
	}
	return days, nil
}

// parseClock reads a time of day, 24:00 included, as minutes.
func parseClock(text string) (int, error) {
	if text == "24:00" {
		return minutesPerDay, nil
	}
	t, err := time.Parse("15:04", text)
	if err != nil || len(text) != len("15:04") {
		return 0, fmt.Errorf("%q is no time of day such as 06:00", text)
	}
	return t.Hour()*60 + t.Minute(), nil
}

// parseZone reads the name of a time zone; "" is UTC.
func parseZone(name string) (*time.Location, error) {
	if name == "Local" { // it would depend on the machine
		return nil, errors.New(`zone "Local" is not the name of a time zone`)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone %q is not the name of a time zone such as Europe/Berlin", name)
	}
	return zone, nil
}

// date is a day of a calendar, without a zone: the midnight of UTC at which it begins.
type date struct{ time.Time }

func dateOf(t time.Time) date {
	year, month, day := t.Date()
	return date{time.Date(year, month, day, 0, 0, 0, 0, time.UTC)}
}

func (d date) add(days int) date { return date{d.AddDate(0, 0, days)} }

// wall returns the first instant of a date at which the clock on the wall of a zone has passed so
// many minutes since midnight. So what would happen in the hour that is left out in spring happens
// at the change, and what would happen twice in autumn happens the first time.
func (d date) wall(minutes int, zone *time.Location) time.Time {
	as := d.Add(time.Duration(minutes) * time.Minute)
	_, before := as.Add(-24 * time.Hour).In(zone).Zone()
	t := as.Add(-time.Duration(before) * time.Second).In(zone)
	_, after := t.Zone()
	if after == before {
		return t
	}
	moved := as.Add(-time.Duration(after) * time.Second).In(zone)
	if _, is := moved.Zone(); is == after {
		return moved
	}
	change, _ := t.ZoneBounds()
	return change
}

// window returns when the hours of a date begin and end, if there are any.
func (h *Hours) window(d date, zone *time.Location) (from, to time.Time, there bool) {
	return d.wall(h.from, zone), d.wall(h.to, zone), h.days[d.Weekday()]
}

// Until reports whether a time is within the hours, and when they end then: where those of the next
// day follow at once, it is their end. Of hours that never end it is at least a week later.
func (h *Hours) Until(at andon.Time, zone *time.Location) (end andon.Time, within bool) {
	now := at.Std().In(zone)
	last := now
	for day := -1; day <= 7; day++ {
		from, to, there := h.window(dateOf(now).add(day), zone)
		if there && !from.After(last) && to.After(last) {
			last = to
		} else if day >= 0 {
			break
		}
	}
	return andon.TimeOf(last), last.After(now)
}

// neverEnd reports whether they are always.
func (h *Hours) neverEnd() bool {
	return h.to-h.from == minutesPerDay && !slices.Contains(h.days[:], false)
}

// next returns the first begin or end of the hours after a time. There is one each week.
func (h *Hours) next(t time.Time, zone *time.Location) time.Time {
	today := dateOf(t.In(zone))
	for day := -1; day <= 8; day++ {
		from, to, there := h.window(today.add(day), zone)
		switch {
		case there && from.After(t):
			return from
		case there && to.After(t):
			return to
		}
	}
	return t.AddDate(0, 0, 8)
}
