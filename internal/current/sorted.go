package current

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/andonhq/andon"
)

// sorted are devices in the order of their ids, as numbers: 4 bytes each, in parts of a bounded
// length, so that a change moves little. A tree would compare and move the same and take pointers.
type sorted struct {
	parts [][]uint32 // none is empty
	count int
	near  int // the part that was changed last: those of one write stand near each other
}

const partSlots = 256

// cursor is a place among devices in their order.
type cursor struct {
	of       *sorted
	part, at int
	id       andon.DeviceID
}

// seek returns the place of the first device from an id on; false: there is none.
func (f *Fleet) seek(o *sorted, from andon.DeviceID) (c cursor, ok bool) {
	c.of = o
	behind := func(i int) bool { return f.ID(o.parts[i][0]) > from }
	c.part = o.near + 1
	if c.part > len(o.parts) || behind(o.near) || c.part < len(o.parts) && !behind(c.part) {
		c.part = sort.Search(len(o.parts), behind)
	}
	if c.part == 0 {
		return c, f.see(&c)
	}
	c.part--
	part := o.parts[c.part]
	c.at = sort.Search(len(part), func(i int) bool { return f.ID(part[i]) >= from })
	return c, f.see(&c)
}

// see makes the id of a cursor that of its place, which may be behind the end of a part.
func (f *Fleet) see(c *cursor) bool {
	if c.part < len(c.of.parts) && c.at == len(c.of.parts[c.part]) {
		c.part, c.at = c.part+1, 0
	}
	if c.part == len(c.of.parts) {
		return false
	}
	c.id = f.ID(c.number())
	return true
}

func (c *cursor) number() uint32 { return c.of.parts[c.part][c.at] }

// next goes on to the next device; false: there is none.
func (f *Fleet) next(c *cursor) bool {
	c.at++
	return f.see(c)
}

// insert adds a device that is not there.
func (f *Fleet) insert(o *sorted, s *Slot) {
	c, more := f.seek(o, f.id(s))
	o.count++
	if len(o.parts) == 0 {
		o.parts = append(o.parts, nil)
	} else if c.at == 0 && c.part > 0 { // behind the part before
		c.part--
		c.at = len(o.parts[c.part])
	}
	if len(o.parts[c.part]) == partSlots {
		o.divide(&c, more)
	}
	o.near = c.part
	o.parts[c.part] = slices.Insert(o.parts[c.part], c.at, s.number)
}

// divide divides the full part that a cursor is in. Where devices are made in the order of their
// ids, parts stay full.
func (o *sorted) divide(c *cursor, more bool) {
	full, half := o.parts[c.part], partSlots/2
	if !more {
		half = partSlots
	}
	second := append(make([]uint32, 0, partSlots), full[half:]...)
	o.parts[c.part] = full[:half]
	o.parts = slices.Insert(o.parts, c.part+1, second)
	if c.at >= half {
		c.part, c.at = c.part+1, c.at-half
	}
}

// remove takes a device out that is there.
func (f *Fleet) remove(o *sorted, s *Slot) {
	c, _ := f.seek(o, f.id(s))
	o.near = c.part
	part := slices.Delete(o.parts[c.part], c.at, c.at+1)
	o.parts[c.part] = part
	o.count--
	const few = partSlots / 2
	switch next := c.part + 1; {
	case len(part) == 0:
		o.parts = slices.Delete(o.parts, c.part, next)
	case next < len(o.parts) && len(part)+len(o.parts[next]) <= few:
		o.parts[c.part] = append(part, o.parts[next]...)
		o.parts = slices.Delete(o.parts, next, next+1)
	}
}

// fill adds devices to an order that is empty.
func (o *sorted) fill(numbers []uint32) {
	o.count = len(numbers)
	for part := range slices.Chunk(numbers, partSlots) {
		o.parts = append(o.parts, slices.Clone(part))
	}
}

// inOrder returns the numbers of all slots by their ids. Ids of one fleet mostly begin alike; the 8
// bytes behind that are compared as a number, which spares nearly all looks at the ids themselves.
func (f *Fleet) inOrder() []uint32 {
	type sortable struct {
		key    uint64
		number uint32
	}
	all, alike := make([]sortable, 0, f.index.slots), f.alike()
	for s := range f.all() {
		var key [8]byte
		copy(key[:], f.id(s)[alike:])
		all = append(all, sortable{binary.BigEndian.Uint64(key[:]), s.number})
	}
	slices.SortFunc(all, func(a, b sortable) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		case f.ID(a.number) < f.ID(b.number):
			return -1
		}
		return 1
	})
	numbers := make([]uint32, len(all))
	for i := range all {
		numbers[i] = all[i].number
	}
	return numbers
}

// alike returns with how many bytes all ids begin alike.
func (f *Fleet) alike() int {
	n, first := 0, andon.DeviceID("")
	for s := range f.all() {
		id := f.id(s)
		if first == "" {
			first, n = id, len(id)
		}
		n = min(n, len(id))
		for n > 0 && id[:n] != first[:n] {
			n--
		}
	}
	return n
}
