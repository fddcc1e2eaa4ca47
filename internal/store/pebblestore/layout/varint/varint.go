// Package varint takes stored bytes apart, and puts their parts together: counts, which are
// unsigned varints (LEB128, as encoding/binary has them), signed ones in zigzag, and texts, which
// are their length as a count and then their bytes. It must not know what they mean, but for times.
package varint

import (
	"encoding/binary"

	"github.com/andonhq/andon"
)

// ErrDamaged says that bytes are not of their form.
var ErrDamaged = andon.Errorf(andon.Damaged,
	"the store is damaged: a stored value is not of its form")

// AppendText appends a text.
func AppendText[S ~string | ~[]byte](b []byte, s S) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendAfter appends a text after another: how many bytes they share as a count, then the rest.
func AppendAfter[S ~string | ~[]byte](b []byte, last, s S) []byte {
	shared := 0
	for shared < min(len(s), len(last)) && s[shared] == last[shared] {
		shared++
	}
	return AppendText(binary.AppendUvarint(b, uint64(shared)), s[shared:])
}

// UnitOf returns the longest of the Units that all of n times are whole numbers of, by its index.
func UnitOf(n int, time func(i int) andon.Time) byte {
	unit := byte(len(Units) - 1)
	for i := range n {
		for unit > 0 && time(i)%Units[unit] != 0 {
			unit--
		}
	}
	return unit
}

// Units are those that blocks have times in.
var Units = [...]andon.Time{1, 1_000, 1_000_000}

// Zigzag maps integers that are close to 0 to small counts.
func Zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

// Unzigzag takes back Zigzag.
func Unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// Reader takes bytes apart. After the first part that is not of its form it is bad, and reads
// zeros: so each decoder looks at Bad once, at its end, and can't read beyond what there is. A
// decoder may set Bad itself.
type Reader struct {
	Rest []byte
	Bad  bool
}

// Err returns ErrDamaged once the reader is bad.
func (r *Reader) Err() error {
	if r.Bad {
		return ErrDamaged
	}
	return nil
}

func (r *Reader) fail() { r.Rest, r.Bad = nil, true }

// Count reads a count.
func (r *Reader) Count() uint64 {
	if len(r.Rest) > 0 && r.Rest[0] < 0x80 { // as nearly all are
		n := r.Rest[0]
		r.Rest = r.Rest[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(r.Rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.Rest = r.Rest[size:]
	return n
}

// Number reads a count that may be at most most.
func (r *Reader) Number(most int) int {
	n := r.Count()
	if n > uint64(most) {
		r.fail()
		return 0
	}
	return int(n)
}

// Signed reads a count in zigzag.
func (r *Reader) Signed() int64 { return Unzigzag(r.Count()) }

// Byte reads one byte.
func (r *Reader) Byte() (c byte) {
	if len(r.Rest) == 0 {
		r.Bad = true
		return 0
	}
	c, r.Rest = r.Rest[0], r.Rest[1:]
	return c
}

// Text reads a text, which is valid for as long as the bytes.
func (r *Reader) Text() []byte {
	n := r.Count()
	if n > uint64(len(r.Rest)) {
		r.fail()
		return nil
	}
	b := r.Rest[:n:n]
	r.Rest = r.Rest[n:]
	return b
}

// Sized returns a reader of a part that says its length as a text does.
func (r *Reader) Sized() Reader {
	b := r.Text()
	return Reader{Rest: b, Bad: r.Bad}
}

// Interner keeps one string of each name. Nearly all names were used recently, and need no lookup
// in the map, which would be a third of the time that a device takes to decode.
type Interner struct {
	all    map[string]string
	recent [256]string // by the last bytes and the length
}

// NewInterner returns an empty Interner.
func NewInterner() *Interner { return &Interner{all: map[string]string{}} }

// Intern returns the string of a name.
func (m *Interner) Intern(text []byte) string {
	n := len(text)
	if m == nil || n == 0 {
		return string(text)
	}
	recent := &m.recent[(n+int(text[n-1])+7*int(text[max(n-2, 0)]))%len(m.recent)]
	if *recent == string(text) {
		return *recent
	}
	name, met := m.all[string(text)]
	if !met {
		name = string(text)
		m.all[name] = name
	}
	*recent = name
	return name
}
