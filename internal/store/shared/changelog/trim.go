package changelog

import (
	"context"
	"sort"

	"github.com/andonhq/andon"
)

// An item is kept for a time, and then counts as deleted although the database deletes it later: a
// position before it is Gone. Beyond a number of bytes the oldest partitions are deleted, which
// costs writes. Both depend on the item alone. So that a registered reader keeps changes up to a
// bound, expiry would add that bound, and horizon would be the position of the reader.

// horizon returns the time of the oldest item that is kept.
func (s *Logs) horizon() andon.Time { return s.config.Now().Add(-andon.DurationOf(s.config.For)) }

// expiry returns when the database may delete an item.
func (s *Logs) expiry(at andon.Time) andon.Time { return at.Add(andon.DurationOf(s.config.For)) }

func (s *Logs) marks(ctx context.Context, key string) (all []Item, err error) {
	for from := uint64(0); ; from = all[len(all)-1].Number + 1 {
		part, err := s.config.Store.Read(ctx, key, from, andon.Asc, perPartition)
		if err != nil || len(part) == 0 {
			return all, err
		}
		all = append(all, part...)
	}
}

// beginPartition inserts the mark of the next partition, and deletes what is too much.
func (l *Log) beginPartition(ctx context.Context, number uint64) error {
	l.mu.Lock()
	is := mark{Feed: l.feed, Bytes: l.bytes}
	l.mu.Unlock()
	if err := l.insertMark(ctx, is, number); err != nil {
		return err
	}
	l.logs.config.Work(func(ctx context.Context) {
		if err := l.trim(ctx, is.Bytes); err != nil && ctx.Err() == nil {
			l.logs.config.Log.Warn("the oldest changes stay for now", "tenant", l.id, "error", err)
		}
	})
	return nil
}

// trim deletes the oldest partitions while those after them have as many bytes as are kept, and the
// marks of partitions in which nothing is kept.
func (l *Log) trim(ctx context.Context, bytes int64) error {
	marks, err := l.logs.marks(ctx, l.key)
	horizon := l.logs.horizon()
	for i := 0; i+1 < len(marks) && err == nil; i++ {
		var after mark
		if after, err = l.decodeMark(marks[i+1]); err != nil {
			return err
		}
		tooMuch := bytes-after.Bytes >= l.logs.config.Bytes
		if !tooMuch && marks[i+1].At >= horizon {
			break
		}
		if tooMuch {
			of := partition(l.key, marks[i].Number*perPartition)
			err = l.logs.config.Store.Drop(ctx, of, everything)
		}
		if err == nil {
			err = l.logs.config.Store.Drop(ctx, l.key, marks[i+1].Number)
		}
	}
	return err
}

// oldest returns the number of the oldest item that is kept; end where there is none.
func (l *Log) oldest(ctx context.Context, end uint64) (uint64, error) {
	horizon := l.logs.horizon()
	l.mu.Lock()
	first := l.first
	l.mu.Unlock()
	if first.at >= horizon && first.number < end {
		return first.number, nil
	}
	marks, err := l.logs.marks(ctx, l.key)
	from, to := uint64(0), end
	for _, m := range marks {
		if begins := m.Number * perPartition; m.At < horizon || m.Number == marks[0].Number {
			from = begins
		} else {
			to = min(to, begins)
			break
		}
	}
	n := sort.Search(int(to-from), func(i int) bool {
		part, failed := l.entries(ctx, from+uint64(i), 1)
		if failed != nil {
			err = failed
		}
		kept := len(part) > 0 && part[0].number == from+uint64(i) && part[0].at >= horizon
		if kept {
			first = part[0]
		}
		return kept
	})
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	l.first = entry{number: first.number, at: first.at}
	l.mu.Unlock()
	return from + uint64(n), nil
}
