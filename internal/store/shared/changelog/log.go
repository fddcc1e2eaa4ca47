package changelog

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/feed"
	"github.com/andonhq/andon/internal/store/shared"
)

// Log is the log of one tenant, as far as this process has read it. A tenant that was deleted and
// created again has another one.
type Log struct {
	logs *Logs
	id   andon.TenantID
	key  string
	news feed.Wakeup
	turn chan struct{} // full while a goroutine opens the log, reads on or appends

	mu     sync.Mutex
	queue  []*waiting
	feed   uint64  // the random number of the log
	next   uint64  // number of the next item
	bytes  int64   // of all items since the log began
	newest []entry // the newest items, consecutive: the last one is next-1
	size   int     // of newest in memory
	// logged is the newest change of each device in newest.
	logged map[andon.DeviceID]*Change
	read   andon.Time // when it was known that there is no item next; 0: the log is not open
	first  entry      // the oldest that is kept, as it was last searched for, without its changes
}

type entry struct {
	number  uint64
	at      andon.Time
	expires andon.Time
	changes []Change
	size    int   // about what it takes in memory
	bytes   int64 // of all items up to it
}

const (
	// perPartition is how many items a partition has. It is part of what is stored.
	perPartition = 1000
	// page is how many items are read together.
	page = 100
	// mostSize is about how many bytes of items a log keeps in memory.
	mostSize = 2 << 20
	// reopenAfter is how long a process may rely on where a log ends. The newest item is sure to
	// stay longer: so a process that was suspended takes no number again whose item has expired.
	reopenAfter = 15 * time.Minute
	// everything is a number that no item has.
	everything = 1 << 63
)

func newLog(s *Logs, t *shared.Tenant) *Log {
	return &Log{
		logs: s, key: t.Key, turn: make(chan struct{}, 1),
		id: andon.TenantID(strings.Clone(string(t.Record.ID))),
	}
}

func partition(key string, number uint64) string {
	return key + "#" + strconv.FormatUint(number/perPartition, 10)
}

// within does something while no other goroutine opens the log, reads on or appends.
func (l *Log) within(ctx context.Context, do func() error) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.turn }()
	return do()
}

// age returns how long ago it was known where the log ends.
func (l *Log) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.logs.config.Now().Sub(l.read).Std().Abs()
}

func (l *Log) isOpen() bool { return l.age() < reopenAfter }

// open reads where the log ends, unless that is known. A log that does not exist begins.
func (l *Log) open(ctx context.Context) error {
	if l.isOpen() {
		return nil
	}
	return l.within(ctx, func() error {
		if l.isOpen() {
			return nil
		}
		first, is, items, err := l.tail(ctx)
		if err != nil {
			return err
		}
		for i := 1; i < len(items); i++ {
			if items[i].Number+1 != items[i-1].Number {
				items = items[:i] // the database deletes what has expired in any order
			}
		}
		slices.Reverse(items)
		l.mu.Lock()
		l.feed, l.next, l.bytes = is.Feed, first, is.Bytes
		if len(items) > 0 {
			l.next = items[0].Number
		}
		l.newest, l.size, l.logged, l.first = nil, 0, map[andon.DeviceID]*Change{}, entry{}
		l.mu.Unlock()
		if err := l.takeAll(items); err != nil {
			return err
		}
		return l.follow(ctx)
	})
}

// tail returns the first number of the newest partition, its mark, and the newest items. Where all
// have expired, since no process was there to extend the newest one, another partition begins: no
// number is taken again.
func (l *Log) tail(ctx context.Context) (first uint64, is mark, items []Item, err error) {
	for {
		m, is, err := l.lastMark(ctx)
		if err != nil {
			return 0, is, nil, err
		}
		first := m.Number * perPartition
		items, err := l.logs.config.Store.Read(ctx, partition(l.key, first), 0, andon.Desc, page)
		if err == nil && len(items) == 0 && m.Number > 0 { // the next item is the first one
			of := partition(l.key, first-1)
			items, err = l.logs.config.Store.Read(ctx, of, 0, andon.Desc, page)
		}
		if err != nil || len(items) > 0 || m.At >= l.logs.horizon() {
			return first, is, items, err
		}
		if err := l.insertMark(ctx, is, m.Number+1); err != nil {
			return 0, is, nil, err
		}
	}
}

// lastMark returns the mark of the newest partition.
func (l *Log) lastMark(ctx context.Context) (m Item, is mark, err error) {
	marks, err := l.logs.config.Store.Read(ctx, l.key, 0, andon.Desc, 1)
	if err == nil && len(marks) == 0 {
		if err = l.insertMark(ctx, mark{Feed: rand.Uint64()}, 0); err == nil {
			marks, err = l.logs.config.Store.Read(ctx, l.key, 0, andon.Desc, 1)
		}
	}
	if err == nil && len(marks) == 0 {
		err = andon.Errorf(andon.Internal, "the log of changes that was begun is not there")
	}
	if err != nil {
		return m, is, err
	}
	is, err = l.decodeMark(marks[0])
	return marks[0], is, err
}

func (l *Log) decodeMark(i Item) (is mark, err error) {
	if err := json.Unmarshal(i.Data, &is); err != nil {
		return is, andon.Errorf(andon.Damaged, "mark %d of the changes of tenant %q is damaged: %w",
			i.Number, l.id, err)
	}
	return is, nil
}

// insertMark inserts the mark of a partition, unless there is one.
func (l *Log) insertMark(ctx context.Context, is mark, number uint64) error {
	data, err := json.Marshal(is)
	if err == nil {
		_, err = l.logs.config.Store.Insert(ctx, l.key,
			Item{Number: number, At: l.logs.config.Now(), Data: data})
	}
	return err
}

// readOn reads what other processes have appended, unless that was read within some time.
func (l *Log) readOn(ctx context.Context, within time.Duration) error {
	return l.within(ctx, func() error {
		if l.age() < within {
			return nil
		}
		return l.follow(ctx)
	})
}

// follow reads the items that were appended since. It is called within.
func (l *Log) follow(ctx context.Context) error {
	for {
		began, next := l.logs.config.Now(), l.end()
		items, err := l.logs.config.Store.Read(ctx, partition(l.key, next), next, andon.Asc, page)
		if err != nil {
			return err
		}
		if err := l.takeAll(items); err != nil {
			return err
		}
		if len(items) == 0 {
			l.mu.Lock()
			l.read = began
			l.mu.Unlock()
			return l.extend(ctx)
		}
	}
}

// extend keeps the newest item from expiring: its number says where the log goes on.
func (l *Log) extend(ctx context.Context) error {
	l.mu.Lock()
	if len(l.newest) == 0 {
		l.mu.Unlock()
		return nil
	}
	last := &l.newest[len(l.newest)-1]
	number, now := last.number, l.logs.config.Now()
	enough := last.expires.Sub(now).Std() > l.logs.config.For/2
	l.mu.Unlock()
	if enough {
		return nil
	}
	of := partition(l.key, number)
	items, err := l.logs.config.Store.Read(ctx, of, number, andon.Asc, 1)
	if err != nil || len(items) == 0 {
		return err
	}
	items[0].Expires = l.logs.expiry(now)
	if err := l.logs.config.Store.Extend(ctx, of, items[0]); err != nil {
		return err
	}
	l.mu.Lock()
	last.expires = items[0].Expires
	l.mu.Unlock()
	return nil
}

func (l *Log) takeAll(items []Item) error {
	for _, i := range items {
		e, err := l.logs.codec.decode(l.id, i)
		if err == nil && e.number != l.end() {
			err = andon.Errorf(andon.Damaged, "item %d is missing in the changes of tenant %q",
				l.end(), l.id)
		}
		if err != nil {
			return err
		}
		l.take(e)
	}
	return nil
}

// take takes in the next item, and wakes those who wait for it.
func (l *Log) take(e entry) {
	l.mu.Lock()
	l.next, l.bytes = e.number+1, e.bytes
	l.newest, l.size = append(l.newest, e), l.size+e.size
	for i := range e.changes {
		l.logged[e.changes[i].Device] = &e.changes[i]
	}
	for l.size > mostSize && len(l.newest) > 1 {
		l.forgetOldest()
	}
	if e.number%perPartition == 0 {
		l.first = entry{} // the oldest may be deleted now
	}
	l.mu.Unlock()
	l.news.Notify(e.number + 1)
}

func (l *Log) forgetOldest() {
	oldest := l.newest[0]
	l.newest, l.size = slices.Delete(l.newest, 0, 1), l.size-oldest.size
	for i := range oldest.changes {
		if c := &oldest.changes[i]; l.logged[c.Device] == c {
			delete(l.logged, c.Device)
		}
	}
}

func (l *Log) end() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

// position returns the position before an item.
func (l *Log) position(number uint64) andon.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return andon.Position{Feed: l.feed, Sequence: number}
}

// gave reports whether a position may have been given of this log.
func (l *Log) gave(p andon.Position) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return p.Feed == l.feed && p.Sequence <= l.next
}

// changes yields the changes after a position up to the end that is known.
func (l *Log) changes(
	ctx context.Context, after andon.Position, yield func(andon.Change) bool,
) error {
	at := l.position(after.Sequence)
	for end := l.end(); at.Sequence < end; {
		part, err := l.entries(ctx, at.Sequence, page)
		switch {
		case err != nil:
			return err
		case len(part) == 0 || part[0].number != at.Sequence || part[0].at < l.logs.horizon():
			return feed.Gone()
		}
		for _, e := range part[:min(uint64(len(part)), end-at.Sequence)] {
			next := l.position(e.number + 1)
			for i := range e.changes {
				c := e.changes[i].Change
				at.Index++
				if c.Position = at; i == len(e.changes)-1 {
					c.Position = next
				}
				if e.number == after.Sequence && i < int(after.Index) {
					continue
				}
				if err := ctx.Err(); err != nil || !yield(c) {
					return err
				}
			}
			at = next
		}
	}
	return nil
}

// entries returns some items from a number on, of one partition: those in memory, or up to limit.
func (l *Log) entries(ctx context.Context, from uint64, limit int) ([]entry, error) {
	l.mu.Lock()
	if n := from - (l.next - uint64(len(l.newest))); n < uint64(len(l.newest)) {
		defer l.mu.Unlock()
		return slices.Clone(l.newest[n:]), nil
	}
	l.mu.Unlock()
	return l.stored(ctx, from, limit)
}

func (l *Log) stored(ctx context.Context, from uint64, limit int) (all []entry, err error) {
	items, err := l.logs.config.Store.Read(ctx, partition(l.key, from), from, andon.Asc, limit)
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		e, err := l.logs.codec.decode(l.id, i)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// Recent returns the devices that changed within some time, by id, as far as this process has read.
func (l *Log) Recent(within time.Duration) (ids []andon.DeviceID) {
	since := l.logs.config.Now().Add(-andon.DurationOf(within))
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.newest) - 1; i >= 0 && l.newest[i].at >= since; i-- {
		for _, c := range l.newest[i].changes {
			if c.Kind != andon.OfTenant {
				ids = append(ids, c.Device)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
