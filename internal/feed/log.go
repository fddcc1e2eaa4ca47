package feed

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/andonhq/andon"
)

// kept is how many changes of a tenant stay in memory at least; at most it is twice as many.
const kept = 1 << 13

// Log is the feed of one tenant in memory: it ends with the process.
type Log struct {
	Bell
	mu      sync.Mutex
	id      uint64
	changes []andon.Change // one for each sequence
	next    uint64         // of the next change
}

// NewLog begins a feed.
func NewLog() *Log { return &Log{id: rand.Uint64()} }

// Add puts changes behind the others and gives them their positions. The caller rings, outside its
// locks.
func (l *Log) Add(changes ...andon.Change) (next uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range changes {
		l.next++
		c.Position = l.at(l.next)
		l.changes = append(l.changes, c)
	}
	if len(l.changes) > 2*kept {
		l.changes = slices.Clone(l.changes[len(l.changes)-kept:])
	}
	return l.next
}

func (l *Log) at(sequence uint64) andon.Position {
	return andon.Position{Feed: l.id, Sequence: sequence}
}

// Kept returns the positions before the oldest and behind the newest change.
func (l *Log) Kept() (oldest, newest andon.Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at(l.next - uint64(len(l.changes))), l.at(l.next)
}

// Changes yields the changes behind a position.
func (l *Log) Changes(
	ctx context.Context, after andon.Position,
) iter.Seq2[andon.Change, error] {
	return func(yield func(andon.Change, error) bool) {
		changes, err := l.behind(after)
		for _, c := range changes {
			if err = ctx.Err(); err != nil || !yield(c, nil) {
				break
			}
		}
		if err != nil {
			yield(andon.Change{}, err)
		}
	}
}

func (l *Log) behind(after andon.Position) ([]andon.Change, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := l.next - uint64(len(l.changes))
	if after.Feed != l.id || after.Sequence < oldest || after.Sequence > l.next {
		return nil, Gone()
	}
	return l.changes[after.Sequence-oldest:], nil
}

// Await waits for a change behind a position.
func (l *Log) Await(ctx context.Context, after andon.Position) error {
	if _, err := l.behind(after); err != nil {
		return err
	}
	return l.Wait(ctx, after.Sequence)
}
