package httpapi_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/ui"
)

const likeABrowser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8"

// withBoard serves a board of a few files behind a token.
func withBoard(t *testing.T) *world {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"dist/index.html": "<html>the board", "dist/icon.svg": "<svg/>",
		"dist/assets/a-1f2e.js": "script",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	board, err := ui.From(files)
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(t, func(o *httpapi.Options) { o.Board, o.Token = board, "s3cret" })
}

// TestBoard: each address of the board is its page, for browsers, and needs no token.
func TestBoard(t *testing.T) {
	w := withBoard(t)
	for _, path := range []string{
		"/", "/devices/press-7", "/devices/a%2Fb", "/devices/%2F", "/operators/Liz",
		"/supervisors/%3Cscript%3E", "/search?state=WARNING*&what=%zz", "/wall?tenant=plant-2",
	} {
		got := w.do(http.MethodGet, path, "", likeABrowser).is(http.StatusOK)
		policy := got.header.Get("Content-Security-Policy")
		if got.body != "<html>the board" || !strings.Contains(policy, "script-src 'self';") ||
			got.header.Get("Cache-Control") != "no-cache" ||
			got.header.Get("X-Content-Type-Options") != "nosniff" ||
			got.header.Get("Referrer-Policy") != "no-referrer" ||
			!slices.Contains(got.header.Values("Vary"), "Accept") {
			t.Errorf("%s: %s %v", path, got.body, got.header)
		}
		if path != "/" {
			w.do(http.MethodGet, path, "").fails(http.StatusNotFound, "page of the board", base)
		}
		w.do(http.MethodPost, path, "", likeABrowser).fails(http.StatusMethodNotAllowed, "GET")
	}
	for path, want := range map[string]string{
		"/assets/a-1f2e.js": "script", "/icon.svg": "<svg/>",
	} {
		if got := w.do(http.MethodGet, path, ""); got.body != want {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	tag := w.do(http.MethodGet, "/", "", likeABrowser).header.Get("ETag")
	again := w.do(http.MethodGet, "/", "", likeABrowser, "If-None-Match: "+tag)
	if again.status != http.StatusNotModified || again.body != "" {
		t.Errorf("again: %d %s", again.status, again.body)
	}
	head := w.do(http.MethodHead, "/wall", "", likeABrowser).is(http.StatusOK)
	if head.body != "" || head.header.Get("Content-Length") != "15" {
		t.Errorf("HEAD: %q %v", head.body, head.header)
	}
}

// What is not of the board is what it was.
func TestWhatIsNotTheBoard(t *testing.T) {
	w := withBoard(t)
	for _, path := range []string{"/assets/", "/assets/b.js", "/assets/..%2Findex.html"} {
		w.do(http.MethodGet, path, "", likeABrowser).fails(http.StatusNotFound)
	}
	for _, path := range []string{base + "/devices/press-7", base + "/nothing", "/metrics"} {
		w.do(http.MethodGet, path, "", likeABrowser).fails(http.StatusUnauthorized)
	}
	w.do(http.MethodGet, "/", "", likeABrowser, "Host: x.example").is(http.StatusOK)
	w.do(http.MethodGet, "/assets", "", "Authorization: Bearer s3cret").fails(http.StatusNotFound)
	here := newWorld(t, loopback)
	here.do(http.MethodGet, "/assets", "", "Host: evil.example").fails(421)
	here.do(http.MethodGet, "/wall", "", likeABrowser, "Host: evil.example").fails(421)
}

// TestNothingHere: a person at a path where there is nothing sees what there is, without a
// token, and a program gets a problem.
func TestNothingHere(t *testing.T) {
	w := withBoard(t)
	link := regexp.MustCompile(`href="([^"]+)"`)
	for _, path := range []string{"/foo", "/devices", "/wall/x", "/%3Cscript%3E", "/a//b"} {
		got := w.do(http.MethodGet, path, "", likeABrowser).is(http.StatusNotFound)
		policy := got.header.Get("Content-Security-Policy")
		if got.header.Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.HasPrefix(policy, "default-src 'none'") ||
			strings.Contains(policy, "unsafe") ||
			got.header.Get("X-Content-Type-Options") != "nosniff" ||
			!slices.Contains(got.header.Values("Vary"), "Accept") {
			t.Errorf("%s: %v", path, got.header)
		}
		for _, to := range link.FindAllStringSubmatch(got.body, -1) {
			w.do(http.MethodGet, to[1], "", "Authorization: Bearer s3cret").is(http.StatusOK)
		}
		if strings.Contains(got.body, "<script") || strings.Count(got.body, "href") != 4 {
			t.Errorf("%s: %s", path, got.body)
		}
		w.do(http.MethodGet, path, "").fails(http.StatusUnauthorized)
		w.do(http.MethodPost, path, "", likeABrowser).fails(http.StatusUnauthorized)
	}
	head := w.do(http.MethodHead, "/foo", "", likeABrowser).is(http.StatusNotFound)
	if head.body != "" || head.header.Get("Content-Length") == "" {
		t.Errorf("HEAD: %q %v", head.body, head.header)
	}
	here := newWorld(t, loopback)
	here.do(http.MethodGet, "/foo", "", likeABrowser, "Host: evil.example").fails(421)
	here.do(http.MethodGet, base+"/foo", "", likeABrowser).is(http.StatusNotFound)
	here.do(http.MethodGet, "/foo", "").fails(http.StatusNotFound, "openapi.json lists all")
}

// TestSerialStart: a program that opens the address alone learns where to go, and may go there
// without a token.
func TestSerialStart(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) { o.Token = "s3cret" })
	got := w.do(http.MethodGet, "/", "").is(http.StatusOK)
	if kind := got.header.Get("Content-Type"); kind != "text/plain; charset=utf-8" {
		t.Errorf("it is %s", kind)
	}
	paths := regexp.MustCompile(`(?m)^/\S+`).FindAllString(got.body, -1)
	for _, want := range []string{"/docs", "/openapi.json", "/api/v1"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is not named: %s", want, got.body)
		}
	}
	for _, path := range slices.DeleteFunc(paths, func(p string) bool { return p == base }) {
		w.do(http.MethodGet, path, "", "Authorization: Bearer s3cret").is(http.StatusOK)
	}
	w.do(http.MethodPost, "/", "").fails(http.StatusMethodNotAllowed, "GET")
}
