package httpapi

import (
	"github.com/andonhq/andon/client"
)

type sweepJSON struct {
	Items []client.Swept `json:"items" doc:"the tenants of which something goes"`
}

var dryRunParam = param{
	Name: "dry_run", Example: "true", Initial: "false", Values: []string{"true", "false"},
}

func (a *API) sweepRoute() *route {
	return answering(route{
		pattern: "POST /sweep", name: "sweep",
		query:      []param{dryRunParam},
		tenantless: true, long: true,
	}, a.sweep)
}

func (a *API) sweep(c *call) (sweepJSON, error) {
	if err := c.Fault(); err != nil {
		return sweepJSON{}, err
	}
	all, err := a.intake.Sweep(c.ctx(), c.Flag(dryRunParam.Name))
	if err != nil {
		return sweepJSON{}, err
	}
	answer := sweepJSON{Items: []client.Swept{}}
	for _, d := range all {
		answer.Items = append(answer.Items, client.Swept{
			Tenant: d.Tenant, Events: d.Horizon.Events, Readings: d.Horizon.Readings,
			Deleted: int(d.Deleted),
		})
	}
	return answer, nil
}
