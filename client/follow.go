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

// Following selects what Follow tells of. The zero value is all that changes from now on.
type Following struct {
	// State is as in Query: changes come that enter one of the states or leave it.
	State  string
	Device string // an id, or a prefix that ends in '*'
	// After is the position of a Told before, or of a fleet's picture: what came after it comes
	// first. The zero value is now.
	After andon.Position
}

func (f Following) values() url.Values {
	v := url.Values{}
	if f.State != "" {
		v.Set("state", f.State)
	}
	if f.Device != "" {
		v.Set("device", f.Device)
	}
	return v
}

// ToldKind is what a stream tells.
type ToldKind uint8

// The kinds of Told.
const (
	// Connected: the server is heard. It comes when the stream begins, when it begins again after
	// Lost, and while nothing changes.
	Connected ToldKind = iota
	Shows              // what a device shows has changed: Device
	Gone               // a device shows nothing any more: Device has its id only
	Settings           // the tenant's settings have changed: Tenant
	// Reset: changes were missed that the server does not keep any more. What the devices show has
	// to be asked for again; what follows comes after this.
	Reset
	// Lost: the server is not heard, for the reason Err. It is asked again until it is.
	Lost
)

// Told is one thing that a stream tells.
type Told struct {
	Kind     ToldKind
	Position andon.Position // after it: following from here on misses nothing
	Device   Device
	Tenant   Tenant
	Err      error
}

// Follow tells what devices show, as it changes, for as long as it is ranged over. It outlives a
// server that is restarted or can't be reached: it asks again, from where it was, so that no change
// is missed or comes twice unless it says Reset. It ends with an error where asking again is in
// vain: an Error of status 400, 401, 403 or 404, of status 501 where the store of the server has no
// stream, and the error of the context.
func (c *Client) Follow(ctx context.Context, f Following) iter.Seq2[Told, error] {
	return func(yield func(Told, error) bool) {
		s := &following{client: c, query: f.values(), at: f.After}
		for attempt := 1; ; attempt++ {
			err := s.read(ctx, func(t Told) bool {
				attempt = 0 // it is heard
				return yield(t, nil)
			})
			switch {
			case errors.Is(err, errNotRead):
				return
			case ctx.Err() != nil:
				yield(Told{}, ctx.Err())
				return
			case !passes(err):
				yield(Told{}, err)
				return
			case err != nil && !yield(Told{Kind: Lost, Position: s.at, Err: err}, nil):
				return
			}
			const doublings = 8
			if sleep.For(ctx, c.pause(min(attempt+1, doublings), err)) != nil {
				yield(Told{}, ctx.Err())
				return
			}
		}
	}
}

// passes reports whether the end of a stream is no reason to end for good.
func passes(err error) bool {
	e, answered := errors.AsType[*Error](err)
	return !answered || e.Status == http.StatusTooManyRequests ||
		e.Status == http.StatusRequestTimeout ||
		e.Status >= 500 && e.Status != http.StatusNotImplemented
}

// silence is how long a stream may say nothing: more than twice the time between two comments of
// the server. A connection may end without a word, as with a router that was switched off.
const silence = 40 * time.Second

const streamForm = "text/event-stream"

var (
	errNotRead = errors.New("what is told is not read any more")
	errSilence = fmt.Errorf("the server said nothing for %s", silence)
)

// following is a stream as it is read, over one connection after the other.
type following struct {
	client *Client
	query  url.Values
	at     andon.Position
}

// read reads one connection to its end: nil where the server ended it in order.
func (s *following) read(ctx context.Context, tell func(Told) bool) error {
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
	for lines.Scan() {
		watchdog.Reset(silence)
		if lines.Text() != "" {
			e.add(lines.Text())
			continue
		}
		t, ok, err := s.told(&e)
		e = serverEvent{}
		if err != nil {
			return err
		}
		if ok && !tell(t) {
			return errNotRead
		}
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
	r, err := s.client.build(ctx, request{
		method: http.MethodGet, path: path("events", "stream"), query: s.query,
	})
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", streamForm)
	if s.at != (andon.Position{}) {
		r.Header.Set("Last-Event-Id", s.at.String())
	}
	answer, err := s.client.options.HTTP.Do(r)
	if err != nil {
		return nil, reach(err)
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		return nil, errorOf(answer)
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

// told returns what an event tells; false: nothing.
func (s *following) told(e *serverEvent) (t Told, ok bool, err error) {
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
	case "tenant":
		t.Kind, ok = Settings, true
		err = json.Unmarshal([]byte(e.data), &t.Tenant)
	case "reset":
		t.Kind, ok = Reset, true
	}
	if err != nil {
		err = fmt.Errorf("read the stream: %w", err)
	}
	return t, ok, err
}
