package httpapi

import (
	"bytes"
	_ "embed" // the page
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/klauspost/compress/gzip"
	"github.com/swaggest/swgui/v5/static"
)

// The page to read the contract at is Swagger UI, whose files are in the binary. swgui's own
// handler is not used: its page has a script within, so that its policy would have to allow any.
var (
	//go:embed pages/docs.html
	docsPage []byte

	//go:embed pages/docs.js
	docsStart []byte
)

const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'"

// documentRoutes serve the contract itself. They need no token: they hold no data, only what anyone
// can read in the source, and a browser can't send a token with a page, its scripts and the
// document that these fetch.
func (a *API) documentRoutes(described []*route) []*route {
	page := route{
		pattern: "GET /docs", outside: true, name: "docs", open: true,
		answer: &content{Media: "text/html", Schema: openapi.Text()}, serve: a.docs,
	}
	asset := route{
		pattern: "GET /docs/{file}", outside: true, name: "docsFile", hidden: true,
		open: true, serve: a.docsFile,
	}
	// The document is made when it is first asked for: that takes longer than all else at a start.
	var own []*route
	document := sync.OnceValue(func() []byte { return a.document(slices.Concat(described, own)) })
	text := route{
		pattern: "GET /openapi.json", outside: true, name: "openapi",
		open: true, answer: &content{Schema: openapi.AnyObject()},
		serve: func(c *call) error {
			c.send("application/openapi+json", document())
			return nil
		},
	}
	own = []*route{&page, &asset, &text}
	return own
}

func (a *API) docs(c *call) error {
	c.x.Header().Set("Content-Security-Policy", docsPolicy)
	c.send("text/html; charset=utf-8", docsPage)
	return nil
}

var assetTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".png": "image/png",
}

// docsFile serves a file of the page. They lie compressed in the binary, and go out so.
func (a *API) docsFile(c *call) error {
	name := c.r.PathValue("file")
	kind := assetTypes[path.Ext(name)]
	if kind == "" || !fs.ValidPath(name) {
		return errNoSuchPath
	}
	c.x.Header().Set("Cache-Control", "max-age=3600")
	if name == "start.js" {
		c.send(kind, docsStart)
		return nil
	}
	if plain, err := static.FS.ReadFile(name); err == nil {
		c.send(kind, plain)
		return nil
	}
	packed, err := static.FS.ReadFile(name + ".gz")
	if err != nil {
		return errNoSuchPath
	}
	return c.sendPacked(kind, packed)
}

func (c *call) sendPacked(kind string, packed []byte) error {
	c.x.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(c.r.Header.Get("Accept-Encoding"), "gzip") {
		c.x.Header().Set("Content-Encoding", "gzip")
		c.send(kind, packed)
		return nil
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	plain, err := io.ReadAll(z)
	if err == nil {
		c.send(kind, plain)
	}
	return err
}
