package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// machine works out an embedded store: one machine with one disk.
func (s *sheet) machine(layout *Machine) {
	t := &s.in.Traffic
	m, g := s.in.Measured.Stores[s.result.Store], s.in.Measured.Guide
	reading := 0.0
	if t.ReadingsEvery > 0 {
		reading = s.note("a reading on the disk", s.take(m["reading_bytes"])/m["reading_bytes"].Of*
			float64(t.Metrics), "bytes", "measured with %s metrics; it has %d",
			Show(m["reading_bytes"].Of), t.Metrics)
	}
	disk := s.keptBytes(m["event_bytes"], m["message_byte"], reading)
	disk = s.note("the disk", disk*(1+s.take(g["compaction"]))+float64(layout.Reserve), "bytes",
		"%s bytes, %g of it for compaction, and a reserve of %s MiB", Show(disk),
		g["compaction"].Value, Show(float64(layout.Reserve)/mib))
	s.result.Disk = disk
	memory := s.note("memory",
		s.take(g["base_memory"])+float64(layout.Cache)+s.take(m["memtable_memory"])+
			float64(t.Devices)*s.take(m["device_memory"]), "bytes",
		"the program, a cache of %s MiB, the memtable, and %s devices",
		Show(float64(layout.Cache)/mib),
		Show(float64(t.Devices)))
	busy := s.work()
	most := s.ordered(m)
	if peak := (t.events() + t.readings()) * t.Peak; peak > most {
		s.fails("at the peak %s entries a second come; writes are put in order one at a time, and "+
			"half of what was measured is %s", Show(math.Ceil(peak)), Show(most))
	}
	s.oneMachine(busy, memory, disk)
}

// ordered is how many entries a second can be put in order.
func (s *sheet) ordered(m map[string]Measurement) float64 {
	one, many := s.take(m["ordered_alone"]), s.take(m["ordered_batched"])
	half := s.take(s.in.Measured.Guide["half"])
	batch := float64(s.in.Traffic.Batch)
	return s.note("entries that can be put in order", half/(1/many+(1/one-1/many)/batch),
		"a second", "%g of what requests of %g reach, between %s alone and %s in large batches",
		half, batch, Show(one), Show(many))
}

// work is how many processors are busy with what comes over HTTP, at the peak.
func (s *sheet) work() float64 {
	t, m := &s.in.Traffic, s.in.Measured.Server
	one, many := s.take(m["event_cpu"]), s.take(m["batched_event_cpu"])
	each := s.note("processor time of an entry", many+(one-many)/float64(t.Batch), "µs",
		"%s in large batches, and %s for its part of a request of %d", Show(many), Show(one-many),
		t.Batch)
	peak := (t.events() + t.readings()) * t.Peak
	asked := 0.0
	for _, name := range slices.Sorted(maps.Keys(t.Queries)) { // a sum of a map differs each time
		each := m["ask_"+name].Value
		if name == AskFleet {
			each *= t.ofTenant()
		}
		asked += t.Queries[name] * t.Peak * each
	}
	return s.note("busy processors", (peak*each+asked)/1e6, "processors",
		"%s entries/s at the peak x %s µs, and %s µs/s for queries", Show(peak), Show(each),
		Show(asked))
}

// oneMachine finds the smallest machine that is enough.
func (s *sheet) oneMachine(busy, memory, disk float64) {
	r, g := s.in.Region, s.in.Measured.Guide
	if len(r.Machines.List) == 0 {
		s.remark("%s has no price of machines: add it with a file of prices", r.Name)
		return
	}
	gb := math.Ceil(disk / gib)
	if gb > r.Disk.Most.Value {
		s.fails("the disk would have %s GB, and %s are the most that one has", Show(gb),
			Show(r.Disk.Most.Value))
	}
	share := s.take(g["machine_cpu"])
	for _, kind := range r.Machines.List {
		if busy > float64(kind.Cores)*share || memory > kind.MemoryGiB*gib {
			continue
		}
		s.result.Servers = 1
		cost := s.note("a machine", kind.Hour.Value*monthHours, "$ a month", "%s: $%g x %d h",
			kind.Name, kind.Hour.Value, monthHours)
		cost += s.note("its disk", gb*r.Disk.GB.Value, "$ a month", "%s GB x $%g", Show(gb),
			r.Disk.GB.Value)
		s.way("1 "+kind.Name, cost)
		return
	}
	largest := r.Machines.List[len(r.Machines.List)-1]
	s.fails("%s busy processors and %s GB of memory are more than %s has, of whose processors %g "+
		"are used", Show(busy), Show(memory/gib), largest.Name, share)
}

// serve works out the machines that Andon runs on in front of a store elsewhere: two at least, so
// that one may be down. Where the region has no price of machines, it is nothing.
func (s *sheet) serve() {
	t := &s.in.Traffic
	r, g := s.in.Region, s.in.Measured.Guide
	if len(r.Machines.List) == 0 {
		return
	}
	busy := s.work()
	memory := s.take(g["base_memory"]) + float64(t.Devices)*s.take(g["count_memory"])
	share := s.take(g["machine_cpu"])
	best, name, number := math.Inf(1), "", 0.0
	for _, kind := range r.Machines.List {
		n := max(2, math.Ceil(busy/(float64(kind.Cores)*share))+1)
		cost := n * kind.Hour.Value * monthHours
		if memory <= kind.MemoryGiB*gib && cost < best {
			best, name, number = cost, kind.Name, n
		}
	}
	if name == "" {
		s.fails("%s GB of memory for counts are more than any machine has", Show(memory/gib))
		return
	}
	s.result.Servers = int(number)
	s.machines = fmt.Sprintf(", and %g %s", number, name)
	s.machinesCost = s.note("machines of Andon", best, "$ a month",
		"%s of %s: %s busy processors, %g of each used, and one more; at least two", Show(number),
		name, Show(busy), share)
}

// processes is how many of Andon there are.
func (s *sheet) processes() int { return max(2, s.result.Servers) }

// often is how often a second something is done.
func (s *sheet) often(per Per, every time.Duration) float64 {
	return s.in.Traffic.often(per, every, s.processes())
}
