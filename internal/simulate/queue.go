package simulate

import (
	"cmp"
	"slices"

	"github.com/andonhq/andon"
)

// timed is something under way, and when it arrives.
type timed[T any] struct {
	at    andon.Time
	order int // in which it was sent: of two that arrive at once, the first sent is first
	what  T
}

type queue[T any] struct {
	items  []timed[T]
	sorted bool
	sent   int
}

func (q *queue[T]) push(at andon.Time, what T) {
	q.items = append(q.items, timed[T]{at, q.sent, what})
	q.sent++
	q.sorted = false
}

// take takes out what arrives before a time, in the order of arrival.
func (q *queue[T]) take(before andon.Time) []T {
	if !q.sorted {
		slices.SortFunc(q.items, func(a, b timed[T]) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
		})
		q.sorted = true
	}
	n, _ := slices.BinarySearchFunc(q.items, before, func(i timed[T], t andon.Time) int {
		return cmp.Compare(i.at, t)
	})
	if n == 0 {
		return nil
	}
	taken := make([]T, n)
	for i := range taken {
		taken[i] = q.items[i].what
	}
	q.items = slices.Delete(q.items, 0, n)
	return taken
}
