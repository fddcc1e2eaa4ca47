// Package buffer holds long answers while they are written, before their first byte is sent.
//
// An answer is in memory until the client has read it, and a client may take its time. So all of it
// counts: one budget is for all answers, and when that is used up the answer is Busy.
//
// The package knows no request. How a value is written as JSON is jsonout's.
package buffer

import (
	"io"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/jsonout"
)

// Buffer is an answer while it is written. It is kept in parts, since one slice that grows is twice
// as large as what is in it, and three times while it is copied. It is for one goroutine. After an
// error nothing more is written; Err says which it was.
type Buffer struct {
	budget   *intake.Budget
	refused  func() // called where there is not enough memory
	parts    [][]byte
	size     int64 // of the content
	capacity int64 // of the parts
	taken    int64 // from the budget
	item     []byte
	err      error
}

// New makes a Buffer. Free ends it.
func New(budget *intake.Budget, refused func()) *Buffer {
	return &Buffer{budget: budget, refused: refused}
}

// Err is the first error of writing.
func (b *Buffer) Err() error { return b.err }

// Size is how many bytes were written since the last Flush.
func (b *Buffer) Size() int64 { return b.size }

const (
	leastPart = 4 << 10
	mostPart  = 256 << 10
)

// expect takes memory from the budget until there is enough for n bytes: all that is missing, or
// none of it. Otherwise answers that each took what is left could all get stuck halfway.
func (b *Buffer) expect(n int64) {
	if n <= b.taken || b.err != nil {
		return
	}
	part := max(n-b.taken, leastPart)
	if b.budget.Take(part) != nil {
		b.refused()
		b.err = errNoMemory
		return
	}
	b.taken += part
}

var errNoMemory = andon.Errorf(andon.Busy,
	"too much is being sent and fetched at once: try again in a second, or with a smaller limit")

// keep gives back what is not needed for n bytes.
func (b *Buffer) keep(n int64) {
	if n < b.taken {
		b.budget.Give(b.taken - n)
		b.taken = n
	}
}

// Trim gives back the memory that the content does not really take. An answer does so before it is
// sent.
func (b *Buffer) Trim() { b.keep(b.capacity) }

// Free gives back all memory.
func (b *Buffer) Free() { b.keep(0) }

// Write appends p.
func (b *Buffer) Write(p []byte) (int, error) {
	write(b, p)
	return len(p), b.err
}

// Text appends a text.
func (b *Buffer) Text(t string) { write(b, t) }

// write appends p. A new part is as large as all before it.
func write[T string | []byte](b *Buffer, p T) {
	b.size += int64(len(p))
	for len(p) > 0 && b.err == nil {
		last := len(b.parts) - 1
		if last < 0 || len(b.parts[last]) == cap(b.parts[last]) {
			size := min(max(b.capacity, leastPart), mostPart)
			if b.expect(b.capacity + size); b.err != nil {
				return
			}
			b.parts = append(b.parts, make([]byte, 0, size))
			b.capacity += size
			last++
		}
		n := min(len(p), cap(b.parts[last])-len(b.parts[last]))
		b.parts[last] = append(b.parts[last], p[:n]...)
		p = p[n:]
	}
}

// foresee makes the first part large enough for n bytes, so that most answers have one part, and
// are sent by one call of the operating system.
func (b *Buffer) foresee(n int64) {
	n = min(n, mostPart)
	if b.expect(n); b.err == nil && len(b.parts) == 1 && n > b.capacity {
		b.parts[0] = append(make([]byte, 0, n), b.parts[0]...)
		b.capacity = n
	}
}

// JSON appends a value, which is a pointer.
func (b *Buffer) JSON(value any) {
	item, err := jsonout.Append(b.item[:0], value)
	if b.item = item; err != nil {
		b.err = err
		return
	}
	write(b, item)
}

// Array is an array in a Buffer while it is written.
type Array struct {
	*Buffer
	Count   int   // of its items
	largest int64 // of its items, in bytes
}

// Add appends an item. expected is how many there are likely to be, and most how many bytes: from
// the largest item so far follows what memory the rest may need, both here and where the store
// holds some items ready. So a page of small items takes little memory, and one of large items
// takes all that it needs at its first.
func (a *Array) Add(item any, expected int, most int64) {
	if a.Count > 0 {
		a.Text(",")
	}
	begin := a.size
	a.JSON(item)
	a.Count++
	a.largest = max(a.largest, a.size-begin)
	all := min(a.largest*int64(expected), most)
	if a.expect(all); a.Count == 1 {
		a.foresee(begin + all + all/8)
	}
}

// Flush writes the content to w, and empties the buffer of it. The memory is in use until Free.
func (b *Buffer) Flush(w io.Writer) error {
	for i, part := range b.parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
		b.parts[i] = nil
	}
	b.parts, b.size, b.capacity = nil, 0, 0
	return nil
}
