package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/jsonout"
)

// buffer is a long answer while it is written, before its first byte is sent. It is in memory until
// the client has read it, and a client may take its time. So all of it counts: intake has one
// budget for requests and answers, and when that is used up the answer is Busy.
//
// It is kept in parts, since one slice that grows is twice as large as what is in it, and three
// times while it is copied.
type buffer struct {
	c        *call
	parts    [][]byte
	size     int64 // of the content
	capacity int64 // of the parts
	taken    int64 // from intake's budget
	item     []byte
}

const (
	leastPart = 4 << 10
	mostPart  = 256 << 10
)

func (c *call) newBuffer() *buffer {
	b := &buffer{c: c}
	c.undo = append(c.undo, b.giveBack)
	return b
}

// expect takes memory from the budget until there is enough for n bytes: all that is missing, or
// none of it. Otherwise answers that each took what is left could all get stuck halfway.
func (b *buffer) expect(n int64) error {
	if n <= b.taken {
		return nil
	}
	part := max(n-b.taken, leastPart)
	if err := b.c.intake.Answers.Take(part); err != nil {
		b.c.metrics.refused("memory")
		return errNoMemory
	}
	b.taken += part
	return nil
}

var errNoMemory = andon.Errorf(andon.Busy,
	"too much is being sent and fetched at once: try again in a second, or with a smaller limit")

// keep gives back what is not needed for n bytes.
func (b *buffer) keep(n int64) {
	if n < b.taken {
		b.c.intake.Answers.Give(b.taken - n)
		b.taken = n
	}
}

// giveBack gives back all memory, at the end of the call.
func (b *buffer) giveBack() { b.keep(0) }

// Write appends p.
func (b *buffer) Write(p []byte) (int, error) { return len(p), write(b, p) }

func (b *buffer) text(t string) error { return write(b, t) }

func write[T string | []byte](b *buffer, p T) error {
	b.size += int64(len(p))
	for len(p) > 0 {
		last, err := b.part()
		if err != nil {
			return err
		}
		n := min(len(p), cap(*last)-len(*last))
		*last = append(*last, p[:n]...)
		p = p[n:]
	}
	return nil
}

// part returns the last part, which has space. A new one is as large as all before it.
func (b *buffer) part() (*[]byte, error) {
	n := len(b.parts)
	if n == 0 || len(b.parts[n-1]) == cap(b.parts[n-1]) {
		size := min(max(b.capacity, leastPart), mostPart)
		if err := b.expect(b.capacity + size); err != nil {
			return nil, err
		}
		b.parts = append(b.parts, make([]byte, 0, size))
		b.capacity += size
		n++
	}
	return &b.parts[n-1], nil
}

// foresee makes the first part large enough for n bytes, so that most answers have one part, and
// are sent by one call of the operating system.
func (b *buffer) foresee(n int64) error {
	n = min(n, mostPart)
	if err := b.expect(n); err != nil || len(b.parts) != 1 || n <= b.capacity {
		return err
	}
	b.parts[0] = append(make([]byte, 0, n), b.parts[0]...)
	b.capacity = n
	return nil
}

// json appends a value, which is a pointer.
func (b *buffer) json(value any) (err error) {
	b.item, err = appendJSON(b.item[:0], value)
	if err != nil {
		return fmt.Errorf("write answer of %s: %w", b.c.route.name, err)
	}
	return write(b, b.item)
}

// appendJSON appends a value, which is a pointer, without HTML escapes.
func appendJSON(text []byte, value any) ([]byte, error) {
	if text, written := jsonout.Append(text, value); written {
		return text, nil
	}
	encoded := bytes.NewBuffer(text)
	encoder := json.NewEncoder(encoded)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(encoded.Bytes(), []byte("\n")), err
}

// array is an array in a buffer while it is written.
type array struct {
	*buffer
	count   int
	largest int64 // of its items, in bytes
}

// add appends an item. expected is how many there are likely to be, and most how many bytes: from
// the largest item so far follows what memory the rest may need, both here and where the store
// holds some items ready. So a page of small items takes little memory, and one of large items
// takes all that it needs at its first.
func (a *array) add(item any, expected int, most int64) error {
	if a.count > 0 {
		if err := a.text(","); err != nil {
			return err
		}
	}
	begin := a.size
	if err := a.json(item); err != nil {
		return err
	}
	a.count++
	a.largest = max(a.largest, a.size-begin)
	all := min(a.largest*int64(expected), most)
	if err := a.expect(all); err != nil || a.count > 1 {
		return err
	}
	return a.foresee(begin + all + all/8)
}

// send sends the answer. Until the client has read it, it holds the memory that it really takes.
func (b *buffer) send() {
	b.c.end()
	b.keep(b.capacity)
	b.c.x.set("Content-Type", typeJSON)
	b.c.x.set("Content-Length", strconv.FormatInt(b.size, 10))
	b.c.x.WriteHeader(b.c.status)
	_ = b.flush() // that the client is gone changes nothing
}

// flush sends the parts.
func (b *buffer) flush() error {
	for i, part := range b.parts {
		if _, err := b.c.x.Write(part); err != nil {
			return err
		}
		b.parts[i] = nil
	}
	b.parts = nil
	return nil
}

// flushLines sends what is written so far of an answer that goes on, and gives its memory back.
func (b *buffer) flushLines(media string) error {
	if b.c.x.status == 0 {
		b.c.x.Header().Set("Content-Type", media)
		b.c.x.WriteHeader(b.c.status)
	}
	if err := b.flush(); err != nil {
		return err
	}
	b.size, b.capacity = 0, 0
	b.giveBack()
	return nil
}
