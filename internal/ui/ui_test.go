package ui_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/andonhq/andon/internal/ui"
)

func built() fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"dist.html":                "build it",
		"dist/index.html":          "<html>",
		"dist/index.html.gz":       "page, gzip",
		"dist/index.html.br":       "page, br",
		"dist/icon.svg":            "<svg/>",
		"dist/assets/a-1f2e.js":    "script",
		"dist/assets/a-1f2e.js.gz": "script, gzip",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func board(t *testing.T, files fstest.MapFS) *ui.Board {
	t.Helper()
	b, err := ui.From(files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// get asks for a file, or for the page where it has no name; headers are "Name: value".
func get(b *ui.Board, name string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	if name == "" {
		b.ServePage(w, r)
	} else {
		b.ServeFile(w, r, name)
	}
	return w
}

func TestEncodings(t *testing.T) {
	b := board(t, built())
	for accepted, want := range map[string]string{
		"": "<html>", "identity": "<html>", "gzip": "page, gzip",
		"gzip, deflate, br, zstd": "page, br",
		"br;q=0, gzip;q=0.5":      "page, gzip", "BR": "page, br", "gzip;q=0": "<html>",
		"gzip;q=x": "<html>", "brotli": "<html>", "br ; q=1": "page, br",
	} {
		got := get(b, "", "Accept-Encoding: "+accepted)
		_, encoding, _ := strings.Cut(want, "page, ")
		if got.Body.String() != want || got.Header().Get("Content-Encoding") != encoding {
			t.Errorf("%q: %q, %v", accepted, got.Body, got.Header())
		}
		if got.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %v", accepted, got.Header())
		}
	}
	got := get(b, "assets/a-1f2e.js", "Accept-Encoding: br, gzip")
	if got.Body.String() != "script, gzip" {
		t.Errorf("without .br: %q", got.Body)
	}
}

func TestHeaders(t *testing.T) {
	b := board(t, built())
	for name, want := range map[string][2]string{
		"":         {"text/html; charset=utf-8", "no-cache"},
		"icon.svg": {"image/svg+xml", "no-cache"},
		"assets/a-1f2e.js": {
			"text/javascript; charset=utf-8", "public, max-age=31536000, immutable",
		},
	} {
		got := get(b, name).Header()
		if got.Get("Content-Type") != want[0] || got.Get("Cache-Control") != want[1] {
			t.Errorf("%q: %v", name, got)
		}
		policy := got.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; ") ||
			strings.Contains(policy, "unsafe") {
			t.Errorf("%q: policy %q", name, policy)
		}
	}
	if got := b.Names(); !slices.Equal(got, []string{"icon.svg"}) {
		t.Errorf("names %q", got)
	}
	if b.Contains("index.html") || b.Contains("assets/a-1f2e.js.gz") || b.Contains("assets/b.js") {
		t.Error("it has what it does not serve")
	}
}

func TestETag(t *testing.T) {
	b := board(t, built())
	tag := get(b, "").Header().Get("ETag")
	for sent, status := range map[string]int{
		tag: 304, `W/"x", ` + tag: 304, `W/"x"`: 200, "": 200,
	} {
		got := get(b, "", "If-None-Match: "+sent)
		if got.Code != status || (status == 304) != (got.Body.Len() == 0) {
			t.Errorf("%q: %d %q", sent, got.Code, got.Body)
		}
	}
	changed := built()
	changed["dist/index.html"] = &fstest.MapFile{Data: []byte("<html lang=en>")}
	if got := get(board(t, changed), "").Header().Get("ETag"); got == tag {
		t.Errorf("another page has the same tag %s", got)
	}
}

// TestWithoutBuiltFiles: the page says how to make them, whatever else is left of a build.
func TestWithoutBuiltFiles(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"nothing": {"dist.html": built()["dist.html"]},
		"half": {
			"dist.html": built()["dist.html"], "dist/assets/a.js": {Data: []byte("script")},
		},
	} {
		b := board(t, files)
		if got := get(b, ""); b.Built || got.Body.String() != "build it" || len(b.Names()) > 0 ||
			b.Contains("assets/a.js") {
			t.Errorf("%s: %v %q %q", name, b.Built, got.Body, b.Names())
		}
	}
	if !board(t, built()).Built {
		t.Error("what is built is not found")
	}
}

// TestBinary: this build has a page, with the board or without.
func TestBinary(t *testing.T) {
	b := ui.New()
	page := get(b, "").Body.String()
	says := strings.Contains(page, "make build")
	if says == b.Built || !strings.Contains(page, "<html") {
		t.Errorf("built %v: %s", b.Built, page)
	}
}

func TestAsksForPage(t *testing.T) {
	for accepted, want := range map[string]bool{
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": true,
		"*/*": false, "": false, "application/json": false, "text/html;q=0": false,
		"application/json, text/html;q=0.1": true,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", accepted)
		if ui.AsksForPage(r) != want {
			t.Errorf("%q: %v", accepted, !want)
		}
	}
}
