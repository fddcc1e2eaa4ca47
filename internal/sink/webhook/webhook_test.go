package webhook_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/sink"
	"github.com/andonhq/andon/internal/sink/webhook"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

const (
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	former = "whsec_c2VjcmV0LXRoYXQtd2FzLWJlZm9yZQ=="
)

func clock() andon.Time { return andon.TimeOf(time.Now()) }

func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func batch() *sink.Batch {
	value := []byte(`{"id":"f-1","tenant":"default","device":"press <1>","kind":"entry"}`)
	m := sink.Message{ID: "f-1", Device: "press <1>", Value: value}
	return &sink.Batch{
		ID: "0123", Feed: "it's a feed", Tenant: "default", Time: 1_587_729_600_000_000,
		Messages: []sink.Message{m, m},
	}
}

// open makes a webhook that posts to a server.
func open(t testing.TB, url string, set func(*webhook.Config)) *webhook.Webhook {
	t.Helper()
	c := webhook.Config{}
	c.Settings()
	c.URL, c.SecretFile = url, write(t, secret+"\n"+former+"\n")
	if set != nil {
		set(&c)
	}
	w, err := c.Open(clock)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// answering is a server, and what it is sent.
func answering(t *testing.T, answer http.HandlerFunc) (*httptest.Server, <-chan *http.Request) {
	t.Helper()
	got := make(chan *http.Request, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent := r.Clone(context.WithoutCancel(r.Context()))
		sent.Body = io.NopCloser(strings.NewReader(string(body)))
		got <- sent
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s, got
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

// TestAnswers: 2xx is delivered, 410 ends the feed, and all else is tried again.
func TestAnswers(t *testing.T) {
	soon := time.Now().Add(100 * time.Second).UTC().Format(http.TimeFormat)
	for _, test := range []struct {
		answer http.HandlerFunc
		want   string
		stop   bool
		after  time.Duration // at least
	}{
		{answer: status(200)},
		{answer: status(204)},
		{answer: status(410), want: "410 Gone", stop: true},
		{answer: status(503), want: "503"},
		{answer: status(429, "Retry-After", "7"), want: "429", after: 7 * time.Second},
		{answer: status(503, "Retry-After", soon), want: "503", after: 90 * time.Second},
		{answer: status(503, "Retry-After", "99999999"), want: "503", after: time.Hour},
		{answer: status(503, "Retry-After", "-7 soon"), want: "503"},
		{answer: status(400), want: "400"},
		{answer: status(307, "Location", "/other"), want: "307"},
		{answer: func(w http.ResponseWriter, _ *http.Request) {
			panic(http.ErrAbortHandler)
		}, want: "EOF"},
	} {
		s, got := answering(t, test.answer)
		err := open(t, s.URL, nil).Deliver(t.Context(), batch())
		var f *sink.Failure
		if !errors.As(err, &f) {
			f = &sink.Failure{}
		}
		if fmt.Sprint(err) != "<nil>" != (test.want != "") || len(got) != 1 ||
			err != nil && !strings.Contains(err.Error(), test.want) || f.Stop != test.stop ||
			f.After < test.after || f.After > max(2*test.after, 0) {
			t.Errorf("want %+v; got %v, %+v in %d calls", test, err, f, len(got))
		}
	}
}

// TestRequest: the same batch is the same body and id, with a signature of each secret.
func TestRequest(t *testing.T) {
	s, sent := answering(t, status(200))
	var got *http.Request
	w := open(t, s.URL+"/hook?key=1", nil)
	var bodies, ids []string
	for range 2 {
		if err := w.Deliver(t.Context(), batch()); err != nil {
			t.Fatal(err)
		}
		got = <-sent
		body, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		bodies, ids = append(bodies, string(body)), append(ids, got.Header.Get("webhook-id"))
	}
	const want = `{"type":"andon.changes","timestamp":"2020-04-24T12:00:00Z","data":` +
		`{"feed":"it's a feed","tenant":"default","changes":[` +
		`{"id":"f-1","tenant":"default","device":"press <1>","kind":"entry"},` +
		`{"id":"f-1","tenant":"default","device":"press <1>","kind":"entry"}]}}`
	if bodies[0] != want || bodies[1] != want || ids[0] != "msg_0123" || ids[1] != ids[0] {
		t.Errorf("%s\n%s", ids, bodies)
	}
	if got.Method != http.MethodPost || got.RequestURI != "/hook?key=1" ||
		got.Header.Get("Content-Type") != "application/json" ||
		strings.Count(got.Header.Get("webhook-signature"), "v1,") != 2 {
		t.Errorf("the request was %+v", got)
	}
}

// TestSlow: an answer that takes too long is an error, and so is a receiver that is not there. No
// error says what the URL has.
func TestSlow(t *testing.T) {
	s, _ := answering(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for _, url := range []string{s.URL, "http://127.0.0.1:1"} {
		url = strings.Replace(url, "http://", "http://liz:hunter2@", 1) + "/?key=hunter2"
		w := open(t, url, func(c *webhook.Config) { c.Timeout = 50 * time.Millisecond })
		err := w.Deliver(t.Context(), batch())
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestLongAnswer: of an answer without end no more is read than a little.
func TestLongAnswer(t *testing.T) {
	s, _ := answering(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	if err := open(t, s.URL, nil).Deliver(t.Context(), batch()); err != nil {
		t.Error(err)
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(status(200))
	s.Config.ErrorLog = log.New(t.Output(), "", 0)
	s.StartTLS()
	defer s.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	ours := func(c *webhook.Config) { c.CA = write(t, string(ca)) }
	if err := open(t, s.URL, ours).Deliver(t.Context(), batch()); err != nil {
		t.Error(err)
	}
	err := open(t, s.URL, nil).Deliver(t.Context(), batch())
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the certificate: %v", err)
	}
}

// TestConfig: what is wrong with settings and files is said, without the secret.
func TestConfig(t *testing.T) {
	good := webhook.Config{URL: "https://example.com/hook", SecretFile: write(t, secret)}
	for _, test := range []struct {
		set  func(*webhook.Config)
		want string
	}{
		{func(c *webhook.Config) { c.URL = "example.com/hunter2" }, "url of a webhook is not"},
		{func(c *webhook.Config) { c.URL = "ftp://example.com" }, "url of a webhook is not"},
		{func(c *webhook.Config) { c.SecretFile = "" }, "secret_file is not set"},
		{func(c *webhook.Config) { c.SecretFile = "absent" }, "read secret_file"},
		{func(c *webhook.Config) { c.SecretFile = write(t, " \n") }, "holds no secret"},
		{func(c *webhook.Config) { c.SecretFile = write(t, "whsec_hunter2!") }, "is not whsec_"},
		{func(c *webhook.Config) { c.CA = write(t, "hunter2") }, "holds no certificate"},
		{func(c *webhook.Config) { c.CA = "absent" }, "no such file"},
	} {
		c := good
		test.set(&c)
		err := load(t, c)
		if err == nil {
			_, err = c.Open(clock)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("want %s; got %v", test.want, err)
		}
	}
	if err := load(t, good); err != nil {
		t.Error(err)
	}
}

// load has the settings checked as those of a file are.
func load(t *testing.T, c webhook.Config) error {
	text, err := json.Marshal([]map[string]string{{"url": c.URL, "secret_file": c.SecretFile}})
	if err != nil {
		t.Fatal(err)
	}
	var all []webhook.Config
	group := func(c *webhook.Config) config.Group {
		return config.Group{Settings: c.Settings(), Check: c.Check}
	}
	name := func(c *webhook.Config) string { return c.URL }
	_, err = config.Load(config.Sources{Env: []string{"ANDON_FEEDS=" + string(text)}},
		config.Group{Settings: []config.Setting{
			{Key: "feeds", Value: config.Mappings(&all, group, name)},
		}})
	return err
}

// verify prints what the library of Standard Webhooks says of a request.
const verify = `
import sys, standardwebhooks.webhooks as w
body = sys.stdin.buffer.read()
headers = dict(a.split("=", 1) for a in sys.argv[2:])
print(w.Webhook(sys.argv[1]).verify(body, headers)["data"]["feed"])
`

// TestSignatureIsVerified has the library of the standard verify a request with each secret, and
// refuse what was changed.
func TestSignatureIsVerified(t *testing.T) {
	requirements, err := os.ReadFile("testdata/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	python := enginetest.Python(t, "standardwebhooks-1.1.0", string(requirements))
	s, sent := answering(t, status(200))
	if err := open(t, s.URL, nil).Deliver(t.Context(), batch()); err != nil {
		t.Fatal(err)
	}
	got := <-sent
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ secret, body, want string }{
		{secret, string(body), "it's a feed\n"},
		{former, string(body), "it's a feed\n"},
		{"whsec_AAAA", string(body), "No matching signature"},
		{secret, string(body) + " ", "No matching signature"},
	} {
		args := []string{"-c", verify, test.secret}
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			args = append(args, name+"="+got.Header.Get(name))
		}
		cmd := exec.CommandContext(t.Context(), python, args...)
		cmd.Stdin = strings.NewReader(test.body)
		said, err := cmd.CombinedOutput()
		if !strings.Contains(string(said), test.want) {
			t.Errorf("want %s; got %s, %v", test.want, said, err)
		}
	}
}
