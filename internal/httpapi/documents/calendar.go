package documents

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"

	ics "github.com/arran4/golang-ical"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
)

// The span of a calendar.
const (
	calendarPast   = 30 * 24 * 60 * 60 * andon.Duration(1_000_000)
	calendarComing = 3 * calendarPast
)

// Calendar returns the shifts of a schedule as iCalendar (RFC 5545). A shift has the same UID
// whenever it is asked for. Times are in UTC, so no reader needs to know the zone of the schedule;
// X-WR-TIMEZONE names it for those that show it.
func Calendar(d *records.Document, tenant andon.TenantID, now andon.Time) (string, error) {
	roster, err := rosterOf(d)
	if err != nil {
		return "", err
	}
	c := ics.NewCalendar()
	c.SetProductId("-//Andon//on call//EN")
	c.SetMethod(ics.MethodPublish)
	c.SetXWRCalName("On call: " + d.Name)
	c.SetXWRTimezone(cmp.Or(roster.Zone, "UTC"))
	c.SetRefreshInterval("PT1H")
	sum := sha256.Sum256([]byte(string(tenant) + "\x00" + d.Name))
	of := hex.EncodeToString(sum[:8])
	to := now.Add(calendarComing)
	for _, s := range roster.Around(now.Add(-calendarPast), to) {
		id := fmt.Sprintf("%s-%d@andon", of, s.From)
		switch {
		case s.From == 0 && s.Person == "": // before anybody was ever on call
			continue
		case s.From == 0: // longer ago than is looked at
			s.From = now.Add(-calendarPast)
		}
		if s.To == 0 {
			s.To = to
		}
		begin, end := s.From.Std().Truncate(time.Second), s.To.Std().Truncate(time.Second)
		if !begin.Before(end) { // a calendar knows only whole seconds
			continue
		}
		e := c.AddEvent(id)
		e.SetDtStampTime(now.Std())
		e.SetStartAt(begin)
		e.SetEndAt(end)
		e.SetTimeTransparency(ics.TransparencyTransparent) // whoever reads it is not busy
		title, category := titleOf(&s)
		e.SetSummary(title)
		if category != "" {
			e.AddCategory(category)
		}
	}
	return c.Serialize(ics.WithNewLine("\r\n")), nil
}

// titleOf says who is on call, and what is unusual about it.
func titleOf(s *people.Shift) (title, category string) {
	switch {
	case s.Person == "":
		return "Nobody is on call", "GAP"
	case s.Layer == 0:
		plain := func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}
		title = string(s.Person) + " (override: " + strings.Map(plain, s.Reason)
		return strings.TrimSuffix(title, ": ") + ")", "OVERRIDE"
	case s.Gap:
		return fmt.Sprintf("%s (layer %d: the first layer has nobody)", s.Person, s.Layer), "GAP"
	}
	return string(s.Person), ""
}
