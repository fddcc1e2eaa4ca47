package config_test

import (
	"bufio"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// golden compares text with a file, or writes it there when -rewrite is given.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got; -rewrite accepts):\n%s", path, diff)
	}
}

func TestDefault(t *testing.T) {
	got, err := config.Load(config.Sources{Env: []string{"HOME=/root", "ANDONX=1", "ANDON_URL=a"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), got); diff != "" {
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
		got, err := config.Load(from)
		if err != nil {
			t.Fatal(err)
		}
		if got.Listen != s.want {
			t.Errorf("listen is %q, want %q", got.Listen, s.want)
		}
	}
}

func TestFileFromEnvironment(t *testing.T) {
	got, err := config.Load(config.Sources{Env: []string{"ANDON_CONFIG=testdata/rise.yaml"}})
	if err != nil {
		t.Fatal(err)
	}
	if got.Listen != "file:1" {
		t.Errorf("listen is %q", got.Listen)
	}
}

// TestYesterday loads files that earlier versions could be started with. Never change such a file:
// add one beside it when settings are added.
func TestYesterday(t *testing.T) {
	files, _ := filepath.Glob("testdata/yesterday/*.yaml")
	if len(files) == 0 {
		t.Fatal("no file")
	}
	for _, file := range files {
		if _, err := config.Load(config.Sources{File: file}); err != nil {
			t.Errorf("%s: %s", file, err)
		}
	}
}

func TestEverySettingCanBeSet(t *testing.T) {
	got, err := config.Load(config.Sources{File: "testdata/yesterday/0001-spine.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Listen: "0.0.0.0:9000", Data: "/var/lib/andon", Store: "memory",
		PlainHTTP: "warn",
		TokenFile: "/etc/andon/token", TLSCert: "/etc/andon/cert.pem", TLSKey: "/etc/andon/key.pem",
		Log: config.Log{Level: "debug", Format: "json", Slow: time.Second, Audit: "on"},
		Limits: config.Limits{
			Headers: 8 << 10, Memory: 1 << 30, Requests: 64, Reads: 32, Wait: time.Second,
			States: 1000,
		},
		Timeouts: config.Timeouts{
			Headers: time.Second, Body: 2 * time.Second, Request: 3 * time.Second,
			Idle: 4 * time.Second, Drain: 5 * time.Second, Stop: 90 * time.Second,
		},
		Expiry: config.Expiry{Every: 10 * time.Minute},
		Pebble: config.Pebble{Cache: 64 << 20, Reserve: 100_000_000},

		Cassandra: config.Default().Cassandra,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestBad reads each testdata/bad/*.yaml, with the variables and flags that its comments name
// ("# env: NAME=value", "# flag: key=value"), and compares the error with the .err file beside it.
func TestBad(t *testing.T) {
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := config.Load(badSources(t, file))
			if err == nil {
				t.Fatal("no error")
			}
			if kind := andon.KindOf(err); kind != andon.Invalid {
				t.Errorf("the error is %s, want invalid", kind)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the error shows a secret")
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".err", err.Error()+"\n")
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
	_, err := config.Load(config.Sources{File: "testdata/none.yaml"})
	want := "testdata/none.yaml: open the configuration: no such file or directory"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestReference(t *testing.T) { golden(t, "testdata/reference.md", config.Reference()) }

// TestDefaultsReadBack: what the reference shows as a default can be written into a file.
func TestDefaultsReadBack(t *testing.T) {
	c := config.Default()
	for _, s := range c.Settings() {
		shown := s.Value.String()
		if shown == "" {
			continue
		}
		if err := s.Value.Set(shown); err != nil {
			t.Errorf("%s: %s", s.Key, err)
		}
	}
	if diff := cmp.Diff(config.Default(), c); diff != "" {
		t.Error(diff)
	}
}
