package httpapi

import (
	"reflect"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/fleet"
	"github.com/andonhq/andon/internal/httpapi/grouping"
)

// fleetJSON is what all devices of a tenant show, as briefly as a snapshot of the fleet has it.
type fleetJSON struct {
	Position andon.Position   `json:"position" doc:"where the stream goes on"`
	States   []andon.StateDef `json:"states" doc:"those of the set by severity, others after them"`
	Devices  [][]any          `json:"devices" doc:"device, index into states, since in seconds"`
	Silent   []int            `json:"silent" doc:"the silent ones, as indices into devices"`
}

func (a *API) fleetRoute() *route {
	return &route{
		pattern: "GET /fleet", name: "getFleet",
		query:  grouping.Selecting(),
		errors: []int{501}, serve: a.fleet,
		answer: &content{Kind: reflect.TypeFor[fleetJSON]()},
	}
}

func (a *API) fleet(c *call) error {
	tenant, err := c.record()
	if err != nil {
		return err
	}
	snapshot, err := fleet.Take(c.ctx(), c.store, tenant, a.options.Now(), c.selected.Contains)
	if err != nil {
		return err
	}
	b := c.newBuffer()
	if c.x.Answers, err = snapshot.Write(b); err != nil {
		return err
	}
	return c.sendBuffer(b)
}
