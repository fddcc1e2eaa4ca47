// Package docs has the page to read the contract at: Swagger UI, whose files are in the binary.
// swgui's own handler is not used: its page has a script within, so that its policy would have to
// allow any.
//
// The package knows no route and sends nothing.
package docs

import (
	"bytes"
	_ "embed" // the page
	"io"
	"io/fs"
	"path"

	"github.com/klauspost/compress/gzip"
	"github.com/swaggest/swgui/v5/static"
)

var (
	// Page is the page itself.
	//
	//go:embed docs.html
	Page []byte

	//go:embed docs.js
	start []byte
)

// Policy is the Content-Security-Policy of the page.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'"

var assetTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".png": "image/png",
}

// File is a file of the page. Most lie compressed in the binary, and go out so.
type File struct {
	Media string
	Text  []byte
	Gzip  bool // the text is compressed
}

// Open returns a file by its name; nil where there is none.
func Open(name string) *File {
	kind := assetTypes[path.Ext(name)]
	if kind == "" || !fs.ValidPath(name) {
		return nil
	}
	if name == "start.js" {
		return &File{Media: kind, Text: start}
	}
	if plain, err := static.FS.ReadFile(name); err == nil {
		return &File{Media: kind, Text: plain}
	}
	packed, err := static.FS.ReadFile(name + ".gz")
	if err != nil {
		return nil
	}
	return &File{Media: kind, Text: packed, Gzip: true}
}

// Plain returns the text of a file, decompressed.
func (f *File) Plain() ([]byte, error) {
	if !f.Gzip {
		return f.Text, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(f.Text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
