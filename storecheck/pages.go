package storecheck

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// pager is how a list is read: one page at a time, each resumed behind the last item of the one
// before (nil at the start).
type pager[T, P any] struct {
	page   func(after *P, limit int) iter.Seq2[T, error]
	place  func(T) P
	render func(T) string
}

// all reads a list whole, then in pages of one and of two. They must not differ, so that every list
// that a check looks at is a check of paging too.
func (p pager[T, P]) all() ([]string, error) {
	whole, err := p.walk(andon.MaxLimit)
	if err != nil {
		return nil, err
	}
	for _, size := range []int{1, 2} {
		paged, err := p.walk(size)
		if err != nil {
			return nil, fmt.Errorf("in pages of %d: %w", size, err)
		}
		if !slices.Equal(paged, whole) {
			return nil, fmt.Errorf("in pages of %d the list is %s, read whole it is %s",
				size, show(paged), show(whole))
		}
	}
	return whole, nil
}

// walk reads a list to its end in pages of one size.
func (p pager[T, P]) walk(size int) ([]string, error) {
	const tooLong = 100_000
	var after *P
	var items []string
	for len(items) < tooLong {
		page, err := collect(p.page(after, size))
		if err != nil {
			return nil, err
		}
		if len(page) > size {
			return nil, fmt.Errorf("a page of at most %d has %d items", size, len(page))
		}
		for _, item := range page {
			items = append(items, p.render(item))
		}
		if len(page) < size {
			return items, nil
		}
		place := p.place(page[size-1])
		after = &place
	}
	return nil, errors.New("the pages do not end")
}

// collect reads a sequence to its end or its first error.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var items []T
	for item, err := range seq {
		if err != nil {
			return items, err
		}
		items = append(items, item)
	}
	return items, nil
}

func show(items []string) string { return "[" + strings.Join(items, " ") + "]" }

// orZero returns what a place points to; the zero value at the start of a list.
func orZero[P any](place *P) (p P) {
	if place != nil {
		p = *place
	}
	return p
}

// lister reads a list of the tenant that a check is in.
type lister func(context.Context, *Env, andon.TenantID) ([]string, error)

// events reads a list of entries.
func (e *Env) events(
	ctx context.Context, id andon.TenantID, q andon.EventQuery, render func(andon.Event) string,
	list func(andon.EventQuery) iter.Seq2[andon.Event, error],
) ([]string, error) {
	t, err := e.Store.Tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	return pager[andon.Event, andon.EventKey]{
		page: func(after *andon.EventKey, limit int) iter.Seq2[andon.Event, error] {
			part := q
			part.After, part.Limit = after, limit
			return list(part)
		},
		place:  func(event andon.Event) andon.EventKey { return event.Key(t.States) },
		render: render,
	}.all()
}

// devices reads a list of devices.
func (e *Env) devices(
	ctx context.Context, id andon.TenantID, q andon.DeviceQuery,
) ([]string, error) {
	return pager[andon.Device, andon.DevicePosition]{
		page: func(after *andon.DevicePosition, limit int) iter.Seq2[andon.Device, error] {
			part := q
			part.After, part.Limit = after, limit
			return e.Store.Devices(ctx, id, part)
		},
		place:  func(d andon.Device) andon.DevicePosition { return d.Position() },
		render: func(d andon.Device) string { return string(d.ID) },
	}.all()
}
