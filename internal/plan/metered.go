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
	m := &meter{s, layout, map[string]*Part{}}
	for _, place := range layout.Places {
		m.part(place)
	}
	for i := range layout.Writes {
		m.write(&layout.Writes[i])
	}
	m.keep()
	for _, name := range slices.Sorted(maps.Keys(s.in.Traffic.Queries)) {
		m.ask(name)
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
	n := w.Units()
	if n == 0 || w.Per == PerDevice {
		return
	}
	t := &m.in.Traffic
	often := t.often(w.Per)
	name := fmt.Sprintf("a write to %s with each %s", w.Place(), w.Per)
	m.note(name, n, "units", "%s", howUnits(w))
	m.part(w.Place()).Writes += often * n
	peak := often * t.Peak * w.KeyUnits()
	keys := m.keys(w)
	if peak/keys > m.layout.KeyUnits*(1+1e-9) { // a difference of less is from rounding
		m.fails("at the peak, %s would take %s units a second of one partition key, and %s is the "+
			"most", w.Place(), show(math.Ceil(peak/keys)), show(m.layout.KeyUnits))
	}
}

// howUnits is the arithmetic of the units of a write.
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

// operations adds up what one of each kind costs.
func (m *meter) operations() {
	t, price := &m.in.Traffic, m.in.Region.OnDemand
	add := func(name string, writes, reads float64) {
		m.sheet.result.Operations = append(m.sheet.result.Operations, Operation{
			name, writes, reads, writes*price.Write.Value + reads*price.Read.Value,
		})
	}
	var per [PerReading + 1]float64
	for i := range m.layout.Writes {
		if w := &m.layout.Writes[i]; w.Per <= PerReading {
			per[w.Per] += w.Units()
		}
	}
	add("an event with the state that the device has", per[PerEvent], 0)
	add("an event with another state", per[PerEvent]+per[PerChange], 0)
	if t.ReadingsEvery > 0 {
		add("a reading", per[PerReading], 0)
	}
	for _, name := range slices.Sorted(maps.Keys(m.layout.Queries)) {
		reads := 0.0
		for _, r := range m.layout.Queries[name] {
			reads += r.Units()
		}
		add(QueryNames()[name], 0, reads)
	}
}

// keys is how many partition keys share a write.
func (m *meter) keys(w *ItemWrite) float64 {
	t := &m.in.Traffic
	switch w.Sharing {
	case ByOperator:
		return t.operators()
	case ByState: // each change is of the largest state, as what it leaves or enters
		return float64(t.Tenants * max(1, w.Keys))
	case ByTenant:
		return float64(t.Tenants * max(1, w.Keys))
	}
	return max(1, float64(t.Devices))
}

// keep adds up what is stored.
func (m *meter) keep() {
	t := &m.in.Traffic
	for i := range m.layout.Writes {
		w := &m.layout.Writes[i]
		size := float64(w.After + overhead)
		var items float64
		switch {
		case w.Standing:
			items = float64(t.Devices)
			m.note("items in "+w.Place(), items, "items", "one a device, of %d bytes and %d",
				w.After, overhead)
		case w.Kept && w.After > 0:
			days := t.kept(w.Per) + m.layout.DeletedAfter
			items = t.often(w.Per) * daySeconds * days
			m.note("items in "+w.Place(), items, "items", "%s/s x 86,400 x (%s + %s) days, of %d "+
				"bytes and %d", show(t.often(w.Per)), show(t.kept(w.Per)),
				show(m.layout.DeletedAfter), w.After, overhead)
		}
		m.part(w.Place()).Bytes += items * size
		m.sheet.result.Disk += items * size
	}
}

// ask adds what a query reads.
func (m *meter) ask(name string) {
	often := m.in.Traffic.Queries[name]
	if often == 0 {
		return
	}
	for _, r := range m.layout.Queries[name] {
		place := placeOf(r.Table, r.Index)
		n := m.note("reading "+place+" for "+QueryNames()[name], r.Units(), "units",
			"%s, each %s items of %d bytes, x %g", calls(r.Calls), show(r.Items), r.Bytes,
			float64(r.Consistency))
		m.part(place).Reads += often * n
	}
}

func calls(n float64) string {
	if n == 1 {
		return "1 call"
	}
	return show(n) + " calls"
}

// scale works out what auto scaling provisions: it follows the average of minutes.
func (m *meter) scale(p *Part) {
	provision := func(name string, units, least float64) float64 {
		least = max(1, least)
		return m.note(name, max(least, math.Ceil(units/m.layout.Scaled)), "units",
			"%s / %g, at least %g", show(units), m.layout.Scaled, least)
	}
	p.ScaledWrites = provision("provisioned write units of "+p.Name, p.Writes, m.layout.LeastWrite)
	p.ScaledReads = provision("provisioned read units of "+p.Name, p.Reads, m.layout.LeastRead)
	if peak := p.Writes * m.in.Traffic.Peak; peak > m.layout.TableUnits {
		m.remark("%s takes %s write units a second at the peak; a table has at most %s unless the "+
			"provider raises its quota", p.Name, show(peak), show(m.layout.TableUnits))
	}
}

// pay works out what each way to pay costs.
func (m *meter) pay() {
	var writes, reads, scaledWrites, scaledReads float64
	for _, p := range m.sheet.result.Parts {
		writes, reads = writes+p.Writes, reads+p.Reads
		scaledWrites += p.ScaledWrites
		scaledReads += p.ScaledReads
	}
	m.note("write units", writes, "a second", "of all tables and indexes")
	m.note("read units", reads, "a second", "of all tables and indexes")
	r := m.in.Region
	servers, machines := m.servers()
	if servers == nil {
		m.remark("without the machines that Andon itself runs on: %s has no price of machines",
			r.Name)
	}
	storage := m.note("storage", m.sheet.result.Disk/gib*r.Storage.GB.Value, "$ a month",
		"%s GB x $%g", show(m.sheet.result.Disk/gib), r.Storage.GB.Value) + value(servers)
	if !r.Storage.priced() {
		return
	}
	if r.OnDemand.priced() {
		w := m.note("writing, on demand", writes*monthSeconds/1e6*r.OnDemand.Write.Value,
			"$ a month", "%s units/s x %d s / 1,000,000 x $%g", show(writes), monthSeconds,
			r.OnDemand.Write.Value)
		rd := m.note("reading, on demand", reads*monthSeconds/1e6*r.OnDemand.Read.Value,
			"$ a month", "%s units/s x %d s / 1,000,000 x $%g", show(reads), monthSeconds,
			r.OnDemand.Read.Value)
		m.way("on demand"+machines, w+rd+storage)
	}
	if r.Provisioned.priced() {
		w := m.note("writing, provisioned", scaledWrites*monthHours*r.Provisioned.Write.Value,
			"$ a month", "%s units x %d h x $%g", show(scaledWrites), monthHours,
			r.Provisioned.Write.Value)
		rd := m.note("reading, provisioned", scaledReads*monthHours*r.Provisioned.Read.Value,
			"$ a month", "%s units x %d h x $%g", show(scaledReads), monthHours,
			r.Provisioned.Read.Value)
		m.way("provisioned"+machines, w+rd+storage)
	}
}

func value(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}
