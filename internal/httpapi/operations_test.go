package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/wrap"
)

// sick is a store that is broken in the way a test needs.
type sick struct {
	andon.Store
	attributes andon.JSON // of the only device in a list that can be read
}

func (s *sick) Devices(
	context.Context, andon.TenantID, andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	return func(yield func(andon.Device, error) bool) {
		if yield(andon.Device{ID: "first", Attributes: s.attributes}, nil) {
			yield(andon.Device{}, andon.Errorf(andon.Full, "no space"))
		}
	}
}

func newSick(t *testing.T, change ...func(*httpapi.Options)) (*world, *sick) {
	s := &sick{}
	use := func(o *httpapi.Options) { s.Store, o.Store = o.Store, s }
	return newWorld(t, append(change, use)...), s
}

// newFaulty is a world whose store has faults.
func newFaulty(t *testing.T, change ...func(*httpapi.Options)) (*world, *wrap.Faults) {
	faults := &wrap.Faults{}
	use := func(o *httpapi.Options) {
		o.Store = wrap.Around(o.Store, faults.Hook)
		o.Intake = newIntake(o.Store, o.Now)
	}
	return newWorld(t, append(change, use)...), faults
}

func TestReady(t *testing.T) {
	w, faults := newFaulty(t)
	w.do(http.MethodGet, "/livez", "").equals(`{"status":"live"}`)
	w.do(http.MethodGet, "/readyz", "").equals(`{"status":"ready"}`)
	faults.Set(wrap.Fail(andon.Errorf(andon.Full, "no space left")), "Ready")
	got := w.do(http.MethodGet, "/readyz", "")
	got.fails(http.StatusServiceUnavailable, "no space left")
	if got.header.Get("Retry-After") == "" {
		t.Errorf("got %v", got.header)
	}
	faults.Set(nil, "Ready")
	w.api.Drain()
	w.do(http.MethodGet, "/readyz", "").fails(http.StatusServiceUnavailable, "stopping")
	w.do(http.MethodGet, "/livez", "").is(http.StatusOK)
	w.get("/devices/d/events").is(http.StatusOK) // those under way, and on their way, are served
}

// TestReadyToStrangers: who does not send the token is not told why, and the log has it.
func TestReadyToStrangers(t *testing.T) {
	var log strings.Builder
	w, faults := newFaulty(t, func(o *httpapi.Options) {
		o.Token, o.Log = "secret", slog.New(slog.NewTextHandler(&log, nil))
	})
	faults.Set(wrap.Fail(andon.Errorf(andon.Full, "no space left")), "Ready")
	got := w.do(http.MethodGet, "/readyz", "")
	got.fails(http.StatusServiceUnavailable, "its log says why")
	if strings.Contains(got.body, "no space") || !strings.Contains(log.String(), "no space left") ||
		got.header.Get("Retry-After") == "" {
		t.Errorf("got %v %s; log: %s", got.header, got.body, log.String())
	}
	w.do(http.MethodGet, "/readyz", "", "Authorization: Bearer secret").
		fails(http.StatusServiceUnavailable, "no space left")
}

func TestVersion(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) { o.Version = client.Version{Version: "1.2.3"} })
	got := w.do(http.MethodGet, "/version", "").is(http.StatusOK)
	if v := parse(t, got.body).(map[string]any); v["version"] != "1.2.3" || v["store"] == "" {
		t.Errorf("got %s", got.body)
	}
}

func TestErrorsOfTheStore(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	w, faults := newFaulty(t, func(o *httpapi.Options) { o.Log = logger })
	for err, status := range map[error]int{
		errors.New("secret words"):                   500,
		andon.Errorf(andon.Internal, "secret words"): 500,
		andon.Errorf(andon.Conflict, "said"):         409,
		andon.Errorf(andon.Busy, "said"):             429,
		andon.Errorf(andon.Unsupported, "said"):      501,
		andon.Errorf(andon.Unavailable, "said"):      503,
		andon.Errorf(andon.Full, "said"):             507,
		andon.Errorf(andon.Damaged, "said"):          500,
		context.DeadlineExceeded:                     503,
	} {
		log.Reset()
		faults.Set(wrap.Fail(err), "Device")
		got := w.get("/devices/d", "X-Request-Id: the-request")
		got.fails(status)
		if strings.Contains(got.body, "secret") {
			t.Errorf("the answer says %s", got.body)
		}
		logged := strings.Contains(log.String(), "request_id=the-request")
		if want := status == 500 || status == 503 || status == 507; logged != want {
			t.Errorf("%v: logged %q", err, log.String())
		}
		again := status == 429 || status == 503
		if after := got.header.Get("Retry-After"); (after != "") != again {
			t.Errorf("%d: Retry-After %q", status, after)
		}
	}
	log.Reset()
	faults.Set(func(context.Context) error { panic("secret words") }, "Device")
	w.get("/devices/d", "X-Request-Id: the-request").fails(http.StatusInternalServerError)
	for _, want := range []string{"the-request", "secret"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("logged %q", log.String())
		}
	}
}

// TestListThatBreaksOff is an error as a whole, and so is one with something that can't be written.
func TestListThatBreaksOff(t *testing.T) {
	w, s := newSick(t)
	w.get("/devices?limit=1").fails(http.StatusInsufficientStorage)
	s.attributes = "{not JSON"
	w.get("/devices?limit=1").fails(http.StatusInternalServerError)
}

func TestTimeout(t *testing.T) {
	w, faults := newFaulty(t, func(o *httpapi.Options) { o.Timeout = 10 * time.Millisecond })
	faults.Set(wrap.Hang, "Device")
	w.get("/devices/d").fails(http.StatusServiceUnavailable, "too long")
}

func TestClientThatIsGone(t *testing.T) {
	w, faults := newFaulty(t)
	asked := make(chan struct{})
	faults.Set(func(ctx context.Context) error {
		close(asked)
		return wrap.Hang(ctx)
	}, "Device")
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+base+"/devices/d", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Request-Id", "gone")
	go func() {
		<-asked
		cancel()
	}()
	if response, err := http.DefaultClient.Do(r); err == nil {
		response.Body.Close()
		t.Error("there is an answer")
	}
	w.ends.await("gone")
	if !strings.Contains(w.do(http.MethodGet, "/metrics", "").body, `status="499"} 1`) {
		t.Error("not counted as 499")
	}
}

func TestMetrics(t *testing.T) {
	w := newWorld(t)
	w.post("/events", `[`+oneEvent+`,{"device":"x"},
		{"device":"d","state":"A","time":"2030-01-01"}]`).is(http.StatusOK)
	w.post("/readings", `{"device":"d","metrics":{"a":1}}`).is(http.StatusOK)
	w.get("/devices/some%20id").is(http.StatusNotFound)
	w.do("BREW", "/pot", "").is(http.StatusNotFound)
	text := w.do(http.MethodGet, "/metrics", "").is(http.StatusOK).body
	for _, want := range []string{
		"andon_events_accepted_total 1\n",
		`andon_events_rejected_total{reason="malformed"} 1`,
		`andon_events_rejected_total{reason="inadmissible"} 1`,
		"andon_readings_accepted_total 1\n",
		`andon_http_requests_total{method="POST",route="/api/v1/events",status="2xx"} 1`,
		`andon_http_requests_total{method="GET",route="/api/v1/devices/{device}",status="4xx"} 1`,
		`andon_http_requests_total{method="other",route="unmatched",status="4xx"} 1`,
		`andon_http_request_duration_seconds_count{method="POST",route="/api/v1/events"} 1`,
		"andon_http_requests_in_flight 1\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, "some") {
		t.Error("an id has become a label")
	}
	open := w.do(http.MethodGet, "/metrics", "",
		"Accept: application/openmetrics-text; version=1.0.0")
	if !strings.HasSuffix(open.is(http.StatusOK).body, "# EOF\n") {
		t.Error("not OpenMetrics")
	}
}

// TestRejectedAreCounted: each way in which something sent is not kept, with the reason it counts
// as.
func TestRejectedAreCounted(t *testing.T) {
	reasons := []string{"unreadable", "malformed", "inadmissible"}
	lines := "Content-Type: application/x-ndjson"
	for sent, want := range map[string][3]int{
		`{"device":"x"}`:                                   {0, 1, 0},
		"\uFEFF {\"device\":":                              {0, 1, 0},
		`{"device":"d","state":"A"} {}`:                    {0, 1, 0},
		`{"device":"d","state":"A","time":"2030-01-01"}`:   {0, 0, 1},
		`[{"device":"d","state":"A","time":"2030-01-01"}]`: {0, 0, 1},
		`[1]`:                               {1, 0, 0},
		`[1,{"device":"d","state":"A"},{}]`: {0, 2, 0},
		`nonsense`:                          {1, 0, 0},
		`[nonsense`:                         {1, 0, 0},
		``:                                  {1, 0, 0},
		"Content-Type: text/plain":          {1, 0, 0},
		"Content-Encoding: gzip":            {1, 0, 0},
		lines + "\n{\"device\":\"d\"}\n{":   {0, 2, 0},
		lines + "\n{":                       {1, 0, 0},
		strings.Repeat(" ", 1+andon.MaxRequestBytes): {1, 0, 0},
	} {
		w := newWorld(t)
		w.put("/tenants/default", `{"retention":{"events":"90d"}}`).is(http.StatusOK)
		header, body := "X-A: b", sent
		if strings.HasPrefix(sent, "Content-") {
			header, body, _ = strings.Cut(sent, "\n")
		}
		w.post("/events", body, header)
		text := w.do(http.MethodGet, "/metrics", "").is(http.StatusOK).body
		for i, reason := range reasons {
			line := fmt.Sprintf("andon_events_rejected_total{reason=%q} %d\n", reason, want[i])
			if !strings.Contains(text, line) {
				t.Errorf("%.60q: no %s", sent, line)
			}
		}
	}
}

// What is not taken for lack of memory is to be sent again, and is not rejected.
func TestBusyIsNotRejected(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) {
		o.Intake = intake.New(o.Store, intake.Options{Now: o.Now, MaxBytes: 128 << 10})
		if err := o.Intake.Requests.Take(64<<10 - 1024); err != nil {
			t.Fatal(err)
		}
	})
	w.post("/events", strings.Repeat(" ", 2000)+oneEvent).fails(http.StatusTooManyRequests)
	w.post("/events", "["+oneEvent+"]").fails(http.StatusTooManyRequests)
	text := w.do(http.MethodGet, "/metrics", "").is(http.StatusOK).body
	if !strings.Contains(text, `andon_refused_total{lack="memory"} 2`) {
		t.Error("they do not count as refused")
	}
	if !strings.Contains(text, `andon_events_rejected_total{reason="unreadable"} 0`) {
		t.Error("a body that was not taken counts as rejected")
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{
		"/api", "/api/v1", base + "/", base + "/nothing", "/docs/none.js", "/docs/x",
		"/docs/%2E%2E", "/docs/..%2Fx.js",
	} {
		w.do(http.MethodGet, path, "").fails(http.StatusNotFound)
	}
	for request, allow := range map[string]string{
		"DELETE " + base + "/events":           "GET, HEAD, POST",
		"POST " + base + "/devices/d":          "DELETE, GET, HEAD, PUT",
		"OPTIONS " + base + "/tenants/default": "DELETE, GET, HEAD, PUT",
		"PATCH /livez":                         "GET, HEAD",
	} {
		method, path, _ := strings.Cut(request, " ")
		got := w.do(method, path, "")
		got.fails(http.StatusMethodNotAllowed, method)
		if got.header.Get("Allow") != allow {
			t.Errorf("%s: allow %q", request, got.header.Get("Allow"))
		}
	}
	if got := w.do(http.MethodHead, base+"/devices", "").is(http.StatusOK); got.body != "" {
		t.Errorf("HEAD has a body: %q", got.body)
	}
}
