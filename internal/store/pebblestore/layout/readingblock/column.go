package readingblock

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// A column of integers is
//
//	form 1 byte: model, and the width in its lower six bits | { zigzag }… of the model | rests
//
// The model predicts each number, and the rests are what it misses by:
//
//	level    a number is as the one before; the first is stored
//	slope    a number differs from the one before as that from its own; the first two are stored
//
// A rest, zigzag, is a Rice code: what is above its lowest width bits as so many ones and a zero,
// then those bits. One that is far off is farOff ones, and 64 bits. Where each rest is 0, none is
// written, and the width is noRests.
const (
	level = iota << 6
	slope
)

const (
	farOff    = 24
	noRests   = 63
	widthBits = 0x3f
)

// integers encodes integers. It uses its memory again.
type integers struct {
	rests, best []uint64
}

// append encodes a column by the model that takes the fewest bits.
func (x *integers) append(b []byte, v []int64) []byte {
	least, model, width := math.MaxInt, byte(0), uint(0)
	for _, m := range []byte{level, slope} {
		x.rests = predict(x.rests[:0], v, m)
		w, bits := riceWidth(x.rests)
		if bits += 8 * len(appendFirst(nil, v, m)); bits < least {
			least, model, width = bits, m, w
			x.rests, x.best = x.best, x.rests
		}
	}
	b = appendFirst(append(b, model|byte(width)), v, model)
	if width == noRests {
		return b
	}
	w := bitWriter{b: b}
	for _, rest := range x.best {
		if q := rest >> width; q < farOff {
			w.write(1<<(q+1)-2, uint(q)+1)
			w.write(rest&(1<<width-1), width)
		} else {
			w.write(1<<farOff-1, farOff)
			w.write(rest, 64)
		}
	}
	return w.b
}

// riceWidth returns the best width for rests, and how many bits they take then.
func riceWidth(rests []uint64) (width uint, least int) {
	sum := uint64(0)
	for _, r := range rests {
		sum = max(sum, sum+r) // but for what overflows, which is far off
	}
	if sum == 0 {
		return noRests, 0
	}
	mean := uint(bits.Len64(sum / uint64(len(rests))))
	least = math.MaxInt
	for w := max(mean, 2) - 2; w <= min(mean+1, noRests-1); w++ {
		all := 0
		for _, r := range rests {
			if q := r >> w; q < farOff {
				all += int(q) + 1 + int(w)
			} else {
				all += farOff + 64
			}
		}
		if all < least {
			width, least = w, all
		}
	}
	return width, least
}

// appendFirst appends the numbers that a model begins with.
func appendFirst(b []byte, v []int64, model byte) []byte {
	switch {
	case len(v) == 0:
		return b
	case model == slope && len(v) > 1:
		return binary.AppendVarint(binary.AppendVarint(b, v[0]), v[1]-v[0])
	}
	return binary.AppendVarint(b, v[0])
}

// predict appends what a model misses each number by.
func predict(rests []uint64, v []int64, model byte) []uint64 {
	switch model {
	case level:
		for i := 1; i < len(v); i++ {
			rests = append(rests, varint.Zigzag(v[i]-v[i-1]))
		}
	case slope:
		for i := 2; i < len(v); i++ {
			rests = append(rests, varint.Zigzag(v[i]-2*v[i-1]+v[i-2]))
		}
	}
	return rests
}

// integers reads the first of n integers of a column, as many as v has.
func (r *reader) integers(v []int64, n int) {
	form := r.Byte()
	var first, step int64
	if n > 0 {
		first = r.Signed()
	}
	if form&^widthBits == slope && n > 1 {
		step = r.Signed()
	}
	rests := rice{bitReader{b: r.Rest}, uint(form & widthBits)}
	switch form &^ widthBits {
	case level, slope:
		for i := range v {
			if i > 0 && form&^widthBits == level {
				first += rests.next()
			} else if i > 0 {
				if i > 1 {
					step += rests.next()
				}
				first += step
			}
			v[i] = first
		}
	default:
		r.Bad = true
	}
	r.Bad = r.Bad || rests.bad
}

type rice struct {
	bitReader
	width uint
}

func (r *rice) next() int64 {
	if r.width == noRests {
		return 0
	}
	q := r.ones(farOff)
	if q == farOff {
		return varint.Unzigzag(r.read(64))
	}
	return varint.Unzigzag(uint64(q)<<r.width | r.read(r.width))
}

// A column of values is
//
//	kind 1 byte | column
//	kind    0 to 15: how many digits are after the point: the column is of integers, which the
//	        values are 10 to the power of the kind times
//	        listed: count | column of the values, each once, rising | integers: which each is
//	        different: the bits in which each differs from the one before, the first from 0: the
//	        lowest byte of each, then the next one of each, and so on. The highest are mostly
//	        alike, so the engine packs them.
const (
	mostDigits = 15
	listed     = 0xfe
	different  = 0xff
	exact      = 1 << 53 // integers below it are exact as floats
	floatBytes = 8
)

// values encodes values. It uses its memory again.
type values struct {
	integers
	whole        []int64
	list         []float64
	plain, coded []byte
}

// append encodes a column in the way that takes the fewest bytes.
func (x *values) append(b []byte, v []float64) []byte {
	from := len(b)
	b = x.appendPlain(b, v)
	if !x.repeats(v) {
		return b
	}
	x.coded = binary.AppendUvarint(append(x.coded[:0], listed), uint64(len(x.list)))
	var list []byte
	list = x.appendPlain(list, x.list)
	x.coded = varint.AppendText(x.coded, list)
	x.whole = x.whole[:0]
	for _, is := range v {
		at, _ := slices.BinarySearchFunc(x.list, is, compareBits)
		x.whole = append(x.whole, int64(at))
	}
	if x.coded = x.integers.append(x.coded, x.whole); len(x.coded) < len(b)-from {
		return append(b[:from], x.coded...)
	}
	return b
}

// repeats makes x.list the values, each once, and reports whether they may be worth a list.
func (x *values) repeats(v []float64) bool {
	x.list = append(x.list[:0], v...)
	slices.SortFunc(x.list, compareBits)
	same := func(a, b float64) bool { return compareBits(a, b) == 0 }
	x.list = slices.CompactFunc(x.list, same)
	return len(x.list) > 1 && len(x.list) < len(v)/2
}

func compareBits(a, b float64) int {
	if a == b {
		return cmp.Compare(math.Float64bits(b), math.Float64bits(a))
	}
	return cmp.Compare(a, b)
}

// appendPlain encodes a column without a list.
func (x *values) appendPlain(b []byte, v []float64) []byte {
	from := len(b)
	b = appendDifferent(append(b, different), v)
	digits, ok := x.decimals(v)
	if !ok {
		return b
	}
	x.plain = x.integers.append(append(x.plain[:0], digits), x.whole)
	if len(x.plain) < len(b)-from {
		return append(b[:from], x.plain...)
	}
	return b
}

// decimals makes x.whole the values without their point, where it gives back each to the bit.
func (x *values) decimals(v []float64) (digits byte, ok bool) {
	for i := range v {
		for !isDecimal(v[i], digits) {
			if digits++; digits > mostDigits {
				return 0, false
			}
		}
	}
	x.whole = x.whole[:0]
	for i := range v {
		// With more digits than it has itself, a large value may not be exact.
		if !isDecimal(v[i], digits) {
			return 0, false
		}
		x.whole = append(x.whole, int64(math.Round(v[i]*powers[digits])))
	}
	return digits, true
}

var powers = [mostDigits + 1]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
}

func isDecimal(v float64, digits byte) bool {
	whole := math.Round(v * powers[digits])
	if !(math.Abs(whole) < exact) {
		return false
	}
	return math.Float64bits(float64(int64(whole))/powers[digits]) == math.Float64bits(v)
}

func appendDifferent(b []byte, v []float64) []byte {
	from, last := len(b), uint64(0)
	b = append(b, make([]byte, floatBytes*len(v))...)
	for i := range v {
		is := math.Float64bits(v[i])
		for n, x := 0, is^last; n < floatBytes; n++ {
			b[from+n*len(v)+i] = byte(x >> (8 * n))
		}
		last = is
	}
	return b
}

// values reads the first of n values of a column, as many as v has. whole has as many elements.
func (r *reader) values(v []float64, n int, whole []int64) {
	if len(r.Rest) == 0 || r.Rest[0] != listed {
		r.plain(v, n, whole)
		return
	}
	r.Byte()
	list := make([]float64, r.Number(n))
	column := r.sized()
	column.plain(list, len(list), make([]int64, len(list)))
	r.Bad = r.Bad || column.Bad
	r.integers(whole, n)
	for i, at := range whole {
		if r.Bad || at < 0 || at >= int64(len(list)) {
			r.Bad = true
			return
		}
		v[i] = list[at]
	}
}

func (r *reader) plain(v []float64, n int, whole []int64) {
	kind := r.Byte()
	if kind == different {
		r.different(v, n)
		return
	}
	if kind > mostDigits {
		r.Bad = true
		return
	}
	r.integers(whole, n)
	for i := range v {
		v[i] = float64(whole[i]) / powers[kind]
	}
}

// different reads the first of n values, as many as v has.
func (r *reader) different(v []float64, n int) {
	if r.Bad = r.Bad || len(r.Rest) != floatBytes*n || len(v) > n; r.Bad {
		return
	}
	last := uint64(0)
	for i := range v {
		for at := range floatBytes {
			last ^= uint64(r.Rest[at*n+i]) << (8 * at)
		}
		v[i] = math.Float64frombits(last)
	}
}
