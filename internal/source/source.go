// Package source is where messages of foreign systems end: it maps them to entries, hands these to
// intake as HTTP does, and keeps what is refused, with its reason. It knows no protocol: what reads
// from a broker is in a package of its own, and acknowledges messages once Write has returned.
package source

import (
	"context"
	"log/slog"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/outage"
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
	stuck outage.Log // by the place of the first message of a call of Write
}

// New makes a Writer.
func New(o Options) *Writer {
	o.Metrics.count(o.Name, 0, 0, 0, 0) // they are shown before anything comes
	return &Writer{Options: o, stuck: outage.Log{
		Logger: o.Log.With("source", o.Name),
		Begins: "source waits for the store", Ends: "source goes on",
	}}
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
// only that of the context, and the messages must then be read again. What the store still can't
// keep after a minute, although it keeps entries of other devices, is refused.
func (w *Writer) Write(ctx context.Context, messages []mapping.Message) error {
	for len(messages) > 0 {
		n, size := 0, 0
		for n < min(len(messages), partMessages) && (n == 0 || size < partBytes) {
			size += len(messages[n].Value) + messageBytes
			n++
		}
		part := messages[:n]
		if err := w.persist(ctx, part, int64(size)); err != nil {
			return err
		}
		messages = messages[n:]
	}
	return nil
}

// part keeps some messages. After an error it is called again from the start: the entries that are
// stored already are then the same entries.
func (w *Writer) part(
	ctx context.Context, messages []mapping.Message, size int64, isLast bool,
) error {
	leave, err := w.Intake.Enter(ctx, size, mappedBytes*size)
	if err != nil {
		return err
	}
	defer leave()
	d := newDelivery(w, messages)
	d.isLast = isLast
	for i := range d.tenants {
		if err := d.deliver(ctx, &d.tenants[i]); err != nil {
			return err
		}
	}
	if d.fault != nil && d.accepted == 0 && len(d.faulty) > 1 {
		return d.fault // it is the store
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
	// lastTry is the first that refuses what makes the store fail, after about a minute.
	lastTry = 18
)

// persist keeps some messages, and tries again until it succeeds or the context ends.
func (w *Writer) persist(ctx context.Context, messages []mapping.Message, size int64) error {
	defer w.stuck.Forget(messages[0].Place)
	for tries := 1; ; tries++ {
		err := w.part(ctx, messages, size, tries >= lastTry)
		if (err == nil || tries >= patience) && ctx.Err() == nil {
			w.stuck.Note(messages[0].Place, err)
		}
		if err == nil {
			return nil
		}
		pause := min(leastPause<<min(tries-1, 10), mostPause)
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}
