package app_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/config"
)

// startLogged starts an App whose log is kept. It is read once the App has stopped.
func startLogged(
	t *testing.T, level slog.Level, change func(*app.Config),
) (*app.App, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	c := app.DefaultConfig()
	c.Listen, c.Store, c.Timeouts.Stop = "127.0.0.1:0", "memory", time.Minute
	change(&c)
	a := app.New(app.Options{
		Config: c, Now: clock, Version: client.Version{Version: "v1.2.3"},
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level})),
	})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a, &log
}

// profilesAt returns the address that a log says profiles are served at.
func profilesAt(t *testing.T, log string) string {
	t.Helper()
	_, rest, found := strings.Cut(log, `msg="serving profiles" url=`)
	if !found {
		t.Fatalf("the log has no address of profiles: %s", log)
	}
	url, _, _ := strings.Cut(rest, "\n")
	return url
}

func TestProfiles(t *testing.T) {
	a, log := startLogged(t, slog.LevelInfo,
		func(c *app.Config) { c.Profiles = "127.0.0.1:0" })
	url := profilesAt(t, log.String())
	for path, want := range map[string]string{
		"": "200", "heap": "200", "goroutine?debug=1": "200", "cmdline": "200", "nothing": "404",
		"profile?seconds=1": "200",
	} {
		if got := ask(t, plain(), url+path, ""); got != want {
			t.Errorf("%s answers %s, want %s", path, got, want)
		}
	}
	if got := ask(t, plain(), a.URL()+"/debug/pprof/", ""); got != "404" {
		t.Errorf("the API's own address serves profiles: %s", got)
	}
	refusesStrangers(t, url)
	stop(t, a)
	if got := ask(t, plain(), url, ""); !strings.Contains(got, "refused") {
		t.Errorf("after the end: %s", got)
	}
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("an end that was asked for is logged as an error: %s", log)
	}
}

// refusesStrangers: a page of another site in a browser on this machine gets nothing.
func refusesStrangers(t *testing.T, url string) {
	t.Helper()
	for name, change := range map[string]func(*http.Request){
		"a name that was made to point here": func(r *http.Request) { r.Host = "evil.example:80" },
		"another site": func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		answer, err := plain().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", name, answer.StatusCode)
		}
	}
}

// TestStopEndsProfiles: a profile that is being taken does not hold the program up.
func TestStopEndsProfiles(t *testing.T) {
	a, log := startLogged(t, slog.LevelInfo,
		func(c *app.Config) { c.Profiles = "127.0.0.1:0" })
	url := profilesAt(t, log.String())
	taken := make(chan string)
	go func() { taken <- ask(t, plain(), url+"profile?seconds=600", "") }()
	for !strings.Contains(dump(t, url), "pprof.Profile") {
	}
	stop(t, a) // which fails once timeouts.stop has passed
	<-taken
}

// dump returns what the program's goroutines do.
func dump(t *testing.T, url string) string {
	t.Helper()
	answer, err := plain().Get(url + "goroutine?debug=2")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestProfilesStayHere(t *testing.T) {
	for at, want := range map[string]string{
		"0.0.0.0:6060": "other machines", ":6060": "other machines", "here": "127.0.0.1:6060",
	} {
		err := newApp(func(c *app.Config) { c.Profiles = at }).Start(t.Context())
		if err == nil || andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(),
			want) {
			t.Errorf("%s: %v", at, err)
		}
	}
	a := start(t, func(*app.Config) {})
	defer stop(t, a)
	taken := strings.TrimPrefix(a.URL(), "http://")
	err := newApp(func(c *app.Config) { c.Profiles = taken }).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "pprof.listen") {
		t.Errorf("an address that is taken: %v", err)
	}
}

// TestAuditIsWritten, whatever the level of the log is, unless it is off.
func TestAuditIsWritten(t *testing.T) {
	for _, audit := range []bool{true, false} {
		a, log := startLogged(t, slog.LevelError, func(c *app.Config) { c.Log.Audit = audit })
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut,
			a.URL()+"/api/v1/tenants/plant", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := plain().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		stop(t, a)
		if got := strings.Contains(log.String(), `msg=audit what="create tenant"`); got != audit {
			t.Errorf("audit %v: %q", audit, log.String())
		}
	}
}

func TestSlowIsLogged(t *testing.T) {
	a, log := startLogged(t, slog.LevelWarn,
		func(c *app.Config) { c.Log.Slow = time.Nanosecond })
	ask(t, plain(), a.URL()+"/api/v1/states", "")
	stop(t, a)
	if !strings.Contains(log.String(), `route="GET /api/v1/states"`) {
		t.Errorf("got %q", log.String())
	}
}

func TestGauges(t *testing.T) {
	a, _ := startLogged(t, slog.LevelInfo, func(c *app.Config) {
		c.Store, c.Data = "pebble", t.TempDir()
		from := config.Sources{Flags: map[string]string{"pebble.reserve": "256MiB"}}
		if _, err := config.Load(from, c.Groups()...); err != nil {
			t.Fatal(err)
		}
	})
	defer stop(t, a)
	answer, err := plain().Get(a.URL() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`andon_build_info{goversion="",revision="",store="pebble 2`, `version="v1.2.3"} 1`,
		"\nandon_ready 1\n", "\nandon_disk_reserve_bytes 2.68435456e+08\n",
		"\nandon_disk_free_bytes ",
		"\nandon_disk_size_bytes ",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("/metrics has no %q", want)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := app.Check(app.DefaultConfig()); err != nil {
		t.Error(err)
	}
	c := app.DefaultConfig()
	c.Listen, c.TokenFile, c.Store = "here", filepath.Join(t.TempDir(), "none"), "abacus"
	c.TLSCert, c.TLSKey, c.Profiles = "none.pem", "none.key", "0.0.0.0:6060"
	err := app.Check(c)
	if andon.KindOf(err) != andon.Invalid {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		"listen on", "token_file", "tls_cert", "pprof.listen", `store "abacus"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
	if n := strings.Count(err.Error(), "\n"); n != 4 {
		t.Errorf("%d lines:\n%s", n+1, err)
	}
}

func TestLookAtDisk(t *testing.T) {
	disk, err := app.LookAtDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if !disk.Unsupported && (disk.Size == 0 || disk.Free > disk.Size) {
		t.Errorf("got %+v", disk)
	}
	if _, err := app.LookAtDisk(filepath.Join(os.TempDir(), "andon-none")); err == nil &&
		!disk.Unsupported {
		t.Error("a directory that is not there has a disk")
	}
}

func TestPlainHTTPIsTold(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const warning = "token and data pass in clear"
	for name, test := range map[string]struct {
		change func(*app.Config)
		told   bool
	}{
		"beyond loopback": {func(c *app.Config) { c.Listen = "0.0.0.0:0" }, true},
		"allowed": {
			func(c *app.Config) { c.Listen, c.PlainHTTP = "0.0.0.0:0", "allow" }, false,
		},
		"loopback": {func(*app.Config) {}, false},
		"TLS": {func(c *app.Config) {
			c.Listen = "0.0.0.0:0"
			c.TLSCert, c.TLSKey, _ = certificate(t)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, log := startLogged(t, slog.LevelWarn, func(c *app.Config) {
				c.TokenFile = token
				test.change(c)
			})
			stop(t, a)
			if told := strings.Contains(log.String(), warning); told != test.told {
				t.Errorf("told: %t, want %t; the log: %s", told, test.told, log)
			}
		})
	}
}
