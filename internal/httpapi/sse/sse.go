// Package sse writes streams of server-sent events: which changes a client asked for, and what is
// sent in between.
//
// The package knows no route and does not read the feed itself: package live does.
package sse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/jsonout"
	"github.com/andonhq/andon/internal/live"
)

// ChangedIncidents returns the changes of open incidents after one with a number.
type ChangedIncidents func(ctx context.Context, after uint64) (client.IncidentChanges, error)

// Query says which changes a stream is of.
type Query struct {
	States  andon.StateFilter
	Devices andon.DeviceQuery // by its Prefix
	Device  andon.DeviceID    // only this one; absent: all
	All     bool              // nothing is left out

	Incidents ChangedIncidents // nil: that is not said
	incidents uint64           // the number of the newest change that was said

	Selected *groups.Selected
	changes  uint64 // of what is known of devices, as far as it has learned
}

func (q *Query) admits(c *andon.Change) bool {
	if q.All || c.Kind == andon.OfTenant {
		return true
	}
	shows := func(d *andon.Device) bool { return d != nil && q.States.Match(d.State) }
	return q.named(c.Device) && q.Selected.Contains(c.Device) && (shows(c.Before) || shows(c.After))
}

func (q *Query) named(id andon.DeviceID) bool {
	return (q.Device == "" || q.Device == id) && strings.HasPrefix(string(id), q.Devices.Prefix)
}

// Stream is an answer of server-sent events.
type Stream struct {
	Out  io.Writer
	Push func() error  // sends what was written
	Beat time.Duration // nothing is sent for so long at most
	text []byte        // to be sent
	sent time.Time     // when something was sent last
}

// event appends an event that is about the stream itself, and says why it comes.
func (s *Stream) event(name, why string) {
	s.text = append(s.text, "event: "+name+"\ndata: {\"detail\":\""+why+"\"}\n\n"...)
}

// position appends where the client is now, which it remembers without an event.
func (s *Stream) position(at andon.Position) {
	s.text = append(append(s.text, ": andon\nid: "...), at.String()...)
	s.text = append(s.text, "\n\n"...)
}

func (s *Stream) flush() error {
	if len(s.text) == 0 {
		return nil
	}
	s.sent = time.Now()
	_, err := s.Out.Write(s.text)
	s.text = s.text[:0]
	if err == nil {
		err = s.Push()
	}
	return err
}

// Follow sends what a reader gets, until its tenant or the client is gone, that is too slow, or the
// program stops.
func (s *Stream) Follow(ctx context.Context, reader *live.Reader, q *Query) error {
	for {
		s.moved(ctx, q)
		s.incident(ctx, q)
		if err := s.flush(); err != nil {
			return nil // the client is gone
		}
		b, err := reader.Next(ctx, s.wait(q))
		switch {
		case errors.Is(err, live.ErrSlow):
			s.event("slow", "changes came faster than they were taken: resume from the last id")
			_ = s.flush()
			return nil
		case ctx.Err() != nil || andon.KindOf(err) == andon.NotFound:
			return nil
		case err != nil:
			return err
		case b == nil:
		case len(b.Frames) == 0:
			s.silence(q, b)
		case q.All:
			s.text = append(s.text, b.Text...)
		default:
			for i := range b.Frames {
				if q.admits(&b.Frames[i].Change) {
					s.text = append(s.text, b.Frames[i].Text...)
				}
			}
		}
		// Also where all that comes is of other devices.
		if len(s.text) == 0 && time.Since(s.sent) >= s.Beat {
			s.position(reader.Position())
		}
	}
}

// silenceJSON is not in the feed and has no position: a client that was away queries which devices
// are silent.
type silenceJSON struct {
	Silent []andon.DeviceID `json:"silent"`
	Heard  []andon.DeviceID `json:"heard"`
	More   bool             `json:"more,omitempty"`
}

// silence appends which devices have fallen silent, and which have reported again.
func (s *Stream) silence(q *Query, b *live.Batch) {
	changed := silenceJSON{Silent: []andon.DeviceID{}, Heard: []andon.DeviceID{}, More: b.Reload}
	for _, t := range b.Silence {
		switch {
		case !q.named(t.Device) || !q.Selected.Contains(t.Device) ||
			!q.All && !q.States.Match(t.State):
		case t.Silent:
			changed.Silent = append(changed.Silent, t.Device)
		default:
			changed.Heard = append(changed.Heard, t.Device)
		}
	}
	if len(changed.Silent)+len(changed.Heard) == 0 && !changed.More {
		return
	}
	s.data("silence", changed, `{"silent":[],"heard":[],"more":true}`)
}

// Begin appends what a stream begins with. reset says that the position the client named is gone.
func (s *Stream) Begin(
	ctx context.Context, reader *live.Reader, q *Query, reset bool,
) (err error) {
	s.text = append(s.text, "retry: 1000\n"...)
	if reset {
		s.event("reset", "what came after this position is no longer kept: load /fleet again")
	}
	s.position(reader.Position())
	if q.Selected != nil {
		q.changes, err = q.Selected.Changes(ctx)
	}
	if q.Incidents != nil && err == nil {
		var now client.IncidentChanges
		now, err = q.Incidents(ctx, math.MaxUint64)
		q.incidents = now.Changes
	}
	return err
}

// look is how often a stream looks whether an incident has changed.
const look = 200 * time.Millisecond

// wait returns how long a stream waits for changes of devices before it looks for others, or says
// where it is.
func (s *Stream) wait(q *Query) time.Duration {
	wait := s.Beat - time.Since(s.sent)
	if q.Selected != nil {
		wait = min(wait, lookMoved)
	}
	if q.Incidents != nil {
		wait = min(wait, look)
	}
	return wait
}

// longestEvent is how many bytes an event about incidents or silence may have. A client reads lines
// of a megabyte.
const longestEvent = 256 << 10

// incident appends which of the open incidents that may be selected have changed.
func (s *Stream) incident(ctx context.Context, q *Query) {
	if q.Incidents == nil {
		return
	}
	now, err := q.Incidents(ctx, q.incidents)
	if err != nil || now.Changes == q.incidents {
		return
	}
	q.incidents = now.Changes
	now.Incidents = slices.DeleteFunc(now.Incidents, func(i client.Incident) bool {
		return !q.named(i.Device) || !q.Selected.Concerns(i.Device) ||
			!q.All && !q.States.Match(i.State)
	})
	if len(now.Incidents) == 0 && !now.More {
		return
	}
	s.data("incident", now, fmt.Sprintf(`{"changes":%d,"more":true}`, now.Changes))
}

// data appends an event that has no position, with less in place of data that is too long.
func (s *Stream) data(name string, data any, less string) {
	text, _ := json.Marshal(data)
	if len(text) > longestEvent {
		text = []byte(less)
	}
	s.text = fmt.Appendf(s.text, "event: %s\ndata: %s\n\n", name, text)
}

// lookMoved is how often a stream looks whether other devices are selected.
const lookMoved = time.Second

// moved says so where other devices may be selected: that is no change of what one shows.
func (s *Stream) moved(ctx context.Context, q *Query) {
	if q.Selected == nil {
		return
	}
	if now, err := q.Selected.Changes(ctx); err == nil && now != q.changes {
		q.changes = now
		s.event("reset", "other devices may be selected than before: load /fleet again")
	}
}

// Frame writes an event of a stream. The data is a pointer, or nothing that jsonout writes.
func Frame(at andon.Position, name string, data any) ([]byte, error) {
	text := fmt.Appendf(nil, "id: %s\nevent: %s\ndata: ", at, name)
	text, err := jsonout.Append(text, data)
	return append(text, "\n\n"...), err
}
