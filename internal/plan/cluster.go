package plan

import (
	"maps"
	"math"
	"slices"
)

// Piece is how large the partitions of a table become.
type Piece struct {
	Table string  `json:"table"`
	Of    string  `json:"of"`
	Rows  float64 `json:"rows"`
	Bytes float64 `json:"bytes"`
	Fits  bool    `json:"fits"`
}

// cluster works out a store on nodes of its own.
func (s *sheet) cluster(layout *Cluster) {
	s.partitions(layout)
	s.serve()
	t := &s.in.Traffic
	m := s.in.Measured.Stores[s.result.Store]
	request, read := s.take(m["request_cpu"]), s.take(m["read_cpu"])
	var each float64 // µs a second of one replica
	for _, w := range layout.Writes {
		often := s.often(w.Per, w.Every)
		if often == 0 {
			continue
		}
		each += s.note("requests to "+w.Table, often*(w.Requests*request+w.Reads*read),
			"µs a second", "%s a second, with each %s %s writes x %s µs and %s reads x %s µs",
			Show(often), w.Per, Show(w.Requests), Show(request), Show(w.Reads), Show(read))
	}
	for _, name := range slices.Sorted(maps.Keys(layout.Queries)) {
		n := layout.Queries[name]
		if name == AskFleet {
			n *= t.ofTenant()
		}
		each += t.Queries[name] * n * read
	}
	busy := s.note("busy processors of all nodes", each*t.Peak/1e6*float64(t.Replication),
		"processors", "%s µs/s x peak %s x %d replicas", Show(each), Show(t.Peak), t.Replication)
	disk := s.keptBytes(m["event_bytes"], m["message_byte"],
		float64(layout.ReadingBytes)) * float64(t.Replication)
	s.result.Disk = s.note("on the disks of all nodes", disk, "bytes",
		"x %d replicas", t.Replication)
	s.lists(m["list_"+s.result.Layout])
	s.nodes(busy, disk)
}

// lists checks how often a list can be asked for of which a page reads all devices.
func (s *sheet) lists(first Measurement) {
	t := &s.in.Traffic
	if first.Value == 0 || t.Queries[AskList] == 0 {
		return
	}
	busy := t.Queries[AskList] * s.take(first) / first.Of * t.ofTenant() * t.LargestState
	if half := s.take(s.in.Measured.Guide["half"]); busy > half {
		s.fails("a page of a list of a state reads all its devices: asked for %g times a second "+
			"that is %s s of each second, and %g is the most", t.Queries[AskList], Show(busy), half)
	}
}

// keptBytes is what is kept of events and readings, once. measured is of a short event, and each of
// a byte that it has more.
func (s *sheet) keptBytes(measured, each Measurement, reading float64) float64 {
	t := &s.in.Traffic
	more := max(0, t.EventBytes-int(measured.Of))
	short, of := s.take(measured), s.take(each)
	event := s.note("an event of this size on the disk", short+of*float64(more), "bytes",
		"%s bytes as JSON are %s, and %d more are %s each", Show(measured.Of), Show(short), more,
		Show(of))
	kept := s.note("events on the disk", t.events()*daySeconds*t.kept(PerEvent)*event, "bytes",
		"%s/s x 86,400 x %s days x %s bytes", Show(t.events()), Show(t.kept(PerEvent)), Show(event))
	if t.ReadingsEvery > 0 {
		kept += s.note("readings on the disk", t.readings()*daySeconds*t.kept(PerReading)*reading,
			"bytes", "%s/s x 86,400 x %s days x %s bytes", Show(t.readings()),
			Show(t.kept(PerReading)), Show(reading))
	}
	return kept
}

// partitions works out how large the partitions of each table become.
func (s *sheet) partitions(layout *Cluster) {
	t := &s.in.Traffic
	for _, p := range layout.Partitions {
		rows := p.Rows * s.sharing(&p) / s.keysOf(&p, layout.MostRows)
		if p.Hours > 0 {
			sent := t.events()
			if p.Readings {
				sent = t.readings()
			}
			rows *= p.Hours * 3600 * sent / float64(t.Devices)
		}
		if p.Most > 0 {
			rows = min(rows, p.Most)
		}
		piece := Piece{Table: p.Table, Rows: rows, Bytes: rows * float64(p.Bytes)}
		piece.Of = [...]string{"device", "operator", "state", "tenant"}[p.Sharing]
		piece.Fits = rows <= layout.MostRows && piece.Bytes <= layout.MostBytes
		if !piece.Fits {
			s.fails("a partition of %s would have %s rows and %s MB; %s rows or %s MB are the most",
				p.Table, Show(rows), Show(piece.Bytes/1e6), Show(layout.MostRows),
				Show(layout.MostBytes/1e6))
		}
		s.result.Pieces = append(s.result.Pieces, piece)
		s.note("rows of a partition of "+p.Table, rows, "rows", "by %s, %d bytes each", piece.Of,
			p.Bytes)
	}
}

// keysOf is how many partitions share the rows: as many as the setting says, or as are needed where
// the setting can be raised.
func (s *sheet) keysOf(p *Partition, mostRows float64) float64 {
	keys := float64(max(1, p.Keys))
	needed := math.Ceil(p.Rows * s.sharing(p) / mostRows)
	if needed <= keys || p.MostKeys == 0 {
		return keys
	}
	keys = min(math.Pow(2, math.Ceil(math.Log2(needed))), float64(p.MostKeys))
	s.remark("set %s to %s", p.Setting, Show(keys))
	return keys
}

// sharing is how many devices have their rows in one partition, or in its Keys.
func (s *sheet) sharing(p *Partition) float64 {
	t := &s.in.Traffic
	switch p.Sharing {
	case ByOperator:
		return min(float64(t.DevicesOfOperator), t.ofTenant())
	case ByState:
		return math.Ceil(t.ofTenant() * t.LargestState)
	case ByTenant:
		return math.Ceil(t.ofTenant())
	}
	return 1
}

// nodes finds out how many nodes of each kind are enough, and what they and the machines of Andon
// cost.
func (s *sheet) nodes(busy, disk float64) {
	g, r := s.in.Measured.Guide, s.in.Region
	replicas := float64(s.in.Traffic.Replication)
	cpu, used, most := s.take(g["node_cpu"]), s.take(g["node_disk"]), s.take(g["most_nodes"])
	if len(r.Nodes.List) == 0 || s.machines == "" {
		s.remark("%s has no price of machines: add it with a file of prices", r.Name)
		return
	}
	best, way := math.Inf(1), ""
	for _, kind := range r.Nodes.List {
		byCPU := math.Ceil(busy / (float64(kind.Cores) * cpu))
		byDisk := math.Ceil(disk / (kind.DiskGB * 1e9 * used))
		n := s.note("nodes of "+kind.Name, max(replicas, byCPU, byDisk), "nodes",
			"the most of %g replicas, %s by processors of which %g is used, %s by disks of which "+
				"%g is used", replicas, Show(byCPU), cpu, Show(byDisk), used)
		cost := s.note("nodes of "+kind.Name, n*kind.Hour.Value*monthHours, "$ a month",
			"%s x $%g x %d h", Show(n), kind.Hour.Value, monthHours)
		if n <= most && cost < best {
			best, way, s.result.Nodes = cost, Show(n)+" "+kind.Name, int(n)
		}
	}
	if way != "" {
		s.way(way+s.machines, best+s.machinesCost)
		return
	}
	s.fails("more than %s nodes are needed", Show(most))
}
