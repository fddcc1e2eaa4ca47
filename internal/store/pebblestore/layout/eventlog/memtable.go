package eventlog

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// Memtable is the newest part of the log in memory, of all tenants: the entries of rows that are
// not in blocks yet. Entries are added in the order of the log, by one goroutine that has the
// memtable alone; several may read at the same time.
//
// An entry takes 24 bytes and its text, in slabs without pointers, so the garbage collector has
// nothing to follow. The entries of a device are a chain from new to old, each once: what is sent
// again takes the place of the former delivery.
type Memtable struct {
	tenants map[uint32]*memTenant
	cells   [][]cell
	next    uint32 // number of the next cell; 0 is none
	texts   [][]byte
	bytes   int
	// mostSlabs is how many slabs texts may have: 32 bits say where a text begins.
	mostSlabs int
}

const (
	cellSlab  = 1 << 12 // cells
	textSlab  = 1 << 20 // bytes
	cellBytes = 24

	pageDevices = 1 << 10
)

type cell struct {
	time     andon.Time
	before   uint32 // the next older cell of the device; 0: none
	text     uint32 // where it begins: the number of the slab, then 20 bits
	state    uint32 // of memTenant.names
	operator uint32
}

type memTenant struct {
	names    []string // 0 is none
	number   map[string]uint32
	last     [2]uint32       // the state and operator of the entry before, as mostly of the next
	pages    []*memPage      // by number of the device; nil: none of them has entries
	unsorted map[uint32]bool // devices whose chain is from the last added to the first: see addLate
	days     map[uint32]bool
	hours    map[uint32]map[uint32][]InHour // by operator and hour: devices, some more than once
}

type memDevice struct {
	chain  uint32 // its newest cell; 0: none
	listed uint32 // where that was put into hours
}

// memPage has devices of neighbouring numbers. The memtable grows by one of them: if it
// moved what it knows of a million devices, all readers would wait.
type memPage [pageDevices]memDevice

// InHour is a device with entries of a person in an hour, and between which milliseconds of the
// hour they are.
type InHour struct{ Device, Oldest, Newest uint32 }

const (
	milli     = andon.Time(1000)
	lastMilli = 3_600_000 - 1
)

// MilliOf returns the millisecond of its hour that a time is in.
func MilliOf(t andon.Time) uint32 { return uint32((t - andon.HourStart(t.Hour())) / milli) }

// NewMemtable makes an empty memtable.
func NewMemtable() *Memtable {
	return &Memtable{
		tenants: map[uint32]*memTenant{}, next: 1, mostSlabs: MostTexts / textSlab,
	}
}

// Bytes is about how much memory the memtable takes.
func (m *Memtable) Bytes() int { return m.bytes }

// Entries is how many entries were added.
func (m *Memtable) Entries() int { return int(m.next) - 1 }

func (m *Memtable) tenant(number uint32) *memTenant {
	t := m.tenants[number]
	if t == nil {
		t = &memTenant{
			names: []string{""}, number: map[string]uint32{"": 0}, unsorted: map[uint32]bool{},
			days: map[uint32]bool{}, hours: map[uint32]map[uint32][]InHour{},
		}
		m.tenants[number] = t
	}
	return t
}

// MostTexts is how many bytes of texts a memtable can have, which cells point into.
const MostTexts = 1 << 32

// ErrMemtableFull says that an entry does not fit into a memtable.
var ErrMemtableFull = errors.New("eventlog: the texts of a memtable are 4 GiB")

// Add adds an entry. It keeps nothing of what it is passed. Where its texts are full it stays
// as it is, and returns ErrMemtableFull.
func (m *Memtable) Add(tenant, device uint32, e Entry) error {
	text, ok := m.keep(&e)
	if !ok {
		return ErrMemtableFull
	}
	t := m.tenant(tenant)
	d := m.place(t, device)
	c := cell{
		time: e.Time, before: d.chain, text: text,
		state:    m.name(t, string(e.State), &t.last[0]),
		operator: m.name(t, string(e.Operator), &t.last[1]),
	}
	var last *cell
	if c.before != 0 {
		last = m.cell(c.before)
		if c.time <= last.time && !t.unsorted[device] && m.addLate(t, device, d, c) {
			return nil
		}
	}
	d.chain = m.put(c)
	if last == nil || last.time.Day() != c.time.Day() {
		t.days[c.time.Day()] = true
	}
	m.enter(t, device, d, &c, last)
	return nil
}

// addLate puts an entry that is not newer than all others of its device where it belongs in their
// chain, or in the place of its former delivery. Where that is far away, or where another state is
// at its instant, it changes nothing, and the chain is unsorted from now on.
func (m *Memtable) addLate(t *memTenant, device uint32, d *memDevice, c cell) (done bool) {
	const far = 64 // entries: a device that sends its past from new to old must not hold up others
	newer, n, steps := uint32(0), d.chain, 0
	for ; n != 0 && m.cell(n).time > c.time && steps < far; steps++ {
		newer, n = n, m.cell(n).before
	}
	if is := m.cell(n); n != 0 && is.time == c.time && is.state == c.state {
		was := *is
		is.text, is.operator = c.text, c.operator
		if newer == 0 {
			m.enter(t, device, d, &c, &was)
		} else if was.operator != c.operator {
			m.list(t, device, &c, MilliOf(c.time))
		}
		return true
	}
	if n != 0 && m.cell(n).time >= c.time {
		t.unsorted[device] = true
		m.bytes += mapEntryBytes
		return false
	}
	c.before = n
	number := m.put(c)
	m.cell(newer).before = number
	t.days[c.time.Day()] = true
	m.list(t, device, &c, MilliOf(c.time))
	return true
}

// enter notes in which hours a device has entries of a person, and between which times.
func (m *Memtable) enter(t *memTenant, device uint32, d *memDevice, c, last *cell) {
	hour := c.time.Hour()
	if last != nil && last.operator != 0 {
		if last.operator == c.operator && last.time.Hour() == hour {
			return
		}
		t.hours[last.operator][last.time.Hour()][d.listed].Newest = MilliOf(last.time)
	}
	d.listed = m.list(t, device, c, lastMilli)
}

// list puts a device with an entry of a person, if it is of one, into its hour.
func (m *Memtable) list(t *memTenant, device uint32, c *cell, newest uint32) (at uint32) {
	if c.operator == 0 {
		return 0
	}
	of, hour := t.hours[c.operator], c.time.Hour()
	if of == nil {
		of = map[uint32][]InHour{}
		t.hours[c.operator] = of
		m.bytes += mapBytes + mapEntryBytes
	}
	list := of[hour]
	if list == nil {
		m.bytes += sliceBytes + mapEntryBytes
	}
	was := cap(list)
	of[hour] = append(list, InHour{device, MilliOf(c.time), newest})
	m.bytes += (cap(of[hour]) - was) * listedBytes
	return uint32(len(list))
}

// About what Go's maps and slices take. People's names are free text, so that each entry may have a
// map of its own.
const (
	mapBytes      = 48 + 8*(4+24) + 8 // the map, and its first group of eight entries
	mapEntryBytes = 32                // a key, a value of a word, and what is not in use yet
	sliceBytes    = 24
	listedBytes   = 12
)

// place returns where a device is kept, and makes the page of those that have none.
func (m *Memtable) place(t *memTenant, device uint32) *memDevice {
	const deviceBytes = 8
	for n := int(device/pageDevices) + 1 - len(t.pages); n > 0; n-- {
		t.pages = append(t.pages, nil)
	}
	page := &t.pages[device/pageDevices]
	if *page == nil {
		*page = new(memPage)
		m.bytes += pageDevices * deviceBytes
	}
	return &(*page)[device%pageDevices]
}

// device returns what is known of a device, or nil.
func (m *Memtable) device(tenant, device uint32) (*memTenant, *memDevice) {
	t := m.tenants[tenant]
	if t == nil || int(device/pageDevices) >= len(t.pages) || t.pages[device/pageDevices] == nil {
		return t, nil
	}
	return t, &t.pages[device/pageDevices][device%pageDevices]
}

func (m *Memtable) name(t *memTenant, name string, last *uint32) uint32 {
	if t.names[*last] == name {
		return *last
	}
	n, ok := t.number[name]
	if !ok {
		const mapped = 80 // about what a name takes in addition to its bytes
		n = uint32(len(t.names))
		name = string(append([]byte(nil), name...))
		t.names = append(t.names, name)
		t.number[name] = n
		m.bytes += len(name) + mapped
	}
	*last = n
	return n
}

// keep copies the texts of an entry, unless it is full.
func (m *Memtable) keep(e *Entry) (at uint32, ok bool) {
	n, most := len(m.texts), len(e.Message)+len(e.Attributes)+2*binary.MaxVarintLen32
	if n == 0 || len(m.texts[n-1])+most > textSlab {
		if n == m.mostSlabs || most > textSlab {
			return 0, false
		}
		m.texts = append(m.texts, make([]byte, 0, textSlab))
		n++
	}
	slab := &m.texts[n-1]
	at = uint32(n-1)*textSlab + uint32(len(*slab))
	*slab = varint.AppendText(varint.AppendText(*slab, e.Message), e.Attributes)
	m.bytes += most
	return at, true
}

func (m *Memtable) put(c cell) (number uint32) {
	number = m.next
	m.next++
	if int(number/cellSlab) == len(m.cells) {
		m.cells = append(m.cells, make([]cell, cellSlab))
	}
	m.bytes += cellBytes
	m.cells[number/cellSlab][number%cellSlab] = c
	return number
}

func (m *Memtable) cell(number uint32) *cell { return &m.cells[number/cellSlab][number%cellSlab] }

func (m *Memtable) entry(t *memTenant, c *cell) Entry {
	r := varint.Reader{Rest: m.texts[c.text/textSlab][c.text%textSlab:]}
	return Entry{
		c.time, andon.State(t.names[c.state]), andon.PersonID(t.names[c.operator]),
		r.Text(), r.Text(),
	}
}

// Walk visits the entries of a device, until visit returns false: from new to old where the device
// is Sorted, else from the one that was added last. Of several with one identity the first that it
// visits wins.
func (m *Memtable) Walk(tenant, device uint32, visit func(Entry) bool) {
	m.WalkIn(tenant, device, andon.Span{}, visit)
}

// WalkIn is Walk for the entries within a span. It reads the text of no other.
func (m *Memtable) WalkIn(tenant, device uint32, span andon.Span, visit func(Entry) bool) {
	t, d := m.device(tenant, device)
	if d == nil {
		return
	}
	sorted := !t.unsorted[device]
	for n := d.chain; n != 0; {
		c := m.cell(n)
		if sorted && c.time < span.From || span.Holds(c.time) && !visit(m.entry(t, c)) {
			return
		}
		n = c.before
	}
}

// Sorted reports whether Walk goes strictly from new to old.
func (m *Memtable) Sorted(tenant, device uint32) bool {
	t := m.tenants[tenant]
	return t == nil || !t.unsorted[device]
}

// Forget drops the entries of a device.
func (m *Memtable) Forget(tenant, device uint32) {
	if t, d := m.device(tenant, device); d != nil {
		d.chain = 0
		delete(t.unsorted, device)
	}
}

// ForgetTenant drops a tenant.
func (m *Memtable) ForgetTenant(tenant uint32) { delete(m.tenants, tenant) }

// Days returns the days on which a tenant has entries, in ascending order.
func (m *Memtable) Days(tenant uint32) []uint32 {
	if t := m.tenants[tenant]; t != nil {
		return slices.Sorted(maps.Keys(t.days))
	}
	return nil
}

// Devices returns a number that is above that of each device of a tenant with an entry.
func (m *Memtable) Devices(tenant uint32) int {
	if t := m.tenants[tenant]; t != nil {
		return len(t.pages) * pageDevices
	}
	return 0
}

// Operators returns the operators of a tenant's entries, by name.
func (m *Memtable) Operators(tenant uint32) []andon.PersonID {
	t := m.tenants[tenant]
	if t == nil {
		return nil
	}
	var all []andon.PersonID
	for number := range t.hours {
		all = append(all, andon.PersonID(t.names[number]))
	}
	slices.Sort(all)
	return all
}

// Hours returns the hours in which devices have entries of a person, in ascending order.
func (m *Memtable) Hours(tenant uint32, operator andon.PersonID) []uint32 {
	if t := m.tenants[tenant]; t != nil {
		return slices.Sorted(maps.Keys(t.hours[t.number[string(operator)]]))
	}
	return nil
}

// AppendHour appends which devices have entries of a person in an hour, some more than once. Of a
// device whose entries are not sorted, and of one that was forgotten, it does not know when.
func (m *Memtable) AppendHour(
	devices []InHour, tenant uint32, operator andon.PersonID, hour uint32,
) []InHour {
	t := m.tenants[tenant]
	if t == nil {
		return devices
	}
	begin := len(devices)
	devices = append(devices, t.hours[t.number[string(operator)]][hour]...)
	for i := begin; i < len(devices); i++ {
		d := &devices[i]
		_, has := m.device(tenant, d.Device)
		if t.unsorted[d.Device] {
			d.Oldest, d.Newest = 0, lastMilli
		} else if n := has.chain; n != 0 && d.Newest == lastMilli {
			if newest := m.cell(n).time; newest.Hour() == hour {
				d.Newest = MilliOf(newest)
			}
		}
	}
	return devices
}

// Tenants returns the tenants that have entries, in ascending order.
func (m *Memtable) Tenants() []uint32 { return slices.Sorted(maps.Keys(m.tenants)) }
