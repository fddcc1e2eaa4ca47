package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/grouping"
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/httpapi/sse"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/live"
	"github.com/andonhq/andon/internal/parallel"
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
			tenantParam, incidentsParam),
		errors: []int{501}, long: true,
		answer: &content{Media: "text/event-stream", Schema: openapi.Text()},
		serve:  a.stream,
	}
}

func (a *API) stream(c *call) error {
	q := sse.Query{States: c.States(), Selected: c.selected}
	q.Device = c.DeviceOrPrefix(&q.Devices)
	q.All = c.Text("state") == "" && c.Text("device") == "" && q.Selected == nil
	after, beat := c.position(), c.heartbeat()
	q.Incidents = c.incidentChanges()
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
	if c.r.Method == http.MethodHead {
		return nil // what is written is not sent, so nothing would end it
	}
	s := sse.Stream{
		Out: c.x, Push: http.NewResponseController(c.x.ResponseWriter).Flush, Beat: beat,
	}
	if err := s.Begin(ctx, reader, &q, reset); err != nil {
		return err
	}
	return s.Follow(ctx, reader, &q)
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
		c.Mark("query.heartbeat", "heartbeat is from 1s to 15s, not %s", ingest.Clip(text))
	}
	return d
}

// frames writes changes as events of a stream.
func (a *API) frames(
	ctx context.Context, id andon.TenantID, changes []andon.Change,
) ([]live.Frame, error) {
	tenant, err := a.store.Tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	const atOnce = 16 // one after another is too slow where a store answers over a network
	devices, learned := make([]andon.Device, len(changes)), make([]andon.Event, len(changes))
	err = parallel.Do(ctx, len(changes), atOnce, func(ctx context.Context, i int) (err error) {
		if changes[i].After != nil {
			devices[i], err = andon.Shown(ctx, a.store, id, &changes[i])
			learned[i].Device, learned[i].Attributes = devices[i].ID, devices[i].Attributes
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	// A change is in the feed before its attributes are learned. Where they can't be, as on a full
	// disk, the groups that are known are shown.
	_ = a.intake.Groups.Learn(ctx, id, learned)
	show := a.showDevice(ctx, &tenant)
	frames := make([]live.Frame, len(changes))
	err = parallel.Do(ctx, len(changes), atOnce, func(ctx context.Context, i int) error {
		c := &changes[i]
		name, data := "state", any(nil)
		switch {
		case c.Kind == andon.OfTenant:
			name, data = "tenant", new(client.TenantOf(c.Tenant))
		case c.After == nil:
			name, data = "gone", map[string]andon.DeviceID{"device": c.Device}
		default:
			shown, err := show(&devices[i])
			if err != nil {
				return err
			}
			data = &shown
		}
		text, err := sse.Frame(c.Position, name, data)
		frames[i] = live.Frame{Change: *c, Text: text}
		return err
	})
	return frames, err
}
