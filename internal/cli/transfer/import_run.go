package transfer

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"iter"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/table"
)

const (
	defaultBatch = 1000
	lanes        = 4       // requests at once
	batchBytes   = 4 << 20 // a request is closed early at so many bytes: the server takes 16 MB
	// A parcel waits for further rows of its lane while so many batches of the file are read: what
	// is rejected behind its first row is shown only once the parcel has ended.
	patience = 8
)

// importer sends entries in requests of many, of which several are under way at once. Those of one
// device go one after another in the order of the file, so of two lines of one entry the later
// stands. An entry is the same whenever it arrives, so an import can be repeated at any time and
// doubles nothing.
type importer[T any] struct {
	send  func(context.Context, []T) (client.Result, error)
	size  func(*T) int // bytes of an entry, roughly
	batch int          // entries of a request
	// device tells whose an entry is; nil where the entries of all devices go one after another.
	device func(*T) andon.DeviceID
	report *report
	// fold puts an entry into a parcel that has one of the same identity; nil where a request may
	// have both.
	fold func(*parcel[T], *ingest.Item[T]) folding
	// doubt looks at what was read for the first parcel; its error ends the import before anything
	// is sent. nil where nothing is doubted.
	doubt func() error
}

// parcel is what is sent in one request.
type parcel[T any] struct {
	number int // of the import, from 1
	first  int // the index of its first row in the file
	items  []ingest.Item[T]
	bytes  int // of the items, roughly
	folds[T]
}

func (im *importer[T]) isFull(p *parcel[T]) bool {
	return len(p.items) >= im.batch || p.bytes >= batchBytes
}

// run sends all that the file has. It returns the first error that ends it: of the file, of the
// server, of the context. It does not wait for a read that hangs (a pipe, a terminal) when the
// context ends.
func (im *importer[T]) run(ctx context.Context, items iter.Seq2[ingest.Item[T], error]) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	pk := packer[T]{importer: im, open: make([]parcel[T], 1)}
	if im.device != nil {
		pk.open = make([]parcel[T], lanes)
	}
	packed := make(chan error, 1)
	var senders sync.WaitGroup
	for range pk.open {
		lane := make(chan parcel[T], 1)
		pk.lanes = append(pk.lanes, lane)
		senders.Go(func() {
			if err := im.deliverAll(ctx, lane); err != nil {
				fail(err)
			}
		})
	}
	go func() {
		defer pk.close()
		packed <- pk.pack(ctx, items)
	}()
	senders.Wait()
	im.report.showRest()
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
			if err := im.deliver(ctx, &p); err != nil {
				return err
			}
		}
	}
}

// deliver sends one parcel. The server counts its entries from 0; the person looks into the file.
func (im *importer[T]) deliver(ctx context.Context, p *parcel[T]) error {
	entries := make([]T, len(p.items))
	for i := range p.items {
		entries[i] = p.items[i].Value
	}
	result, err := im.send(ctx, entries)
	if err != nil {
		return err
	}
	var rejected []andon.Rejection
	for _, r := range result.Rejected {
		if r.Index < 0 || r.Index >= len(p.items) {
			rejected = append(rejected, r)
			continue
		}
		rejected = append(rejected, p.reject(r)...)
	}
	im.report.end(p.number, p.counted(result), rejected)
	return nil
}

// packer makes parcels of what can be read, one being filled for each lane.
type packer[T any] struct {
	*importer[T]
	lanes   []chan parcel[T]
	open    []parcel[T] // by lane
	number  int         // of the parcel that was begun last
	bad     []andon.Rejection
	doubted bool
}

func (pk *packer[T]) close() {
	for _, lane := range pk.lanes {
		close(lane)
	}
}

// pack hands over all that can be read, and tells the report of what can't be.
func (pk *packer[T]) pack(ctx context.Context, items iter.Seq2[ingest.Item[T], error]) error {
	rows := 0
	for item, err := range items {
		var bad *table.RowError
		switch {
		case errors.As(err, &bad):
			pk.bad = append(pk.bad, bad.Rejection())
			err = nil
			if len(pk.bad) >= pk.batch {
				err = pk.tell()
			}
		case err != nil:
			err = andon.Errorf(andon.KindOf(err), "%s: %w", pk.report.file, err)
			return errors.Join(err, pk.flush(ctx))
		default:
			err = pk.add(ctx, item)
		}
		if rows++; err == nil && rows%pk.batch == 0 {
			err = pk.handOld(ctx, item.Index)
		}
		if err != nil {
			return err
		}
	}
	return pk.flush(ctx)
}

func (pk *packer[T]) add(ctx context.Context, item ingest.Item[T]) error {
	lane := pk.laneOf(&item.Value)
	p := &pk.open[lane]
	if pk.fold != nil {
		switch pk.fold(p, &item) {
		case folded:
			return nil
		case ofAnotherRequest:
			if err := pk.hand(ctx, lane); err != nil {
				return err
			}
			pk.fold(p, &item)
		}
	}
	if len(p.items) == 0 {
		pk.number++
		p.number, p.first = pk.number, item.Index
		pk.report.begin(p.number, p.first)
	}
	p.items, p.bytes = append(p.items, item), p.bytes+pk.size(&item.Value)
	if pk.isFull(p) {
		return pk.hand(ctx, lane)
	}
	return nil
}

func (pk *packer[T]) laneOf(entry *T) int {
	if pk.device == nil {
		return 0
	}
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, string(pk.device(entry)))
	return int(hash.Sum32() % uint32(len(pk.lanes)))
}

func (pk *packer[T]) hand(ctx context.Context, lane int) error {
	if err := pk.tell(); err != nil {
		return err
	}
	select {
	case pk.lanes[lane] <- pk.open[lane]:
		pk.open[lane] = parcel[T]{}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// handOld hands over the parcels that have waited long, so that memory is bounded.
func (pk *packer[T]) handOld(ctx context.Context, index int) error {
	for lane := range pk.open {
		p := &pk.open[lane]
		if len(p.items) > 0 && index-p.first >= patience*pk.batch {
			if err := pk.hand(ctx, lane); err != nil {
				return err
			}
		}
	}
	return nil
}

func (pk *packer[T]) flush(ctx context.Context) error {
	for lane := range pk.open {
		if len(pk.open[lane].items) > 0 {
			if err := pk.hand(ctx, lane); err != nil {
				return err
			}
		}
	}
	return pk.tell()
}

// tell reports what can't be read, unless all that was read so far is doubted.
func (pk *packer[T]) tell() error {
	if !pk.doubted && pk.doubt != nil {
		if err := pk.doubt(); err != nil {
			return err
		}
	}
	pk.doubted = true
	pk.report.refuse(pk.bad)
	pk.bad = nil
	return nil
}
