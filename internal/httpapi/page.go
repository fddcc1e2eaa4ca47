package httpapi

import (
	"iter"
	"net/url"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/buffer"
)

// page is a mount.List[T] as it was written.
type page[T any] struct{ *buffer.Buffer }

// pageBytes is where a page ends early: what it holds is bounded by its bytes as well as by limit,
// since an item may have 80 KB and 1,000 of them would be an answer of 80 MB.
const pageBytes = 4 << 20

// readPage writes one page of items, which were asked for one more than limit: it is how the page
// knows whether another follows. It ends before limit where it is full, but never before its first
// item. The cursor is the position of the last item. Where a parameter is at fault, the items are
// not asked for.
//
// Each item is written as it comes, so that the page is in memory once and only as text.
func readPage[S, T any](
	c *call, limit int, items iter.Seq2[S, error], show func(*S) (T, error),
	position func(*S) any,
) (page[T], error) {
	if err := c.Fault(); err != nil {
		return page[T]{}, err
	}
	l := buffer.Array{Buffer: c.newBuffer()}
	if err := l.Text(`{"items":[`); err != nil {
		return page[T]{}, err
	}
	var both [2]S // for the page, and not for each item
	item, last := &both[0], &both[1]
	var shown T
	next := ""
	for found, err := range items {
		if err != nil {
			return page[T]{}, err
		}
		*item = found
		if l.Count == limit || l.Size() >= pageBytes {
			next = andon.EncodeCursor(c.scope(), position(last))
			break
		}
		if shown, err = show(item); err != nil {
			return page[T]{}, err
		}
		if err := l.Add(&shown, limit, pageBytes); err != nil {
			return page[T]{}, err
		}
		item, last = last, item
	}
	if next == "" && c.stopped != nil {
		next = andon.EncodeCursor(c.scope(), c.stopped)
	}
	c.x.answers = l.Count
	return page[T]{l.Buffer}, c.endPage(l.Buffer, next)
}

// endPage closes the list, and names the next page where there is one.
func (c *call) endPage(s *buffer.Buffer, next string) error {
	if next == "" {
		return s.Text("]}\n")
	}
	c.linkNext(next)
	return s.Text(`],"next":"` + next + "\"}\n") // a cursor is of letters, digits, - and _
}

// stepItems is how many items that may be large a store is asked for at once. A store may hold all
// that it is asked for, of each state that is asked for, so a page of 1,000 is not asked for whole.
// The usual page of 100 is one step.
const stepItems = 128

// inSteps returns up to want items, which ask returns from after an item on, at most step of them;
// nil: from the start.
func inSteps[S any](
	want, step int, ask func(after *S, n int) iter.Seq2[S, error],
) iter.Seq2[S, error] {
	return keptInSteps(want, step, nil, ask)
}

// keptInSteps is inSteps of the items that keep keeps; nil: all.
func keptInSteps[S any](
	want, step int, keep func(*S) bool, ask func(after *S, n int) iter.Seq2[S, error],
) iter.Seq2[S, error] {
	return func(yield func(S, error) bool) {
		var last S
		var after *S
		for want > 0 {
			n, got := step, 0
			if keep == nil {
				n = min(want, step)
			}
			for item, err := range ask(after, n) {
				if err == nil {
					last, got = item, got+1
				}
				if err == nil && keep != nil && !keep(&last) {
					continue
				}
				if !yield(item, err) || err != nil {
					return
				}
				if want--; want == 0 {
					return
				}
			}
			if got < n {
				return
			}
			after = &last
		}
	}
}

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
