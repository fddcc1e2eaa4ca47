package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// inProcess answers requests by a handler, without a network, so that time can be a bubble's own.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

func newClient(t *testing.T, h http.HandlerFunc, change ...func(*client.Options)) *client.Client {
	t.Helper()
	o := client.Options{URL: "http://andon.test/", HTTP: &http.Client{Transport: inProcess{h}}}
	for _, f := range change {
		f(&o)
	}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var twoEvents = []andon.Event{
	{Device: "d#1", Time: andon.MinTime, State: "NORMAL"},
	{Device: "d/2", Time: andon.MinTime, State: "WARNING1", Operator: "Liz", Attributes: `{"a":1}`},
}

func TestAppendEvents(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		want := `{"device":"d#1","time":"1970-01-02T00:00:00Z","state":"NORMAL"}
{"device":"d/2","time":"1970-01-02T00:00:00Z","state":"WARNING1",` +
			`"operator":"Liz","attributes":{"a":1}}
`
		if diff := cmp.Diff(want, string(body)); diff != "" {
			t.Error(diff)
		}
		got := []string{
			r.Method, r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("Andon-Tenant"),
			r.Header.Get("Authorization"),
		}
		line := []string{
			"POST", "/api/v1/events", "application/x-ndjson", "metro", "Bearer hunter2",
		}
		if diff := cmp.Diff(line, got); diff != "" {
			t.Error(diff)
		}
		io.WriteString(w, `{"accepted":1,"rejected":[{"index":1,"line":2,"error":"no"}]}`)
	}, func(o *client.Options) { o.Tenant, o.Token = "metro", "hunter2" })
	got, err := c.AppendEvents(t.Context(), twoEvents)
	if err != nil {
		t.Fatal(err)
	}
	rejected := []andon.Rejection{{Index: 1, Line: 2, Error: "no"}}
	want := client.Result{Accepted: 1, Rejected: rejected}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPathsAreEncoded(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		if got, want := r.URL.EscapedPath(), "/api/v1/devices/d%2F1%23%25%20x"; got != want {
			t.Errorf("path is %s, want %s", got, want)
		}
		io.WriteString(w, `{"device":"d/1#% x","operator":null,"incident_since":null}`)
	})
	d, err := c.Device(t.Context(), "d/1#% x")
	if err != nil || d.Device != "d/1#% x" {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestListFollowsCursors(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("state"); got != "WARNING*" {
			t.Errorf("state is %q", got)
		}
		switch r.URL.Query().Get("cursor") {
		case "":
			io.WriteString(w, `{"items":[{"device":"a"},{"device":"b"}],"next":"one"}`)
		case "one":
			io.WriteString(w, `{"items":[{"device":"c"}],"next":"two"}`)
		default:
			http.Error(w, "gone", http.StatusTeapot)
		}
	})
	var got []string
	for d, err := range c.Devices(t.Context(), client.DeviceQuery{State: "WARNING*"}) {
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, string(d.Device))
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "I'm a teapot (HTTP 418)"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestErrors(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json; charset=utf-8")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"title":"Bad Request","status":400,"detail":"limit is wrong",
			"errors":[{"location":"query.limit","message":"-1 is less than 1"}]}`)
	})
	_, _, err := c.States(t.Context())
	var e *client.Error
	if !errors.As(err, &e) || e.Status != 400 || e.Fields[0].Location != "query.limit" {
		t.Fatalf("got %v", err)
	}
	want := "limit is wrong; query.limit: -1 is less than 1 (HTTP 400)"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// busy answers n times with a status, then with success.
func busy(n, status int, retryAfter string) (h http.HandlerFunc, asked *[]time.Time) {
	asked = new([]time.Time)
	return func(w http.ResponseWriter, _ *http.Request) {
		*asked = append(*asked, time.Now())
		if len(*asked) <= n {
			if retryAfter != "" {
				w.Header().Set("Retry-After", retryAfter)
			}
			w.WriteHeader(status)
			return
		}
		io.WriteString(w, `{"accepted":2,"rejected":[]}`)
	}, asked
}

func TestRetries(t *testing.T) {
	noTime := []andon.Event{{Device: "d", State: "NORMAL"}}
	for name, test := range map[string]struct {
		failures, status int
		retryAfter       string
		events           []andon.Event
		asked            int
		least            time.Duration
		fails            bool
	}{
		"none needed":            {0, 0, "", twoEvents, 1, 0, false},
		"busy":                   {3, 429, "", twoEvents, 4, 1400 * time.Millisecond, false},
		"unavailable":            {1, 503, "", twoEvents, 2, 200 * time.Millisecond, false},
		"as the server says":     {2, 429, "3", twoEvents, 3, 6 * time.Second, false},
		"in the end it gives up": {99, 503, "", twoEvents, 8, 22600 * time.Millisecond, true},
		"a defect is final":      {1, 500, "", twoEvents, 1, 0, true},
		"without a time, busy":   {1, 429, "", noTime, 2, 200 * time.Millisecond, false},
		"without a time, lost":   {1, 503, "", noTime, 1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, asked := busy(test.failures, test.status, test.retryAfter)
				_, err := newClient(t, h).AppendEvents(t.Context(), test.events)
				if (err != nil) != test.fails {
					t.Errorf("error is %v", err)
				}
				took := (*asked)[len(*asked)-1].Sub((*asked)[0])
				if len(*asked) != test.asked || took < test.least || took > test.least*5/4 {
					t.Errorf("asked %d times within %s, want %d within %s to a quarter more",
						len(*asked), took, test.asked, test.least)
				}
			})
		})
	}
}

// TestRetriesWhatWasNotSent: without a connection nothing can have arrived, so nothing doubles.
func TestRetriesWhatWasNotSent(t *testing.T) {
	for op, want := range map[string]int{"dial": 3, "read": 1} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			c := newClient(t, nil, func(o *client.Options) {
				o.Attempts = 3
				o.HTTP.Transport = broken(func() error {
					asked++
					return &net.OpError{Op: op, Err: errors.New("refused")}
				})
			})
			if _, err := c.Retire(t.Context(), "d"); err == nil || asked != want {
				t.Errorf("%s: asked %d times, want %d; error %v", op, asked, want, err)
			}
		})
	}
}

// broken is a network that does not work.
type broken func() error

func (b broken) RoundTrip(*http.Request) (*http.Response, error) { return nil, b() }

func TestRetryEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := busy(99, 503, "60")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := newClient(t, h).AppendEvents(ctx, twoEvents)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

func TestNewTakesTheBasePath(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	for _, base := range []string{"", "/api/v1", "/api/v1/"} {
		c, err := client.New(client.Options{URL: server.URL + base})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.States(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(slices.Compact(asked)) != 1 || asked[0] != "/api/v1/states" {
		t.Errorf("it asked for %q", asked)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, address := range []string{
		"", "127.0.0.1:8080", "ftp://host", "http://", "http://u:hunter2@h",
	} {
		_, err := client.New(client.Options{URL: address})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v", address, err)
		}
	}
}

// TestServerMetrics: only what has no labels is read, and what can't be read is left out.
func TestServerMetrics(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Date", "Fri, 24 Apr 2020 15:00:00 GMT")
		io.WriteString(w, "# HELP x y\nfds 1024\nfree 1e9\nwith{label=\"a b\"} 1\nbad line\n")
	})
	got, at, err := c.ServerMetrics(t.Context())
	want := map[string]float64{"fds": 1024, "free": 1e9}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || at.Year() != 2020 {
		t.Error(diff, at, err)
	}
}
