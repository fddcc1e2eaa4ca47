package blocks

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Reader reads the blocks of a tenant, as they were when it was opened.
type Reader struct {
	*engine.Iterator
	log    *Log
	tenant uint32
	runs   *RunList         // that the iterator has
	days   *engine.Iterator // of the directory; nil: it was not asked for days
	key    layout.Key
	// daysKey is what Days reads until it is called again.
	daysKey layout.Key
}

// NewReader opens a reader, with the runs that there were before and after its iterator was opened.
// A merge keeps the list right before and after its last step.
func (l *Log) NewReader(ctx context.Context, t *Tenant) (*Reader, error) {
	return l.newReader(t, func() (*engine.Iterator, error) {
		k := layout.NewKey(l.Blocks, t.Number)
		return engine.NewIterator(ctx, l.DB, k, k.End())
	})
}

func (l *Log) newReader(t *Tenant, open func() (*engine.Iterator, error)) (*Reader, error) {
	for {
		runs := t.Runs.Load()
		it, err := open()
		if err != nil {
			return nil, err
		}
		if runs == t.Runs.Load() {
			return &Reader{Iterator: it, log: l, tenant: t.Number, runs: runs}, nil
		}
		it.Release()
	}
}

// Close ends the reader.
func (r *Reader) Close() {
	if r.days != nil {
		r.days.Release()
	}
	r.Release()
}

// Days returns the days on which a device has blocks, within a span, in an order. For readings that
// is also the days of its rows. It reads no more of them than are asked for. The sequence is valid
// until Days is called again.
func (r *Reader) Days(
	ctx context.Context, device []byte, span andon.Span, order andon.Order,
) (_ iter.Seq2[uint32, error], err error) {
	r.daysKey = r.daysKey.Begin(r.log.Kind.Days, r.tenant)
	if r.days == nil {
		k := slices.Clone(r.daysKey)
		if r.days, err = engine.NewIterator(ctx, r.log.DB, k, k.End()); err != nil {
			return nil, err
		}
		r.days.ExpectNear() // devices are asked for one after the other
	}
	r.daysKey = append(r.daysKey, device...)
	return days(r.days, r.daysKey, span, order), nil
}

// days returns the days in a directory whose keys have a prefix, and which are inverted there.
func days(
	it *engine.Iterator, prefix layout.Key, span andon.Span, order andon.Order,
) iter.Seq2[uint32, error] {
	first, last := span.From.Day(), andon.Earlier(span.To, andon.MaxTime).Day()
	return func(yield func(uint32, error) bool) {
		ok, move := false, it.Next
		if order == andon.Desc {
			ok = it.SeekNear(prefix.Inverted(last))
		} else {
			move = it.Prev
			ok = it.SeekLT(append(prefix.Inverted(first), layout.AfterText))
		}
		for ; ok && bytes.HasPrefix(it.Key(), prefix); ok = move() {
			n, _, ok := layout.TakeNumber(it.Key()[len(prefix):])
			if !ok {
				yield(0, layout.ErrDamaged)
				return
			}
			if day := ^n; day < first || day > last || !yield(day, nil) {
				return
			}
		}
		if err := it.Error(); err != nil {
			yield(0, err)
		}
	}
}

// RunDays returns the days that have runs.
func (r *Reader) RunDays() []uint32 { return r.runs.Days() }

// Runs returns the runs of a day in an order: that in which values mostly arrive.
func (r *Reader) Runs(day uint32, order andon.Order) iter.Seq[layout.Run] {
	runs := r.runs.On(day)
	return func(yield func(layout.Run) bool) {
		for i := range runs {
			if order == andon.Desc {
				i = len(runs) - 1 - i
			}
			if !yield(runs[i]) {
				return
			}
		}
	}
}

// Device visits the blocks of a device in a run of a day that meet a span, in an order. visit
// returns the part of the span that is still wanted, and so does Device.
func (r *Reader) Device(
	day uint32, id layout.RunID, device []byte, span andon.Span, order andon.Order,
	visit func(at layout.BlockSpan, span andon.Span) (andon.Span, error),
) (andon.Span, error) {
	r.key = r.log.device(r.key, r.tenant, day, id, device)
	prefix := r.key
	ok, move := false, r.Next
	if order == andon.Desc {
		ok = r.SeekGE(prefix)
	} else {
		ok, move = r.SeekLT(prefix.End()), r.Prev
	}
	for ; ok && bytes.HasPrefix(r.Key(), prefix); ok = move() {
		at, whole := layout.SplitTimes(r.Key()[len(prefix):], day)
		if !whole {
			return span, layout.ErrDamaged
		}
		if order == andon.Desc && at.Newest < span.From {
			break // as are all after it
		}
		if at.Newest < span.From || span.To != 0 && at.Oldest > span.To {
			continue
		}
		at.Sequence = id.Sequence
		var err error
		if span, err = visit(at, span); err != nil {
			return span, err
		}
		if at.Reaches(span, order) {
			break // no two blocks of a run have values of one instant
		}
	}
	return span, r.Error()
}

// Run visits the blocks of a run of a day, device by device, those of each from the newest on.
// visit reports whether it wants the next block of the device.
func (r *Reader) Run(
	day uint32, id layout.RunID, visit func(k *layout.BlockKey) (more bool, err error),
) error {
	const tenantEnd = 1 + 4
	prefix := layout.NewKey(r.log.Blocks, r.tenant).Run(day, id)
	end := prefix.End()
	for ok := r.SeekGE(prefix); ok && bytes.Compare(r.Key(), end) < 0; {
		at, whole := layout.SplitBlock(r.Key()[tenantEnd:])
		if !whole {
			return layout.ErrDamaged
		}
		more, err := visit(&at)
		if err != nil {
			return err
		}
		if more {
			ok = r.Next()
		} else {
			ok = r.SeekGE(layout.Key(r.Key()[:len(prefix)+len(at.Device)]).End())
		}
	}
	return r.Error()
}
