package index

import (
	"bytes"
	"context"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

const millisecond = andon.Time(time.Millisecond / time.Microsecond)

// Memory is what is in memory of operators: the entries that have no posting yet.
type Memory interface {
	// Hours returns the hours in which an operator has entries, in ascending order.
	Hours(tenant uint32, operator andon.PersonID) []uint32
	// AppendHour appends the devices that have entries of an operator in an hour.
	AppendHour(
		all []layout.InHour, tenant uint32, operator andon.PersonID, hour uint32,
	) []layout.InHour
}

// Hour is an hour, and the devices that an operator may have entries of in it and within the span
// of the query, in no order. A device may be there more than once.
type Hour struct {
	Hour    uint32
	Devices []layout.InHour
}

// Hours returns the hours of an operator within a query's span, in its order: those of postings and
// those in memory.
func Hours(
	ctx context.Context, db pebble.Reader, memory Memory, tenant uint32, operator andon.PersonID,
	q *andon.EventQuery,
) iter.Seq2[Hour, error] {
	span := q.Rest()
	first, last := span.From.Hour(), andon.Earlier(span.To, andon.MaxTime).Hour()
	inMemory := slices.DeleteFunc(memory.Hours(tenant, operator),
		func(hour uint32) bool { return hour < first || hour > last })
	before := func(a, b uint32) bool { return a < b }
	if q.Order == andon.Desc {
		slices.Reverse(inMemory)
		before = func(a, b uint32) bool { return a > b }
	}
	return seq.Of(func(yield func(Hour) bool) error {
		// complete adds what is in memory of an hour, and yields it.
		complete := func(h Hour) bool {
			all := memory.AppendHour(h.Devices, tenant, operator, h.Hour)
			part := partOf(h.Hour, span)
			h.Devices = slices.DeleteFunc(all, func(d layout.InHour) bool { return !part.meets(d) })
			return len(h.Devices) == 0 || yield(h)
		}
		rest := inMemory
		for h, err := range posted(ctx, db, tenant, operator, span, q.Order) {
			if err != nil {
				return err
			}
			for ; len(rest) > 0 && before(rest[0], h.Hour); rest = rest[1:] {
				if !complete(Hour{Hour: rest[0]}) {
					return nil
				}
			}
			if len(rest) > 0 && rest[0] == h.Hour {
				rest = rest[1:]
			}
			if !complete(h) {
				return nil
			}
		}
		for _, hour := range rest {
			if !complete(Hour{Hour: hour}) {
				return nil
			}
		}
		return nil
	})
}

// posted returns what postings have of the hours of an operator within a span.
func posted(
	ctx context.Context, db pebble.Reader, tenant uint32, operator andon.PersonID,
	span andon.Span, order andon.Order,
) iter.Seq2[Hour, error] {
	first, last := span.From.Hour(), andon.Earlier(span.To, andon.MaxTime).Hour()
	prefix := layout.NewKey(layout.TablePosting, tenant).Text(string(operator))
	from, end := layout.Key(bytes.Clone(prefix.Number(first))), prefix.Number(last).End()
	return seq.Of(func(yield func(Hour) bool) error {
		var h Hour
		for it, err := range engine.RowsBetween(ctx, db, from, end, order) {
			if err != nil {
				return err
			}
			hour, _, found := layout.TakeNumber(it.Key()[len(prefix):])
			if !found {
				return layout.ErrDamaged
			}
			if hour != h.Hour {
				if len(h.Devices) > 0 && !yield(h) {
					return nil
				}
				h = Hour{Hour: hour}
			}
			value, err := it.ValueAndErr()
			if err == nil {
				h.Devices, err = layout.ReadPosting(h.Devices, value)
			}
			if err != nil {
				return err
			}
		}
		if len(h.Devices) > 0 {
			yield(h)
		}
		return nil
	})
}

// part is a part of an hour, from one of its milliseconds to another.
type part struct{ from, to uint32 }

func partOf(hour uint32, span andon.Span) part {
	p := part{0, math.MaxUint32}
	if span.From > andon.HourStart(hour) {
		p.from = eventlog.MilliOf(span.From)
	}
	if span.To != 0 && span.To < andon.HourStart(hour+1) {
		p.to = eventlog.MilliOf(span.To)
	}
	return p
}

func (p part) meets(d layout.InHour) bool { return d.Newest >= p.from && d.Oldest <= p.to }
