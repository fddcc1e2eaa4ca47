package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/httpapi/buffer"
	"github.com/andonhq/andon/internal/httpapi/grouping"
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/live"
	"github.com/andonhq/andon/internal/session"
)

// A stream is silent for a heartbeat at most: proxies and clients take a connection on which
// nothing comes for a broken one. A client may ask for a shorter one.
const (
	heartbeat      = 15 * time.Second
	leastHeartbeat = time.Second
)

// mostStreams is how many may be open at once; each takes some 40 KB and a connection.
const mostStreams = 20_000

var (
	afterParam     = param{Name: "after", Title: "after of a stream", Example: "9ix4b1-sy"}
	heartbeatParam = param{Name: "heartbeat", Example: "1s", Initial: "15s"}
	tenantParam    = param{Name: "tenant", Example: "plant-2"}
)

func (a *API) streamRoute() *route {
	return &route{
		pattern: "GET /events/stream", name: "streamEvents",
		query: grouping.Selecting(stateParam, deviceParam, afterParam, heartbeatParam,
			tenantParam),
		errors: []int{501}, long: true,
		answer: &content{Media: "text/event-stream", Schema: openapi.Text()},
		serve:  a.stream,
	}
}

// streamQuery says which changes a stream is of.
type streamQuery struct {
	states  andon.StateFilter
	devices andon.DeviceQuery // by its Prefix
	device  andon.DeviceID    // only this one; absent: all
	all     bool              // nothing is left out

	selected *groups.Selected
	changes  uint64 // of what is known of devices, as far as it has learned
}

func (q *streamQuery) admits(c *andon.Change) bool {
	if q.all || c.Kind == andon.OfTenant {
		return true
	}
	shows := func(d *andon.Device) bool { return d != nil && q.states.Match(d.State) }
	return q.admitsDevice(c.Device) && (shows(c.Before) || shows(c.After))
}

func (q *streamQuery) admitsDevice(id andon.DeviceID) bool {
	return (q.device == "" || q.device == id) && q.selected.Has(id) &&
		strings.HasPrefix(string(id), q.devices.Prefix)
}

func (a *API) stream(c *call) error {
	q := streamQuery{states: c.States(), selected: c.selected}
	q.device = c.DeviceOrPrefix(&q.devices)
	q.all = c.Text("state") == "" && c.Text("device") == "" && q.selected == nil
	after, beat := c.position(), c.heartbeat()
	if err := c.Fault(); err != nil {
		return err
	}
	if a.live.Readers() >= mostStreams {
		return andon.Errorf(andon.Busy,
			"%d streams are open, as many as go: close some", mostStreams)
	}
	reader, err := a.live.Open(c.ctx(), c.tenant, after)
	reset := andon.KindOf(err) == andon.Gone
	if reset {
		reader, err = a.live.Open(c.ctx(), c.tenant, nil)
	}
	if err != nil {
		return err
	}
	defer reader.Close()
	c.release()
	ctx := c.ctx()
	if c.bySession() {
		// The browser resumes at once, and its session is checked and renewed.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, session.Fresh)
		defer cancel()
	}
	h := c.x.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // else nginx keeps it
	s := streaming{
		x: c.x, control: http.NewResponseController(c.x.ResponseWriter), beat: beat,
	}
	s.text = append(s.text, "retry: 1000\n"...)
	if reset {
		s.event("reset", "what came after this position is no longer kept: load /fleet again")
	}
	s.position(reader.Position())
	if q.selected != nil {
		if q.changes, err = q.selected.Changes(ctx); err != nil {
			return err
		}
		s.beat = leastHeartbeat // so that a move is soon reported
	}
	return s.follow(ctx, reader, &q)
}

// moved says so where other devices may be selected: that is no change of what one shows.
func (s *streaming) moved(ctx context.Context, q *streamQuery) {
	if q.selected == nil {
		return
	}
	if now, err := q.selected.Changes(ctx); err == nil && now != q.changes {
		q.changes = now
		s.event("reset", "other devices may be selected than before: load /fleet again")
	}
}

// position reads where a stream begins; nil: now.
func (c *call) position() *andon.Position {
	location, text := "header.Last-Event-ID", c.r.Header.Get("Last-Event-ID")
	if text == "" {
		location, text = "query.after", c.Text("after")
	}
	if text == "" {
		return nil
	}
	at, err := andon.ParsePosition(text)
	c.Check(location, err)
	at = at.OfChanges()
	return &at
}

// heartbeat reads how long a stream is silent at most.
func (c *call) heartbeat() time.Duration {
	text := c.Text("heartbeat")
	if text == "" {
		return heartbeat
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < leastHeartbeat || d > heartbeat {
		c.Mark("query.heartbeat", "heartbeat is from 1s to 15s, not %q", ingest.Clip(text))
	}
	return d
}

// streaming is an answer of server-sent events.
type streaming struct {
	x       *exchange
	control *http.ResponseController
	beat    time.Duration // nothing is sent for so long at most
	text    []byte        // to be sent
}

// event appends an event that is about the stream itself, and says why it comes.
func (s *streaming) event(name, why string) {
	s.text = append(s.text, "event: "+name+"\ndata: {\"detail\":\""+why+"\"}\n\n"...)
}

// position appends where the client is now, which it remembers without an event.
func (s *streaming) position(at andon.Position) {
	s.text = append(append(s.text, ": andon\nid: "...), at.String()...)
	s.text = append(s.text, "\n\n"...)
}

func (s *streaming) flush() error {
	_, err := s.x.Write(s.text)
	s.text = s.text[:0]
	if err == nil {
		err = s.control.Flush()
	}
	return err
}

// follow sends what a reader gets, until the client is gone, too slow, or the program stops.
func (s *streaming) follow(ctx context.Context, reader *live.Reader, q *streamQuery) error {
	for {
		s.moved(ctx, q)
		if err := s.flush(); err != nil {
			return nil // the client is gone
		}
		b, err := reader.Next(ctx, s.beat)
		switch {
		case errors.Is(err, live.ErrSlow):
			s.event("slow", "changes came faster than they were taken: resume from the last id")
			_ = s.flush()
			return nil
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case b == nil:
			s.position(reader.Position())
		case len(b.Frames) == 0:
			s.silence(q, b)
		case q.all:
			s.text = append(s.text, b.Text...)
		default:
			for i := range b.Frames {
				if q.admits(&b.Frames[i].Change) {
					s.text = append(s.text, b.Frames[i].Text...)
				}
			}
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
func (s *streaming) silence(q *streamQuery, b *live.Batch) {
	changed := silenceJSON{Silent: []andon.DeviceID{}, Heard: []andon.DeviceID{}, More: b.Reload}
	for _, t := range b.Silence {
		switch {
		case !q.admitsDevice(t.Device) || !q.all && !q.states.Match(t.State):
		case t.Silent:
			changed.Silent = append(changed.Silent, t.Device)
		default:
			changed.Heard = append(changed.Heard, t.Device)
		}
	}
	if len(changed.Silent)+len(changed.Heard) == 0 && !changed.More {
		return
	}
	text, _ := json.Marshal(changed)
	s.text = append(s.text, "event: silence\ndata: "...)
	s.text = append(append(s.text, text...), "\n\n"...)
}

// frames writes changes as events of a stream.
func (a *API) frames(
	ctx context.Context, id andon.TenantID, changes []andon.Change,
) ([]live.Frame, error) {
	tenant, err := a.store.Tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	show := a.showDevice(ctx, &tenant)
	frames := make([]live.Frame, len(changes))
	for i := range changes {
		c := &changes[i]
		name, data := "state", any(nil)
		switch {
		case c.Kind == andon.OfTenant:
			name, data = "tenant", new(showTenant(c.Tenant))
		case c.After == nil:
			name, data = "gone", map[string]andon.DeviceID{"device": c.Device}
		default:
			d, err := andon.Shown(ctx, a.store, id, c)
			if err != nil {
				return nil, err
			}
			shown, err := show(&d)
			if err != nil {
				return nil, err
			}
			data = &shown
		}
		text, err := frame(c.Position, name, data)
		if err != nil {
			return nil, err
		}
		frames[i] = live.Frame{Change: *c, Text: text}
	}
	return frames, nil
}

// frame writes an event of a stream. The data is a pointer, or nothing that jsonout writes.
func frame(at andon.Position, name string, data any) ([]byte, error) {
	text := fmt.Appendf(nil, "id: %s\nevent: %s\ndata: ", at, name)
	text, err := buffer.AppendJSON(text, data)
	return append(text, "\n\n"...), err
}
