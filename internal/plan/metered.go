package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

const (
	gib = 1 << 30
	mib = 1 << 20
)

// Part is a table of a metered store, or an index of it.
type Part struct {
	Name   string  `json:"name"`
	Writes float64 `json:"write_units_per_second"`
	Reads  float64 `json:"read_units_per_second"`
	Bytes  float64 `json:"bytes"`
	// The units that auto scaling provisions.
	ScaledWrites float64 `json:"provisioned_write_units"`
	ScaledReads  float64 `json:"provisioned_read_units"`
}

// Operation is what one of a kind costs in units.
type Operation struct {
	Name   string  `json:"name"`
	Writes float64 `json:"write_units"`
	Reads  float64 `json:"read_units"`
	// Million is what a million of them cost on demand; 0 where the region has no such price.
	Million float64 `json:"cost_million"`
}

// meter adds up what tables and indexes take.
type meter struct {
	*sheet
	layout *Metered
	parts  map[string]*Part
	keys   map[string]float64 // of those that share, by place, where there are several
	tables float64            // bytes that can be recovered: without indexes
	raced  float64            // dollars a month on demand, of PerRace
}

func (m *meter) part(name string) *Part {
	p := m.parts[name]
	if p == nil {
		p = &Part{Name: name}
		m.parts[name] = p
	}
	return p
}

// metered works out a store that is paid for by units.
func (s *sheet) metered(layout *Metered) {
	s.serve()
	m := &meter{sheet: s, layout: layout, parts: map[string]*Part{}, keys: map[string]float64{}}
	for _, place := range layout.Places {
		m.part(place)
	}
	for i := range layout.Writes {
		m.write(&layout.Writes[i])
		m.keep(&layout.Writes[i])
	}
	for i := range layout.Reads {
		r := &layout.Reads[i]
		m.read(r, s.often(r.Per, r.Every), "each "+r.Per.String(), r.Per == PerRace)
	}
	for _, name := range slices.Sorted(maps.Keys(s.in.Traffic.Queries)) {
		for _, r := range layout.Queries[name] {
			m.read(&r, s.in.Traffic.Queries[name], QueryNames()[name], false)
		}
	}
	m.operations()
	for _, name := range slices.Sorted(maps.Keys(m.parts)) {
		m.scale(m.parts[name])
		s.result.Parts = append(s.result.Parts, *m.parts[name])
	}
	m.pay()
}

// write adds the units of a write, and checks how many one partition key takes.
func (m *meter) write(w *ItemWrite) {
	n, often := w.Units(), m.often(w.Per, 0)
	if n == 0 || often == 0 {
		return
	}
	m.note(fmt.Sprintf("a write to %s with each %s", w.Place(), w.Per), n, "units", "%s",
		howUnits(w))
	m.part(w.Place()).Writes += often * n
	if w.Per == PerRace {
		m.raced += often * n * monthSeconds / 1e6 * m.in.Region.OnDemand.Write.Value
	}
	peak := often * m.in.Traffic.Peak * w.KeyUnits() / m.divide(w, often)
	if w.Joined > 0 {
		peak *= float64(w.Joined) / writeUnit / w.KeyUnits()
	}
	const rounding = 1 + 1e-9
	if (!w.Serial || w.Joined > 0) && peak > m.layout.KeyUnits*rounding {
		m.fails("at the peak, %s would take %s units a second of one partition key, and %s is the "+
			"most", w.Place(), Show(math.Ceil(peak)), Show(m.layout.KeyUnits))
	}
}

func howUnits(w *ItemWrite) string {
	switch {
	case w.Moves:
		return fmt.Sprintf("%d bytes are deleted and %d are put, each rounded up to 1 KB",
			w.Before, w.After)
	case w.Before > 0:
		return fmt.Sprintf("%d bytes over %d, rounded up to 1 KB", w.After, w.Before)
	}
	return fmt.Sprintf("%d bytes, rounded up to 1 KB", w.After)
}

// divide returns how many partition keys take a write that is done so often a second.
func (m *meter) divide(w *ItemWrite, often float64) float64 {
	all, each := m.sharing(w), max(1, float64(w.Keys))
	peak := often * m.in.Traffic.Peak * w.KeyUnits() / all
	for w.DividedAt > 0 && each < float64(w.MostKeys) && peak/each > w.DividedAt {
		each *= 2
	}
	if each > max(1, m.keys[w.Place()]) {
		m.keys[w.Place()] = m.note("partition keys of "+w.Place()+" for what shares one", each,
			"keys", "%s units a second at the peak", Show(peak))
	}
	return all * each
}

// divided returns what a read is where the keys of its place are divided.
func (m *meter) divided(r ItemRead) ItemRead {
	if r.Divided != nil {
		n := max(1, m.keys[placeOf(r.Table, r.Index)])
		r.Calls, r.Items = r.Calls*n, r.Divided(int(n))
	}
	return r
}

// read adds the units of a read that is done so often a second.
func (m *meter) read(of *ItemRead, often float64, reason string, raced bool) {
	if often == 0 {
		return
	}
	r := m.divided(*of)
	place, items := placeOf(r.Table, r.Index), Show(r.Items)
	if r.Fleet {
		items += " of each device,"
	}
	n := m.note("reading "+place+" for "+reason, r.Units(m.in.Traffic.ofTenant()), "units",
		"%s, each %s items of %d bytes, x %g", calls(r.Calls), items, r.Bytes,
		float64(r.Consistency))
	m.part(place).Reads += often * n
	if raced {
		m.raced += often * n * monthSeconds / 1e6 * m.in.Region.OnDemand.Read.Value
	}
}

func calls(n float64) string {
	if n == 1 {
		return "1 call"
	}
	return Show(n) + " calls"
}

// operations adds up what one of each kind costs.
func (m *meter) operations() {
	t, price := &m.in.Traffic, m.in.Region.OnDemand
	add := func(name string, writes, reads float64) {
		m.result.Operations = append(m.result.Operations, Operation{
			name, writes, reads, writes*price.Write.Value + reads*price.Read.Value,
		})
	}
	unitsOf := func(all []ItemRead, counts func(Per) bool) (n float64) {
		for _, r := range all {
			if r = m.divided(r); counts(r.Per) {
				n += r.Units(t.ofTenant())
			}
		}
		return n
	}
	of := func(name string, kinds ...Per) {
		writes := 0.0
		for i := range m.layout.Writes {
			if w := &m.layout.Writes[i]; slices.Contains(kinds, w.Per) {
				writes += w.Units()
			}
		}
		add(name, writes, unitsOf(m.layout.Reads, func(p Per) bool {
			return slices.Contains(kinds, p)
		}))
	}
	of("an event with the state that the device has", PerEvent, PerRepeat)
	of("an event with another state", PerEvent, PerChange)
	of("more for an event that another process overtook", PerRace)
	of("an escalation", PerEscalation)
	of("an assignment", PerAssignment)
	if t.ReadingsEvery > 0 {
		of("a reading", PerReading)
	}
	for _, name := range slices.Sorted(maps.Keys(m.layout.Queries)) {
		add(QueryNames()[name], 0, unitsOf(m.layout.Queries[name], func(Per) bool { return true }))
	}
}

// sharing is among how many a write is shared.
func (m *meter) sharing(w *ItemWrite) float64 {
	t := &m.in.Traffic
	switch w.Sharing {
	case ByOperator:
		return t.operators()
	case ByState, ByTenant: // each change is of the largest state, as what it leaves or enters
		return float64(t.Tenants)
	}
	return max(1, float64(t.Devices))
}

func (m *meter) keep(w *ItemWrite) {
	t, items := &m.in.Traffic, 0.0
	switch {
	case w.Standing:
		items = m.note("items in "+w.Place(), float64(t.Devices), "items",
			"one a device, of %d bytes and %d", w.After, Overhead)
	case w.Kept && w.After > 0:
		often, days := m.often(w.Per, 0), t.kept(w.Per)
		items = m.note("items in "+w.Place(), often*daySeconds*(days+m.layout.DeletedAfter),
			"items", "%s/s x 86,400 x (%s + %s) days, of %d bytes and %d", Show(often), Show(days),
			Show(m.layout.DeletedAfter), w.After, Overhead)
	}
	bytes := items * float64(w.After+Overhead)
	m.part(w.Place()).Bytes += bytes
	m.result.Disk += bytes
	if w.Index == "" && m.layout.Recovery {
		m.tables += bytes
	}
}

// scale works out what auto scaling provisions: it follows the average of minutes.
func (m *meter) scale(p *Part) {
	l := m.layout
	for _, d := range []struct {
		kind                string
		units, least, start float64
		to                  *float64
	}{
		{"write", p.Writes, l.LeastWrite, l.StartWrites, &p.ScaledWrites},
		{"read", p.Reads, l.LeastRead, l.StartReads, &p.ScaledReads},
	} {
		least := max(1, d.least)
		*d.to = m.note("provisioned "+d.kind+" units of "+p.Name,
			max(least, math.Ceil(d.units/l.Scaled)), "units", "%s / %g, at least %g",
			Show(d.units), l.Scaled, least)
		switch peak := d.units * m.in.Traffic.Peak; {
		case peak > l.TableUnits:
			m.remark("%s takes %s %s units a second at the peak; a table has at most %s unless "+
				"the provider raises its quota", p.Name, Show(peak), d.kind, Show(l.TableUnits))
		case peak > d.start && d.start > 0:
			m.remark("%s takes %s %s units a second at the peak; when it is new it takes %s on "+
				"demand unless it is warmed up, and later twice its former peak", p.Name,
				Show(peak), d.kind, Show(d.start))
		}
	}
}

// pay works out what each way to pay costs.
func (m *meter) pay() {
	r, total := m.in.Region, Part{}
	for _, p := range m.result.Parts {
		total.Writes, total.Reads = total.Writes+p.Writes, total.Reads+p.Reads
		total.ScaledWrites += p.ScaledWrites
		total.ScaledReads += p.ScaledReads
	}
	m.note("write units", total.Writes, "a second", "of all tables and indexes")
	m.note("read units", total.Reads, "a second", "of all tables and indexes")
	if m.machines == "" {
		m.remark("without the machines that Andon itself runs on: %s has no price of machines",
			r.Name)
	}
	if m.raced > 0 {
		m.remark("$%.2f of it on demand is since %d processes write to one device in turn: "+
			"--routing device is without, where all messages of a device go to one process",
			m.raced, m.processes())
	}
	if r.Storage.GB.Value == 0 {
		return
	}
	fixed := m.machinesCost + m.each("storage", m.result.Disk/gib, "GB", r.Storage.GB) +
		m.each("point-in-time recovery of the tables", m.tables/gib, "GB", r.Recovery.GB) +
		m.each("alarms", m.layout.Alarms, "metrics", r.Alarms.Metric)
	if r.OnDemand.Write.Value > 0 {
		m.way("on demand"+m.machines, fixed+
			m.demanded("writing", total.Writes, r.OnDemand.Write)+
			m.demanded("reading", total.Reads, r.OnDemand.Read))
	}
	if r.Provisioned.Write.Value > 0 {
		m.way("provisioned"+m.machines, fixed+
			m.provisioned("writing", total.ScaledWrites, r.Provisioned.Write)+
			m.provisioned("reading", total.ScaledReads, r.Provisioned.Read))
	}
}

// each is what a number of something costs a month. Without a price it is left out, which is said.
func (m *meter) each(what string, number float64, unit string, price Price) float64 {
	if price.Value == 0 && number > 0 {
		m.remark("without %s, of which %s has no price", what, m.in.Region.Name)
	}
	return m.note(what, number*price.Value, "$ a month", "%s %s x $%g", Show(number), unit,
		price.Value)
}

func (m *meter) demanded(what string, units float64, price Price) float64 {
	return m.note(what+", on demand", units*monthSeconds/1e6*price.Value, "$ a month",
		"%s units/s x %d s / 1,000,000 x $%g", Show(units), monthSeconds, price.Value)
}

func (m *meter) provisioned(what string, units float64, price Price) float64 {
	return m.note(what+", provisioned", units*monthHours*price.Value, "$ a month",
		"%s units x %d h x $%g", Show(units), monthHours, price.Value)
}
