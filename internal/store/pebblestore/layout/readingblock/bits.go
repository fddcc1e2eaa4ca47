package readingblock

import (
	"encoding/binary"
	"math/bits"
)

// bitWriter appends bits to bytes, the highest of a byte first.
type bitWriter struct {
	b    []byte
	free uint // bits of the last byte that are not used
}

func (w *bitWriter) write(v uint64, n uint) {
	for n > 0 {
		if w.free == 0 {
			w.b, w.free = append(w.b, 0), 8
		}
		take := min(n, w.free)
		part := v >> (n - take) & (1<<take - 1)
		w.free -= take
		w.b[len(w.b)-1] |= byte(part << w.free)
		n -= take
	}
}

// bitReader reads what bitWriter wrote. After the end it is bad, and reads zeros.
type bitReader struct {
	b    []byte
	next uint64 // bits that were taken from b, the highest first
	have uint
	bad  bool
}

// fill has at least 57 bits in next, unless the bytes end.
func (r *bitReader) fill() {
	if len(r.b) >= 8 {
		r.next |= binary.BigEndian.Uint64(r.b) >> r.have
		taken := (64 - r.have) / 8
		r.b = r.b[taken:]
		r.have += taken * 8
		r.next &= ^uint64(0) << (64 - r.have) // the others come with the next bytes
		return
	}
	for r.have <= 56 && len(r.b) > 0 {
		r.next |= uint64(r.b[0]) << (56 - r.have)
		r.b = r.b[1:]
		r.have += 8
	}
}

func (r *bitReader) read(n uint) uint64 {
	const half = 32
	if n > half {
		return r.read(n-half)<<half | r.read(half)
	}
	if n == 0 {
		return 0
	}
	if r.have < n {
		if r.fill(); r.have < n {
			r.bad = true
			return 0
		}
	}
	v := r.next >> (64 - n)
	r.next <<= n
	r.have -= n
	return v
}

// ones reads ones up to the first zero, which it takes as well, or up to most of them. most is at
// most 32.
func (r *bitReader) ones(most uint) uint {
	if r.have <= most {
		r.fill()
	}
	n := uint(bits.LeadingZeros64(^r.next))
	if n >= most {
		if r.have < most {
			r.bad = true
			return 0
		}
		r.next <<= most
		r.have -= most
		return most
	}
	if r.have < n+1 {
		r.bad = true
		return 0
	}
	r.next <<= n + 1
	r.have -= n + 1
	return n
}
