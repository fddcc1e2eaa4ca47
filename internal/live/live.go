// Package live gives the changes of what devices show to many readers at once: the streams of the
// HTTP API. It reads the feed of a tenant once, however many follow it, and only while someone
// does. So long it also looks which devices fall silent and which are heard again: neither changes
// what a device shows, so the feed has neither.
//
// What changes within a Beat comes together in one Batch, so a reader is woken at most once in a
// beat. The newest batches stay in memory, in a bounded buffer that all readers share. A reader
// that is slower is cut off (ErrSlow): it costs no memory of its own, and can resume from
// its position.
//
// The package knows no transport: how a change is written is a function that it is given.
package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/silence"
	"github.com/andonhq/andon/internal/sleep"
)

// Beat is the least time between two batches of a tenant.
const Beat = 250 * time.Millisecond

// maxChanges is how many changes of silence are told of at once.
const maxChanges = 4096

// maxBytes is how many bytes of frames a tenant keeps for slow readers.
const maxBytes = 8 << 20

// ErrSlow is the error of a reader whose position is older than what is kept in memory.
var ErrSlow = errors.New("the reader is too slow")

// Frame is one change as it is sent.
type Frame struct {
	andon.Change
	Text []byte
}

// Batch is the changes of one beat, or what is silent and was not, or the other way round. Readers
// share it and must not change it.
type Batch struct {
	Frames []Frame
	Text   []byte // of all frames together

	Silence []silence.Change // without frames
	// Reload says, without frames, that more changes than Silence may have: a client has to query
	// which devices are silent.
	Reload bool
}

// Encode writes changes of a tenant as they are sent: one frame for each, whose text may be empty.
type Encode func(
	ctx context.Context, tenant andon.TenantID, changes []andon.Change,
) ([]Frame, error)

// Source is what a Hub reads.
type Source interface {
	andon.Feed
	silence.Source
}

// Hub has the readers of all tenants. Its methods may be called concurrently.
type Hub struct {
	source Source
	now    func() andon.Time
	encode Encode

	mu      sync.Mutex
	tenants map[andon.TenantID]*tenant
}

// New makes a Hub. now is the clock by which devices are silent.
func New(source Source, now func() andon.Time, encode Encode) *Hub {
	return &Hub{
		source: source, now: now, encode: encode, tenants: map[andon.TenantID]*tenant{},
	}
}

// tenant has the changes of one tenant, while it has readers.
type tenant struct {
	hub     *Hub
	id      andon.TenantID
	readers int // guarded by Hub.mu
	stop    context.CancelFunc
	running sync.WaitGroup // what reads the feed, and what looks for silence
	begun   chan struct{}  // closed once it is known which devices are silent, or err is set

	mu      sync.Mutex
	batches []*Batch
	first   uint64         // number of batches[0]
	bytes   int            // of batches
	from    andon.Position // before batches[0]
	at      andon.Position // after the last batch
	err     error          // why there are no more
	news    chan struct{}  // closed by the next batch
}

// Reader follows the changes of one tenant. It is for one goroutine; Close ends it.
type Reader struct {
	tenant *tenant
	at     andon.Position
	next   uint64 // number of the next batch
	joined bool   // next counts: what comes before it has been read
	silent uint64 // number of the first batch whose silence is news
}

// Readers returns how many follow a tenant.
func (h *Hub) Readers() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.tenants {
		n += t.readers
	}
	return n
}

// Open follows a tenant from a position on; nil: from now on. A position that the feed can't resume
// is Gone. Silence is told from now on: a client that queries which devices are silent once Open
// has returned misses none.
func (h *Hub) Open(
	ctx context.Context, id andon.TenantID, after *andon.Position,
) (*Reader, error) {
	_, newest, err := h.source.ChangesKept(ctx, id)
	if err != nil {
		return nil, err
	}
	if after == nil {
		after = &newest
	} else if err := h.resumes(ctx, id, *after); err != nil {
		return nil, err
	}
	h.mu.Lock()
	t := h.tenants[id]
	if t == nil || t.failed() != nil {
		t = h.start(id, newest)
		h.tenants[id] = t
	}
	t.readers++
	h.mu.Unlock()
	r := &Reader{tenant: t, at: *after}
	select {
	case <-t.begun:
		err = t.failed()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r.silent = t.first + uint64(len(t.batches))
	return r, nil
}

// resumes returns an error unless there is nothing missing after a position.
func (h *Hub) resumes(ctx context.Context, id andon.TenantID, after andon.Position) error {
	for _, err := range h.source.Changes(ctx, id, after) {
		return err
	}
	return nil
}

// start reads the feed of a tenant from a position on, and looks for silence, until stop.
func (h *Hub) start(id andon.TenantID, at andon.Position) *tenant {
	ctx, stop := context.WithCancel(context.Background())
	t := &tenant{
		hub: h, id: id, stop: stop, begun: make(chan struct{}),
		from: at, at: at, news: make(chan struct{}),
	}
	t.running.Go(func() {
		t.fail(t.follow(ctx))
		stop()
	})
	t.running.Go(func() { t.listen(ctx) })
	return t
}

// Position returns where the reader is.
func (r *Reader) Position() andon.Position { return r.at }

// Close ends the reading. The last reader of a tenant waits until nothing of it is read any more.
func (r *Reader) Close() {
	h, t := r.tenant.hub, r.tenant
	h.mu.Lock()
	t.readers--
	last := t.readers == 0
	if last && h.tenants[t.id] == t {
		delete(h.tenants, t.id)
	}
	h.mu.Unlock()
	if last {
		t.stop()
		t.running.Wait()
	}
}

// follow reads the feed, a batch in a beat, until the context ends.
func (t *tenant) follow(ctx context.Context) error {
	beat := time.NewTimer(0)
	defer beat.Stop()
	for {
		if err := t.hub.source.AwaitChange(ctx, t.id, t.at); err != nil {
			return err
		}
		select {
		case <-beat.C:
			beat.Reset(Beat)
		case <-ctx.Done():
			return ctx.Err()
		}
		for more := true; more; {
			var changes []andon.Change
			var err error
			changes, more, err = t.hub.read(ctx, t.id, t.at)
			if err != nil {
				return err
			}
			frames, err := t.hub.encode(ctx, t.id, changes)
			if err != nil {
				return err
			}
			if len(frames) > 0 {
				t.add(batch(frames))
			}
		}
	}
}

// read returns the next changes after a position, and whether there are more.
func (h *Hub) read(
	ctx context.Context, id andon.TenantID, after andon.Position,
) (changes []andon.Change, more bool, err error) {
	const most = 1024
	for c, err := range h.source.Changes(ctx, id, after) {
		if err != nil {
			return nil, false, err
		}
		if len(changes) == most {
			return changes, true, nil
		}
		changes = append(changes, c)
	}
	return changes, false, nil
}

// listen looks which devices fall silent, and which are heard again, until the context ends. The
// next look makes up for one that fails; after a first one that fails there is no reading.
func (t *tenant) listen(ctx context.Context) {
	w := silence.Watch{Source: t.hub.source, Now: t.hub.now, Tenant: t.id}
	_, err := w.Check(ctx)
	if err != nil {
		t.fail(err)
	}
	close(t.begun)
	for err == nil {
		if err = sleep.For(ctx, w.Pause()); err != nil {
			return
		}
		switch changes, _ := w.Check(ctx); {
		case len(changes) > maxChanges:
			t.add(&Batch{Reload: true})
		case len(changes) > 0:
			t.add(&Batch{Silence: changes})
		}
	}
}

// add makes a batch the newest, and drops the oldest where they are more than maxBytes. The newest
// stays in any case.
func (t *tenant) add(b *Batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.batches, t.bytes = append(t.batches, b), t.bytes+b.size()
	for len(t.batches) > 1 && t.bytes > maxBytes {
		oldest := t.batches[0]
		t.batches[0] = nil
		t.batches, t.first, t.bytes = t.batches[1:], t.first+1, t.bytes-oldest.size()
		t.from = oldest.last(t.from)
	}
	if len(b.Frames) > 0 { // follow alone reads it without the lock, and adds those
		t.at = b.last(t.at)
	}
	close(t.news)
	t.news = make(chan struct{})
}

// size is about how many bytes a batch takes.
func (b *Batch) size() int {
	const change = 512 // with its devices, but for their texts
	return len(b.Text) + change*(len(b.Frames)+len(b.Silence))
}

// last is the position after a batch that follows one: silence has none.
func (b *Batch) last(before andon.Position) andon.Position {
	if len(b.Frames) == 0 {
		return before
	}
	return b.Frames[len(b.Frames)-1].Position
}

// batch joins frames, whose texts lie in the text of all from now on.
func batch(frames []Frame) *Batch {
	size := 0
	for i := range frames {
		size += len(frames[i].Text)
	}
	b := &Batch{Frames: frames, Text: make([]byte, 0, size)}
	for i := range frames {
		from := len(b.Text)
		b.Text = append(b.Text, frames[i].Text...)
		frames[i].Text = b.Text[from:]
	}
	return b
}

func (t *tenant) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return
	}
	t.err = err
	close(t.news)
	t.news = make(chan struct{})
}

func (t *tenant) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Next returns the changes after the reader's position as soon as there are some; nil where there
// are none until a time has passed. The error is ErrSlow for a reader that was too slow.
func (r *Reader) Next(ctx context.Context, timeout time.Duration) (*Batch, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		b, news, err := r.take(ctx)
		if b != nil || err != nil {
			return b, err
		}
		select {
		case <-news:
		case <-timer.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take returns the next batch, or else a channel that is closed when there is one.
func (r *Reader) take(ctx context.Context) (b *Batch, news chan struct{}, err error) {
	t := r.tenant
	for b == nil {
		t.mu.Lock()
		news, err = t.news, t.err
		switch older := r.at.Compare(t.from) < 0; {
		case !r.joined && older:
			from := t.from
			t.mu.Unlock()
			if b, err = r.catchUp(ctx, from); b == nil && err == nil {
				continue
			}
			return b, nil, err
		case !r.joined:
			r.joined, r.next = true, t.first
			if r.silent < t.first { // batches of that time were dropped
				t.mu.Unlock()
				return &Batch{Reload: true}, nil, nil
			}
		case r.next < t.first:
			err = ErrSlow
		}
		if n := r.next - t.first; err != ErrSlow && n < uint64(len(t.batches)) {
			b, err = t.batches[n], nil
			r.next++
		}
		t.mu.Unlock()
		if b == nil {
			return nil, news, err
		}
		b = r.rest(b)
	}
	r.at = b.last(r.at)
	return b, nil, nil
}

// rest returns what of a batch the reader has not seen; nil: nothing.
func (r *Reader) rest(b *Batch) *Batch {
	if len(b.Frames) == 0 && r.next <= r.silent {
		return nil
	}
	seen, size := 0, 0
	for seen < len(b.Frames) && b.Frames[seen].Position.Compare(r.at) <= 0 {
		size += len(b.Frames[seen].Text)
		seen++
	}
	switch seen {
	case 0:
		return b
	case len(b.Frames):
		return nil
	}
	return &Batch{Frames: b.Frames[seen:], Text: b.Text[size:]}
}

// catchUp reads from the feed itself what came before the batches that are kept, which begin at a
// position; nil: there is nothing.
func (r *Reader) catchUp(ctx context.Context, from andon.Position) (*Batch, error) {
	h, id := r.tenant.hub, r.tenant.id
	changes, _, err := h.read(ctx, id, r.at)
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 { // all that came between is of other tenants
		r.at = from
		return nil, nil
	}
	frames, err := h.encode(ctx, id, changes)
	if err != nil {
		return nil, err
	}
	b := batch(frames)
	r.at = b.last(r.at)
	return b, nil
}
