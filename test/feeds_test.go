package test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
)

// changeSent is a change as a webhook is sent it.
type changeSent struct {
	ID, Device, Kind, Before, After string
	Shows                           *client.Device
}

// hook is the receiver of a feed. It takes one change after the other, folds them, and keeps what
// is wrong with them. Now and then it does not take a batch, or takes it and does not say so.
type hook struct {
	*testing.T
	url string

	mu      sync.Mutex
	shown   map[string]client.Device
	changes map[string]changeSent // by id
	batches map[string][]string   // the ids of their changes, by that of the batch
	known   map[string]string     // the state of each device that was sent; "": it was gone
	doubled int
}

func newHook(t *testing.T) *hook {
	h := &hook{
		T: t, shown: map[string]client.Device{}, changes: map[string]changeSent{},
		batches: map[string][]string{}, known: map[string]string{},
	}
	s := httptest.NewServer(http.HandlerFunc(h.take))
	t.Cleanup(s.Close)
	h.url = s.URL
	return h
}

// settings are those of a feed that ends here.
func (h *hook) settings() string {
	secret := filepath.Join(h.TempDir(), "secret")
	err := os.WriteFile(secret, []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 0o600)
	if err != nil {
		h.Fatal(err)
	}
	return fmt.Sprintf("feeds:\n- {name: hook, url: '%s', secret_file: '%s', start: snapshot, "+
		"tenants: default, batch: 50, wait: 20ms}\n", h.url, secret)
}

// config is a file of these settings alone.
func (h *hook) config() string {
	path := filepath.Join(h.TempDir(), "feeds.yaml")
	if err := os.WriteFile(path, []byte(h.settings()), 0o600); err != nil {
		h.Fatal(err)
	}
	return path
}

func (h *hook) take(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	luck := rand.IntN(10)
	var sent struct {
		Data struct{ Changes []changeSent }
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || luck == 0 { // it may have been killed while it sent
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		h.Errorf("%.300s: %v", body, err)
	}
	var ids []string
	for _, c := range sent.Data.Changes {
		h.fold(c)
		ids = append(ids, c.ID)
	}
	id := r.Header.Get("webhook-id")
	if before, again := h.batches[id]; again && !slices.Equal(before, ids) {
		h.Errorf("%s had %s, and then %s", id, before, ids)
	}
	if h.batches[id] = ids; luck == 1 {
		panic(http.ErrAbortHandler)
	}
}

// fold takes a change. One that comes again changes nothing, and one that is new begins where the
// one before it ended.
func (h *hook) fold(c changeSent) {
	if before, again := h.changes[c.ID]; again {
		if h.doubled++; before.Device != c.Device || before.After != c.After {
			h.Errorf("%s was %+v, and then %+v", c.ID, before, c)
		}
		return
	}
	if was, known := h.known[c.Device]; known && c.Kind != "snapshot" && was != c.Before {
		h.Errorf("%s was %q, and then began %+v", c.Device, was, c)
	}
	h.changes[c.ID], h.known[c.Device] = c, c.After
	if delete(h.shown, c.Device); c.Shows != nil {
		h.shown[c.Device] = *c.Shows
	}
}

// compare waits until what was received is what the devices show.
func (h *hook) compare(t *testing.T, s *server) {
	t.Helper()
	eventually(t, patience, "the feed leads to what devices show", func() error {
		want := map[string]client.Device{}
		for d, err := range patient(t, s).Devices(t.Context(), client.DeviceQuery{}) {
			if err != nil {
				return err
			}
			want[string(d.Device)] = d
		}
		h.mu.Lock()
		got := maps.Clone(h.shown)
		h.mu.Unlock()
		for _, all := range []map[string]client.Device{want, got} {
			for id, d := range all { // what is in the feed
				all[id] = client.Device{
					Device: d.Device, State: d.State, Severity: d.Severity, Since: d.Since,
					Operator: d.Operator, EscalatedTo: d.EscalatedTo, Escalation: d.Escalation,
					IncidentSince: d.IncidentSince, LastRetired: d.LastRetired,
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("received is something else (-shown +received):\n%.3000s", diff)
		}
		return nil
	})
	t.Logf("%d batches, %d changes, %d doubled", len(h.batches), len(h.changes), h.doubled)
}

// TestFeedGoesOn: after a restart and after a kill a feed goes on where it was, and does not send
// the fleet again.
func TestFeedGoesOn(t *testing.T) {
	h, dir := newHook(t), t.TempDir()
	path := filepath.Join(t.TempDir(), "andon.yaml")
	settings := "store: pebble\ndata: " + dir + "\n" + h.settings()
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		s := serveQuietly(t, "--config", path)
		c := newClient(t, s)
		for i := range 20 {
			id := andon.DeviceID(fmt.Sprint("press-", i))
			state := []andon.State{"NORMAL", "WARNING1"}[round%2]
			e := entryOf(id, round, state)
			if round > 1 && i > 1 {
				continue
			}
			if _, err := c.AppendEvents(t.Context(), []andon.Event{e}); err != nil {
				t.Fatal(err)
			}
		}
		h.compare(t, s)
		if text := s.send(t, "GET", "/metrics", "", ""); !strings.Contains(text,
			`andon_feed_delivered_changes_total{feed="hook"}`) {
			t.Error("there are no metrics of the feed")
		}
		if round%2 == 0 {
			s.end(9, -1)
		} else {
			s.end(15, 0)
		}
	}
	if n := len(h.changes); n != 44 {
		t.Errorf("%d changes were sent, want 44", n)
	}
}

// codeOf returns the first block of a page in a language.
func codeOf(t *testing.T, page, language string) string {
	t.Helper()
	for _, b := range readPage(t, page).blocks {
		if b.info == language {
			return b.text
		}
	}
	t.Fatalf("%s has no block of %s", page, language)
	return ""
}

// TestFeedPage does what docs/feeds.md says: its settings, its receiver in Python, which verifies
// what it is sent, and its example of what that is.
func TestFeedPage(t *testing.T) {
	const page, secret = "docs/feeds.md", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	requirements, err := os.ReadFile("../internal/sink/webhook/testdata/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	python := enginetest.Python(t, "standardwebhooks-1.1.0", string(requirements))
	cmd := exec.CommandContext(t.Context(), python, "-c", codeOf(t, page, "python"))
	cmd.Env = append(os.Environ(), "SECRET="+secret)
	port := started(t, cmd)
	sent := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent <- string(body)
	}))
	defer s.Close()
	dir := t.TempDir()
	settings := strings.NewReplacer("https://maintenance.example.com/andon", s.URL,
		"/etc/andon", dir, "start: snapshot", "start: snapshot\n  wait: 50ms",
	).Replace(codeOf(t, page, "yaml"))
	settings += strings.NewReplacer("maintenance\n", "python\n", s.URL, "http://127.0.0.1:"+port).
		Replace(strings.TrimPrefix(settings, "feeds:\n"))
	for name, text := range map[string]string{
		"andon.yaml": settings, "maintenance.secret": secret,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	andon := start(t, "--store", "memory", "--config", filepath.Join(dir, "andon.yaml"))
	for i, rest := range []string{
		`"state":"NORMAL"}`, `"state":"WARNING2","message":"oil pressure low"}`,
	} {
		andon.send(t, "POST", "/api/v1/events", "application/json",
			`{"device":"press-1","time":"2025-12-04T12:00:00Z","operator":"Liz",`+rest)
		if body := <-sent; i == 1 {
			checkExample(t, codeOf(t, page, "json"), body)
		}
	}
	eventually(t, patience, "the receiver has what the device shows", func() error {
		answer, err := http.Get("http://127.0.0.1:" + port)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		var got []client.Device
		err = json.NewDecoder(answer.Body).Decode(&got)
		if err != nil || len(got) != 1 || got[0].State != "WARNING2" {
			return fmt.Errorf("it has %+v, %w", got, err)
		}
		return nil
	})
}

// checkExample compares the second request with one of a page, apart from what differs each time.
func checkExample(t *testing.T, example, sent string) {
	t.Helper()
	varies := regexp.MustCompile(`"(timestamp|id|position|received)": *"[^"]*"`)
	tidy := func(text string) any {
		var v any
		if err := json.Unmarshal([]byte(varies.ReplaceAllString(text, `"$1":""`)), &v); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return v
	}
	if diff := cmp.Diff(tidy(example), tidy(sent)); diff != "" {
		t.Errorf("the example differs (-example +sent):\n%s", diff)
	}
}

// started starts a program that ends with the test, and returns the first line that it prints.
func started(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}
