package current

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/andonhq/andon"
)

// sorted are devices in the order of their ids, as numbers: 4 bytes each, in parts of a bounded
// length, so that a change moves little. A tree would compare and move as much, and need pointers.
type sorted struct {
	parts []part // none is empty
	count int
}

// part is some devices of an order. It is found by an id of its own, because those of its devices
// are in memory that is in no cache.
type part struct {
	from    andon.DeviceID // no id is before it, and those of all parts before are
	numbers []uint32
}

const partSlots = 256

// cursor is a place among devices in their order.
type cursor struct {
	of       *sorted
	part, at int
	id       andon.DeviceID
}

// find returns the part that an id is in, or belongs into. What is before all others belongs into
// the first one.
func (o *sorted) find(id andon.DeviceID) int {
	next := sort.Search(len(o.parts), func(i int) bool { return o.parts[i].from > id })
	return max(next-1, 0)
}

// seek returns the place of the first device from an id on; false: there is none.
func (f *Fleet) seek(o *sorted, from andon.DeviceID) (c cursor, ok bool) {
	if c.of = o; o.count == 0 {
		return c, false
	}
	c.part = o.find(from)
	c.at = f.search(o.parts[c.part].numbers, from)
	return c, f.see(&c)
}

// search returns where the first of some devices from an id on is.
func (f *Fleet) search(numbers []uint32, from andon.DeviceID) int {
	return sort.Search(len(numbers), func(i int) bool { return f.ID(numbers[i]) >= from })
}

// see makes the id of a cursor that of its place, which may be after the end of a part.
func (f *Fleet) see(c *cursor) bool {
	if c.part < len(c.of.parts) && c.at == len(c.of.parts[c.part].numbers) {
		c.part, c.at = c.part+1, 0
	}
	if c.part == len(c.of.parts) {
		return false
	}
	c.id = f.ID(c.number())
	return true
}

func (c *cursor) number() uint32 { return c.of.parts[c.part].numbers[c.at] }

// next moves to the next device; false: there is none.
func (f *Fleet) next(c *cursor) bool {
	c.at++
	return f.see(c)
}

// insert adds a device that is not there.
func (f *Fleet) insert(o *sorted, s *Slot) {
	if o.count++; len(o.parts) == 0 {
		o.parts = append(o.parts, part{})
	}
	i := o.find(f.id(s))
	at := f.search(o.parts[i].numbers, f.id(s))
	if len(o.parts[i].numbers) == partSlots {
		i, at = f.divide(o, i, at)
	}
	p := &o.parts[i]
	p.numbers = slices.Insert(p.numbers, at, s.number)
	if at == 0 {
		f.begin(p)
	}
}

// begin makes a part begin with the first of its devices. It keeps a copy of the id, which may stay
// after the device is gone.
func (f *Fleet) begin(p *part) {
	p.from = andon.DeviceID(strings.Clone(string(f.ID(p.numbers[0]))))
}

// divide divides a full part, and returns where a place in it is then. Where devices are made in
// the order of their ids, parts stay full.
func (f *Fleet) divide(o *sorted, i, at int) (part, place int) {
	full, half := o.parts[i].numbers, partSlots/2
	if i == len(o.parts)-1 && at == partSlots {
		half = partSlots
	}
	o.parts[i].numbers = full[:half]
	o.parts = slices.Insert(o.parts, i+1, newPart(full[half:]))
	if half < partSlots {
		f.begin(&o.parts[i+1])
	}
	if at >= half {
		return i + 1, at - half
	}
	return i, at
}

func newPart(numbers []uint32) part {
	return part{numbers: append(make([]uint32, 0, partSlots), numbers...)}
}

// remove removes a device that is there.
func (f *Fleet) remove(o *sorted, s *Slot) {
	i := o.find(f.id(s))
	o.count--
	p := &o.parts[i]
	at := slices.Index(p.numbers, s.number)
	p.numbers = slices.Delete(p.numbers, at, at+1)
	const few = partSlots / 2
	switch next := i + 1; {
	case len(p.numbers) == 0:
		o.parts = slices.Delete(o.parts, i, next)
	case next < len(o.parts) && len(p.numbers)+len(o.parts[next].numbers) <= few:
		p.numbers = append(p.numbers, o.parts[next].numbers...)
		o.parts = slices.Delete(o.parts, next, next+1)
	}
}

// fill adds devices to an order that is empty.
func (f *Fleet) fill(o *sorted, numbers []uint32) {
	o.count = len(numbers)
	for some := range slices.Chunk(numbers, partSlots) {
		p := part{numbers: slices.Clone(some)}
		f.begin(&p)
		o.parts = append(o.parts, p)
	}
}

// inOrder returns the numbers of all slots, so many, by their ids.
func (f *Fleet) inOrder(count int) []uint32 {
	numbers := make([]uint32, 0, count)
	for s := range f.Slots(0, f.end) {
		numbers = append(numbers, s.number)
	}
	slices.SortFunc(numbers, func(a, b uint32) int { return cmp.Compare(f.ID(a), f.ID(b)) })
	return numbers
}
