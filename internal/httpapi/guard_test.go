package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/httpapi"
)

func loopback(o *httpapi.Options) { o.Loopback = true }

func TestForeignHostsAreRefusedOnLoopback(t *testing.T) {
	w := newWorld(t, loopback)
	for host, status := range map[string]int{
		"localhost": 200, "LocalHost:8080": 200, "127.0.0.1": 200, "127.1.2.3:80": 200,
		"[::1]:8080": 200, "[::1]": 200, "evil.example": 421, "evil.example:8080": 421,
		"localhost.evil.example": 421, "127.0.0.1.evil.example": 421,
		"10.0.0.1": 421, "[::2]:80": 421, "0.0.0.0": 421,
	} {
		for _, path := range []string{base + "/devices", "/livez", "/metrics"} {
			got := w.do(http.MethodGet, path, "", "Host: "+host)
			if got.status != status {
				t.Errorf("%s %s: %d", host, path, got.status)
			}
			if status != 200 {
				got.fails(status, "this machine only")
			}
		}
	}
}

func TestForeignOriginsAreRefused(t *testing.T) {
	w := newWorld(t, loopback)
	for _, origin := range []string{
		"https://evil.example", "null", "http://localhost.evil.example", "file://localhost", "::",
	} {
		w.get("/devices", "Origin: "+origin).fails(http.StatusForbidden)
		w.post("/events", oneEvent, "Origin: "+origin).fails(http.StatusForbidden)
		w.do(http.MethodOptions, base+"/events", "", "Origin: "+origin).fails(http.StatusForbidden)
	}
	w.get("/devices", "Origin: "+w.url).is(http.StatusOK)
	w.post("/events", oneEvent, "Origin: "+w.url).is(http.StatusOK)
	w.post("/events", oneEvent, "Sec-Fetch-Site: cross-site").fails(http.StatusForbidden)
	w.post("/events", oneEvent, "Sec-Fetch-Site: same-origin").is(http.StatusOK)
	w.get("/devices", "Sec-Fetch-Site: cross-site").is(http.StatusOK) // a link from another page

	beyond := newWorld(t)
	beyond.post("/events", oneEvent, "Origin: https://evil.example").fails(http.StatusForbidden)
	beyond.get("/devices", "Host: andon.example").is(http.StatusOK)
}

func TestSerialToken(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) { o.Token = "s3cret" })
	paths := []string{
		base + "/devices", "/metrics", "/version", "/nowhere", "/docs/x/y", "/docs/..%2Fmetrics/x",
		"/openapi.json/x",
	}
	for _, path := range paths {
		got := w.do(http.MethodGet, path, "")
		got.fails(http.StatusUnauthorized, "a token is needed")
		if challenge := got.header.Get("WWW-Authenticate"); challenge != `Bearer realm="andon"` {
			t.Errorf("%s: challenge %q", path, challenge)
		}
		for _, wrong := range []string{
			"Bearer s3cre", "Bearer s3crets", "Basic s3cret", "Bearer", "s3cret", "Bearer S3cret",
		} {
			got := w.do(http.MethodGet, path, "", "Authorization: "+wrong)
			got.fails(http.StatusUnauthorized)
			if strings.Contains(got.body, "s3cret") {
				t.Error("the token is in the answer")
			}
		}
		if got := w.do(http.MethodHead, path, ""); got.status != http.StatusUnauthorized {
			t.Errorf("HEAD %s without the token: %d", path, got.status)
		}
		got = w.do(http.MethodGet, path, "", "Authorization: Bearer s3cret")
		if got.status == http.StatusUnauthorized {
			t.Errorf("%s: the token is refused", path)
		}
	}
	w.get("/devices", "Authorization: bearer  s3cret").is(http.StatusOK)
	for _, open := range []string{
		"/livez", "/readyz", "/docs", "/docs/start.js", "/docs/swagger-ui.css", "/openapi.json",
	} {
		w.do(http.MethodGet, open, "").is(http.StatusOK)
	}
	w.do(http.MethodGet, "/livez/x", "").fails(http.StatusUnauthorized)
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{
		"/livez", "/nowhere", base + "/devices", base + "/devices?limit=0", "/docs",
	} {
		got := w.do(http.MethodGet, path, "", "X-Request-Id: abc-1.2_3")
		for name, want := range map[string]string{
			"X-Request-Id": "abc-1.2_3", "X-Content-Type-Options": "nosniff",
			"Cache-Control": "no-store",
		} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, got.header.Get(name))
			}
		}
		if !strings.HasPrefix(got.header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %v", path, got.header)
		}
	}
	for _, unfit := range []string{"a b", "<x>", strings.Repeat("x", 65), "ä"} {
		got := w.do(http.MethodGet, "/livez", "", "X-Request-Id: "+unfit).header.Get("X-Request-Id")
		if got == unfit || got == "" {
			t.Errorf("%q became %q", unfit, got)
		}
	}
}
