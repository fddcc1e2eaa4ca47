package eventlog

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// A block is entries of one device and day, newest first. What repeats is said once:
//
//	block     entries count | unit 1 byte | names | states | operators | times | texts
//	names     how many count | { text }…          of the states and operators of the block
//	states    { name count | entries count }…     runs, together as long as the block
//	operators the same
//	times     { zigzag }…                         of each but the first: how much longer it is
//	                                              to the one before than from that to its own,
//	                                              in units; the first one is known to the reader
//	texts     { shared count | rest text }…       of the messages, then of the attributes:
//	                                              how many bytes are those of the one before
//	unit      0 µs, 1 ms, 2 s: the longest that all times are whole numbers of

// MaxBlock is how many entries a block has at most, unless more are of one instant. It keeps the
// reading of one entry short.
const MaxBlock = 256

// BlockOf returns how many of the entries of a device and day, newest first, the next block has:
// MaxBlock, or more where more are of one instant. So no two blocks have entries of one instant.
func BlockOf(entries []Entry) int {
	n := min(MaxBlock, len(entries))
	for n < len(entries) && entries[n].Time == entries[n-1].Time {
		n++
	}
	return n
}

// Encoder encodes blocks. It uses its memory again.
type Encoder struct {
	number map[string]int
	names  []string
	ids    [2][]int // of the states and operators of the entries
	texts  [2][][]byte
}

// Append encodes entries of one device, newest first, those of BlockOf.
func (x *Encoder) Append(b []byte, entries []Entry) []byte {
	x.gather(entries)
	unit := varint.UnitOf(len(entries), func(i int) andon.Time { return entries[i].Time })
	b = append(binary.AppendUvarint(b, uint64(len(entries))), unit)
	b = binary.AppendUvarint(b, uint64(len(x.names)))
	for _, name := range x.names {
		b = varint.AppendText(b, name)
	}
	b = appendRuns(appendRuns(b, x.ids[0]), x.ids[1])
	last := andon.Time(0)
	for i := 1; i < len(entries); i++ {
		gap := (entries[i-1].Time - entries[i].Time) / varint.Units[unit]
		b = binary.AppendVarint(b, int64(gap-last))
		last = gap
	}
	return appendTexts(appendTexts(b, x.texts[0]), x.texts[1])
}

func (x *Encoder) gather(entries []Entry) {
	x.names = x.names[:0]
	clear(x.number)
	if x.number == nil {
		x.number = map[string]int{}
	}
	for column := range 2 {
		x.ids[column], x.texts[column] = x.ids[column][:0], x.texts[column][:0]
	}
	var last [2]int
	for i := range entries {
		e := &entries[i]
		x.ids[0] = append(x.ids[0], x.name(string(e.State), &last[0]))
		x.ids[1] = append(x.ids[1], x.name(string(e.Operator), &last[1]))
		x.texts[0] = append(x.texts[0], e.Message)
		x.texts[1] = append(x.texts[1], e.Attributes)
	}
}

// name returns the number of a name; last is that of the entry before, which mostly has the same.
func (x *Encoder) name(name string, last *int) int {
	if *last < len(x.names) && x.names[*last] == name {
		return *last
	}
	n, ok := x.number[name]
	if !ok {
		n = len(x.names)
		x.names = append(x.names, name)
		x.number[name] = n
	}
	*last = n
	return n
}

func appendRuns(b []byte, ids []int) []byte {
	for from := 0; from < len(ids); {
		n := 1
		for from+n < len(ids) && ids[from+n] == ids[from] {
			n++
		}
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(ids[from])), uint64(n))
		from += n
	}
	return b
}

func appendTexts(b []byte, texts [][]byte) []byte {
	var last []byte
	for _, text := range texts {
		b, last = varint.AppendAfter(b, last, text), text
	}
	return b
}

// Decoder decodes blocks. It uses its memory again: what it returns is valid until the next one.
type Decoder struct {
	varint.Reader
	entries []Entry
	names   []string
	texts   []byte // of a column, one after the other
	ends    []int
}

// Entries decodes a block whose newest entry is of a time.
func (d *Decoder) Entries(value []byte, newest andon.Time) ([]Entry, error) {
	entries, err := d.Rows(value, newest, func(andon.State) bool { return true })
	if err == nil {
		err = d.Texts(len(entries))
	}
	if err == nil && len(d.Rest) > 0 {
		err = varint.ErrDamaged
	}
	return entries, err
}

// Rows decodes the entries of a block without their texts; none, where it has no entry in a state
// that is wanted. Strings are valid for good.
func (d *Decoder) Rows(
	value []byte, newest andon.Time, want func(andon.State) bool,
) ([]Entry, error) {
	d.Reader = varint.Reader{Rest: value}
	n := d.Number(len(value)) // an entry takes more than a byte
	unit := d.Byte()
	if d.Bad || n == 0 || int(unit) >= len(varint.Units) {
		return nil, varint.ErrDamaged
	}
	d.entries = append(d.entries[:0], make([]Entry, n)...)
	d.readNames()
	wanted := false
	d.runs(func(run []Entry, name string) {
		wanted = wanted || want(andon.State(name))
		for i := range run {
			run[i].State = andon.State(name)
		}
	})
	if !wanted && !d.Bad {
		return nil, nil
	}
	d.runs(func(run []Entry, name string) {
		for i := range run {
			run[i].Operator = andon.PersonID(name)
		}
	})
	d.times(newest, varint.Units[unit])
	return d.entries, d.Err()
}

// Texts gives the first n of the entries that Rows returned their texts, once, and at least one.
// Texts are valid until the next block.
func (d *Decoder) Texts(n int) error {
	const usual = 64 // bytes of a message and attributes
	d.texts, d.ends = slices.Grow(d.texts[:0], n*usual), slices.Grow(d.ends[:0], 2*n)
	d.column(n)
	d.pass(len(d.entries) - n)
	d.column(n)
	if d.Bad {
		return varint.ErrDamaged
	}
	from := [2]int{0, d.ends[n-1]}
	for i := range n {
		to := [2]int{d.ends[i], d.ends[n+i]}
		d.entries[i].Message = d.texts[from[0]:to[0]:to[0]]
		d.entries[i].Attributes = d.texts[from[1]:to[1]:to[1]]
		from = to
	}
	return nil
}

func (d *Decoder) readNames() {
	n := d.Number(len(d.Rest))
	if n > len(d.names) {
		d.names = append(d.names, make([]string, n-len(d.names))...)
	}
	d.names = d.names[:n]
	for i := range d.names {
		// Blocks of a device have the same names, so nearly always the string is there.
		if name := d.Text(); string(name) != d.names[i] {
			d.names[i] = string(name)
		}
	}
}

func (d *Decoder) runs(each func(run []Entry, name string)) {
	for rest := d.entries; len(rest) > 0 && !d.Bad; {
		id, n := d.Count(), d.Number(len(rest))
		if d.Bad || id >= uint64(len(d.names)) || n == 0 {
			d.Bad = true
			return
		}
		each(rest[:n], d.names[id])
		rest = rest[n:]
	}
}

func (d *Decoder) times(newest, unit andon.Time) {
	d.entries[0].Time = newest
	gap := andon.Time(0)
	for i := 1; i < len(d.entries); i++ {
		gap += andon.Time(d.Signed())
		d.entries[i].Time = d.entries[i-1].Time - gap*unit
	}
}

// column decodes the first n texts of a column.
func (d *Decoder) column(n int) {
	from := len(d.texts)
	for range n {
		before := from
		from = len(d.texts)
		shared, rest := d.text(from - before)
		d.texts = append(d.texts, d.texts[before:before+shared]...)
		d.texts = append(d.texts, rest...)
		d.ends = append(d.ends, len(d.texts))
		if len(d.texts)-from > andon.MaxJSONBytes+andon.MaxMessageBytes {
			d.Bad = true // so that damage takes no more memory than entries do
		}
		if d.Bad {
			return
		}
	}
}

// text reads how many bytes a text has of the one before, at most most, and its rest. Nearly all
// are short, which is read at once.
func (d *Decoder) text(most int) (shared int, rest []byte) {
	const long = 0x80 // as a count of one byte is not
	if b := d.Rest; len(b) > 1 && b[0] < long && b[1] < long && int(b[0]) <= most {
		if end := 2 + int(b[1]); end <= len(b) {
			d.Rest = b[end:]
			return int(b[0]), b[2:end]
		}
	}
	return d.Number(most), d.Text()
}

// pass passes over n texts.
func (d *Decoder) pass(n int) {
	for ; n > 0 && !d.Bad; n-- {
		d.text(math.MaxInt)
	}
}

// BlockEntries returns how many entries a block has.
func BlockEntries(block []byte) (n int, ok bool) {
	entries, size := binary.Uvarint(block)
	return int(entries), size > 0 && entries > 0 && entries <= math.MaxInt32
}
