// Package acknowledge makes the page of a signed link. To open it changes nothing, since scanners
// of mail and previews of chats open links too: its one button acknowledges.
package acknowledge

import (
	"bytes"
	_ "embed" // the page
	"html/template"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/people"
)

// Page is what a page shows.
type Page struct {
	notify.Linked
	Said string // instead of the button
}

// Shown is the page of an incident as it is.
func Shown(is notify.Linked, in *people.Incident) Page {
	p := Page{Linked: is}
	switch {
	case in.Acknowledged != nil:
		p.Said = string(in.Acknowledged.By) + " has acknowledged it."
	case in.Ended != 0:
		p.Said = "It is over."
	}
	return p
}

// HTML writes the page.
func (p Page) HTML() ([]byte, error) {
	t, err := template.New("page").Parse(page)
	if err != nil {
		return nil, andon.Errorf(andon.Internal, "read the page of links: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, p)
	return b.Bytes(), err
}

//go:embed acknowledge.html
var page string
