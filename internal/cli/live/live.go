// Package live is the commands that show a fleet as it changes: "watch", and "demo", which makes
// one up. Both draw the same board.
package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// board is what a live table shows: a fleet at one moment.
type board struct {
	title   string
	now     andon.Time // when the server answered
	asked   andon.Time // when it was asked last
	states  []client.StateCount
	total   int             // devices
	devices []client.Device // those that matter, the worst first; as many as there is room for
	none    string          // what to say where there is none of them
	notes   []string        // below the table
	links   []link          // addresses to open
	trouble string          // why the server gave no newer answer

	keys   bool   // somebody may press some
	filter string // only devices that have it somewhere
	typing bool   // the filter is being typed
	offset int    // devices above the first that is shown
	hungry bool   // what is to be shown has to be asked for

	unsorted bool // the server's store can't sort devices

	news   *news      // nil: the server is asked again and again
	old    bool       // it was told of changes since
	looked andon.Time // when it was asked what to show, and answered
}

// link is an address and what is there.
type link struct{ url, text string }

// worried returns how many devices are in a state other than normal.
func (b *board) worried() (n int) {
	for _, s := range b.states {
		if s.Severity > 0 {
			n += s.Count
		}
	}
	return n
}

// pause waits for a while, or until the context ends: that is the error.
type pause func(ctx context.Context, d time.Duration) error

// errUnread means that no one reads what is printed any more: "| head".
var errUnread = errors.New("standard output is closed")

// printLine prints a line for who follows, and fails when no one does.
func printLine(w io.Writer, format string, args ...any) error {
	if _, err := fmt.Fprintf(w, format+"\n", args...); err != nil {
		return errUnread
	}
	return nil
}

// ended reports whether an error means no more than that somebody ended the command, or stopped
// reading what it prints.
func ended(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, errUnread))
}

// held is a writer that can be told to wait: what would be written over a table comes afterwards.
type held struct {
	to io.Writer

	mu      sync.Mutex
	holding bool
	text    []byte
}

const mostHeld = 64 << 10 // bytes; who writes more repeats itself

func (h *held) Write(text []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.holding {
		return h.to.Write(text)
	}
	if len(h.text)+len(text) <= mostHeld {
		h.text = append(h.text, text...)
	}
	return len(text), nil
}

func (h *held) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding = true
}

// release writes what was held.
func (h *held) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding = false
	_, _ = h.to.Write(h.text) // a log that can't be written can't be told to anybody
	h.text = nil
}
