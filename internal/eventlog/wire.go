// Package eventlog holds the forms that the entries of a log take on their way to rest: the rows
// of requests, the head in memory, and blocks by device and day. It is pure: it knows no engine,
// no clock and no locks. Devices are numbers here, which the store gives; tenants too.
package eventlog

import (
	"encoding/binary"
	"errors"

	"github.com/andonhq/andon"
)

// ErrDamaged says that bytes are not of their form.
var ErrDamaged = errors.New("damaged")

// Entry is one entry of a device.
type Entry struct {
	Time       andon.Time
	State      andon.State
	Operator   andon.PersonID
	Message    []byte
	Attributes []byte
}

// A count is an unsigned varint; a text is its length as a count, then its bytes.

func appendText[S ~string | ~[]byte](b []byte, s S) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// reader takes bytes apart. Behind the first part that is not of its form it is bad, and reads
// zeros: so each decoder looks at bad once, at its end, and can't read beyond what there is.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) count() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 { // as nearly all are
		n := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) signed() int64 {
	n := r.count()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) text() []byte { return r.bytes(r.count()) }

// number reads a count that may be at most most.
func (r *reader) number(most int) int {
	n := r.count()
	if n > uint64(most) {
		r.rest, r.bad = nil, true
		return 0
	}
	return int(n)
}
