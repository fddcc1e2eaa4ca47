package changelog

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

// Change is a change that a store has made, and that belongs into the log.
type Change struct {
	andon.Change // without Position
	// From is what Next returned before the change was made: an earlier item can't have it.
	From uint64
	// Version is that of the device, or of the tenant's record. Each change of it has a greater one
	// than the change before.
	Version int64
}

type waiting struct {
	Change
	text []byte // as it is in a block
	done chan struct{}
	err  error
}

// mostBytes is about how many bytes of changes one item has before it is compressed.
const mostBytes = 256 << 10

// Next returns the From of a change that is going to be made.
func (l *Log) Next(ctx context.Context) (uint64, error) {
	if err := l.open(ctx); err != nil {
		return 0, err
	}
	return l.end(), nil
}

// Append appends changes that are not in the log, in their order. All that wait for the same
// insertion are in one item. The change before each, of the same device, must have been appended.
// After an error they may be in the log; appending them again is harmless. The context does not end
// an insertion.
func (l *Log) Append(ctx context.Context, changes ...Change) error {
	ctx = context.WithoutCancel(ctx)
	if err := l.open(ctx); err != nil {
		return err
	}
	var all []*waiting
	for i := range changes {
		if l.contains(&changes[i]) {
			continue
		}
		text, err := changes[i].encode()
		if err != nil {
			return err
		}
		all = append(all, &waiting{Change: changes[i], text: text, done: make(chan struct{})})
	}
	l.mu.Lock()
	l.queue = append(l.queue, all...)
	l.mu.Unlock()
	for _, w := range all {
		if err := l.await(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// await waits until a change is appended, and appends what waits when it can.
func (l *Log) await(ctx context.Context, w *waiting) error {
	for {
		select {
		case <-w.done:
			return w.err
		case l.turn <- struct{}{}:
			l.flush(ctx)
			<-l.turn
		}
	}
}

// contains reports whether a change is among the newest items.
func (l *Log) contains(c *Change) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	newest := l.logged[c.Device]
	return newest != nil && newest.Version >= c.Version
}

// Newest returns the newest change of a device as far as this process has read: among the items in
// memory, or else in those from a number on.
func (l *Log) Newest(
	ctx context.Context, device andon.DeviceID, from uint64,
) (c Change, there bool, err error) {
	if err := l.open(ctx); err != nil {
		return c, false, err
	}
	l.mu.Lock()
	newest := l.logged[device]
	l.mu.Unlock()
	if newest != nil {
		return *newest, true, nil
	}
	c, there, _, err = l.newestStored(ctx, device, from)
	return c, there, err
}

// newestStored returns the newest change of a device in the items from a number on that are no
// longer in memory. whole is false where not all of these exist.
func (l *Log) newestStored(
	ctx context.Context, device andon.DeviceID, from uint64,
) (c Change, there, whole bool, err error) {
	l.mu.Lock()
	end := l.next - uint64(len(l.newest))
	l.mu.Unlock()
	for from < end {
		part, err := l.stored(ctx, from, page)
		if err != nil || len(part) == 0 || part[0].number != from {
			return c, there, false, err
		}
		for _, e := range part {
			for i := range e.changes {
				if e.changes[i].Device == device {
					c, there = e.changes[i], true
				}
			}
		}
		from += uint64(len(part))
	}
	return c, there, true, nil
}

// flush appends changes that wait. It is called within.
func (l *Log) flush(ctx context.Context) {
	all := l.dequeue()
	if len(all) == 0 {
		return
	}
	err := l.append(ctx, all)
	for _, w := range all {
		w.err = err
		close(w.done)
	}
}

// dequeue takes the changes of the next item, in the order in which they came.
func (l *Log) dequeue() []*waiting {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, size := 0, 0
	for n < len(l.queue) && (n == 0 || size+len(l.queue[n].text) <= mostBytes) {
		size += len(l.queue[n].text)
		n++
	}
	all := l.queue[:n:n]
	l.queue = l.queue[n:]
	return all
}

// append inserts the next item with those changes that are missing. Another process that is faster
// has its item read first.
func (l *Log) append(ctx context.Context, all []*waiting) error {
	const most = 100
	for tries := range most {
		missing, err := l.missing(ctx, all)
		if err != nil || len(missing) == 0 {
			return err
		}
		inserted, err := l.insert(ctx, missing)
		if err == nil && !inserted {
			err = l.follow(ctx)
		}
		if err != nil || inserted {
			return err
		}
		pause := time.Duration(tries+1) * time.Millisecond
		if err := sleep.For(ctx, rand.N(pause)); err != nil {
			return err
		}
	}
	return andon.Errorf(andon.Busy, "other processes were faster to append to the changes of "+
		"tenant %q, %d times", l.id, most)
}

// missing returns the changes that are not in the log, each once.
func (l *Log) missing(ctx context.Context, all []*waiting) (missing []*waiting, err error) {
	taken := map[andon.DeviceID]int64{}
	for _, w := range all {
		there := l.contains(&w.Change) || taken[w.Device] >= w.Version
		if !there {
			there, err = l.find(ctx, &w.Change)
		}
		if err != nil {
			return nil, err
		}
		if !there {
			taken[w.Device] = w.Version
			missing = append(missing, w)
		}
	}
	return missing, nil
}

// find reports whether a change is in an item that is no longer in memory. Where such items were
// deleted nobody knows: then a device's change counts as missing, since appending it again does no
// harm, and losing it would.
func (l *Log) find(ctx context.Context, c *Change) (bool, error) {
	newest, there, whole, err := l.newestStored(ctx, c.Device, c.From)
	found := there && newest.Version >= c.Version
	return found || !whole && c.Kind == andon.OfTenant, err
}

// insert inserts the next item, unless another process has inserted one of its number.
func (l *Log) insert(ctx context.Context, all []*waiting) (inserted bool, err error) {
	l.mu.Lock()
	e := entry{number: l.next, at: l.logs.config.Now(), changes: make([]Change, len(all))}
	b := block{Bytes: l.bytes, Changes: make([]json.RawMessage, len(all))}
	if n := len(l.newest); n > 0 {
		e.at = max(e.at, l.newest[n-1].at)
	}
	l.mu.Unlock()
	for i, w := range all {
		e.changes[i], b.Changes[i] = w.Change, w.text
		e.size += 2 * len(w.text)
	}
	data, err := l.logs.codec.encode(&b)
	if err == nil && e.number%perPartition == 0 && e.number > 0 {
		err = l.beginPartition(ctx, e.number/perPartition)
	}
	if err != nil {
		return false, err
	}
	e.bytes, e.expires = b.Bytes+int64(len(data)), l.logs.expiry(e.at)
	began := l.logs.config.Now()
	inserted, err = l.logs.config.Store.Insert(ctx, partition(l.key, e.number), Item{
		Number: e.number, At: e.at, Expires: e.expires, Data: data,
	})
	if err == nil && inserted {
		l.take(e)
		l.mu.Lock()
		l.read = began
		l.mu.Unlock()
	}
	return inserted, err
}
