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

// Selects reports whether a window is about a device that is in groups: by these only if it covers
// all of them, because somebody has to be told of the others.
func (m *Maintenance) Selects(device andon.DeviceID, groups ...andon.Group) bool {
	return slices.Contains(m.Devices, device) ||
		m.Prefix != "" && strings.HasPrefix(string(device), m.Prefix) ||
		m.Group != "" && len(groups) > 0 &&
			!slices.ContainsFunc(groups, func(g andon.Group) bool { return !g.Within(m.Group) })
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

// WindowOf returns the first of some windows that is about a device; nil: none is. The groups are
// as Setting has them.
func WindowOf(
	all []Window, device andon.DeviceID, groups func(andon.DeviceID) []andon.Group,
) *Window {
	var in []andon.Group
	if len(all) > 0 && groups != nil {
		in = groups(device)
	}
	for i := range all {
		if all[i].Selects(device, in...) {
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
	rule, zone, err := m.rule()
	if err != nil {
		return 0, 0
	}
	for found := shown(at.Add(-m.Length-day), zone); ; {
		if found = rule.After(found, false); found.IsZero() {
			return 0, 0
		}
		if begin = m.begin(found, zone); begin.Add(m.Length) > at { // the first that has not ended
			return begin, begin.Add(m.Length)
		}
	}
}

// shown returns what the clock of a zone shows at a time, as a time of UTC. A rule is followed by
// such times: a day without a midnight has all its other hours, and its day of the week.
func shown(at andon.Time, zone *time.Location) time.Time {
	t := at.Std().Truncate(time.Second)
	_, offset := t.In(zone).Zone()
	return t.Add(time.Duration(offset) * time.Second)
}

// begin returns when a time of the rule begins. The clock of its zone shows some times twice in
// autumn: then it is the first, as RFC 5545 says, unless the window itself starts at the second.
func (m *Maintenance) begin(found time.Time, zone *time.Location) andon.Time {
	if found.Equal(shown(m.Start, zone)) {
		return andon.TimeOf(m.Start.Std().Truncate(time.Second))
	}
	first := dateOf(found).wall(found.Hour()*60+found.Minute(), zone)
	return andon.TimeOf(first.Add(time.Duration(found.Second()) * time.Second))
}

// Within returns each time of the window that is partly or wholly within a span, oldest first.
func (m *Maintenance) Within(span andon.Span) (all []andon.Span) {
	starts := []andon.Time{m.Start}
	if m.Rule != "" {
		rule, zone, err := m.rule()
		if err != nil {
			return nil
		}
		from, to := shown(span.From.Add(-m.Length-day), zone), shown(span.To.Add(day), zone)
		starts = nil
		for _, found := range rule.Between(from, to, false) {
			starts = append(starts, m.begin(found, zone))
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

// rule returns what the clock of the zone shows when the window begins. RFC 5545 leaves open what a
// rule means that leaves out its start: here the start is the first of them all the same, and COUNT
// counts it.
func (m *Maintenance) rule() (*rrule.Set, *time.Location, error) {
	zone, err := parseZone(m.Zone)
	if err != nil {
		return nil, nil, err
	}
	option, err := m.option(zone)
	if err != nil {
		return nil, nil, err
	}
	rule, err := rrule.NewRRule(*option)
	if err != nil {
		return nil, nil, fmt.Errorf("%q is not a rule of RFC 5545: %s", m.Rule, err)
	}
	first, all := rule.After(option.Dtstart, true), &rrule.Set{}
	if first.IsZero() {
		return nil, nil, fmt.Errorf("%q never happens", m.Rule)
	}
	all.RDate(option.Dtstart)
	if n := option.Count; n > 0 && !first.Equal(option.Dtstart) {
		if option.Count = n - 1; n == 1 {
			return all, zone, nil
		}
		rule, _ = rrule.NewRRule(*option) // it is one already
	}
	all.RRule(rule)
	return all, zone, nil
}

func (m *Maintenance) option(zone *time.Location) (*rrule.ROption, error) {
	if strings.ContainsAny(m.Rule, "\r\n") || strings.Contains(strings.ToUpper(m.Rule), "DTSTART") {
		return nil, fmt.Errorf("rrule is one rule without DTSTART: start says when it begins")
	}
	option, err := rrule.StrToROption(m.Rule)
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
	option.Dtstart = shown(m.Start, zone)
	return option, check(m.Rule, option, zone)
}

// check refuses numbers that the library takes for absent, and has UNTIL be what the clock of the
// zone shows, where a date alone is the whole day.
func check(rule string, option *rrule.ROption, zone *time.Location) error {
	for part := range strings.SplitSeq(strings.ToUpper(rule), ";") {
		name, value, _ := strings.Cut(part, "=")
		switch n, err := strconv.Atoi(value); name {
		case "COUNT", "INTERVAL":
			if err != nil || n < 1 {
				return fmt.Errorf("%s is %q, not a number from 1", name, value)
			}
		case "UNTIL":
			switch {
			case !strings.Contains(value, "T"):
				option.Until = option.Until.AddDate(0, 0, 1).Add(-time.Second)
			case strings.HasSuffix(value, "Z"):
				option.Until = shown(andon.TimeOf(option.Until), zone)
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
	if _, _, err := m.rule(); err != nil {
		return andon.AtField("body.rrule", "%s", err)
	}
	return nil
}
