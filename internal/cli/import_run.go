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
	sift func(*report, []ingest.Item[T]) []ingest.Item[T]
}

// run sends all that the file has. It returns the first error that ends it: of the file, of the
// server, of the context. It does not wait for a read that hangs (a pipe, a terminal) when the
// context ends.
func (im *importer[T]) run(ctx context.Context, items iter.Seq2[ingest.Item[T], error]) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	parcels, packed := make(chan []ingest.Item[T]), make(chan error, 1)
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
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return <-packed
}

func (im *importer[T]) deliverAll(ctx context.Context, parcels <-chan []ingest.Item[T]) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case parcel, more := <-parcels:
			if !more {
				return nil
			}
			if err := im.deliver(ctx, parcel); err != nil {
				return err
			}
		}
	}
}

// pack makes parcels of what can be read, and reports what can't.
func (im *importer[T]) pack(
	ctx context.Context, items iter.Seq2[ingest.Item[T], error], parcels chan<- []ingest.Item[T],
) error {
	var parcel []ingest.Item[T]
	bytes := 0
	for item, err := range items {
		var bad *table.RowError
		switch {
		case errors.As(err, &bad):
			im.report.reject(bad.Rejection())
			continue
		case err != nil:
			return errors.Join(err, hand(ctx, parcels, parcel))
		}
		parcel, bytes = append(parcel, item), bytes+im.size(&item.Value)
		if len(parcel) < im.batch && bytes < batchBytes {
			continue
		}
		if err := hand(ctx, parcels, parcel); err != nil {
			return err
		}
		parcel, bytes = nil, 0
	}
	return hand(ctx, parcels, parcel)
}

// hand gives a parcel to the next sender that is free.
func hand[T any](ctx context.Context, parcels chan<- []ingest.Item[T], p []ingest.Item[T]) error {
	if len(p) == 0 {
		return nil
	}
	select {
	case parcels <- p:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// deliver sends one parcel. The server counts its entries from 0; the person looks into the file.
func (im *importer[T]) deliver(ctx context.Context, parcel []ingest.Item[T]) error {
	if im.sift != nil {
		parcel = im.sift(im.report, parcel)
	}
	entries := make([]T, len(parcel))
	for i := range parcel {
		entries[i] = parcel[i].Value
	}
	result, err := im.send(ctx, entries)
	if err != nil {
		return err
	}
	im.report.accept(result.Accepted)
	for _, r := range result.Rejected {
		if r.Index >= 0 && r.Index < len(parcel) {
			r.Index, r.Line = parcel[r.Index].Index, parcel[r.Index].Line
		}
		im.report.reject(r)
	}
	return nil
}

// siftTwins takes out each event that has the identity of an earlier one and other content. The
// server would refuse it, too, but would name the earlier one by its place in the request.
func siftTwins(r *report, parcel []ingest.Item[andon.Event]) []ingest.Item[andon.Event] {
	firsts := make(map[andon.EventKey]*ingest.Item[andon.Event], len(parcel))
	kept := make([]ingest.Item[andon.Event], 0, len(parcel))
	for i := range parcel {
		item := &parcel[i]
		key := item.Value.Key(nil)
		first, twice := firsts[key]
		if twice && first.Value != item.Value {
			r.reject(andon.Rejection{Index: item.Index, Line: item.Line, Error: fmt.Sprintf(
				"the same device, time and state as %s, with other content", placeOf(first))})
			continue
		}
		if !twice {
			firsts[key] = item
		}
		kept = append(kept, *item)
	}
	return kept
}

func placeOf(item *ingest.Item[andon.Event]) string {
	if item.Line == 0 {
		return fmt.Sprintf("entry %d", item.Index)
	}
	return fmt.Sprintf("line %d", item.Line)
}
