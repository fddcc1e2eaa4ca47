package people

import (
	"slices"
	"time"

	"github.com/andonhq/andon"
)

// Shift is a span of time in which one person is on call, or nobody. From is part of it, To is not.
type Shift struct {
	From   andon.Time     `json:"from"`
	To     andon.Time     `json:"to,omitempty"` // absent: it does not end within a year
	Person andon.PersonID `json:"person,omitempty"`
	Layer  int            `json:"layer,omitempty" doc:"from 1 on; absent: an override, or nobody"`
	// Gap says that the first layer has nobody, and no override stands in.
	Gap    bool   `json:"gap,omitempty" doc:"the first layer has nobody"`
	Reason string `json:"reason,omitempty" doc:"of an override"`
}

// same reports whether two shifts are one, whatever their spans.
func (s Shift) same(as Shift) bool {
	s.From, s.To = as.From, as.To
	return s == as
}

// Roster is a schedule that was checked, to ask who is on call. It is never changed.
type Roster struct {
	*Schedule
	zone   *time.Location
	layers []turns
}

// turns is a layer that was checked.
type turns struct {
	*Layer
	first    date
	handOver int // minutes since midnight
	days     int // of a turn, if it has whole days
	perDay   int // turns a day, if it has not
	hours    []Hours
}

// Roster checks a schedule.
func (s *Schedule) Roster() (*Roster, error) {
	r := &Roster{Schedule: s}
	var err error
	if r.zone, err = parseZone(s.Zone); err != nil {
		return nil, andon.AtField("body.zone", "%s", err)
	}
	if len(s.Layers) == 0 {
		return nil, andon.AtField("body.layers", "a schedule without layers has nobody on call")
	}
	if len(s.Layers) > maxLayers {
		return nil, andon.AtField("body.layers", "%d layers are more than %d",
			len(s.Layers), maxLayers)
	}
	for i := range s.Layers {
		layer, err := s.Layers[i].turns(at("body.layers", i))
		if err != nil {
			return nil, err
		}
		r.layers = append(r.layers, layer)
	}
	return r, checkOverrides(s.Overrides)
}

func checkOverrides(all []Override) error {
	if len(all) > maxOverrides {
		return andon.AtField("body.overrides", "%d overrides are more than %d: delete those that "+
			"have ended", len(all), maxOverrides)
	}
	for i, o := range all {
		place := at("body.overrides", i)
		switch {
		case o.From == 0 || o.To <= o.From:
			return andon.AtField(place+".to", "an override from %s to %s has no time", o.From, o.To)
		case o.Person == "":
			return andon.AtField(place+".person", "person is missing")
		}
	}
	return nil
}

// turns checks a layer.
func (l *Layer) turns(place string) (t turns, err error) {
	const day = 24 * time.Hour
	t = turns{Layer: l}
	if len(l.People) == 0 {
		return t, andon.AtField(place+".people", "a layer without people has nobody on call")
	}
	if len(l.People) > maxPeople {
		return t, andon.AtField(place+".people", "%d people are more than %d", len(l.People),
			maxPeople)
	}
	first, err := time.Parse(time.DateOnly, l.From)
	if err != nil || first.Year() < 1971 {
		return t, andon.AtField(place+".from", "%q is no date such as 2026-11-30", l.From)
	}
	t.first = date{first}
	if t.handOver, err = parseClock(l.HandOver); err != nil || t.handOver == minutesPerDay {
		return t, andon.AtField(place+".hand_over", "%q is no time of day such as 06:00",
			l.HandOver)
	}
	switch turn := l.Turn.Std(); {
	case turn >= day && turn%day == 0 && turn <= 366*day:
		t.days = int(turn / day)
	case turn >= time.Hour && turn < day && day%turn == 0 && turn%time.Minute == 0:
		t.perDay = int(day / turn)
	default:
		return t, andon.AtField(place+".turn", "a turn of %s is neither whole days up to 366 "+
			"nor at least an hour that divides a day", l.Turn)
	}
	if len(l.Hours) > maxHours {
		return t, andon.AtField(place+".hours", "%d are more than %d", len(l.Hours), maxHours)
	}
	for i, text := range l.Hours {
		h, err := ParseHours(text)
		if err != nil {
			return t, andon.AtField(at(place+".hours", i), "%s", err)
		}
		t.hours = append(t.hours, h)
	}
	return t, nil
}

// begin returns when a turn begins, counted from 0.
func (t *turns) begin(turn int, zone *time.Location) time.Time {
	if t.days > 0 {
		return t.first.add(turn*t.days).wall(t.handOver, zone)
	}
	of := turn % t.perDay
	return t.first.add(turn/t.perDay).wall(t.handOver+of*minutesPerDay/t.perDay, zone)
}

// turn returns which turn it is; below 0 before the first. One that begins in the evening lasts
// into the next day.
func (t *turns) turn(at time.Time, zone *time.Location) int {
	if at.Before(t.begin(0, zone)) {
		return -1
	}
	const day = 24 * 60 * 60
	turn := int(dateOf(at.In(zone)).Unix()-t.first.Unix())/day - 1 // at least so many days ago
	if turn = max(turn, 0); t.days > 0 {
		turn /= t.days
	} else {
		turn *= t.perDay
	}
	for !t.begin(turn+1, zone).After(at) {
		turn++
	}
	return turn
}

// onCall returns who of a layer is on call, if anybody is.
func (t *turns) onCall(at time.Time, zone *time.Location) andon.PersonID {
	turn := t.turn(at, zone)
	if turn < 0 {
		return ""
	}
	within := func(h Hours) bool {
		_, is := h.Until(andon.TimeOf(at), zone)
		return is
	}
	if len(t.hours) > 0 && !slices.ContainsFunc(t.hours, within) {
		return ""
	}
	return t.People[turn%len(t.People)]
}

// next returns when somebody else of a layer may be on call; 0: never.
func (t *turns) next(at time.Time, zone *time.Location) andon.Time {
	turn := t.turn(at, zone)
	if turn >= 0 && len(t.People) == 1 && len(t.hours) == 0 {
		return 0
	}
	next := t.begin(turn+1, zone)
	for i := range t.hours {
		if change := t.hours[i].next(at, zone); change.Before(next) {
			next = change
		}
	}
	return andon.TimeOf(next)
}

// shift returns who is on call, without the span, and when that may change; 0: never.
func (r *Roster) shift(now andon.Time) (is Shift, next andon.Time) {
	t := now.Std()
	for i := range r.layers {
		layer := &r.layers[i]
		next = andon.Earlier(next, layer.next(t, r.zone))
		if is.Person != "" {
			continue
		}
		if is.Person = layer.onCall(t, r.zone); is.Person != "" {
			is.Layer, is.Gap = i+1, i > 0
		}
	}
	is.Gap = is.Gap || is.Person == ""
	for _, o := range r.Overrides { // the last one counts
		if o.From <= now && now < o.To {
			is = Shift{Person: o.Person, Reason: o.Reason}
		}
		for _, change := range []andon.Time{o.From, o.To} {
			if change > now {
				next = andon.Earlier(next, change)
			}
		}
	}
	return is, next
}

// Bounds of what is looked at.
const (
	horizon  = andon.Duration(366 * 86_400_000_000) // within which the end of a shift is looked for
	maxTried = 10_000                               // changes of layers that are looked at
)

// OnCall returns the shift at a time. It may have begun earlier than From, which is that time.
func (r *Roster) OnCall(now andon.Time) Shift {
	is, next := r.shift(now)
	is.From = now
	for tried := 0; tried < maxTried && next != 0 && next < now.Add(horizon); tried++ {
		other, after := r.shift(next)
		if !other.same(is) {
			is.To = next
			break
		}
		next = after
	}
	return is
}

// Shifts returns the shifts within a span, whose ends are cut to it, up to a limit.
func (r *Roster) Shifts(from, to andon.Time, limit int) (all []Shift) {
	for tried := 0; from < to && tried < maxTried; tried++ {
		is, next := r.shift(from)
		is.From, is.To = from, andon.Earlier(next, to)
		if n := len(all); n > 0 && all[n-1].same(is) {
			all[n-1].To = is.To
		} else if n == limit {
			break
		} else {
			all = append(all, is)
		}
		if from = next; next == 0 {
			break
		}
	}
	return all
}

// Around returns the shifts that touch a span, whole. Of one that began more than a year before it,
// From is 0.
func (r *Roster) Around(from, to andon.Time) (all []Shift) {
	for at := from; at < to; {
		is := r.OnCall(at)
		if len(all) == 0 {
			is.From = r.began(at)
		}
		all = append(all, is)
		if at = is.To; at == 0 {
			break
		}
	}
	return all
}

// began returns when the shift at a time began; 0: more than a year ago. It looks forward from ever
// longer ago, since layers only know what comes next.
func (r *Roster) began(now andon.Time) andon.Time {
	for back := day; back <= 2*horizon; back *= 2 {
		first := now.Add(-back)
		at := first
		for to := r.OnCall(at).To; to != 0 && to <= now; to = r.OnCall(at).To {
			at = to
		}
		if at > first {
			return at
		}
	}
	return 0
}

// Everybody returns the people of all layers, each once, in the order in which they are named:
// those of whom a target "turn" tells one after the other.
func (s *Schedule) Everybody() (all []andon.PersonID) {
	for _, layer := range s.Layers {
		for _, person := range layer.People {
			if !slices.Contains(all, person) {
				all = append(all, person)
			}
		}
	}
	return all
}
