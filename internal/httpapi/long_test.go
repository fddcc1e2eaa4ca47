package httpapi

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/params"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
)

const (
	longTimeout = 200 * time.Millisecond
	longEnd     = 3 * longTimeout // of any other answer
)

// export serves an answer of which a line is sent whenever the test sends one. It ends with fail
// where there are no more; a program that stops makes it say so first.
func export(t *testing.T, fail error) (api *API, lines chan<- string, answer *bufio.Reader) {
	t.Helper()
	store := memstore.New()
	now := func() andon.Time { return andon.MinTime }
	api = New(Options{
		Store: store, Now: now, Intake: intake.New(store, intake.Options{Now: now}),
		BodyTimeout: time.Millisecond, Timeout: longTimeout,
		Log: slog.New(slog.DiscardHandler),
	})
	sent := make(chan string, 1)
	api.add(&route{
		pattern: "GET /export", outside: true, long: true,
		serve: func(c *call) error {
			flush := http.NewResponseController(c.x).Flush
			for {
				select {
				case <-c.ctx().Done():
					_, err := io.WriteString(c.x, "stopping\n")
					return err
				case line, more := <-sent:
					if !more {
						return fail
					}
					if _, err := io.WriteString(c.x, line); err != nil {
						return err
					}
					if err := flush(); err != nil {
						return err
					}
				}
			}
		},
	})
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	sent <- "first\n"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/export", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	answer = bufio.NewReader(response.Body)
	reads(t, answer, "first\n", nil)
	return api, sent, answer
}

func reads(t *testing.T, answer *bufio.Reader, want string, end error) {
	t.Helper()
	if got, err := answer.ReadString('\n'); got != want || !errors.Is(err, end) {
		t.Fatalf("the client reads %q, %v; want %q, %v", got, err, want, end)
	}
}

// TestLongAnswer: it goes on after the time that any other answer has, and ends whole.
func TestLongAnswer(t *testing.T) {
	_, lines, answer := export(t, nil)
	<-time.After(longEnd + longTimeout)
	lines <- "second\n"
	reads(t, answer, "second\n", nil)
	close(lines)
	reads(t, answer, "", io.EOF)
}

// TestLongAnswerHasDeadlines: each part of it has the time of a call, and no less than that.
func TestLongAnswerHasDeadlines(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	now := func() andon.Time { return andon.MinTime }
	api := New(Options{
		Store: store, Now: now, Intake: intake.New(store, intake.Options{Now: now}),
		Timeout: time.Hour, Log: slog.New(slog.DiscardHandler),
	})
	api.add(&route{
		pattern: "GET /export", outside: true, long: true,
		serve: func(c *call) error {
			_, err := io.WriteString(c.x, "a part")
			return err
		},
	})
	d := &deadlines{ResponseWriter: httptest.NewRecorder()}
	api.ServeHTTP(d, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/export", nil))
	if n := len(d.set); n == 0 || time.Until(d.set[n-1]) < time.Hour/2 {
		t.Errorf("the deadlines were %v", d.set)
	}
}

// TestLongAnswerEnds in its own order when the program stops.
func TestLongAnswerEnds(t *testing.T) {
	api, _, answer := export(t, nil)
	api.EndLong()
	reads(t, answer, "stopping\n", nil)
	reads(t, answer, "", io.EOF)
}

// TestLongAnswerThatFails does not look whole.
func TestLongAnswerThatFails(t *testing.T) {
	_, lines, answer := export(t, andon.Errorf(andon.Unavailable, "no answer"))
	close(lines)
	reads(t, answer, "", io.ErrUnexpectedEOF)
}

// deadlines notes the deadlines of an answer.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// TestEachPartHasItsTime: each part of a long answer has a deadline of its own.
func TestEachPartHasItsTime(t *testing.T) {
	d := &deadlines{ResponseWriter: httptest.NewRecorder()}
	x := newExchange(d, "", time.Time{})
	x.EachWrite = time.Hour
	for range 3 {
		if _, err := x.Write([]byte("part")); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.set) != 3 || time.Until(d.set[2]) < time.Hour/2 {
		t.Errorf("the deadlines were %v", d.set)
	}
}

// TestHeartbeatUnlessAsked: a stream that asks for no heartbeat has one, too.
func TestHeartbeatUnlessAsked(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 15 * time.Second, "2s": 2 * time.Second, "15s": 15 * time.Second,
	} {
		c := &call{Reader: params.Reader{Query: url.Values{"heartbeat": {text}}}}
		if got := c.heartbeat(); got != want || c.Fault() != nil {
			t.Errorf("%q: %s, %v, want %s", text, got, c.Fault(), want)
		}
	}
}
