// Package acknowledge makes the page of a signed link. To open it changes nothing, since scanners
// of mail and previews of chats open links too: its one button acknowledges what the page shows.
package acknowledge

import (
	"bytes"
	"context"
	_ "embed" // the page
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/incidents"
	"github.com/andonhq/andon/internal/httpapi/problem"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/people"
)

// page is what a page shows: what the message said, and what is so now.
type page struct {
	notify.Linked
	Now   people.Incident
	Wrong string
}

// What the device has now; what the message said where that is unknown.
func (p *page) What() andon.State {
	if p.Now.ID == "" {
		return p.State
	}
	return (&notify.Item{Kind: p.Now.Kind, State: p.Now.State}).What()
}

// Asks reports whether there is something to acknowledge.
func (p *page) Asks() bool {
	return p.Now.ID != "" && p.Now.Acknowledged == nil && p.Now.Ended == 0
}

// Answer does what a request of a link asks for, and returns the page. linked says what a link
// allows. The button says which severity its page showed; a POST without it is by somebody who
// knows the message alone. What is worse is not acknowledged.
func Answer(
	ctx context.Context, linked func(context.Context, string) (notify.Linked, error),
	kept incidents.Kept, r *http.Request,
) (status int, html []byte, err error) {
	var p page
	is, err := linked(ctx, r.PathValue("token"))
	if err == nil {
		p.Linked = is
		if r.Method == http.MethodPost {
			shown, wrong := strconv.ParseUint(r.URL.Query().Get("severity"), 10, 8)
			if wrong != nil {
				shown = uint64(is.Severity)
			}
			p.Now, err = kept.Act(ctx, is.Tenant, is.Incident, people.Action{
				Do: people.Acknowledge, By: is.By, Shown: max(uint8(shown), 1),
			})
		}
		if p.Now.ID == "" {
			now, unread := kept.Get(ctx, is.Tenant, is.Incident)
			if p.Now = now; err == nil {
				err = unread
			}
		}
	}
	status = http.StatusOK
	if err != nil {
		wrong := problem.Of(err)
		if status, p.Wrong = wrong.Status, wrong.Detail; status >= http.StatusInternalServerError {
			return 0, nil, err
		}
	}
	t, err := template.New("page").Parse(text)
	if err != nil {
		return 0, nil, andon.Errorf(andon.Internal, "read the page of links: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, &p)
	return status, b.Bytes(), err
}

//go:embed acknowledge.html
var text string

// LoggedPath is the path of a request as the log has it: without the token of a signed link, which
// is all that somebody needs to use it.
func LoggedPath(r *http.Request) slog.Attr {
	path := r.URL.EscapedPath()
	for _, links := range []string{notify.Acknowledgements, notify.Calendars} {
		if strings.HasPrefix(path, links) {
			path = links + "..."
		}
	}
	return slog.String("path", path)
}
