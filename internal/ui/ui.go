// Package ui serves the board: the built files of ui/, which are in the binary.
//
// The files are made by "npm run build" in ui/ and are not in the repository. Without them the
// package still compiles, and its page says how to build them. It knows nothing of what the board
// shows: the board asks the HTTP API like any other client.
//
//	dist.html            the page where nothing was built
//	dist/index.html      the page of every address of the board
//	dist/assets/NAME     named by their content, so that a browser may keep them for ever
//	dist/NAME            other files, such as an icon, under /NAME
//	….br, ….gz           the same, compressed; without them a file goes out as it is
package ui

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The pattern matches dist.html where there is no dist, which go:embed would refuse.
//
//go:embed all:dist*
var embedded embed.FS

// policy lets the pages have what comes from this server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'"

const (
	pageFile    = "index.html"
	assets      = "assets/"
	revalidated = "no-cache"
	kept        = "public, max-age=31536000, immutable"
)

// Board serves the files of the board. Its methods may be called concurrently.
type Board struct {
	files map[string]*file // by their names below dist
	page  *file
	Built bool // else the page says how to build it
}

type file struct {
	kind  string // its media type
	etag  string
	cache string
	plain []byte
	br    []byte // nil: there is none
	gz    []byte
}

// New returns the board that is in the binary.
func New() *Board {
	b, err := From(embedded)
	if err != nil {
		panic("ui: a file of the binary can't be read: " + err.Error())
	}
	return b
}

// From returns the board of a directory as it is embedded.
func From(root fs.FS) (*Board, error) {
	b := &Board{files: map[string]*file{}}
	err := fs.WalkDir(root, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || packed(name) {
			return err
		}
		return b.add(root, strings.TrimPrefix(name, "dist/"), name)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if b.Built = b.files[pageFile] != nil; !b.Built {
		clear(b.files)
		if err := b.add(root, pageFile, "dist.html"); err != nil {
			return nil, err
		}
	}
	b.page = b.files[pageFile]
	delete(b.files, pageFile)
	return b, nil
}

func packed(name string) bool { return slices.Contains([]string{".br", ".gz"}, path.Ext(name)) }

func (b *Board) add(root fs.FS, name, from string) error {
	plain, err := fs.ReadFile(root, from)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(plain)
	f := &file{
		kind: cmp.Or(kinds[path.Ext(name)], "application/octet-stream"), cache: revalidated,
		plain: plain,
		// Weak, since it is the same for each encoding.
		etag: `W/"` + hex.EncodeToString(sum[:12]) + `"`,
	}
	if strings.HasPrefix(name, assets) {
		f.cache = kept
	}
	f.br, _ = fs.ReadFile(root, from+".br") // nil where there is none
	f.gz, _ = fs.ReadFile(root, from+".gz")
	b.files[name] = f
	return nil
}

// kinds are the media types of files by their names. That of the operating system is not asked,
// since it differs from one machine to the next, and a browser runs no script of another type.
var kinds = map[string]string{
	".html":        "text/html; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".json":        "application/json",
	".map":         "application/json",
	".webmanifest": "application/manifest+json",
	".svg":         "image/svg+xml",
	".png":         "image/png",
	".ico":         "image/x-icon",
	".woff2":       "font/woff2",
	".txt":         "text/plain; charset=utf-8",
}

// Names lists the files that are served under their own names, besides those below assets/.
func (b *Board) Names() (names []string) {
	for name := range b.files {
		if !strings.HasPrefix(name, assets) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Contains reports whether there is a file of that name.
func (b *Board) Contains(name string) bool { return b.files[name] != nil }

// ServePage answers with the page.
func (b *Board) ServePage(w http.ResponseWriter, r *http.Request) { b.page.serve(w, r) }

// ServeFile answers with a file, which the board must have.
func (b *Board) ServeFile(w http.ResponseWriter, r *http.Request, name string) {
	b.files[name].serve(w, r)
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", f.cache)
	h.Set("Etag", f.etag)
	h.Add("Vary", "Accept-Encoding")
	if slices.Contains(listed(r.Header.Get("If-None-Match")), f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	switch accepted := r.Header.Values("Accept-Encoding"); {
	case f.br != nil && accepts(accepted, "br"):
		body = f.br
		h.Set("Content-Encoding", "br")
	case f.gz != nil && accepts(accepted, "gzip"):
		body = f.gz
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // that the client is gone changes nothing
}

func listed(header string) []string {
	items := strings.Split(header, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// accepts reports whether a client takes an encoding (RFC 9110, section 12.5.3).
func accepts(headers []string, encoding string) bool {
	return weight(headers, encoding) > 0
}

// AsksForPage reports whether a client wants to show what it gets to a person: browsers name HTML
// when they open an address, programs do not.
func AsksForPage(r *http.Request) bool {
	return weight(r.Header.Values("Accept"), "text/html") > 0
}

// weight is what a list of preferences gives a name: 1 unless it says otherwise, 0 where it is not
// listed. What a * matches is not counted.
func weight(headers []string, name string) float64 {
	for _, item := range listed(strings.Join(headers, ",")) {
		found, param, _ := strings.Cut(item, ";")
		if !strings.EqualFold(strings.TrimSpace(found), name) {
			continue
		}
		q, given := strings.CutPrefix(strings.ReplaceAll(param, " ", ""), "q=")
		if !given {
			return 1
		}
		value, err := strconv.ParseFloat(q, 64)
		if err != nil {
			return 0
		}
		return value
	}
	return 0
}
