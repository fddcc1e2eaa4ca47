package httpapi

import (
	_ "embed" // the pages
	"io"
	"net/http"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ui"
)

// boardPaths are the addresses of the board's views. A view finds out from its address what it
// shows.
var boardPaths = []string{
	"/{$}", "/devices/{device}", "/operators/{operator}", "/supervisors/{supervisor}",
	"/groups", "/search", "/wall", "/incidents", "/incidents/{id}", "/on-call", "/maintenance",
	"/reports", "/rules",
}

// boardRoutes serve the files of the board. They need no token: they hold no data, and a browser
// can't send one with a page. What the board shows it asks for, once its user has signed in.
func (a *API) boardRoutes() (all []*route) {
	add := func(path string, serve func(*call) error) {
		all = append(all, &route{
			pattern: "GET " + path, outside: true, name: "board", hidden: true,
			open: true, anyQuery: true, serve: serve,
		})
	}
	for _, path := range boardPaths {
		add(path, a.boardPage)
	}
	for _, name := range a.board.Names() {
		add("/"+name, a.boardFile(name))
	}
	add("/assets/{file...}", func(c *call) error {
		return a.boardFile("assets/" + c.Segment("file"))(c)
	})
	return all
}

// errNotAPage is for programs that ask for a page: they forgot the base path.
var errNotAPage = andon.Errorf(andon.NotFound, "this is a page of the board, for browsers: the "+
	"API is below "+basePath+", and /openapi.json lists all of it")

// boardPage serves the page to browsers. Others get what they would without a board.
func (a *API) boardPage(c *call) error {
	c.x.Header().Add("Vary", "Accept")
	switch {
	case ui.AsksForPage(c.r):
		a.board.ServePage(c.x, c.r)
	case c.r.URL.Path == "/":
		c.send("text/plain; charset=utf-8", []byte(startText))
	default:
		return errNotAPage
	}
	return nil
}

func (a *API) boardFile(name string) func(*call) error {
	return func(c *call) error {
		if !a.board.Contains(name) {
			return errNoSuchPath
		}
		a.board.ServeFile(c.x, c.r, name)
		return nil
	}
}

// sendNothingHere answers a browser at a path where there is nothing. The page says nothing of the
// request, and needs nothing that the policy of every other answer forbids.
func sendNothingHere(x *exchange) {
	x.Header().Add("Vary", "Accept")
	x.Header().Set("Content-Type", "text/html; charset=utf-8")
	x.Header().Set("Content-Length", strconv.Itoa(len(nothingHere)))
	x.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(x, nothingHere) // that the client is gone changes nothing
}

var (
	// nothingHere is what a browser gets at a path where there is nothing.
	//
	//go:embed pages/nothing.html
	nothingHere string

	// startText is what a program gets that opens the address alone, such as curl.
	//
	//go:embed pages/start.txt
	startText string
)
