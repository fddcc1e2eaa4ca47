package pebblestore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/feed"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// The feed of changes is the rows of changes in the order of their records, as far as those are
// published. Its positions are those sequences.

// kept is which changes there are. It is stored whenever it changes.
type kept struct {
	// First is the sequence of the oldest: all rows before it are gone.
	First uint64 `json:"first"`
	// Openings are those of the store, each from the next sequence then. A position names the
	// opening that it was given in. So one from behind the moment at which this directory was
	// copied is not taken for one of the copy, which has gone on by itself since.
	Openings []opening `json:"openings"`
	Segments []segment `json:"segments"`
}

type opening struct {
	ID   uint64 `json:"id"`
	From uint64 `json:"from"`
}

// segment is a part of the feed, the unit in which it is given back.
type segment struct {
	Behind uint64     `json:"behind"` // the sequence behind it
	Until  andon.Time `json:"until"`  // when its last change came
	Bytes  int64      `json:"bytes"`
}

// segments is about how many parts what is kept is divided into: so much more than is asked for may
// be there.
const segments = 64

// mostOpenings is how many openings are remembered.
const mostOpenings = 1000

// changesKept is the part of the store that gives back what is too old. It knows no clock: time is
// the latest arrival, but goes on by no more than a segment's time with each. So no single arrival
// under a wrong clock empties the feed; where changes are rare, some are kept for longer.
type changesKept struct {
	sync.Mutex
	kept
	latest andon.Time
	bytes  int64 // behind the last segment
	began  andon.Time
}

// openFeed begins an opening, behind the rebuilding.
func (s *Store) openFeed(context.Context) error {
	value, err := s.fixed(fixedFeed)
	if err != nil {
		return err
	}
	k := kept{First: s.order.next}
	if value != nil {
		if err := json.Unmarshal(value, &k); err != nil {
			return fmt.Errorf("read feed: %w", err)
		}
	}
	k.Openings = append(k.Openings, opening{rand.Uint64(), s.order.next})
	k.Openings = k.Openings[max(0, len(k.Openings)-mostOpenings):]
	for len(k.Openings) > 1 && k.Openings[1].From < k.First {
		k.Openings = k.Openings[1:]
	}
	s.feed.kept = k
	if n := len(k.Segments); n > 0 {
		s.feed.latest = k.Segments[n-1].Until
	}
	s.feed.began = s.feed.latest
	if value, err = json.Marshal(k); err != nil {
		return err
	}
	for _, t := range s.tenants {
		t.lost = k.First
		next, err := s.behindChanges(t, 0, math.MaxUint64)
		if err != nil {
			return err
		}
		t.bell.Ring(next)
	}
	return s.db.Set(layout.FixedKey(fixedFeed), value, pebble.Sync)
}

// behindChanges returns the sequence behind the newest change of a tenant that is between two
// sequences, 0 where there is none.
func (s *Store) behindChanges(t *tenant, from, before uint64) (next uint64, err error) {
	it, err := engine.NewIterator(context.Background(), s.db,
		layout.ChangeKey(t.number, from), layout.ChangeKey(t.number, before))
	if err != nil {
		return 0, err
	}
	defer it.Release()
	if it.Last() {
		next = layout.SequenceOf(it.Key()) + 1
	}
	return next, it.Error()
}

// feedID names the feed of a tenant: one of the same name that is made later has another number.
func (o opening) feedID(t *tenant) uint64 {
	const spread = 0x9e3779b97f4a7c15 // odd, so no two numbers meet
	return o.ID + uint64(t.number)*spread
}

// position returns the place before a sequence.
func (k *kept) position(t *tenant, sequence uint64) andon.Position {
	last := k.Openings[len(k.Openings)-1]
	return andon.Position{Feed: last.feedID(t), Sequence: sequence}
}

// resumes reports a position from which not all changes are there.
func (k *kept) resumes(t *tenant, p andon.Position, published uint64) error {
	if !k.gave(t, p, published) || p.Sequence < t.lost {
		return feed.Gone()
	}
	return nil
}

// gave reports whether a position is of this store: given in one of its openings, and not behind
// where that ended.
func (k *kept) gave(t *tenant, p andon.Position, published uint64) bool {
	i := slices.IndexFunc(k.Openings, func(o opening) bool { return o.feedID(t) == p.Feed })
	behind := published
	if i >= 0 && i+1 < len(k.Openings) {
		behind = k.Openings[i+1].From
	}
	return i >= 0 && p.Sequence <= behind
}

// published returns the sequence before which all is visible.
func (s *Store) published() uint64 {
	s.queue.Lock()
	defer s.queue.Unlock()
	return s.queue.published
}

// ChangesKept is of andon.Feed.
func (s *Store) ChangesKept(
	ctx context.Context, id andon.TenantID,
) (oldest, newest andon.Position, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return oldest, newest, err
	}
	published := s.published()
	s.feed.Lock()
	defer s.feed.Unlock()
	return s.feed.position(t, s.feed.First), s.feed.position(t, published), nil
}

// AwaitChange is of andon.Feed.
func (s *Store) AwaitChange(
	ctx context.Context, id andon.TenantID, after andon.Position,
) error {
	t, err := s.tenant(ctx, id)
	if err == nil {
		err = s.resumes(t, after)
	}
	if err == nil {
		err = t.bell.Wait(ctx, after.Sequence)
	}
	if err == nil {
		_, err = s.tenant(ctx, id) // it may be deleted meanwhile
	}
	return err
}

func (s *Store) resumes(t *tenant, p andon.Position) error {
	published := s.published()
	s.feed.Lock()
	defer s.feed.Unlock()
	return s.feed.resumes(t, p, published)
}

// Changes is of andon.Feed. It reads a part at a time, so that a reader who is slow keeps nothing
// of the store from being given back.
func (s *Store) Changes(
	ctx context.Context, id andon.TenantID, after andon.Position,
) iter.Seq2[andon.Change, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Change) bool) error {
		from := after.OfChanges()
		for end := s.published(); ; {
			part, err := s.changes(ctx, t, from, end)
			for _, c := range part {
				if !yield(c) {
					return nil
				}
				from = c.Position
			}
			if err != nil || len(part) == 0 {
				return err
			}
		}
	})
}

// changes returns some changes behind a position and before a sequence; none when there are none.
func (s *Store) changes(
	ctx context.Context, t *tenant, after andon.Position, end uint64,
) (part []andon.Change, err error) {
	const enough = 256
	it, err := engine.NewIterator(ctx, s.db,
		layout.ChangeKey(t.number, after.Sequence), layout.ChangeKey(t.number, end))
	if err != nil {
		return nil, err
	}
	defer it.Release()
	// Behind the iterator, which sees what is given back from now on.
	if err := s.resumes(t, after); err != nil {
		return nil, err
	}
	s.feed.Lock()
	at := s.feed.position(t, 0)
	s.feed.Unlock()
	for ok := it.First(); ok && len(part) < enough; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		row, err := readChanges(t.record.Load().ID, value)
		if err != nil {
			return nil, fmt.Errorf("read changes: %w", err)
		}
		at.Sequence = layout.SequenceOf(it.Key())
		for i := range row {
			at.Index++
			row[i].Position = at
		}
		at.Sequence, at.Index = at.Sequence+1, 0
		row[len(row)-1].Position = at
		if at.Sequence-1 == after.Sequence {
			row = row[min(int(after.Index), len(row)):]
		}
		part = append(part, row...)
	}
	return part, it.Error()
}

// grow counts changes that were published, and gives back what is more than is to be kept.
func (k *changesKept) grow(s *Store, received andon.Time, bytes int, sequence uint64) {
	if bytes == 0 {
		return
	}
	k.Lock()
	defer k.Unlock()
	most := andon.DurationOf(s.options.ChangesFor / segments)
	k.began = cmp.Or(k.began, received)
	k.latest = max(k.latest, min(received, k.began.Add(most)))
	k.bytes += int64(bytes)
	few := k.bytes < s.options.ChangesBytes/segments
	if few && k.latest.Sub(k.began) < most {
		return
	}
	behind := sequence + 1
	if n := len(k.Segments); n > 0 {
		behind = max(behind, k.Segments[n-1].Behind)
	}
	k.Segments = append(k.Segments, segment{behind, k.latest, k.bytes})
	k.bytes, k.began = 0, k.latest
	if err := k.giveBack(s); err != nil {
		s.options.Log.Error("the feed's oldest changes stay for now", "error", err)
	}
}

// giveBack deletes the oldest segments, as many as must go, and writes down what is left. It waits
// for no disk: what comes back after a crash is too much, not too little. An error changes nothing.
func (k *changesKept) giveBack(s *Store) error {
	left, bytes := k.kept, int64(0)
	for _, g := range left.Segments {
		bytes += g.Bytes
	}
	for len(left.Segments) > 0 && (bytes > s.options.ChangesBytes ||
		k.latest.Sub(left.Segments[0].Until) > andon.DurationOf(s.options.ChangesFor)) {
		left.First, bytes = left.Segments[0].Behind, bytes-left.Segments[0].Bytes
		left.Segments = left.Segments[1:]
	}
	value, err := json.Marshal(left)
	if err != nil {
		return err
	}
	b := s.newBatch()
	defer b.Release()
	lost := map[*tenant]uint64{}
	for _, t := range s.everyTenant() {
		if left.First == k.First || t.bell.Next() <= k.First {
			continue // nothing of it goes
		}
		behind, err := s.behindChanges(t, k.First, left.First)
		if err != nil {
			return err
		}
		if behind > 0 {
			lost[t] = behind
			b.RemoveRange(layout.ChangeKey(t.number, k.First), layout.ChangeKey(t.number, behind))
		}
	}
	b.Put(layout.FixedKey(fixedFeed), value)
	if err := b.Write(pebble.NoSync); err != nil {
		return err
	}
	for t, behind := range lost {
		t.lost = behind
	}
	k.kept = left
	return nil
}
