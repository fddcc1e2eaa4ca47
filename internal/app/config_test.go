package app_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/golden"
)

func load(from config.Sources) (app.Config, error) {
	c, _, err := app.LoadConfig(from)
	return c, err
}

// noEngines leaves out what has its own tests.
var noEngines = cmpopts.IgnoreFields(app.Config{}, "Engines")

func TestDefault(t *testing.T) {
	got, err := load(config.Sources{Env: []string{"HOME=/root", "ANDONX=1", "ANDON_URL=a"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(app.DefaultConfig(), got, noEngines); diff != "" {
		t.Error(diff)
	}
}

func TestSourcesRise(t *testing.T) {
	from := config.Sources{File: "testdata/rise.yaml"}
	steps := []struct {
		do   func()
		want string
	}{
		{func() {}, "file:1"},
		{func() { from.Env = []string{"ANDON_LISTEN=env:1"} }, "env:1"},
		{func() { from.Flags = map[string]string{"listen": "flag:1"} }, "flag:1"},
	}
	for _, s := range steps {
		s.do()
		got, err := load(from)
		if err != nil {
			t.Fatal(err)
		}
		if got.Listen != s.want {
			t.Errorf("listen is %q, want %q", got.Listen, s.want)
		}
	}
}

func TestFileFromEnvironment(t *testing.T) {
	got, err := load(config.Sources{Env: []string{"ANDON_CONFIG=testdata/rise.yaml"}})
	if err != nil {
		t.Fatal(err)
	}
	if got.Listen != "file:1" {
		t.Errorf("listen is %q", got.Listen)
	}
}

// TestYesterday loads files that earlier versions could be started with, and compares what they set
// with the .want file next to it. Never change such a file: add one when settings are added.
func TestYesterday(t *testing.T) {
	files, _ := filepath.Glob("testdata/yesterday/*.yaml")
	if len(files) == 0 {
		t.Fatal("no file")
	}
	for _, file := range files {
		_, origins, err := app.LoadConfig(config.Sources{File: file})
		if err != nil {
			t.Errorf("%s: %s", file, err)
		}
		var set strings.Builder
		for _, o := range origins {
			if !o.IsDefault() {
				fmt.Fprintf(&set, "%s: %s\n", o.Key, o.Value)
			}
		}
		golden.File(t, strings.TrimSuffix(file, ".yaml")+".want", set.String())
	}
}

func TestEverySettingCanBeSet(t *testing.T) {
	got, err := load(config.Sources{File: "testdata/yesterday/0001-spine.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	want := app.Config{
		Listen: "0.0.0.0:9000", Data: "/var/lib/andon", Store: "memory",
		PlainHTTP: "warn", Direct: true,
		TokenFile: "/etc/andon/token", TLSCert: "/etc/andon/cert.pem", TLSKey: "/etc/andon/key.pem",
		Log: app.LogConfig{Level: "debug", Format: "json", Slow: time.Second, Audit: true},
		Limits: app.Limits{
			Headers: 8 << 10, Memory: 1 << 30, Requests: 64, Reads: 32, Wait: time.Second,
			States: 1000,
		},
		Timeouts: app.Timeouts{
			Headers: time.Second, Body: 2 * time.Second, Request: 3 * time.Second,
			Idle: 4 * time.Second, Drain: 5 * time.Second, Stop: 90 * time.Second,
		},
		Expiry: app.Expiry{Every: 10 * time.Minute}, Rejections: 10_000, Incidents: true,
		Alerts: app.AlertsConfig{Tenant: "default"},
	}
	if diff := cmp.Diff(want, got, noEngines); diff != "" {
		t.Error(diff)
	}
}

// TestBad reads each testdata/bad/*.yaml, with the variables and flags that its comments name
// ("# env: NAME=value", "# flag: key=value"), and compares the error with the .err file next to it.
func TestBad(t *testing.T) {
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := load(badSources(t, file))
			if err == nil {
				t.Fatal("no error")
			}
			if kind := andon.KindOf(err); kind != andon.Invalid {
				t.Errorf("the error is %s, want invalid", kind)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the error shows a secret")
			}
			golden.File(t, strings.TrimSuffix(file, ".yaml")+".err", err.Error()+"\n")
		})
	}
}

func badSources(t *testing.T, file string) config.Sources {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	from := config.Sources{File: file, Flags: map[string]string{}}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if entry, ok := strings.CutPrefix(lines.Text(), "# env: "); ok {
			from.Env = append(from.Env, entry)
		}
		if entry, ok := strings.CutPrefix(lines.Text(), "# flag: "); ok {
			key, value, _ := strings.Cut(entry, "=")
			from.Flags[key] = value
		}
	}
	return from
}

func TestMissingFile(t *testing.T) {
	_, err := load(config.Sources{File: "testdata/none.yaml"})
	want := "testdata/none.yaml: open the file: no such file or directory"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestDefaultsReadBack: what the reference shows as a default can be written into a file.
func TestDefaultsReadBack(t *testing.T) {
	c := app.DefaultConfig()
	spelled := map[string]bool{}
	for _, s := range config.Settings(c.Groups()...) {
		shown := s.Value.String()
		if err := s.Value.Set(shown); shown != "" && err != nil {
			t.Errorf("%s: %s", s.Key, err)
		}
		if got := s.Value.String(); got != shown {
			t.Errorf("%s: got %q, want %q", s.Key, got, shown)
		}
		for _, spelling := range []string{s.Variable(), s.Flag()} {
			if spelled[spelling] {
				t.Errorf("%s is of two settings", spelling)
			}
			spelled[spelling] = true
		}
	}
	if diff := cmp.Diff(app.DefaultConfig(), c, noEngines); diff != "" {
		t.Error(diff)
	}
}

// TestListsInOneLine: what YAML has as a list, variables and flags have joined by commas.
func TestListsInOneLine(t *testing.T) {
	for _, from := range []config.Sources{
		{Env: []string{"ANDON_CASSANDRA_HOSTS=10.0.0.1, cassandra-2:9043"}},
		{Flags: map[string]string{"cassandra.hosts": "10.0.0.1,cassandra-2:9043"}},
	} {
		if got := originsOf(t, from)["cassandra.hosts"]; got.Value.String() !=
			"10.0.0.1,cassandra-2:9043" {
			t.Errorf("the hosts are %s", got.Value)
		}
	}
}

func originsOf(t *testing.T, from config.Sources) map[string]config.Origin {
	t.Helper()
	_, origins, err := app.LoadConfig(from)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]config.Origin{}
	for _, o := range origins {
		by[o.Key] = o
	}
	return by
}

// TestSecretsAreNotShown: neither as origins nor, once they are set, by the settings themselves.
func TestSecretsAreNotShown(t *testing.T) {
	isSecret := func(key string) bool {
		return slices.Contains([]string{
			"archive", "cassandra.password", "dynamodb.secret", "feeds", "kafka.sources",
			"kinesis.sources", "notify.channels",
		}, key)
	}
	from := config.Sources{Env: []string{
		"ANDON_CASSANDRA_PASSWORD=hunter2",
		"ANDON_DYNAMODB_KEY=key", "ANDON_DYNAMODB_SECRET=hunter2",
		"ANDON_KAFKA_SOURCES=[{name: s, brokers: [b], topics: [t]}]",
		"ANDON_ARCHIVE=[{name: a, to: /var/archive}]",
		"ANDON_FEEDS=[{name: f, url: 'https://hunter2@example.com', secret_file: f}]",
		"ANDON_KINESIS_SOURCES=[{name: k, stream: s, start: 2026-01-01}]",
		"ANDON_NOTIFY_CHANNELS=[{name: n, kind: ntfy, url: 'https://hunter2@example.com'}]",
	}}
	for key, o := range originsOf(t, from) {
		if secret := isSecret(key); o.Secret != secret ||
			secret && o.Value.String() != config.Hidden {
			t.Errorf("%s is %q, secret: %v", o.Key, o.Value, o.Secret)
		}
	}
	c, err := load(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range config.Settings(c.Groups()...) {
		if s.HasFlag() == isSecret(s.Key) {
			t.Errorf("%s has a flag: %v", s.Key, s.HasFlag())
		}
		if s.Value.String() == "hunter2" {
			t.Errorf("%s shows a secret", s.Key)
		}
	}
}

// TestTrace: each setting is listed with its value and the highest place that set it.
func TestTrace(t *testing.T) {
	got := originsOf(t, config.Sources{
		File:  "testdata/rise.yaml",
		Env:   []string{"ANDON_STORE=memory", "ANDON_DATA=here"},
		Flags: map[string]string{"data": "there", "log.slow": "0s"},
	})
	c := app.DefaultConfig()
	if want := len(config.Settings(c.Groups()...)); len(got) != want {
		t.Fatalf("%d settings, want %d", len(got), want)
	}
	for key, want := range map[string]string{
		"listen":    "file:1 from testdata/rise.yaml:1",
		"store":     "memory from ANDON_STORE",
		"data":      "there from --data",
		"log.slow":  "0s from --log-slow",
		"log.audit": "on from default",
	} {
		if text := got[key].Value.String() + " from " + got[key].Place; text != want {
			t.Errorf("%s is %s, want %s", key, text, want)
		}
	}
}

// TestFeedSettings: what is wrong with a feed is said when the settings are read.
func TestFeedSettings(t *testing.T) {
	for _, c := range []struct{ want, text string }{
		{"", "{name: f, url: 'http://a', secret_file: s}"},
		{"", "{name: f, kind: kafka, brokers: 'a:1', topic: t, start: snapshot}"},
		{"name is missing", "{url: 'http://a', secret_file: s}"},
		{"has a slash", "{name: a/b, url: 'http://a', secret_file: s}"},
		{"more than 1000", "{name: f, url: 'http://a', secret_file: s, batch: 1001}"},
		{"not of kind webhook", "{name: f, url: 'http://a', secret_file: s, topic: t}"},
		{"not of kind kafka", "{name: f, kind: kafka, brokers: 'a:1', topic: t, url: 'http://a'}"},
		{"topic is missing", "{name: f, kind: kafka, brokers: 'a:1'}"},
		{"none of webhook", "{name: f, kind: mqtt}"},
		{"https://host/path", "{name: f, secret_file: s}"},
		{"", "{name: f, url: 'http://a', secret_file: s, tls_ca: c}"},
		{"", "{name: f, kind: kafka, brokers: 'a:1', topic: t, tls: on, tls_ca: some}"},
	} {
		_, err := load(config.Sources{Env: []string{"ANDON_FEEDS=[" + c.text + "]"}})
		isRight := c.want != "" && strings.Contains(fmt.Sprint(err), c.want)
		if c.want == "" && err != nil || c.want != "" && !isRight {
			t.Errorf("%s: %v; want %q", c.text, err, c.want)
		}
	}
}
