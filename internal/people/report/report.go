// Package report makes the figures of ISA-18.2 from incidents. It is pure: incidents and a span go
// in, figures come out.
package report

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/people"
)

const (
	second = andon.Duration(1_000_000)
	minute = 60 * second
	hour   = 60 * minute

	floodWithin   = 10 * minute
	floodMore     = 10 // incidents within that time are no flood yet
	chatterWithin = minute
	chatterFrom   = 3 // incidents of one device within that time
	staleAfter    = 24 * hour
	worstDevices  = 10
)

// Input is what a report is made of.
type Input struct {
	// Incidents are those that held within the span. Of those that began before it only the time
	// counts for which they did.
	Incidents []Incident
	Span      andon.Span // both ends are set; To is not after the present
	Devices   int        // that are there now; 0: not known
	Per       string     // "operator", "device", "hour" or ""
	// Retired is when devices were retired that were there in the span, or a part of it.
	Retired []andon.Time
}

// Incident is what the figures need of an incident.
type Incident struct {
	ID           string
	Device       andon.DeviceID
	Operator     andon.PersonID
	Since, Until andon.Time
	// Acknowledged is after how long somebody acknowledged it first; nil: nobody did.
	Acknowledged *andon.Duration
	// Part says that it is a part of another one, which counts: only the time does.
	Part bool
}

// Parts returns the times before the last for which an incident held that stayed open meanwhile.
func Parts(i *people.Incident) (all []Incident) {
	for _, r := range i.Before {
		all = append(all, Incident{Device: i.Device, Since: r.Since, Until: r.Until, Part: true})
	}
	return all
}

// Of returns that of an incident.
func Of(i *people.Incident) Incident {
	is := Incident{
		ID: i.ID, Device: i.Device, Operator: i.Operator, Since: i.Since, Until: i.Until,
	}
	for _, s := range i.Steps {
		if s.What == "acknowledged" {
			is.Acknowledged = new(s.At.Sub(i.Opened))
			break
		}
	}
	return is
}

// Make makes a report.
func Make(in Input) client.IncidentReport {
	r := client.IncidentReport{
		From: in.Span.From, To: in.Span.To, Devices: in.Devices + len(in.Retired),
		Floods: []client.IncidentFlood{}, Chattering: []andon.DeviceID{}, Stale: []string{},
		Worst: []client.IncidentRow{},
	}
	begun := slices.DeleteFunc(slices.Clone(in.Incidents), func(i Incident) bool {
		return i.Since < in.Span.From || i.Since > in.Span.To || i.Part
	})
	slices.SortFunc(begun, func(a, b Incident) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID))
	})
	hours := in.Span.To.Sub(in.Span.From).Seconds() / hour.Seconds()
	r.Incidents, r.PerHour = len(begun), perHour(len(begun), hours)
	r.Floods = append(r.Floods, floods(begun)...)
	r.Chattering = append(r.Chattering, chattering(begun)...)
	for _, i := range in.stale() {
		r.Stale = append(r.Stale, i.ID)
	}
	worst := in.rows(begun, hours, "device")
	r.Worst = append(r.Worst, worst[:min(len(worst), worstDevices)]...)
	if in.Per != "" {
		r.Rows = in.rows(begun, hours, in.Per)
	}
	r.ToAcknowledge, r.ToReturn = times(begun, acknowledgedAfter), times(begun, returnedAfter)
	in.reliability(&r, begun)
	return r
}

// stale returns the incidents that held for very long: the longest first.
func (in *Input) stale() []Incident {
	all := slices.DeleteFunc(slices.Clone(in.Incidents), func(i Incident) bool {
		return i.Part || held(&i, in.Span.To) <= staleAfter
	})
	slices.SortFunc(all, func(a, b Incident) int {
		return cmp.Or(cmp.Compare(held(&b, in.Span.To), held(&a, in.Span.To)),
			cmp.Compare(a.Device, b.Device), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func perHour(n int, hours float64) float64 {
	if hours <= 0 {
		return 0
	}
	return float64(n) / hours
}

// held returns how long an incident held until a time.
func held(i *Incident, at andon.Time) andon.Duration {
	if i.Until != 0 && i.Until < at {
		at = i.Until
	}
	return at.Sub(i.Since)
}

// floods returns the times in which each incident is one of more than floodMore within floodWithin.
func floods(begun []Incident) (all []client.IncidentFlood) {
	first, last := 0, -1 // of the window; the last one that is in a flood
	for i := range begun {
		for begun[i].Since.Sub(begun[first].Since) >= floodWithin {
			first++
		}
		if i-first+1 <= floodMore {
			continue
		}
		if last < first {
			all = append(all, client.IncidentFlood{From: begun[first].Since})
			last = first - 1
		}
		flood := &all[len(all)-1]
		flood.To, flood.Incidents = begun[i].Since, flood.Incidents+i-last
		last = i
	}
	return all
}

func chattering(begun []Incident) []andon.DeviceID {
	recent, found := map[andon.DeviceID][]andon.Time{}, map[andon.DeviceID]bool{}
	for _, i := range begun {
		times := append(recent[i.Device], i.Since)
		times = times[max(0, len(times)-chatterFrom):]
		recent[i.Device] = times
		if len(times) == chatterFrom && i.Since.Sub(times[0]) < chatterWithin {
			found[i.Device] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// rows counts incidents by a property: the most first, hours in their order.
func (in *Input) rows(begun []Incident, hours float64, per string) []client.IncidentRow {
	rows := map[string]client.IncidentRow{}
	for i := range begun {
		name, within := string(begun[i].Device), hours
		switch per {
		case "operator":
			name = string(begun[i].Operator)
		case "hour":
			name, within = (begun[i].Since - begun[i].Since%andon.Time(hour)).String(), 1
		}
		row := rows[name]
		row.Name, row.Incidents = name, row.Incidents+1
		row.PerHour = perHour(row.Incidents, within)
		row.Seconds += held(&begun[i], in.Span.To).Seconds()
		rows[name] = row
	}
	return slices.SortedFunc(maps.Values(rows), func(a, b client.IncidentRow) int {
		if per == "hour" {
			return cmp.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(b.Incidents, a.Incidents), cmp.Compare(b.Seconds, a.Seconds),
			cmp.Compare(a.Name, b.Name))
	})
}

func acknowledgedAfter(i *Incident) (seconds float64, was bool) {
	if i.Acknowledged == nil {
		return 0, false
	}
	return i.Acknowledged.Seconds(), true
}

func returnedAfter(i *Incident) (seconds float64, did bool) {
	return i.Until.Sub(i.Since).Seconds(), i.Until != 0
}

// times returns how long something took where it happened.
func times(
	begun []Incident, took func(*Incident) (float64, bool),
) *client.IncidentTimes {
	var all []float64
	for i := range begun {
		if seconds, did := took(&begun[i]); did {
			all = append(all, seconds)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	n := len(all)
	return &client.IncidentTimes{
		Count: n, Median: (all[(n-1)/2] + all[n/2]) / 2,
		P90: all[int(math.Ceil(0.9*float64(n)))-1],
	}
}

// reliability adds availability, MTBF and MTTR.
func (in *Input) reliability(r *client.IncidentReport, begun []Incident) {
	sum, returned := 0.0, 0
	for i := range begun {
		if seconds, did := returnedAfter(&begun[i]); did {
			sum, returned = sum+seconds, returned+1
		}
	}
	if returned > 0 {
		r.MTTR = new(sum / float64(returned))
	}
	all := float64(in.Devices) * in.Span.To.Sub(in.Span.From).Seconds()
	for _, at := range in.Retired {
		all += min(at, in.Span.To).Sub(in.Span.From).Seconds()
	}
	up := max(all-in.down(), 0)
	if all > 0 {
		r.Availability = new(up / all)
	}
	if all > 0 && len(begun) > 0 {
		r.MTBF = new(up / float64(len(begun)))
	}
}

// down returns for how many seconds devices had an incident within the span. Two at once count
// once.
func (in *Input) down() (seconds float64) {
	all := slices.Clone(in.Incidents)
	slices.SortFunc(all, func(a, b Incident) int { return cmp.Compare(a.Since, b.Since) })
	counted := map[andon.DeviceID]andon.Time{} // until when
	for _, i := range all {
		from := max(i.Since, in.Span.From, counted[i.Device])
		to := in.Span.To
		if i.Until != 0 {
			to = min(to, i.Until)
		}
		if to > from {
			seconds += to.Sub(from).Seconds()
			counted[i.Device] = to
		}
	}
	return seconds
}
