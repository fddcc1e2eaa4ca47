package app_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/all"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func clock() andon.Time { return andon.TimeOf(time.Now()) }

// newApp makes an App on a free port and the memory store, with what change makes of that.
func newApp(change func(*app.Config)) *app.App {
	c := app.DefaultConfig()
	c.Listen, c.Store, c.Timeouts.Stop = "127.0.0.1:0", "memory", time.Minute
	change(&c)
	return app.New(app.Options{Config: c, Now: clock, Log: slog.New(slog.DiscardHandler)})
}

func start(t *testing.T, change func(*app.Config)) *app.App {
	t.Helper()
	a := newApp(change)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

func stop(t *testing.T, a *app.App) {
	t.Helper()
	if err := a.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// ask sends a GET and returns the status, or the error in words.
func ask(t *testing.T, c *http.Client, url, token string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := c.Do(r)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, answer.Body)
	return fmt.Sprint(answer.StatusCode)
}

// plain is a client whose connections end with their request.
func plain() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

func TestStartAndStop(t *testing.T) {
	for _, e := range all.New() {
		if e.Place() == adapter.Elsewhere {
			continue
		}
		store := e.Name()
		t.Run(store, func(t *testing.T) {
			a := start(t, func(c *app.Config) { c.Store, c.Data = store, t.TempDir() })
			for _, path := range []string{"/livez", "/readyz", "/metrics", "/api/v1/states"} {
				if got := ask(t, plain(), a.URL()+path, ""); got != "200" {
					t.Errorf("%s answers %s", path, got)
				}
			}
			stop(t, a)
			if got := ask(t, plain(), a.URL()+"/livez", ""); !strings.Contains(got, "refused") {
				t.Errorf("after the end: %s", got)
			}
		})
	}
}

func TestStartRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, test := range map[string]struct {
		change func(*app.Config)
		want   string
	}{
		"beyond loopback without a token": {
			func(c *app.Config) { c.Listen = "0.0.0.0:0" }, "needs a token",
		},
		"all addresses without a token": {
			func(c *app.Config) { c.Listen = ":0" }, "needs a token",
		},
		"no address": {func(c *app.Config) { c.Listen = "here" }, "127.0.0.1:8080"},
		"a short token beyond loopback": {
			func(c *app.Config) {
				c.Listen, c.TokenFile = "0.0.0.0:0", file("short", "0123456789abcde\n")
			}, "15 characters; beyond loopback it needs 16",
		},
		"no token file": {func(c *app.Config) { c.TokenFile = dir + "/none" }, "no such file"},
		"no token": {
			func(c *app.Config) { c.TokenFile = file("empty", " \n") }, "holds no token",
		},
		"two tokens": {
			func(c *app.Config) { c.TokenFile = file("two", "hunter2\nhunter3\n") },
			"more than one",
		},
		"no certificate": {
			func(c *app.Config) { c.TLSCert, c.TLSKey = file("c", "x"), file("k", "hunter2") },
			"read tls_cert",
		},
		"no such store": {
			func(c *app.Config) { c.Store = "postgresql" }, "is unknown: this build has",
		},
		"no node": {
			func(c *app.Config) { c.Store = "cassandra" }, "cassandra.hosts is empty",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := newApp(test.change).Start(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want ... %s ...", err, test.want)
			}
			if andon.KindOf(err) != andon.Invalid || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s error %v", andon.KindOf(err), err)
			}
		})
	}
}

func TestPortTaken(t *testing.T) {
	first := start(t, func(*app.Config) {})
	defer stop(t, first)
	taken := strings.TrimPrefix(first.URL(), "http://")
	second := newApp(func(c *app.Config) { c.Listen = taken })
	if err := second.Start(t.Context()); !errors.Is(err, app.ErrPortTaken) {
		t.Errorf("got %v", err)
	}
}

func TestSecondOnOneDirectory(t *testing.T) {
	dir := t.TempDir()
	pebble := func(c *app.Config) { c.Store, c.Data = "pebble", dir }
	first := start(t, pebble)
	err := newApp(pebble).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), first.URL()) {
		t.Errorf("the second one: %v; it should name %s", err, first.URL())
	}
	stop(t, first)
	again := start(t, pebble)
	stop(t, again)
}

func TestToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("hunter2-hunter2-hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := start(t, func(c *app.Config) { c.Listen, c.TokenFile = "0.0.0.0:0", path })
	defer stop(t, a)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(a.URL(), "http://"))
	url := "http://127.0.0.1:" + port + "/api/v1/states"
	for token, want := range map[string]string{
		"": "401", "hunter1": "401", "hunter2-hunter2-hunter2": "200",
	} {
		if got := ask(t, plain(), url, token); got != want {
			t.Errorf("token %q: %s, want %s", token, got, want)
		}
	}
}

// What is listened on is what was asked for: 0.0.0.0 is no address of IPv6.
func TestFamilyOfTheAddress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("hunter2-hunter2-hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := start(t, func(c *app.Config) { c.Listen, c.TokenFile = "0.0.0.0:0", path })
	defer stop(t, a)
	port, ok := strings.CutPrefix(a.URL(), "http://0.0.0.0:")
	if !ok {
		t.Fatalf("the address is %s", a.URL())
	}
	if got := ask(t, plain(), "http://127.0.0.1:"+port+"/livez", ""); got != "200" {
		t.Errorf("over IPv4: %s", got)
	}
	if got := ask(t, plain(), "http://[::1]:"+port+"/livez", ""); got == "200" {
		t.Error("it answers over IPv6")
	}
}

func TestTLS(t *testing.T) {
	cert, key, roots := certificate(t)
	a := start(t, func(c *app.Config) { c.TLSCert, c.TLSKey = cert, key })
	defer stop(t, a)
	if !strings.HasPrefix(a.URL(), "https://") {
		t.Errorf("the address is %s", a.URL())
	}
	c := plain()
	c.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	if got := ask(t, c, a.URL()+"/api/v1/states", ""); got != "200" {
		t.Errorf("over TLS: %s", got)
	}
}

// certificate borrows the certificate for 127.0.0.1 that httptest brings.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePair(t, cert, key, s.TLS.Certificates[0])
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return cert, key, roots
}

// slowPost begins a POST and returns what sends the rest of it.
func slowPost(t *testing.T, url string) (finish func() string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	head, tail := `{"device":"d",`, `"time":"2025-12-04T00:00:00Z","state":"NORMAL"}`
	fmt.Fprintf(conn, "POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		len(head)+len(tail))
	r := bufio.NewReader(conn)
	if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("got %q, %v", line, err)
	}
	r.ReadString('\n')
	io.WriteString(conn, head)
	return func() string {
		io.WriteString(conn, tail)
		line, err := r.ReadString('\n')
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(line)
	}
}

func TestStopWaitsForRequests(t *testing.T) {
	a := start(t, func(c *app.Config) { c.Timeouts.Drain = time.Second })
	finish := slowPost(t, a.URL())
	stopped := make(chan error)
	go func() { stopped <- a.Stop(context.Background()) }()
	for ask(t, plain(), a.URL()+"/readyz", "") == "200" {
	}
	if got := ask(t, plain(), a.URL()+"/readyz", ""); got != "503" {
		t.Errorf("while it drains, /readyz answers %s", got)
	}
	if got := ask(t, plain(), a.URL()+"/api/v1/states", ""); got != "200" {
		t.Errorf("while it drains, a request gets %s", got)
	}
	for ask(t, plain(), a.URL()+"/readyz", "") == "503" {
	}
	if got := finish(); got != "HTTP/1.1 200 OK" {
		t.Errorf("the request under way got %s", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestStopCutsOffWhatTakesTooLong(t *testing.T) {
	a := start(t, func(c *app.Config) { c.Timeouts.Stop = 50 * time.Millisecond })
	finish := slowPost(t, a.URL())
	err := a.Stop(context.Background())
	if err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("got %v", err)
	}
	if got := finish(); strings.Contains(got, "200") {
		t.Errorf("the request got %s", got)
	}
}

func TestWait(t *testing.T) {
	a := start(t, func(*app.Config) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Wait(ctx); err != nil {
		t.Error(err)
	}
	stop(t, a)
}
