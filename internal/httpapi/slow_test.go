package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/sleep"
)

func newIntake(s andon.Store, now func() andon.Time) *intake.Intake {
	return intake.New(s, intake.Options{Now: now})
}

// logBook is a log that is read while others write.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// says checks that the log says text.
func (l *logBook) says(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(l.String(), text) {
		t.Fatalf("the log does not say %s: %s", text, l)
	}
}

func TestSlow(t *testing.T) {
	const slow = 20 * time.Millisecond
	log := &logBook{}
	w, faults := newFaulty(t, func(o *httpapi.Options) {
		o.Slow, o.Log = slow, slog.New(slog.NewJSONHandler(log, nil))
	})
	faults.Set(func(ctx context.Context) error { return sleep.For(ctx, 2*slow) }, "Device")
	w.get("/devices/a-secret", "X-Request-Id: r1").is(http.StatusNotFound)
	var line struct {
		Level, Msg, Route, Tenant string
		RequestID                 string `json:"request_id"`
		Took                      time.Duration
		Answers, Status           int
	}
	log.says(t, "}\n")
	if err := json.Unmarshal([]byte(log.String()), &line); err != nil {
		t.Fatalf("%v: %s", err, log.String())
	}
	if line.Level != "WARN" || line.Msg != "slow request" || line.RequestID != "r1" ||
		line.Route != "GET /api/v1/devices/{device}" || line.Tenant != "default" ||
		line.Took < 2*slow || line.Status != http.StatusNotFound {
		t.Errorf("got %s", log.String())
	}
	if strings.Contains(log.String(), "secret") {
		t.Errorf("the log names what was asked for: %s", log.String())
	}
}

// TestSlowCountsAnswers: the number of items is that of the page.
func TestSlowCountsAnswers(t *testing.T) {
	log := &logBook{}
	w := newWorld(t, func(o *httpapi.Options) {
		o.Slow, o.Log = time.Nanosecond, slog.New(slog.NewTextHandler(log, nil))
	})
	w.event("a", "2020-04-24T11:00:00Z", "NORMAL")
	w.event("b", "2020-04-24T11:00:00Z", "NORMAL")
	log.says(t, `route="POST /api/v1/events"`)
	w.get("/devices?limit=10").is(http.StatusOK)
	log.says(t, "answers=2")
}

// TestSlowClient: a client that takes its time to send is not a slow request.
func TestSlowClient(t *testing.T) {
	const slow = 100 * time.Millisecond
	log := &logBook{}
	w := newWorld(t, func(o *httpapi.Options) {
		o.Slow, o.Log = slow, slog.New(slog.NewTextHandler(log, nil))
	})
	body, send := io.Pipe()
	go func() {
		head, tail := oneEvent[:10], oneEvent[10:]
		io.WriteString(send, head)
		<-time.After(2 * slow)
		io.WriteString(send, tail)
		send.Close()
	}()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+base+"/events", body)
	if err != nil {
		t.Fatal(err)
	}
	w.send(r).is(http.StatusOK)
	if got := log.String(); got != "" {
		t.Errorf("got %s", got)
	}
}
