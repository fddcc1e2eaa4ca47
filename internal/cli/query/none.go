package query

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// An answer in which there is nothing is none to a person who mistyped a name. Why there is nothing
// is looked up only then, and where that fails nothing is said: the question itself was answered.

// ofDevice makes a list that turns out empty say that its device was never seen, or else what
// strangeState says.
func (q *query) ofDevice(ctx context.Context, c *client.Client, id andon.DeviceID) {
	q.None = func() string {
		if _, err := c.Device(ctx, id); err != nil {
			e, ok := errors.AsType[*client.Error](err)
			if ok && command.IsAboutDevice(e) {
				return draw.Legible(e.Detail)
			}
			return ""
		}
		return q.strangeState(ctx, c)
	}
}

// readingsOf is ofDevice for readings, which a device may send without ever having had an event.
func (q *query) readingsOf(ctx context.Context, c *client.Client, id andon.DeviceID) {
	q.ofDevice(ctx, c, id)
	unseen := q.None
	q.None = func() string {
		latest, _, err := c.LatestReadings(ctx, []andon.DeviceID{id})
		if err != nil || len(latest) > 0 {
			return ""
		}
		return unseen()
	}
}

// strangeState says that --state names no state of the tenant, and which there are.
func (q *query) strangeState(ctx context.Context, c *client.Client) string {
	filter, err := andon.ParseStateFilter(q.selected.State)
	if err != nil || filter.All() {
		return ""
	}
	states, _, err := c.States(ctx)
	if err != nil {
		return ""
	}
	var names []andon.State
	prefix := ""
	for _, s := range states {
		if filter.Match(s.State) {
			return ""
		}
		if strings.HasPrefix(string(s.State), q.selected.State) {
			prefix = fmt.Sprintf("; %s is all that begin so",
				command.ShellWord(q.selected.State+"*"))
		}
		names = append(names, s.State)
	}
	const most = 20
	return fmt.Sprintf("no state of the tenant is %s; there are %s%s",
		command.Quoted(q.selected.State), command.Few(names, most), prefix)
}
