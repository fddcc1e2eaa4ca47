package eventlog

import (
	"encoding/binary"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// The entries of one device in the row of a request. The names of states and people are once at
// the beginning of the row:
//
//	names    how many count | { text }…
//	entries  how many count | { entry }…
//	entry    time zigzag, from that of the one before, the first from a base |
//	         state name | operator name | message text | attributes text
//	name     0 none; 1 text; 2 and more: the one of names, counted from 2
//
// A row is complete by itself: it is read again without anything else.
const (
	nameNone = iota
	nameText
	nameFirst
)

// What keeps a row's names short, however many and long they are: the others are where they are
// used. A large request has many rows, and each of them has the names of the whole request. A name
// that is in the list is one byte where it is used.
const (
	mostNames     = 0x80 - nameFirst
	mostNameBytes = 1 << 10
)

// Names are the names of a row that is being written.
type Names struct {
	list   []string
	number map[string]byte
	bytes  int      // of all in the list
	last   [2]named // the state and the operator of the last entry: mostly also of the next
}

type named struct {
	name   string
	number byte
}

// Append encodes the names. No more may be used after it.
func (n *Names) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(n.list)))
	for _, name := range n.list {
		b = varint.AppendText(b, name)
	}
	return b
}

func (n *Names) use(b []byte, name string, last *named) []byte {
	if name == "" {
		return append(b, nameNone)
	}
	if last.name == name {
		return append(b, last.number)
	}
	number, ok := n.number[name]
	if !ok {
		if len(n.list) == mostNames || n.bytes+len(name) > mostNameBytes {
			return varint.AppendText(append(b, nameText), name)
		}
		if n.number == nil {
			n.number = map[string]byte{}
		}
		name = strings.Clone(name)
		n.bytes += len(name)
		number = nameFirst + byte(len(n.list))
		n.list = append(n.list, name)
		n.number[name] = number
	}
	*last = named{name, number}
	return append(b, number)
}

// AppendEntries encodes events of one device with the operators that answer for them.
func (n *Names) AppendEntries(
	b []byte, base andon.Time, events []andon.Event, operators []andon.PersonID,
) []byte {
	b = binary.AppendUvarint(b, uint64(len(events)))
	for i := range events {
		e := &events[i]
		b = binary.AppendVarint(b, int64(e.Time-base))
		b = n.use(b, string(e.State), &n.last[0])
		b = n.use(b, string(operators[i]), &n.last[1])
		b, base = varint.AppendText(varint.AppendText(b, e.Message), e.Attributes), e.Time
	}
	return b
}

// Row reads the row of a request.
type Row struct {
	varint.Reader
	names []string
}

// ReadNames begins with the names of a row, and returns the bytes after them.
func (r *Row) ReadNames(b []byte) (rest []byte, err error) {
	r.Reader = varint.Reader{Rest: b}
	before := r.names
	r.names = r.names[:0]
	for n := r.Number(mostNames); n > 0 && !r.Bad; n-- {
		name := r.Text()
		if at := len(r.names); at < len(before) && before[at] == string(name) {
			r.names = before[:at+1] // as where rows of the same devices follow each other
		} else {
			r.names = append(r.names, string(name))
		}
	}
	return r.Rest, r.Err()
}

func (r *Row) name() string {
	switch n := r.Count(); {
	case n == nameNone:
	case n == nameText:
		return string(r.Text())
	case n-nameFirst < uint64(len(r.names)):
		return r.names[n-nameFirst]
	default:
		r.Bad = true
	}
	return ""
}

// ReadEntries reads the entries of one device, and returns the bytes after them. What it visits is
// valid for as long as b, strings for good.
func (r *Row) ReadEntries(
	b []byte, base andon.Time, visit func(Entry),
) (rest []byte, last andon.Time, err error) {
	r.Reader = varint.Reader{Rest: b}
	for n := r.Count(); n > 0 && !r.Bad; n-- {
		e := Entry{Time: base + andon.Time(r.Signed())}
		e.State, e.Operator = andon.State(r.name()), andon.PersonID(r.name())
		e.Message, e.Attributes = r.Text(), r.Text()
		if !r.Bad {
			visit(e)
		}
		base = e.Time
	}
	return r.Rest, base, r.Err()
}
