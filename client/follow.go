package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

// FollowOptions selects what Follow returns. The zero value is all that changes from now on.
type FollowOptions struct {
	// State is as in Query: changes come that enter one of the states or leave it.
	State  string `query:"state"`
	Device string `query:"device"` // an id, or a prefix that ends in '*'
	Selection
	// Incidents: also those that change; an Error of status 400 where the server keeps none.
	Incidents bool `query:"incidents"`
	// After is the position of an earlier Update, or of a snapshot of the fleet: what came after it
	// comes first. The zero value is now.
	After andon.Position
}

// UpdateKind says what an Update is about.
type UpdateKind uint8

// The kinds of Update.
const (
	Connected UpdateKind = iota // the server answers, and nothing changes
	// Begun: the stream begins, or begins again. What was silent meanwhile was not reported.
	Begun
	Shows    // what a device shows has changed: Device
	Gone     // a device shows nothing any more: Device has its id only
	Silence  // devices have fallen silent, or are heard again: Silent and Heard
	Settings // the tenant's settings have changed: Tenant
	// OfIncidents: open incidents have changed: Incidents, without their steps. What changed before
	// a stream has Begun is not reported.
	OfIncidents
	// Reset: changes were missed that the server no longer keeps, or more devices have fallen
	// silent than a message names. What the devices show has to be loaded again; what follows
	// comes after that.
	Reset
	// Lost: the server does not answer, for the reason Err. Follow tries again until it does.
	Lost
)

// Update is one message of a stream.
type Update struct {
	Kind     UpdateKind
	Position andon.Position // after it: following from here on misses nothing
	Device   Device
	Silent   []andon.DeviceID
	Heard    []andon.DeviceID
	Tenant   Tenant
	// Incidents have the status "closed" once they have ended. None: so many have changed that they
	// have to be listed again.
	Incidents []Incident
	Err       error
}

// Follow returns what devices show, as it changes, for as long as it is ranged over. It outlives a
// server that is restarted or can't be reached: it connects again, at its position, so that no
// change is missed or comes twice unless there is a Reset. It ends with an error if trying again is
// in vain: an Error of status 400, 401, 403 or 404, of status 501 where the store of the server has
// no stream, and the error of the context.
func (c *Client) Follow(ctx context.Context, f FollowOptions) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		s := &following{client: c, query: parameters(f), at: f.After}
		for attempt := 1; ; attempt++ {
			err := s.read(ctx, func(t Update) bool {
				attempt = 0 // the server answers
				return yield(t, nil)
			})
			switch {
			case errors.Is(err, errNotRead):
				return
			case ctx.Err() != nil:
				yield(Update{}, ctx.Err())
				return
			case err != nil && !MayPass(err):
				yield(Update{}, err)
				return
			case err != nil && !yield(Update{Kind: Lost, Position: s.at, Err: err}, nil):
				return
			}
			const doublings = 8
			if sleep.For(ctx, c.pause(min(attempt+1, doublings), err)) != nil {
				yield(Update{}, ctx.Err())
				return
			}
		}
	}
}

// MayPass reports whether the server may answer when it is asked again: it can't be reached, or it
// says that it can't serve now. Without an error there is nothing to pass.
func MayPass(err error) bool {
	e, answered := errors.AsType[*Error](err)
	return err != nil && (!answered || e.Status == http.StatusTooManyRequests ||
		e.Status == http.StatusRequestTimeout ||
		e.Status >= 500 && e.Status != http.StatusNotImplemented)
}

// silence is how long a stream may say nothing: more than twice the time between two comments of
// the server. A connection may end without a word, as with a router that was switched off.
const silence = 40 * time.Second

const streamForm = "text/event-stream"

var (
	errNotRead = errors.New("updates are not read any more")
	errSilence = fmt.Errorf("the server said nothing for %s", silence)
)

// following is a stream as it is read, over one connection after the other.
type following struct {
	client *Client
	query  url.Values
	at     andon.Position
}

// read reads one connection to its end: nil where the server ended it in order.
func (s *following) read(ctx context.Context, report func(Update) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(silence, func() { cancel(errSilence) })
	defer watchdog.Stop()
	answer, err := s.open(ctx)
	if err != nil {
		return s.why(ctx, err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	const longest = 1 << 20 // a device with the largest attributes has 100 KB
	lines.Buffer(nil, longest)
	var e serverEvent
	begun := false
	for lines.Scan() {
		watchdog.Reset(silence)
		if lines.Text() != "" {
			e.add(lines.Text())
			continue
		}
		t, ok, err := s.update(&e)
		e = serverEvent{}
		if err != nil {
			return err
		}
		if ok && !begun && !report(Update{Kind: Begun, Position: s.at}) || ok && !report(t) {
			return errNotRead
		}
		begun = begun || ok
	}
	return s.why(ctx, lines.Err())
}

// why returns why a connection ended.
func (s *following) why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errSilence) {
		return cause
	}
	if err == io.ErrUnexpectedEOF {
		return errors.New("the server broke off")
	}
	return err
}

func (s *following) open(ctx context.Context) (*http.Response, error) {
	r := request{
		method: http.MethodGet, path: path("events", "stream"), query: s.query, accept: streamForm,
	}
	if s.at != (andon.Position{}) {
		r.after = s.at.String()
	}
	answer, err := s.client.open(ctx, r)
	if err != nil {
		return nil, err
	}
	form := answer.Header.Get("Content-Type")
	if media, _, _ := mime.ParseMediaType(form); media != streamForm {
		answer.Body.Close()
		return nil, fmt.Errorf("what answers sends no stream, but %q: is it Andon?", form)
	}
	return answer, nil
}

// serverEvent is an event of a stream while its lines come.
type serverEvent struct{ id, name, data string }

func (e *serverEvent) add(line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "id":
		e.id = value
	case "event":
		e.name = value
	case "data":
		e.data += value
	}
}

// update returns what an event says; false: nothing.
func (s *following) update(e *serverEvent) (t Update, ok bool, err error) {
	if e.id != "" {
		if s.at, err = andon.ParsePosition(e.id); err != nil {
			return t, false, fmt.Errorf("read the stream: %w", err)
		}
	}
	t.Position = s.at
	switch e.name {
	case "":
		t.Kind, ok = Connected, e.id != ""
	case "state":
		t.Kind, ok = Shows, true
		err = json.Unmarshal([]byte(e.data), &t.Device)
	case "gone":
		t.Kind, ok = Gone, true
		err = json.Unmarshal([]byte(e.data), &t.Device)
	case "silence":
		var all struct {
			Silent, Heard []andon.DeviceID
			More          bool
		}
		err = json.Unmarshal([]byte(e.data), &all)
		t.Kind, t.Silent, t.Heard, ok = Silence, all.Silent, all.Heard, true
		if all.More {
			t.Kind = Reset
		}
	case "tenant":
		t.Kind, ok = Settings, true
		err = json.Unmarshal([]byte(e.data), &t.Tenant)
	case "incident":
		var all IncidentChanges
		err = json.Unmarshal([]byte(e.data), &all)
		t.Kind, t.Incidents, ok = OfIncidents, all.Incidents, true
	case "reset":
		t.Kind, ok = Reset, true
	}
	if err != nil {
		err = fmt.Errorf("read the stream: %w", err)
	}
	return t, ok, err
}
