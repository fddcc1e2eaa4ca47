// Package outage says in the log when something begins to fail that is tried again and again, and
// when it works again. It knows nothing of what that is.
package outage

import (
	"log/slog"
	"sync"
	"sync/atomic"
)

// Log tells of the failures of parts of something. Its methods may be called concurrently.
type Log struct {
	*slog.Logger
	Begins, Ends string // what is logged
	// Part is what the log calls a part: each is told by itself. "": they fail together, and the
	// first that fails is told, and that none does any more.
	Part string

	Count atomic.Int64 // of failures

	mu      sync.Mutex
	failing map[string]bool
}

// Note notes that a part fails; nil: that it works.
func (l *Log) Note(part string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.fails(part)
	if err == nil {
		delete(l.failing, part)
	} else {
		if l.failing == nil {
			l.failing = map[string]bool{}
		}
		l.failing[part] = true
		l.Count.Add(1)
	}
	log := l.Logger
	if l.Part != "" {
		log = log.With(l.Part, part)
	}
	switch is := l.fails(part); {
	case is && !was:
		log.Warn(l.Begins, "error", err)
	case was && !is:
		log.Info(l.Ends)
	}
}

func (l *Log) fails(part string) bool {
	return l.failing[part] || l.Part == "" && len(l.failing) > 0
}

// Forget forgets a part that nobody works on any more.
func (l *Log) Forget(part string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failing, part)
}
