package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/table"
)

const (
	defaultBatch = 1000
	inFlight     = 4       // requests of events at once
	batchBytes   = 4 << 20 // a request is closed early at so many bytes: the server takes 16 MB
)

// importer sends entries in requests of many. An entry is the same whenever it arrives, so an
// import can be repeated at any time and doubles nothing.
type importer[T any] struct {
	send     func(context.Context, []T) (client.Result, error)
	size     func(*T) int // bytes of an entry, roughly
	batch    int          // entries of a request
	inFlight int          // requests at once; with more than one their order is not the file's
	report   *report
	// sift takes out of a parcel what contradicts itself; nil where nothing can.
	sift func([]ingest.Item[T]) ([]ingest.Item[T], []andon.Rejection)
	// doubt looks at what was read for the first parcel; its error ends the import before anything
	// is sent. nil where nothing is doubted.
	doubt func() error
}

// parcel is what is sent in one request, and what was found wrong beside it.
type parcel[T any] struct {
	number int // from 0, in the order of the file
	items  []ingest.Item[T]
	bad    []andon.Rejection
	bytes  int // of the items, roughly
}

func (im *importer[T]) isFull(p *parcel[T]) bool {
	return len(p.items) >= im.batch || len(p.bad) >= im.batch || p.bytes >= batchBytes
}

// run sends all that the file has. It returns the first error that ends it: of the file, of the
// server, of the context. It does not wait for a read that hangs (a pipe, a terminal) when the
// context ends.
func (im *importer[T]) run(ctx context.Context, items iter.Seq2[ingest.Item[T], error]) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	parcels, packed := make(chan parcel[T]), make(chan error, 1)
	go func() {
		defer close(parcels)
		packed <- im.pack(ctx, items, parcels)
	}()
	var senders sync.WaitGroup
	for range im.inFlight {
		senders.Go(func() {
			if err := im.deliverAll(ctx, parcels); err != nil {
				fail(err)
			}
		})
	}
	senders.Wait()
	im.report.settleRest()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return <-packed
}

func (im *importer[T]) deliverAll(ctx context.Context, parcels <-chan parcel[T]) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case p, more := <-parcels:
			if !more {
				return nil
			}
			if err := im.deliver(ctx, p); err != nil {
				return err
			}
		}
	}
}

// pack makes parcels of what can be read and what can't.
func (im *importer[T]) pack(
	ctx context.Context, items iter.Seq2[ingest.Item[T], error], parcels chan<- parcel[T],
) error {
	var p parcel[T]
	for item, err := range items {
		var bad *table.RowError
		switch {
		case errors.As(err, &bad):
			p.bad = append(p.bad, bad.Rejection())
		case err != nil:
			return errors.Join(err, im.hand(ctx, parcels, p))
		default:
			p.items, p.bytes = append(p.items, item), p.bytes+im.size(&item.Value)
		}
		if !im.isFull(&p) {
			continue
		}
		if err := im.hand(ctx, parcels, p); err != nil {
			return err
		}
		p = parcel[T]{number: p.number + 1}
	}
	return im.hand(ctx, parcels, p)
}

// hand gives a parcel to the next sender that is free.
func (im *importer[T]) hand(ctx context.Context, parcels chan<- parcel[T], p parcel[T]) error {
	if len(p.items)+len(p.bad) == 0 {
		return nil
	}
	if p.number == 0 && im.doubt != nil {
		if err := im.doubt(); err != nil {
			return err
		}
	}
	select {
	case parcels <- p:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// deliver sends one parcel. The server counts its entries from 0; the person looks into the file.
func (im *importer[T]) deliver(ctx context.Context, p parcel[T]) error {
	items, rejected := p.items, p.bad
	if im.sift != nil {
		kept, twins := im.sift(items)
		items, rejected = kept, append(rejected, twins...)
	}
	if len(items) == 0 {
		im.report.settle(p.number, 0, rejected)
		return nil
	}
	entries := make([]T, len(items))
	for i := range items {
		entries[i] = items[i].Value
	}
	result, err := im.send(ctx, entries)
	if err != nil {
		return err
	}
	for _, r := range result.Rejected {
		if r.Index >= 0 && r.Index < len(items) {
			r.Index, r.Line = items[r.Index].Index, items[r.Index].Line
		}
		rejected = append(rejected, r)
	}
	im.report.settle(p.number, result.Accepted, rejected)
	return nil
}

// siftTwins takes out each event that has the identity of an earlier one and other content. The
// server would refuse it, too, but would name the earlier one by its place in the request.
func siftTwins(
	items []ingest.Item[andon.Event],
) (kept []ingest.Item[andon.Event], rejected []andon.Rejection) {
	firsts := make(map[andon.EventKey]*ingest.Item[andon.Event], len(items))
	kept = make([]ingest.Item[andon.Event], 0, len(items))
	for i := range items {
		item := &items[i]
		key := item.Value.Key(nil)
		first, twice := firsts[key]
		if twice && first.Value != item.Value {
			rejected = append(rejected, andon.Rejection{
				Index: item.Index, Line: item.Line, Error: fmt.Sprintf(
					"the same device, time and state as %s, with other content", placeOf(first)),
			})
			continue
		}
		if !twice {
			firsts[key] = item
		}
		kept = append(kept, *item)
	}
	return kept, rejected
}

func placeOf(item *ingest.Item[andon.Event]) string {
	if item.Line == 0 {
		return fmt.Sprintf("entry %d", item.Index)
	}
	return fmt.Sprintf("line %d", item.Line)
}
