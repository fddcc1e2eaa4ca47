package readings

import (
	"cmp"
	"slices"

	"github.com/andonhq/andon"
)

// asked is a device whose newest reading is wanted.
type asked struct {
	device andon.DeviceID
	at     int    // in the list of devices
	day    uint32 // the last on which it has readings
}

// Latest returns the newest readings of devices from a time on, in the order in which the devices
// are first named. They are read in the order in which they are stored, so that one is mostly close
// after the other: by day, and then by device.
func (s *Scan) Latest(devices []andon.DeviceID, from andon.Time) ([]andon.Reading, error) {
	s.rows.ExpectNear()
	all, err := s.lastDays(devices, from)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b asked) int { return cmp.Compare(a.day, b.day) })
	latest := make([]andon.Reading, len(devices))
	for _, a := range all {
		span := andon.Span{From: from, To: andon.DayStart(a.day+1) - 1}
		if latest[a.at], err = s.newest(a.device, a.day, span); err != nil {
			return nil, err
		}
	}
	none := func(r andon.Reading) bool { return r.Device == "" }
	return slices.DeleteFunc(latest, none), nil
}

// lastDays returns the devices that have readings from a time on, in ascending order, each once.
func (s *Scan) lastDays(devices []andon.DeviceID, from andon.Time) ([]asked, error) {
	all := make([]asked, len(devices))
	for i, device := range devices {
		all[i] = asked{device: device, at: i}
	}
	slices.SortStableFunc(all, func(a, b asked) int { return cmp.Compare(a.device, b.device) })
	all = slices.CompactFunc(all, func(a, b asked) bool { return a.device == b.device })
	found := all[:0]
	for _, a := range all {
		days, err := s.days(a.device, andon.Span{From: from}, andon.Desc)
		if err != nil {
			return nil, err
		}
		for day, err := range days {
			if err != nil {
				return nil, err
			}
			a.day = day
			found = append(found, a)
			break
		}
	}
	return found, nil
}

// newest returns the newest reading of a device in a span whose last day is known, if there is one.
func (s *Scan) newest(
	device andon.DeviceID, day uint32, span andon.Span,
) (andon.Reading, error) {
	one := andon.ReadingQuery{Limit: 1}
	s.deviceKey = s.deviceKey[:0].Text(string(device))
	p := s.pageOf(device, day, span, &one)
	if err := p.read(); err != nil {
		return andon.Reading{}, err
	}
	if len(p.rest) > 0 {
		return p.next(), nil
	}
	return s.Newest(device, span.From) // that day's are before the span, or deleted
}

// Newest returns the newest reading of a device from a time on, if it has one.
func (s *Scan) Newest(device andon.DeviceID, from andon.Time) (andon.Reading, error) {
	q := andon.ReadingQuery{Span: andon.Span{From: from}, Limit: 1}
	for r, err := range s.Device(device, q) {
		return r, err
	}
	return andon.Reading{}, nil
}
