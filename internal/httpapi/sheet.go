package httpapi

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/andonhq/andon"
)

// sheet is a long answer while it is written, before the first byte of it goes out. It is in memory
// until the client has read it, and a client may take its time; so all of it counts: intake has one
// room for what is arriving and what is leaving, and where there is none left the answer is Busy.
//
// It is kept in pieces, since one buffer that grows is twice as large as what is in it, and for a
// moment three times.
type sheet struct {
	c      *call
	pieces [][]byte
	first  *[leastPiece]byte // the first of them
	size   int64             // of the content
	room   int64             // of the pieces
	taken  int64             // of intake's room

	line    paper         // an item while it is written
	encoder *json.Encoder // of what does not write itself; nil until there is some
}

const (
	// leastPiece has room for a page of 100 items as they usually are: each piece is sent by a call
	// of the operating system or two.
	leastPiece = 48 << 10
	mostPiece  = 256 << 10
)

// scratch has pieces that are not in use, since most answers need one.
type scratch struct{ pool sync.Pool }

func (s *scratch) get() *[leastPiece]byte {
	if p, ok := s.pool.Get().(*[leastPiece]byte); ok {
		return p
	}
	return new([leastPiece]byte)
}

// put gives a piece back that was sent whole. Where that failed HTTP/2 may still be reading it.
func (s *scratch) put(p *[leastPiece]byte) {
	if p != nil {
		s.pool.Put(p)
	}
}

func (c *call) newSheet() *sheet {
	s := &sheet{c: c}
	c.undo = append(c.undo, s.giveBack)
	return s
}

// expect takes room until there is enough for n bytes, all that is missing or none of it: answers
// that each took what is left could all get stuck halfway. It is Busy where there is not enough.
func (s *sheet) expect(n int64) error {
	if n <= s.taken {
		return nil
	}
	part := max(n-s.taken, leastPiece)
	if err := s.c.intake.Answers.Take(part); err != nil {
		s.c.metrics.refused("memory")
		return errNoMemory
	}
	s.taken += part
	return nil
}

var errNoMemory = andon.Errorf(andon.Busy,
	"too much is being sent and fetched at once: try again in a second, or with a smaller limit")

// keep gives back what is not needed for n bytes.
func (s *sheet) keep(n int64) {
	if n < s.taken {
		s.c.intake.Answers.Give(s.taken - n)
		s.taken = n
	}
}

// giveBack gives back all room, at the end of the call.
func (s *sheet) giveBack() { s.keep(0) }

// Write appends p.
func (s *sheet) Write(p []byte) (int, error) { return len(p), put(s, p) }

func (s *sheet) text(t string) error { return put(s, t) }

func put[T string | []byte](s *sheet, p T) error {
	s.size += int64(len(p))
	for len(p) > 0 {
		last, err := s.piece()
		if err != nil {
			return err
		}
		part := min(len(p), cap(*last)-len(*last))
		*last = append(*last, p[:part]...)
		p = p[part:]
	}
	return nil
}

// piece returns the last piece, which has room.
func (s *sheet) piece() (*[]byte, error) {
	n := len(s.pieces)
	if n == 0 || len(s.pieces[n-1]) == cap(s.pieces[n-1]) {
		size := min(max(s.room, leastPiece), mostPiece)
		if err := s.expect(s.room + size); err != nil {
			return nil, err
		}
		if n == 0 {
			s.first = s.c.scratch.get()
			s.pieces = append(s.pieces, s.first[:0])
		} else {
			s.pieces = append(s.pieces, make([]byte, 0, size))
		}
		s.room += size
		n++
	}
	return &s.pieces[n-1], nil
}

// json appends a value, which is a pointer.
func (s *sheet) json(value any) error {
	if s.line.json(s.c.API, value) {
		_, err := s.Write(s.line.text)
		return err
	}
	if s.encoder == nil {
		s.encoder = json.NewEncoder(line{s})
		s.encoder.SetEscapeHTML(false)
	}
	err := s.encoder.Encode(value)
	if err != nil && andon.KindOf(err) != andon.Busy {
		err = fmt.Errorf("write answer of %s: %w", s.c.route.name, err)
	}
	return err
}

// line drops the line break that a json.Encoder puts behind a value, which it writes at once.
type line struct{ to *sheet }

func (l line) Write(p []byte) (int, error) {
	_, err := l.to.Write(p[:len(p)-1])
	return len(p), err
}

// listed is an array of a sheet while it is written.
type listed struct {
	*sheet
	count   int
	largest int64 // of its items, in bytes
}

// add appends an item. many is how many it is likely to become, and most how many bytes: from the
// largest item so far follows what room the rest may need, both here and where the store holds some
// items ready. So a page of small items takes little room, and one of large items all of its room
// at its first.
func (l *listed) add(item any, many int, most int64) error {
	if l.count > 0 {
		if err := l.text(","); err != nil {
			return err
		}
	}
	begin := l.size
	if err := l.json(item); err != nil {
		return err
	}
	l.count++
	l.largest = max(l.largest, l.size-begin)
	return l.expect(min(l.largest*int64(many), most))
}

// send sends the answer. Until the client has read it, it holds the room that it really takes.
func (s *sheet) send() {
	s.c.end()
	s.keep(s.room)
	s.c.x.set("Content-Type", typeJSON)
	s.c.x.set("Content-Length", strconv.FormatInt(s.size, 10))
	s.c.x.WriteHeader(s.c.status)
	_ = s.c.x.together(s.c.r.Context(), s.write) // that the client is gone changes nothing
}

// write sends the pieces.
func (s *sheet) write() error {
	for i, piece := range s.pieces {
		if _, err := s.c.x.Write(piece); err != nil {
			return err
		}
		s.pieces[i] = nil
	}
	s.c.scratch.put(s.first)
	s.pieces, s.first = nil, nil
	return nil
}
