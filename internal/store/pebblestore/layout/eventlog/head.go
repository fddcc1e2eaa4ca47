package eventlog

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// Head is the newest part of the log in memory, of all tenants: the entries of rows that are not
// in blocks yet. Adding is in the order of the log and needs the head for itself; reading may run
// beside reading.
//
// An entry takes 24 bytes and its text, in slabs without pointers, so the collector of garbage has
// nothing to follow. The entries of a device are a chain from the one that was added last.
type Head struct {
	tenants map[uint32]*tenantHead
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
	before   uint32 // the cell of the device that was added before; 0: none
	text     uint32 // where it begins: the number of the slab, then 20 bits
	state    uint32 // of tenantHead.names
	operator uint32
}

type tenantHead struct {
	names    []string // 0 is none
	number   map[string]uint32
	last     [2]uint32       // the state and operator of the entry before: mostly the next's too
	pages    []*headPage     // by number of the device; nil: none of them has entries
	unsorted map[uint32]bool // devices whose chain is not from new to old, or has equal times
	days     map[uint32]bool
	hours    map[uint32]map[uint32][]InHour // by operator and hour: devices, some more than once
}

// headDevice is what of a device the head has at hand.
type headDevice struct {
	chain  uint32 // its last cell; 0: none
	listed uint32 // where it was last put into hours
}

// headPage has devices of neighbouring numbers. The head grows by one of them: where it would move
// what it knows of a million devices, all readers would wait.
type headPage [pageDevices]headDevice

// InHour is a device with entries of a person in an hour, and between which milliseconds of the
// hour they are.
type InHour struct{ Device, Oldest, Newest uint32 }

const (
	milli     = andon.Time(1000)
	lastMilli = 3_600_000 - 1
)

// MilliOf returns the millisecond of its hour that a time is in.
func MilliOf(t andon.Time) uint32 { return uint32((t - andon.HourStart(t.Hour())) / milli) }

// NewHead makes an empty head.
func NewHead() *Head {
	return &Head{
		tenants: map[uint32]*tenantHead{}, next: 1, mostSlabs: MostTexts / textSlab,
	}
}

// Bytes is about how much memory the head takes.
func (h *Head) Bytes() int { return h.bytes }

// Entries is how many entries were added.
func (h *Head) Entries() int { return int(h.next) - 1 }

func (h *Head) tenant(number uint32) *tenantHead {
	t := h.tenants[number]
	if t == nil {
		t = &tenantHead{
			names: []string{""}, number: map[string]uint32{"": 0}, unsorted: map[uint32]bool{},
			days: map[uint32]bool{}, hours: map[uint32]map[uint32][]InHour{},
		}
		h.tenants[number] = t
	}
	return t
}

// MostTexts is how many bytes of texts a head can have, which cells point into.
const MostTexts = 1 << 32

// ErrHeadFull says that an entry does not fit into a head.
var ErrHeadFull = errors.New("eventlog: the texts of a head are 4 GiB")

// Add adds an entry. It keeps nothing of what it is passed. A head whose texts are full stays as it
// is, and returns ErrHeadFull.
func (h *Head) Add(tenant, device uint32, e Entry) error {
	text, ok := h.keep(&e)
	if !ok {
		return ErrHeadFull
	}
	t := h.tenant(tenant)
	d := h.place(t, device)
	c := cell{
		time: e.Time, before: d.chain, text: text,
		state:    h.name(t, string(e.State), &t.last[0]),
		operator: h.name(t, string(e.Operator), &t.last[1]),
	}
	var last *cell
	if c.before != 0 {
		if last = h.cell(c.before); c.time <= last.time && !t.unsorted[device] {
			t.unsorted[device] = true
			h.bytes += mapEntryBytes
		}
	}
	d.chain = h.put(c)
	if last == nil || last.time.Day() != c.time.Day() {
		t.days[c.time.Day()] = true
	}
	h.enter(t, device, d, &c, last)
	return nil
}

// enter notes in which hours a device has entries of a person, and between which times.
func (h *Head) enter(t *tenantHead, device uint32, d *headDevice, c, last *cell) {
	hour := c.time.Hour()
	if last != nil && last.operator != 0 {
		if last.operator == c.operator && last.time.Hour() == hour {
			return
		}
		t.hours[last.operator][last.time.Hour()][d.listed].Newest = MilliOf(last.time)
	}
	if c.operator == 0 {
		return
	}
	of := t.hours[c.operator]
	if of == nil {
		of = map[uint32][]InHour{}
		t.hours[c.operator] = of
		h.bytes += mapBytes + mapEntryBytes
	}
	list := of[hour]
	if list == nil {
		h.bytes += sliceBytes + mapEntryBytes
	}
	d.listed = uint32(len(list))
	was := cap(list)
	list = append(list, InHour{device, MilliOf(c.time), lastMilli})
	h.bytes += (cap(list) - was) * listedBytes
	of[hour] = list
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
func (h *Head) place(t *tenantHead, device uint32) *headDevice {
	const deviceBytes = 8
	for n := int(device/pageDevices) + 1 - len(t.pages); n > 0; n-- {
		t.pages = append(t.pages, nil)
	}
	page := &t.pages[device/pageDevices]
	if *page == nil {
		*page = new(headPage)
		h.bytes += pageDevices * deviceBytes
	}
	return &(*page)[device%pageDevices]
}

// device returns what is known of a device, or nil.
func (h *Head) device(tenant, device uint32) (*tenantHead, *headDevice) {
	t := h.tenants[tenant]
	if t == nil || int(device/pageDevices) >= len(t.pages) || t.pages[device/pageDevices] == nil {
		return t, nil
	}
	return t, &t.pages[device/pageDevices][device%pageDevices]
}

func (h *Head) name(t *tenantHead, name string, last *uint32) uint32 {
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
		h.bytes += len(name) + mapped
	}
	*last = n
	return n
}

// keep copies the texts of an entry, unless it is full.
func (h *Head) keep(e *Entry) (at uint32, ok bool) {
	n, most := len(h.texts), len(e.Message)+len(e.Attributes)+2*binary.MaxVarintLen32
	if n == 0 || len(h.texts[n-1])+most > textSlab {
		if n == h.mostSlabs || most > textSlab {
			return 0, false
		}
		h.texts = append(h.texts, make([]byte, 0, textSlab))
		n++
	}
	slab := &h.texts[n-1]
	at = uint32(n-1)*textSlab + uint32(len(*slab))
	*slab = varint.AppendText(varint.AppendText(*slab, e.Message), e.Attributes)
	h.bytes += most
	return at, true
}

func (h *Head) put(c cell) (number uint32) {
	number = h.next
	h.next++
	if int(number/cellSlab) == len(h.cells) {
		h.cells = append(h.cells, make([]cell, cellSlab))
	}
	h.bytes += cellBytes
	h.cells[number/cellSlab][number%cellSlab] = c
	return number
}

func (h *Head) cell(number uint32) *cell { return &h.cells[number/cellSlab][number%cellSlab] }

func (h *Head) entry(t *tenantHead, c *cell) Entry {
	r := varint.Reader{Rest: h.texts[c.text/textSlab][c.text%textSlab:]}
	return Entry{
		c.time, andon.State(t.names[c.state]), andon.PersonID(t.names[c.operator]),
		r.Text(), r.Text(),
	}
}

// Walk visits the entries of a device from the one that was added last, until visit returns false.
// Of several with one identity the first that it visits counts.
func (h *Head) Walk(tenant, device uint32, visit func(Entry) bool) {
	h.WalkIn(tenant, device, andon.Span{}, visit)
}

// WalkIn is Walk for the entries within a span. It reads the text of no other.
func (h *Head) WalkIn(tenant, device uint32, span andon.Span, visit func(Entry) bool) {
	t, d := h.device(tenant, device)
	if d == nil {
		return
	}
	sorted := !t.unsorted[device]
	for n := d.chain; n != 0; {
		c := h.cell(n)
		if sorted && c.time < span.From || span.Holds(c.time) && !visit(h.entry(t, c)) {
			return
		}
		n = c.before
	}
}

// Find returns the entry of a device with an identity: of several the one that was added last. It
// reads the text of no other.
func (h *Head) Find(tenant, device uint32, at andon.Time, state andon.State) (e Entry, ok bool) {
	t, d := h.device(tenant, device)
	if d == nil {
		return e, false
	}
	name, known := t.number[string(state)]
	sorted := !t.unsorted[device]
	for n := d.chain; known && n != 0; {
		c := h.cell(n)
		switch {
		case c.time == at && c.state == name:
			return h.entry(t, c), true
		case sorted && c.time < at:
			return e, false
		}
		n = c.before
	}
	return e, false
}

// Sorted reports whether Walk goes strictly from new to old.
func (h *Head) Sorted(tenant, device uint32) bool {
	t := h.tenants[tenant]
	return t == nil || !t.unsorted[device]
}

// Forget drops the entries of a device.
func (h *Head) Forget(tenant, device uint32) {
	if t, d := h.device(tenant, device); d != nil {
		d.chain = 0
		delete(t.unsorted, device)
	}
}

// ForgetTenant drops a tenant.
func (h *Head) ForgetTenant(tenant uint32) { delete(h.tenants, tenant) }

// Days returns the days on which a tenant has entries, in ascending order.
func (h *Head) Days(tenant uint32) []uint32 {
	if t := h.tenants[tenant]; t != nil {
		return slices.Sorted(maps.Keys(t.days))
	}
	return nil
}

// Devices returns a number that is above that of each device of a tenant with an entry.
func (h *Head) Devices(tenant uint32) int {
	if t := h.tenants[tenant]; t != nil {
		return len(t.pages) * pageDevices
	}
	return 0
}

// Operators returns who answers for entries of a tenant, by name.
func (h *Head) Operators(tenant uint32) []andon.PersonID {
	t := h.tenants[tenant]
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
func (h *Head) Hours(tenant uint32, operator andon.PersonID) []uint32 {
	if t := h.tenants[tenant]; t != nil {
		return slices.Sorted(maps.Keys(t.hours[t.number[string(operator)]]))
	}
	return nil
}

// AppendHour appends which devices have entries of a person in an hour, some more than once. Of a
// device whose entries are not sorted, and of one that was forgotten, it does not know when.
func (h *Head) AppendHour(
	devices []InHour, tenant uint32, operator andon.PersonID, hour uint32,
) []InHour {
	t := h.tenants[tenant]
	if t == nil {
		return devices
	}
	begin := len(devices)
	devices = append(devices, t.hours[t.number[string(operator)]][hour]...)
	for i := begin; i < len(devices); i++ {
		d := &devices[i]
		_, has := h.device(tenant, d.Device)
		if t.unsorted[d.Device] {
			d.Oldest, d.Newest = 0, lastMilli
		} else if n := has.chain; n != 0 && d.Newest == lastMilli {
			if newest := h.cell(n).time; newest.Hour() == hour {
				d.Newest = MilliOf(newest)
			}
		}
	}
	return devices
}

// Tenants returns the tenants that have entries, in ascending order.
func (h *Head) Tenants() []uint32 { return slices.Sorted(maps.Keys(h.tenants)) }
