package people

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"github.com/andonhq/andon"
)

// Selects reports whether a window is about a device.
func (m *Maintenance) Selects(device andon.DeviceID, group andon.Group) bool {
	return slices.Contains(m.Devices, device) ||
		m.Prefix != "" && strings.HasPrefix(string(device), m.Prefix) ||
		m.Group != "" && group.Within(m.Group)
}

// Window is one that is open.
type Window struct {
	*Maintenance
	Begins, Ends andon.Time
}

// name is absent of no window.
func (w *Window) name() string {
	if w == nil {
		return ""
	}
	return w.Name
}

// WindowOf returns the first of some windows that is about a device; nil: none is.
func WindowOf(all []Window, device andon.DeviceID, group andon.Group) *Window {
	for i := range all {
		if all[i].Selects(device, group) {
			return &all[i]
		}
	}
	return nil
}

// Window returns when the window begins and ends that a time is in, or else the next one; 0 when
// there is none any more. The time of day is that of the zone, so daylight saving does not move it.
func (m *Maintenance) Window(at andon.Time) (begin, end andon.Time) {
	if m.Rule == "" {
		if end = m.Start.Add(m.Length); at >= end {
			return 0, 0
		}
		return m.Start, end
	}
	rule, err := m.rule()
	if err != nil {
		return 0, 0
	}
	for found := at.Std().Add(-m.Length.Std()); ; {
		if found = rule.After(found, false); found.IsZero() {
			return 0, 0
		}
		if begin = m.begin(found); begin.Add(m.Length) > at { // the first that has not ended
			return begin, begin.Add(m.Length)
		}
	}
}

// begin returns when a time of the rule begins. The clock of its zone shows some times twice in
// autumn: then it is the first, as RFC 5545 says, unless the window itself starts at the second.
func (m *Maintenance) begin(found time.Time) andon.Time {
	if start := m.Start.Std().Truncate(time.Second); found.Equal(start) {
		return andon.TimeOf(found)
	}
	first := dateOf(found).wall(found.Hour()*60+found.Minute(), found.Location())
	return andon.TimeOf(first.Add(time.Duration(found.Second()) * time.Second))
}

// Within returns each time of the window that is partly or wholly within a span, oldest first.
func (m *Maintenance) Within(span andon.Span) (all []andon.Span) {
	starts := []andon.Time{m.Start}
	if m.Rule != "" {
		rule, err := m.rule()
		if err != nil {
			return nil
		}
		from, to := span.From.Add(-m.Length).Std(), span.To.Add(day).Std()
		starts = nil
		for _, found := range rule.Between(from, to, false) {
			starts = append(starts, m.begin(found))
		}
	}
	for _, start := range starts {
		w := andon.Span{From: start, To: start.Add(m.Length)}
		if w.From < span.To && w.To > span.From {
			all = append(all, w)
		}
	}
	return all
}

func (m *Maintenance) rule() (*rrule.RRule, error) {
	zone, err := parseZone(m.Zone)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(m.Rule, "\r\n") || strings.Contains(strings.ToUpper(m.Rule), "DTSTART") {
		return nil, fmt.Errorf("rrule is one rule without DTSTART: start says when it begins")
	}
	option, err := rrule.StrToROptionInLocation(m.Rule, zone)
	if err != nil {
		return nil, fmt.Errorf("%q is not a rule of RFC 5545 such as FREQ=WEEKLY;BYDAY=SU: %s",
			m.Rule, err)
	}
	// The rule is followed from its start on, each time that it is asked.
	if option.Freq > rrule.DAILY || option.Byhour != nil || option.Byminute != nil ||
		option.Bysecond != nil {
		return nil, fmt.Errorf("%q repeats within a day: FREQ is DAILY, WEEKLY, MONTHLY or "+
			"YEARLY, and the time of day is that of start", m.Rule)
	}
	if err := check(m.Rule, option); err != nil {
		return nil, err
	}
	option.Dtstart = m.Start.Std().In(zone).Truncate(time.Second)
	rule, err := rrule.NewRRule(*option)
	if err != nil {
		return nil, fmt.Errorf("%q is not a rule of RFC 5545: %s", m.Rule, err)
	}
	return rule, nil
}

// check refuses numbers that the library takes for absent, and has a date alone be the whole day.
func check(rule string, option *rrule.ROption) error {
	for part := range strings.SplitSeq(strings.ToUpper(rule), ";") {
		name, value, _ := strings.Cut(part, "=")
		switch n, err := strconv.Atoi(value); name {
		case "COUNT", "INTERVAL":
			if err != nil || n < 1 {
				return fmt.Errorf("%s is %q, not a number from 1", name, value)
			}
		case "UNTIL":
			if !strings.Contains(value, "T") {
				option.Until = option.Until.AddDate(0, 0, 1).Add(-time.Second)
			}
		}
	}
	return nil
}

// Validate reports what is wrong with a window, or nil.
func (m *Maintenance) Validate() error {
	switch {
	case len(m.Devices) == 0 && m.Prefix == "" && m.Group == "":
		return andon.AtField("body", "a window needs devices, a prefix or a group")
	case len(m.Devices) > maxDevices:
		return andon.AtField("body.devices", "%d devices are more than %d: use a prefix or a group",
			len(m.Devices), maxDevices)
	case m.Start == 0:
		return andon.AtField("body.start", "start is missing")
	case m.Length < minute || m.Length > maxWindow:
		return andon.AtField("body.length", "a length of %s is not between %s and %s", m.Length,
			minute, maxWindow)
	}
	for i, device := range m.Devices {
		if err := device.Validate(); err != nil {
			return andon.AtField(at("body.devices", i), "%s", err)
		}
	}
	if err := checkGroup("body.group", m.Group); err != nil {
		return err
	}
	if _, err := parseZone(m.Zone); err != nil {
		return andon.AtField("body.zone", "%s", err)
	}
	if m.Rule == "" {
		return nil
	}
	rule, err := m.rule()
	if err != nil {
		return andon.AtField("body.rrule", "%s", err)
	}
	if rule.After(m.Start.Std().Add(-time.Second), true).IsZero() {
		return andon.AtField("body.rrule", "%q never happens", m.Rule)
	}
	return nil
}
