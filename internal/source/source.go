// Package source is where messages of foreign systems end: it maps them to entries, hands these to
// intake as HTTP does, and keeps what is refused, with its reason. It knows no protocol: what reads
// from a broker is in a package of its own, and acknowledges messages once Write has returned.
package source

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/sleep"
)

// Intake admits entries, as intake.Intake does.
type Intake interface {
	Events(
		context.Context, andon.TenantID, ingest.Batch[andon.Event],
	) (intake.Result, error)
	Readings(
		context.Context, andon.TenantID, ingest.Batch[andon.Reading],
	) (intake.Result, error)

	// Enter waits for a turn and for memory, which sources and HTTP share. It is Busy when that
	// takes too long.
	Enter(ctx context.Context, bytes, memory int64) (leave func(), err error)
}

// Options are what a Writer is made with. Mapping may be nil; all else must be given.
type Options struct {
	Name    string // of the source, as its rejections and metrics have it
	Tenant  andon.TenantID
	Mapping *mapping.Mapping // nil: the messages are the JSON that HTTP takes
	Intake  Intake
	Refused *Rejections
	Metrics *Metrics
	Log     *slog.Logger
	Now     func() andon.Time // only for how far behind the source is
}

// Writer keeps the messages of one source. Its methods may be called concurrently.
type Writer struct {
	Options
	stuck atomic.Int32 // calls of Write that can't go on
}

// New makes a Writer.
func New(o Options) *Writer {
	o.Metrics.count(o.Name, 0, 0, 0, 0) // they are shown before anything comes
	return &Writer{Options: o}
}

// A part of the messages is mapped and kept at a time. Its entries are a batch or a few.
const (
	partBytes    = 1 << 20
	partMessages = 10_000
	// mappedBytes is the memory of a byte of a message with what is made of it on the way to the
	// store.
	mappedBytes = 12
	// messageBytes is what a message takes besides its value.
	messageBytes = 256
)

// Write returns nil once all entries of the messages are durable and all that was refused is in the
// list of rejections. It tries again while the store is slow, full or out of reach, so an error is
// only that of the context, and the messages must then be read again.
func (w *Writer) Write(ctx context.Context, messages []mapping.Message) error {
	for len(messages) > 0 {
		n, size := 0, 0
		for n < min(len(messages), partMessages) && (n == 0 || size < partBytes) {
			size += len(messages[n].Value) + messageBytes
			n++
		}
		part := messages[:n]
		err := w.persist(ctx, func() error { return w.part(ctx, part, int64(size)) })
		if err != nil {
			return err
		}
		messages = messages[n:]
	}
	return nil
}

// part keeps some messages. After an error it is called again from the start: the entries that are
// stored already are then the same entries.
func (w *Writer) part(ctx context.Context, messages []mapping.Message, size int64) error {
	leave, err := w.Intake.Enter(ctx, size, mappedBytes*size)
	if err != nil {
		return err
	}
	defer leave()
	d := newDelivery(w, messages)
	for i := range d.tenants {
		if err := d.deliver(ctx, &d.tenants[i]); err != nil {
			return err
		}
	}
	if err := w.Refused.Add(ctx, d.refused); err != nil {
		return err
	}
	behind := time.Duration(w.Now().Sub(messages[len(messages)-1].Time)) * time.Microsecond
	w.Metrics.count(w.Name, len(messages), d.accepted, len(d.refused), behind)
	return nil
}

const (
	leastPause = 50 * time.Millisecond
	mostPause  = 5 * time.Second
	// patience is how often in a row work may fail before that is logged: a busy server has some of
	// it refused all the time.
	patience = 4
)

// persist does work again until it succeeds or the context ends.
func (w *Writer) persist(ctx context.Context, work func() error) error {
	for tries := 1; ; tries++ {
		err := work()
		if err == nil {
			if tries > patience && w.stuck.Add(-1) == 0 {
				w.Log.Info("source goes on", "source", w.Name)
			}
			return nil
		}
		if tries == patience && w.stuck.Add(1) == 1 && ctx.Err() == nil {
			w.Log.Warn("source waits for the store", "source", w.Name, "error", err)
		}
		pause := min(leastPause<<min(tries-1, 10), mostPause)
		if err := sleep.For(ctx, pause); err != nil {
			if tries >= patience {
				w.stuck.Add(-1)
			}
			return err
		}
	}
}
