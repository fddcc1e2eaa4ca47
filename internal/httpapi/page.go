package httpapi

import (
	"iter"
	"net/url"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/buffer"
	"github.com/andonhq/andon/internal/seq"
)

// list is a page of items, and the cursor of the next one where there are more.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"cursor of the next page; absent on the last one"`
}

// pageBytes is where a page ends early: what it holds is bounded by its bytes as well as by limit,
// since an item may have 80 KB and 1,000 of them would be an answer of 80 MB.
const pageBytes = 4 << 20

// sendPage answers with a page of the items that read returns: up to n of them after a position, at
// most step at once. The zero position is the start. keep says which of them are on the
// page; nil: all. The page ends before limit where it is full, but never before its first item. Its
// cursor is the position of its last item. Where a parameter is at fault, nothing is read.
//
// Each item is written as it comes, so that the page is in memory once and only as text.
func sendPage[S, T, P any](
	c *call, step int, keep func(*S) bool, read func(after P, n int) iter.Seq2[S, error],
	show func(*S) (T, error), position func(*S) P,
) error {
	limit, after := c.limit, *new(P)
	c.cursor(&after)
	if err := c.Fault(); err != nil {
		return err
	}
	l := buffer.Array{Buffer: c.newBuffer()}
	l.Text(`{"items":[`)
	var both [2]S // for the page, and not for each item
	item, last := &both[0], &both[1]
	var shown T
	next := ""
	// One more than limit, by which the page knows whether another follows.
	for found, err := range seq.InSteps(limit+1, step, keep, after, read, position) {
		if err != nil {
			return err
		}
		*item = found
		if l.Count == limit || l.Size() >= pageBytes {
			next = andon.EncodeCursor(c.scope(), position(last))
			break
		}
		if shown, err = show(item); err != nil {
			return err
		}
		if l.Add(&shown, limit, pageBytes); l.Err() != nil {
			return l.Err()
		}
		item, last = last, item
	}
	if next == "" && c.stopped != nil {
		next = andon.EncodeCursor(c.scope(), c.stopped)
	}
	c.x.Answers = l.Count
	l.Text("]")
	if next != "" {
		c.linkNext(next)
		l.Text(`,"next":"` + next + `"`) // a cursor is of letters, digits, - and _
	}
	l.Text("}\n")
	return c.sendBuffer(l.Buffer)
}

// stepItems is how many items that may be large a store is asked for at once. A store may hold all
// that it is asked for, of each state that is asked for, so a page of 1,000 is not asked for whole.
// The usual page of 100 is one step.
const stepItems = 128

// oneStep asks a store for all of a page at once.
const oneStep = andon.MaxLimit + 1

// plain is show where nothing can fail.
func plain[S, T any](show func(*S) T) func(*S) (T, error) {
	return func(item *S) (T, error) { return show(item), nil }
}

func same[T any](item *T) (T, error) { return *item, nil }

// linkNext names the next page in the header too (RFC 8288).
func (c *call) linkNext(cursor string) {
	query := url.Values{"cursor": {cursor}}
	for name, values := range c.Query {
		if name != "cursor" {
			query[name] = values
		}
	}
	target := c.r.URL.EscapedPath() + "?" + query.Encode()
	c.x.Header().Set("Link", "<"+target+`>; rel="next"`)
}
