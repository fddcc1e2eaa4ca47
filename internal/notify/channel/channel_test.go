package channel_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/notify/channel"
)

func now() andon.Time { return 1_700_000_000_000_000 }

// asked is a request as the other side saw it.
type asked struct {
	path   string
	header http.Header
	body   string
}

// open makes a channel whose other side is a server of this test.
func open(
	t *testing.T, kind, secret, answer string, status int,
) (c notify.Channel, got *asked, at string) {
	t.Helper()
	got = &asked{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*got = asked{r.URL.Path, r.Header, string(body)}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return opened(t, kind, secret, server.URL), got, server.URL
}

func opened(t *testing.T, kind, secret, url string) notify.Channel {
	t.Helper()
	var c channel.Config
	c.Group()
	c.Kind, c.URL, c.Name, c.From = kind, url, "x", "andon@example.org"
	if secret != "" {
		c.SecretFile = filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(c.SecretFile, []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	to, err := c.Open(now)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// message is one of n incidents.
func message(n int) *notify.Message {
	m := &notify.Message{
		ID: "m1", Tenant: "plant-2", To: "Liz", Address: "there", At: now(),
		Link:    "https://andon.example/incidents",
		Summary: notify.Summary{Count: n, States: map[andon.State]int{"FAILURE": n}},
	}
	for i := range min(n, 10) {
		m.Worst = append(m.Worst, notify.Item{
			Incident: fmt.Sprintf("i%d", i), Device: "press <4>", Kind: "state", State: "FAILURE",
			Severity: 80, Since: now(), Message: "oil & <!channel>",
		})
	}
	return m
}

// TestBodies: what each channel sends has what its schema requires, and nothing is secret but where
// it belongs. The schemas are those that the services publish.
func TestBodies(t *testing.T) {
	for _, test := range []struct {
		kind, secret, answer, path, header string
		want                               []string // parts of the body
		without                            string
	}{
		{kind: "slack", secret: "xoxb-1234", answer: `{"ok":true}`, path: "/",
			header: "Authorization: Bearer xoxb-1234",
			want: []string{`"channel":"there"`, `"type":"header"`, `"type":"plain_text"`,
				`"type":"mrkdwn"`, "&lt;!channel&gt;"}, without: "<!channel>"},
		{kind: "teams", secret: "https://x.example/secret", path: "/",
			want: []string{`"type":"message"`, `"version":"1.4"`, `"type":"AdaptiveCard"`,
				`"contentType":"application/vnd.microsoft.card.adaptive"`,
				`"type":"Action.OpenUrl"`}},
		{kind: "pagerduty", secret: "R0UTE", path: "/",
			want: []string{`"routing_key":"R0UTE"`, `"event_action":"trigger"`,
				`"dedup_key":"i0"`, `"severity":"critical"`, `"source":"press <4>"`,
				`"summary":"Andon: press`, `"client_url":"https://andon.example/incidents"`}},
		{kind: "ntfy", secret: "tk_1", path: "/", header: "Authorization: Bearer tk_1",
			want: []string{`"topic":"there"`, `"title":"Andon: press`, `"priority":5`,
				`"click":"https://andon.example/incidents"`}},
		{kind: "telegram", secret: "123:abc", answer: `{"ok":true}`,
			path: "/bot123:abc/sendMessage",
			want: []string{`"chat_id":"there"`, `"text":"Andon: press`}},
		{kind: "alertmanager", path: "/api/v2/alerts",
			want: []string{`"alertname":"AndonIncident"`, `"startsAt":"2023-11-14T22:13:20Z"`,
				`"endsAt":"2023-11-14T22:18:20Z"`, `"incident":"i0"`}},
		{kind: "webhook", secret: "whsec_" + base64.StdEncoding.EncodeToString([]byte("key")),
			path: "/", header: "Webhook-Id: msg_m1",
			want: []string{`"type":"andon.notification"`, `"count":1`, `"state":"FAILURE"`,
				`"tenant":"plant-2"`, `"text":"Tenant: plant-2\nDevice: `}},
	} {
		t.Run(test.kind, func(t *testing.T) {
			c, got, _ := open(t, test.kind, test.secret, test.answer, http.StatusOK)
			if _, err := c.Send(t.Context(), message(1)); err != nil {
				t.Fatal(err)
			}
			name, value, _ := strings.Cut(test.header, ": ")
			if got.path != test.path || name != "" && got.header.Get(name) != value ||
				got.header.Get("Idempotency-Key") != "m1" || !json.Valid([]byte(got.body)) {
				t.Errorf("got %s, %v", got.path, got.header)
			}
			for _, part := range test.want {
				if !strings.Contains(got.body, part) {
					t.Errorf("without %s: %s", part, got.body)
				}
			}
			if test.without != "" && strings.Contains(got.body, test.without) {
				t.Errorf("with %s: %s", test.without, got.body)
			}
		})
	}
}

// TestPagerDutyFollows: the alert of an incident is acknowledged and resolved by its key.
func TestPagerDutyFollows(t *testing.T) {
	c, got, _ := open(t, "pagerduty", "R0UTE", "", http.StatusAccepted)
	m := message(1)
	for _, want := range []string{"trigger", "acknowledge", "resolve"} {
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got.body, `"event_action":"`+want+`"`) ||
			!strings.Contains(got.body, `"dedup_key":"i0"`) {
			t.Errorf("want %s: %s", want, got.body)
		}
		if m.Worst[0].Acknowledged != 0 {
			m.Worst[0].Ended = now()
		}
		m.Worst[0].Acknowledged = now()
	}
	if !c.Follows() || c.Reminds() {
		t.Error("it follows, and does not forget")
	}
}

// TestAnswers: what was refused is an error, final or not, without the secret.
func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		kind, answer string
		status       int
		final        bool
	}{
		{"slack", `{"ok":false,"error":"channel_not_found s3cret"}`, 200, false},
		{"telegram", `{"ok":false,"description":"chat s3cret"}`, 400, false},
		{"ntfy", "limit s3cret", 429, false},
		{"teams", "no card s3cret", 422, false},
		{"pagerduty", "gone", 410, true},
		{"alertmanager", "too long", 413, true},
	} {
		c, _, at := open(t, test.kind, "s3cret", test.answer, test.status)
		_, err := c.Send(t.Context(), message(20))
		f, is := err.(*notify.Failure)
		if !is || f.Final != test.final || f.After != 7_000_000 ||
			strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), at) {
			t.Errorf("%s: %v", test.kind, err)
		}
	}
	dead := opened(t, "telegram", "s3cret", "http://127.0.0.1:1")
	if _, err := dead.Send(t.Context(), message(1)); err == nil ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("out of reach: %v", err)
	}
}

// TestAnswersOfWebhooks: an answer without a body is its status alone, and when a message is tried
// again may be said in seconds or as a time.
func TestAnswersOfWebhooks(t *testing.T) {
	at := func(in time.Duration) string {
		return now().Std().Add(in).UTC().Format(http.TimeFormat)
	}
	for header, want := range map[string]andon.Duration{
		"": 0, "20": 20e6, "-20": 0, "soon": 0, "99999999999999999999": 3600e6,
		at(20 * time.Second): 21e6, at(-20 * time.Second): 0, at(24 * time.Hour): 3600e6,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		secret := "whsec_" + strings.Repeat("c2VjcmV0", 4)
		_, err := opened(t, "webhook", secret, s.URL).Send(t.Context(), message(1))
		s.Close()
		f, is := err.(*notify.Failure)
		if !is || f.After != want || err.Error() != "503 Service Unavailable" {
			t.Errorf("Retry-After %q: %v, %+v; want %v", header, err, f, want)
		}
	}
}

// TestSettings: what is wrong is refused with its place.
func TestSettings(t *testing.T) {
	for text, want := range map[string]string{
		"{name: a, kind: slack}":                                    "secret_file is not set",
		"{name: a, kind: email, url: 'smtp://h'}":                   "from is not set",
		"{name: a, kind: email, url: 'http://h', from: a}":          "url is not of the form",
		"{name: a, kind: ntfy, timeout: 2m}":                        "timeout is more than 1m",
		"{kind: ntfy}":                                              "name is not set",
		"{name: a, kind: alertmanager}":                             "url is not set",
		"{name: a, kind: pigeon}":                                   "none of",
		"{name: a, kind: email, url: 'smtp://h', user: u, from: a}": "set together",
	} {
		var all []channel.Config
		name := func(c *channel.Config) string { return c.Name }
		_, err := config.Load(config.Sources{Env: []string{"ANDON_CHANNELS=[" + text + "]"}},
			config.Group{Settings: []config.Setting{{
				Key: "channels", Value: config.Mappings(&all, (*channel.Config).Group, name),
			}}})
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), ": ", " "), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, c := range []notify.Channel{
		opened(t, "email", "", "smtp://h"), opened(t, "ntfy", "", ""),
		opened(t, "slack", "xoxb-1", ""),
	} {
		if c.Check("") == nil {
			t.Error("an address is missing")
		}
	}
	if opened(t, "slack", "https://hooks.example/x", "").Check("") != nil {
		t.Error("the URL has the address")
	}
}
