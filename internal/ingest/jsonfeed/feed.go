// Package jsonfeed reads what devices and programs send as JSON: events, readings and assignments,
// as one object, an array of objects, or objects line by line. It is the hot path of every ingest:
// a scanner for these messages only, which allocates nothing for a field, since it returns slices
// of the body.
//
// No entry is lost and nothing is guessed: every entry is read, or rejected with its place and
// reason, and unknown fields are kept. The package knows no transport, no
// clock and no tenant.
//
// Bytes are counted from 0: in the line for NDJSON, in the body for JSON.
package jsonfeed

import (
	"fmt"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Format is how a body is divided into entries.
type Format uint8

// The formats.
const (
	JSON   Format = iota // one object, or an array of objects
	NDJSON               // an object in each line; lines of white space are skipped
)

// reader reads one kind of entry, and returns how many bytes of memory it takes beyond an item. The
// scanner is at the value, and after it afterwards.
type reader[T any] func(s *jsonscan.Scanner, into *ingest.Item[T]) (int64, *jsonscan.Fault)

type feed[T any] struct {
	reader reader[T]
	extra  int64 // bytes of the entry that was read last, as reader has it
	owed   int64 // bytes of memory that are not reserved yet; below 0 what is left of a reservation
	batch  ingest.Batch[T]
	broken int // of those rejected: how many were no object, or not even JSON
	take   Take
}

// Take is called before the entries take so many more bytes of memory; its error ends the reading.
// They include what admitting and storing the entries takes, and not the bytes of the body. nil has
// no limit.
type Take func(bytes int64) error

// The memory of one entry from its reading to its answer, without its text: the item, its
// copies while it is sorted, its rows in the store's batch and what they change, or the rejection,
// its text and its lines in the answer.
const (
	itemBytes      = 512
	metricBytes    = 96
	rejectionBytes = 256
	// takeAtOnce spares most requests from asking more than once or twice.
	takeAtOnce = 8 << 10
)

func (fd *feed[T]) account(n int64) error {
	if fd.owed += n; fd.owed <= 0 || fd.take == nil {
		return nil
	}
	part := max(fd.owed, takeAtOnce)
	fd.owed -= part
	return fd.take(part)
}

// read reads a body. The error is an andon.Error: the body is empty, has too many entries or none
// that is an object, is an array whose syntax breaks, or is one object alone, and that is refused.
func read[T any](
	body string, format Format, r reader[T], take Take,
) (ingest.Batch[T], error) {
	s := &jsonscan.Scanner{Text: body}
	fd := &feed[T]{reader: r, take: take}
	var err error
	switch c := s.Next(); {
	case s.At == len(body):
		err = andon.AtField("body", "the body is empty")
	case format == NDJSON:
		err = fd.lines(body)
	case c == '[':
		err = fd.array(s)
	case c == '{':
		err = fd.object(s)
	default:
		err = refusal(s.Want("an object or an array"))
	}
	if err == nil {
		err = fd.nothing()
	}
	if err != nil {
		return ingest.Batch[T]{}, err
	}
	return fd.batch, nil
}

// object reads a body that is one object alone: it is kept or refused as a whole.
func (fd *feed[T]) object(s *jsonscan.Scanner) error {
	fd.batch.Single = true
	fd.batch.Items = append(fd.batch.Items, ingest.Item[T]{})
	start := s.At
	if _, f := fd.reader(s, &fd.batch.Items[0]); f != nil {
		if _, grave := skipRefused(s.Text, start); grave != nil {
			f = grave
		}
		return refusal(f)
	}
	if s.Next(); s.At < len(s.Text) {
		return refusal(s.Want("the end after one object (objects line by line are NDJSON)"))
	}
	return nil
}

// array reads a body that is an array. Each element is kept or rejected by itself, but an array
// whose syntax breaks, in an element or between two, is one broken document: what its sender meant
// after that place is not known, so nothing of it is kept.
func (fd *feed[T]) array(s *jsonscan.Scanner) error {
	s.At++
	for first := true; ; first = false {
		more, f := s.Element(first)
		if f != nil {
			return fd.brokenArray(f)
		}
		if !more {
			break
		}
		if fd.count() == andon.MaxRequestEntries {
			return tooMany()
		}
		if f := fd.element(s); f != nil {
			return fd.brokenArray(f)
		}
		if err := fd.accountLast(); err != nil {
			return err
		}
	}
	if s.Next(); s.At < len(s.Text) {
		return fd.brokenArray(s.Want("the end after the array"))
	}
	return nil
}

// element reads one element of an array. A fault is in its syntax: the element has no end.
func (fd *feed[T]) element(s *jsonscan.Scanner) *jsonscan.Fault {
	start := s.At
	f := fd.keep(s, 0)
	if f == nil {
		return nil
	}
	end, grave := skipRefused(s.Text, start)
	if grave != nil {
		return grave
	}
	fd.reject(0, f, s.Text[start] == '{')
	s.At = end
	return nil
}

func (fd *feed[T]) brokenArray(f *jsonscan.Fault) error {
	return andon.AtField("body", "%s; nothing of the array was kept: fix it at entry %d, "+
		"or send NDJSON, where a broken line costs only itself", f, fd.count())
}

// accountLast reserves the memory of the entry that was read last.
func (fd *feed[T]) accountLast() error {
	last := fd.count() - 1
	if n := len(fd.batch.Rejected); n > 0 && fd.batch.Rejected[n-1].Index == last {
		return fd.account(rejectionBytes + 3*int64(len(fd.batch.Rejected[n-1].Error)))
	}
	return fd.account(itemBytes + fd.extra)
}

func (fd *feed[T]) lines(body string) error {
	var s jsonscan.Scanner
	n := 0
	for text := range strings.SplitSeq(body, "\n") {
		n++
		s = jsonscan.Scanner{Text: text}
		if s.Next(); s.At == len(s.Text) {
			continue
		}
		if fd.count() == andon.MaxRequestEntries {
			return tooMany()
		}
		fd.line(&s, n)
		if err := fd.accountLast(); err != nil {
			return err
		}
	}
	return nil
}

func (fd *feed[T]) line(s *jsonscan.Scanner, n int) {
	start := s.At
	f := fd.keep(s, n)
	if f == nil {
		return
	}
	end, grave := skipRefused(s.Text, start)
	if grave == nil {
		grave = (&jsonscan.Scanner{Text: s.Text, At: end}).End()
	}
	if grave != nil {
		f = grave
	}
	fd.reject(n, f, grave == nil && s.Text[start] == '{')
}

// keep reads the entry at the scanner into the batch. In a line nothing may follow it.
func (fd *feed[T]) keep(s *jsonscan.Scanner, line int) *jsonscan.Fault {
	index := fd.count()
	items := append(fd.batch.Items, ingest.Item[T]{Index: index, Line: line})
	extra, f := fd.reader(s, &items[len(items)-1])
	if f == nil && line > 0 {
		f = s.End()
	}
	if f == nil {
		fd.batch.Items, fd.extra = items, extra
	}
	return f
}

func (fd *feed[T]) count() int { return len(fd.batch.Items) + len(fd.batch.Rejected) }

func (fd *feed[T]) reject(line int, f *jsonscan.Fault, object bool) {
	if !object {
		fd.broken++
	}
	fd.batch.Rejected = append(fd.batch.Rejected,
		andon.Rejection{Index: fd.count(), Line: line, Error: f.Error()})
}

// nothing is the error where not one entry was an object; it names the first few.
func (fd *feed[T]) nothing() error {
	rejected := fd.batch.Rejected
	if fd.broken == 0 || fd.broken < fd.count() {
		return nil
	}
	err := andon.Errorf(andon.Invalid, "nothing could be read: %s", place(rejected[0]))
	for _, r := range rejected[:min(len(rejected), 3)] {
		location := fmt.Sprintf("body[%d]", r.Index)
		err.Fields = append(err.Fields, andon.FieldError{Location: location, Message: place(r)})
	}
	return err
}

func place(r andon.Rejection) string {
	if r.Line == 0 {
		return r.Error
	}
	return fmt.Sprintf("line %d, %s", r.Line, r.Error)
}

// skipRefused returns where the value ends that begins at start and is refused, or why it is not
// even JSON.
func skipRefused(text string, start int) (end int, grave *jsonscan.Fault) {
	s := jsonscan.Scanner{Text: text, At: start, Tolerant: true}
	grave = s.Skip(0)
	return s.At, grave
}

// refusal is the error for a body that is refused as a whole.
func refusal(f *jsonscan.Fault) error {
	location := "body"
	if f.Field != "" {
		location += "." + f.Field
	}
	return andon.AtField(location, "%s", f.Error())
}

func tooMany() error {
	return andon.Errorf(andon.TooLarge, "more than %d entries", andon.MaxRequestEntries)
}
