package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/feed"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/tenants"
)

// Config is what changes are read from, and for how long they are kept.
type Config struct {
	DB  *pebble.DB
	Log *slog.Logger
	// For and Bytes are for how long, by the arrival of changes, and up to how many bytes changes
	// are kept, about.
	For   time.Duration
	Bytes int64
	// Published returns the sequence before which all is visible.
	Published func() uint64
	// Tenants returns all tenants.
	Tenants func() []*Tenant
}

// kept says which changes there are. It is stored whenever it changes.
type kept struct {
	// First is the sequence of the oldest: all rows before it are deleted.
	First    uint64    `json:"first"`
	Openings []Opening `json:"openings"`
	Segments []segment `json:"segments"`
}

// segments is about how many segments there are: by so much more than is asked for may be kept.
const segments = 64

// Changes is the feed of what devices show, and of what tenants are set to.
type Changes struct {
	Config
	mu     sync.Mutex
	kept   kept
	latest andon.Time // time as the feed has it
	bytes  int64      // after the last segment
	began  andon.Time // when the first change after the last segment arrived
}

func keptKey() layout.Key { return layout.FixedKey("feed") }

// Open begins an opening, whose first sequence is next.
func (c *Changes) Open(next uint64) error {
	k := kept{First: next}
	if err := engine.ReadJSON(c.DB, keptKey(), &k); err != nil {
		return fmt.Errorf("read feed: %w", err)
	}
	k.Openings = begin(k.Openings, k.First, next)
	c.kept = k
	if n := len(k.Segments); n > 0 {
		c.latest = andon.Time(k.Segments[n-1].Until)
	}
	c.began = c.latest
	for _, t := range c.Tenants() {
		t.lost = k.First
		next, err := c.end(t, 0, math.MaxUint64)
		if err != nil {
			return err
		}
		t.Notify(next)
	}
	value, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return c.DB.Set(keptKey(), value, pebble.Sync)
}

// end returns the sequence after the newest change of a tenant that is between two sequences, 0
// where there is none.
func (c *Changes) end(t *Tenant, from, to uint64) (sequence uint64, _ error) {
	for it, err := range engine.RowsBetween(context.Background(), c.DB,
		layout.ChangeKey(t.Number, from), layout.ChangeKey(t.Number, to), andon.Desc) {
		if err != nil {
			return 0, err
		}
		return layout.SequenceOf(it.Key()) + 1, nil
	}
	return 0, nil
}

// Kept returns the position before the oldest change, and that after the newest.
func (c *Changes) Kept(t *Tenant) (oldest, newest andon.Position) {
	published := c.Published()
	c.mu.Lock()
	first := c.kept.First
	c.mu.Unlock()
	return c.Position(t, first), c.Position(t, published)
}

// Position returns the position of a tenant before a sequence, in the newest opening.
func (c *Changes) Position(t *Tenant, sequence uint64) andon.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	newest := c.kept.Openings[len(c.kept.Openings)-1]
	return andon.Position{Feed: newest.feedID(t), Sequence: sequence}
}

// Gave reports whether the store has given a position, and has not been set back since: it is of
// one of the openings, and not after the end of that.
func (c *Changes) Gave(t *Tenant, p andon.Position) bool {
	end := c.Published()
	c.mu.Lock()
	defer c.mu.Unlock()
	openings := c.kept.Openings
	i := slices.IndexFunc(openings, func(o Opening) bool { return o.feedID(t) == p.Feed })
	if i >= 0 && i+1 < len(openings) {
		end = openings[i+1].From
	}
	return i >= 0 && p.Sequence <= end
}

// Resumes returns Gone where not all changes after a position are there.
func (c *Changes) Resumes(t *Tenant, p andon.Position) error {
	gave := c.Gave(t, p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !gave || p.Sequence < t.lost {
		return feed.Gone()
	}
	return nil
}

// Await returns nil once there is a change after a position, or the tenant has ended.
func (c *Changes) Await(ctx context.Context, t *Tenant, after andon.Position) error {
	if err := c.Resumes(t, after); err != nil {
		return err
	}
	return t.Wait(ctx, after.Sequence)
}

// Read yields the changes after a position that are published now.
func (c *Changes) Read(
	ctx context.Context, t *Tenant, after andon.Position,
) iter.Seq2[andon.Change, error] {
	return seq.Of(func(yield func(andon.Change) bool) error {
		from := after.OfChanges()
		for end := c.Published(); ; {
			part, err := c.part(ctx, t, from, end)
			for _, one := range part {
				if !yield(one) {
					return nil
				}
				from = one.Position
			}
			if err != nil || len(part) == 0 {
				return err
			}
		}
	})
}

// part returns some changes after a position and before a sequence, none where there are none.
func (c *Changes) part(
	ctx context.Context, t *Tenant, after andon.Position, end uint64,
) (part []andon.Change, err error) {
	const enough = 256
	it, err := engine.NewIterator(ctx, c.DB,
		layout.ChangeKey(t.Number, after.Sequence), layout.ChangeKey(t.Number, end))
	if err != nil {
		return nil, err
	}
	defer it.Release()
	// After the iterator is open, which sees what is deleted from now on.
	if err := c.Resumes(t, after); err != nil {
		return nil, err
	}
	next := c.Position(t, 0)
	for ok := it.First(); ok && len(part) < enough; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		row, err := ReadRow(t.ID, value)
		if err != nil {
			return nil, fmt.Errorf("read changes: %w", err)
		}
		next.Sequence = layout.SequenceOf(it.Key())
		for i := range row {
			next.Index++
			row[i].Position = next
		}
		next.Sequence, next.Index = next.Sequence+1, 0
		row[len(row)-1].Position = next
		if next.Sequence-1 == after.Sequence {
			row = row[min(int(after.Index), len(row)):]
		}
		part = append(part, row...)
	}
	return part, it.Error()
}

// ReadRow reads a row into the changes of a tenant, without their positions.
func ReadRow(id andon.TenantID, row []byte) (changes []andon.Change, err error) {
	r := layout.NewReader(row)
	for len(r.Rest) > 0 || len(changes) == 0 {
		c := andon.Change{Kind: andon.ChangeKind(r.Byte())}
		if c.Kind == andon.OfTenant {
			record := andon.Record{Kind: andon.TenantKind, ID: string(id)}
			if err := layout.DecodeDocument(&record, r.Rest); err != nil {
				return nil, err
			}
			t, _, err := tenants.Decode(record)
			c.Tenant = &t
			return []andon.Change{c}, err
		}
		r.Change(&c)
		if r.Bad {
			return nil, layout.ErrDamaged
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// Grow counts the bytes of changes that arrived at a time and are published up to a sequence, and
// deletes what is more than is to be kept.
func (c *Changes) Grow(received andon.Time, bytes int, sequence uint64) {
	if bytes == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	most := andon.DurationOf(c.For / segments)
	c.began = cmp.Or(c.began, received)
	c.latest = max(c.latest, min(received, c.began.Add(most)))
	c.bytes += int64(bytes)
	if c.bytes < c.Bytes/segments && c.latest.Sub(c.began) < most {
		return
	}
	end := sequence + 1
	if n := len(c.kept.Segments); n > 0 {
		end = max(end, c.kept.Segments[n-1].End)
	}
	c.kept.Segments = append(c.kept.Segments, segment{end, int64(c.latest), c.bytes})
	c.bytes, c.began = 0, c.latest
	if err := c.trim(); err != nil {
		c.Log.Error("the feed's oldest changes stay for now", "error", err)
	}
}

// wanted returns what is left once the oldest segments are dropped that need not be kept. What a
// registered reader has not read yet would be kept here as well, up to a bound of its own.
func (c *Changes) wanted() kept {
	left := c.kept
	left.Segments, left.First = dropped(left.Segments, left.First,
		func(oldest segment, bytes int64) bool {
			age := c.latest.Sub(andon.Time(oldest.Until))
			return bytes <= c.Bytes && age <= andon.DurationOf(c.For)
		})
	return left
}

// trim deletes the rows that are not wanted, and stores what is left. It waits for no disk. An
// error changes nothing.
func (c *Changes) trim() error {
	left := c.wanted()
	value, err := json.Marshal(left)
	if err != nil {
		return err
	}
	b := engine.NewBatch(c.DB)
	defer b.Release()
	lost := map[*Tenant]uint64{}
	for _, t := range c.Tenants() {
		if left.First == c.kept.First || t.Next() <= c.kept.First {
			continue // nothing of it is deleted
		}
		end, err := c.end(t, c.kept.First, left.First)
		if err != nil {
			return err
		}
		if end > 0 {
			lost[t] = end
			b.RemoveRange(layout.ChangeKey(t.Number, c.kept.First), layout.ChangeKey(t.Number, end))
		}
	}
	b.Put(keptKey(), value)
	if err := b.Write(pebble.NoSync); err != nil {
		return err
	}
	for t, end := range lost {
		t.lost = end
	}
	c.kept = left
	return nil
}
