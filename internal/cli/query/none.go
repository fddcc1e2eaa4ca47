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

// explainNone makes an empty list report that its device was never seen, or what unknownState
// returns. The user may have mistyped a name. Errors of these requests are ignored: the query
// itself was answered.
func (q *query) explainNone(ctx context.Context, c *client.Client, id andon.DeviceID) {
	q.None = func() string {
		if _, err := c.Device(ctx, id); err != nil {
			e, ok := errors.AsType[*client.Error](err)
			if ok && command.IsAboutDevice(e) {
				return draw.Legible(e.Detail)
			}
			return ""
		}
		return q.unknownState(ctx, c)
	}
}

// explainNoReadings is explainNone for readings, which a device may send without any event.
func (q *query) explainNoReadings(ctx context.Context, c *client.Client, id andon.DeviceID) {
	q.explainNone(ctx, c, id)
	why := q.None
	q.None = func() string {
		latest, _, err := c.LatestReadings(ctx, []andon.DeviceID{id})
		if err != nil || len(latest) > 0 {
			return ""
		}
		return why()
	}
}

// unknownState returns that --state names no state of the tenant, and which states it has.
func (q *query) unknownState(ctx context.Context, c *client.Client) string {
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
			prefix = fmt.Sprintf("; %s selects all that begin with it",
				command.ShellWord(q.selected.State+"*"))
		}
		names = append(names, s.State)
	}
	const most = 20
	return fmt.Sprintf("the tenant has no state %s; it has %s%s",
		command.Quoted(q.selected.State), command.Few(names, most), prefix)
}
