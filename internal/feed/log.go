package feed

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/andonhq/andon"
)

// kept is how many changes and entries of a tenant stay in memory at least; at most it is twice as
// many, and those of one write.
const kept = 1 << 15

// Log is the feed of one tenant in memory, and the entries in the order of their arrival: it ends
// with the process.
type Log struct {
	Wakeup
	mu     sync.Mutex
	id     uint64
	writes []write // one for each sequence
	held   int     // changes and entries
	next   uint64  // of the next write
}

// write is what one write brought.
type write struct {
	changes []andon.Change
	entries []andon.Event // those of a device that was purged have no device
}

// NewLog begins a feed.
func NewLog() *Log { return &Log{id: rand.Uint64()} }

// Add adds a write and gives its changes their positions. The caller calls Notify, outside its
// locks, where there are changes.
func (l *Log) Add(changes []andon.Change, entries []andon.Event) (next uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(changes)+len(entries) == 0 {
		return l.next
	}
	at := l.position(l.next)
	l.next++
	for i := range changes {
		at.Index++
		changes[i].Position = at
	}
	if n := len(changes); n > 0 {
		changes[n-1].Position = l.position(l.next)
	}
	l.writes = append(l.writes, write{changes, entries})
	l.held += len(changes) + len(entries)
	l.trim()
	return l.next
}

// trim drops the oldest writes once there are too many.
func (l *Log) trim() {
	if l.held <= 2*kept {
		return
	}
	n := 0
	for ; l.held > kept && n < len(l.writes)-1; n++ {
		l.held -= len(l.writes[n].changes) + len(l.writes[n].entries)
	}
	l.writes = slices.Clone(l.writes[n:])
}

// Forget drops the entries of a device.
func (l *Log) Forget(device andon.DeviceID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.writes {
		for i := range w.entries {
			if w.entries[i].Device == device {
				w.entries[i] = andon.Event{}
			}
		}
	}
}

func (l *Log) position(sequence uint64) andon.Position {
	return andon.Position{Feed: l.id, Sequence: sequence}
}

func (l *Log) oldest() uint64 { return l.next - uint64(len(l.writes)) }

// Kept returns the positions before the oldest and after the newest write.
func (l *Log) Kept() (oldest, newest andon.Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.position(l.oldest()), l.position(l.next)
}

// Changes yields the changes after a position.
func (l *Log) Changes(
	ctx context.Context, after andon.Position,
) iter.Seq2[andon.Change, error] {
	return func(yield func(andon.Change, error) bool) {
		after = after.OfChanges()
		writes, err := l.since(after)
		if err != nil {
			yield(andon.Change{}, Gone())
			return
		}
		for i := range writes {
			changes := writes[i].changes
			if i == 0 {
				changes = changes[min(int(after.Index), len(changes)):]
			}
			for _, c := range changes {
				if err := ctx.Err(); !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

// Entries returns the entries after a position that exist now, each with the position after it, and
// the position after all of them.
func (l *Log) Entries(after andon.Position) (items []andon.Arrival, end andon.Position, err error) {
	writes, err := l.since(after)
	if err != nil {
		return nil, after, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	end = l.position(after.Sequence)
	skip := after.Entries()
	for _, w := range writes {
		at := end
		end.Sequence++
		for i, e := range w.entries {
			is := at.AfterEntry(i + 1)
			if i+1 == len(w.entries) {
				is = end
			}
			if i >= skip && e.Device != "" {
				items = append(items, andon.Arrival{Event: e, Position: is})
			}
		}
		skip = 0
	}
	return items, end, nil
}

func (l *Log) since(after andon.Position) ([]write, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := l.oldest()
	if after.Feed != l.id || after.Sequence < oldest || after.Sequence > l.next {
		return nil, GoneEntries(l.position(oldest))
	}
	return l.writes[after.Sequence-oldest:], nil
}

// Await waits for a change after a position.
func (l *Log) Await(ctx context.Context, after andon.Position) error {
	if _, err := l.since(after); err != nil {
		return Gone()
	}
	return l.Wait(ctx, after.Sequence)
}
