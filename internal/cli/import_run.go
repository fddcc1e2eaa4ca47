package cli

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/table"
)

const (
	defaultBatch = 1000
	inFlight     = 4       // requests at once
	batchBytes   = 4 << 20 // a request is closed early at so many bytes, well below the server's limit
)

// importer sends entries in requests of many, a few requests at a time. Their order does not matter:
// an entry is the same whenever it arrives. So an import can be repeated at any time, and doubles
// nothing.
type importer[T any] struct {
	send   func(context.Context, []T) (client.Result, error)
	size   func(*T) int // bytes of an entry, roughly
	batch  int          // entries of a request
	report *report
}

// run sends all that the file has. It returns the first error that ends it: of the file, of the
// server, of the context.
func (im *importer[T]) run(ctx context.Context, items iter.Seq2[ingest.Item[T], error]) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	parcels := make(chan []ingest.Item[T])
	var senders sync.WaitGroup
	for range inFlight {
		senders.Go(func() {
			for parcel := range parcels {
				if err := im.deliver(ctx, parcel); err != nil {
					fail(err)
				}
			}
		})
	}
	err := im.pack(ctx, items, parcels)
	close(parcels)
	senders.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
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
