package deploy_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/andonhq/andon/internal/config"
)

const (
	scrapeToken = "a-token-of-32-characters-or-more-0123456789"
	soon        = "200ms" // instead of the times that people have
)

// TestSerialAlertReachesThePager: a device in WARNING4 becomes an alert of the rules that we ship,
// in a real Prometheus with the configuration that we ship, which scrapes Andon with its token; a
// real Alertmanager sends it on, and says later that it is over. Only times and addresses are
// others.
func TestSerialAlertReachesThePager(t *testing.T) {
	t.Parallel() // most of its time it waits for Prometheus, which takes 5 s to read its targets
	prometheus := tool(t, "prometheus", "prometheus")
	alertmanager := tool(t, "prometheus-alertmanager", "prometheus-alertmanager")
	dir := t.TempDir()
	token := write(t, filepath.Join(dir, "token"), scrapeToken)
	a := started(t, config.Sources{Env: []string{"ANDON_TOKEN_FILE=" + token}})

	pages := pager(t)
	manager := daemon(t, alertmanager, `msg="?Listening on"? address=(\S+)`,
		"--config.file="+write(t, filepath.Join(dir, "alertmanager.yml"), `
route: {receiver: pager, group_wait: `+soon+`, group_interval: `+soon+`}
receivers: [{name: pager, webhook_configs: [{url: "`+pages.url+`"}]}]
`),
		"--web.listen-address=127.0.0.1:0", "--cluster.listen-address=",
		"--storage.path="+filepath.Join(dir, "alerts"))
	daemon(t, prometheus, `(Server is ready to receive web requests)`,
		"--config.file="+scraping(t, dir, token, a.URL(), manager),
		"--web.listen-address=127.0.0.1:0", "--storage.tsdb.path="+filepath.Join(dir, "tsdb"))

	report(t, a.URL(), `{"device":"press-7","state":"WARNING4"}`)
	pages.get(t, "firing", map[string]string{
		"alertname": "DevicesInWarning4", "tenant": "default", "state": "WARNING4",
		"severity": "critical",
	})
	report(t, a.URL(), `{"device":"press-7","state":"NORMAL"}`)
	pages.get(t, "resolved", map[string]string{"alertname": "DevicesInWarning4"})
}

// scraping writes our configuration and rules for a server, with shorter times, and with a manager.
func scraping(t *testing.T, dir, token, url, manager string) string {
	t.Helper()
	for _, name := range rules() {
		file := name + ".rules.yml"
		times := regexp.MustCompile(`(?m)^(\s+for:) \w+$`)
		text := times.ReplaceAllString(read(t, "prometheus/"+file), "$1 "+soon)
		write(t, filepath.Join(dir, file), text)
	}
	text := read(t, "prometheus/prometheus.yml")
	for old, now := range map[string]string{
		"scrape_interval: 15s":        "scrape_interval: " + soon,
		"/etc/prometheus/andon-token": token,
		"127.0.0.1:8080":              strings.TrimPrefix(url, "http://"),
	} {
		if strings.Count(text, old) != 1 {
			t.Fatalf("prometheus.yml has not %q once", old)
		}
		text = strings.ReplaceAll(text, old, now)
	}
	return write(t, filepath.Join(dir, "prometheus.yml"), text+`
global: {evaluation_interval: `+soon+`}
alerting: {alertmanagers: [{static_configs: [{targets: ["`+manager+`"]}]}]}
`)
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func report(t *testing.T, url, event string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/v1/events",
		strings.NewReader(event))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+scrapeToken)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", event, answer.Status)
	}
}

// daemon starts a program, and returns what it says of itself once it is ready: the part of its log
// that an expression finds.
func daemon(t *testing.T, path, ready string, args ...string) string {
	t.Helper()
	cmd := exec.Command(path, args...)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		find := regexp.MustCompile(ready)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			t.Log(lines.Text())
			if m := find.FindStringSubmatch(lines.Text()); m != nil && len(said) == 0 {
				said <- m[1]
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = cmd.Wait()
	})
	select {
	case text := <-said:
		return text
	case <-ended:
	case <-time.After(2 * time.Minute):
	}
	t.Fatalf("%s does not become ready", filepath.Base(path))
	return ""
}

// page is what Alertmanager sends.
type page struct {
	Alerts []struct {
		Status string            `json:"status"`
		Labels map[string]string `json:"labels"`
	} `json:"alerts"`
}

// receiver is what Alertmanager sends to.
type receiver struct {
	url   string
	pages chan page
}

func pager(t *testing.T) receiver {
	t.Helper()
	r := receiver{pages: make(chan page, 1000)}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		var p page
		if err := json.NewDecoder(q.Body).Decode(&p); err != nil {
			t.Error(err)
		}
		r.pages <- p
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// get waits until an alert comes that has a status and labels.
func (r receiver) get(t *testing.T, status string, labels map[string]string) {
	t.Helper()
	patience := time.After(2 * time.Minute)
	for {
		select {
		case p := <-r.pages:
			for _, alert := range p.Alerts {
				if alert.Status == status && contains(alert.Labels, labels) {
					return
				}
			}
		case <-patience:
			t.Fatalf("no %s alert of %v came", status, labels)
		}
	}
}

func contains(all, some map[string]string) bool {
	for name, value := range some {
		if all[name] != value {
			return false
		}
	}
	return true
}
