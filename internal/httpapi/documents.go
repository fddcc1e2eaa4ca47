package httpapi

import (
	"slices"
	"strings"
	"sync"

	"github.com/andonhq/andon/internal/httpapi/docs"
	"github.com/andonhq/andon/internal/httpapi/openapi"
)

// documentRoutes serve the contract itself. They need no token: they hold no data, only what anyone
// can read in the source, and a browser can't send a token with a page, its scripts and the
// document that these fetch.
func (a *API) documentRoutes(described []*route) []*route {
	const typeOpenAPI = "application/openapi+json"
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
		open: true, answer: &content{Media: typeOpenAPI, Schema: openapi.AnyObject()},
		serve: func(c *call) error {
			c.send(typeOpenAPI, document())
			return nil
		},
	}
	own = []*route{&page, &asset, &text}
	return own
}

func (a *API) docs(c *call) error {
	c.x.Header().Set("Content-Security-Policy", docs.Policy)
	c.send("text/html; charset=utf-8", docs.Page)
	return nil
}

func (a *API) docsFile(c *call) error {
	file := docs.Open(c.r.PathValue("file"))
	if file == nil {
		return errNoSuchPath
	}
	c.x.Header().Set("Cache-Control", "max-age=3600")
	if !file.Gzip {
		c.send(file.Media, file.Text)
		return nil
	}
	c.x.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(c.r.Header.Get("Accept-Encoding"), "gzip") {
		c.x.Header().Set("Content-Encoding", "gzip")
		c.send(file.Media, file.Text)
		return nil
	}
	plain, err := file.Plain()
	if err == nil {
		c.send(file.Media, plain)
	}
	return err
}
