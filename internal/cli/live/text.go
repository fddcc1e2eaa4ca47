package live

import (
	"fmt"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// summary says in a few words what a device shows, by its name.
func summary(d *client.Device, now andon.Time) string {
	return draw.Legible(string(d.Device)) + " " + shows(d, now)
}

// shows is summary without the name.
func shows(d *client.Device, now andon.Time) string {
	text := fmt.Sprintf("%s for %s", draw.Legible(string(d.State)), draw.Age(now.Sub(d.Since)))
	if d.Operator != "" {
		text += ", " + draw.Legible(string(d.Operator))
	}
	if d.EscalatedTo != "" {
		text += ", escalated to " + draw.Legible(string(d.EscalatedTo))
	}
	return text
}
