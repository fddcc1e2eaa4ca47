package httpapi

import (
	"slices"

	"github.com/andonhq/andon"
)

// ofGateway refuses a call of a gateway that the server has to answer, to which the gateway passes
// on what it takes.
func (c *call) ofGateway() error {
	to := c.store.Capabilities().Forwards
	served := []string{"postEvents", "postReadings", "livez", "readyz", "version", "metrics",
		"listRejections"}
	if to == "" || slices.Contains(served, c.route.name) {
		return nil
	}
	return andon.Errorf(andon.Unsupported, "this is a gateway: it takes events and readings, and "+
		"sends them on: ask the server at %s", to)
}
