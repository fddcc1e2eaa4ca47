package httpapi

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/httpapi/problem"
)

// readyTimeout is how long the store may take to say that it is ready.
const readyTimeout = 5 * time.Second

func (a *API) operationRoutes() []*route {
	metrics := promhttp.HandlerFor(
		a.options.Registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
	return []*route{
		answering(route{
			pattern: "GET /livez", outside: true, name: "livez", open: true,
		}, func(*call) (healthJSON, error) {
			return healthJSON{Status: "live"}, nil
		}),
		answering(route{
			pattern: "GET /readyz", outside: true, name: "readyz", open: true, errors: []int{503},
		}, a.ready),
		answering(route{
			pattern: "GET /version", outside: true, name: "version",
		}, a.version),
		{
			pattern: "GET /metrics", outside: true, name: "metrics",
			answer: &content{Media: "application/openmetrics-text", Schema: openapi.Text()},
			serve: func(c *call) error {
				metrics.ServeHTTP(c.x, c.r)
				return nil
			},
		},
	}
}

type healthJSON struct {
	Status  string   `json:"status"`
	Damaged []string `json:"damaged,omitempty" doc:"Files of the store that can't be read in part"`
}

// version gets the name from the store each time: a rebuild changes its layout.
func (a *API) version(*call) (client.Version, error) {
	v := a.options.Version
	v.Store = a.store.Capabilities().Name
	return v, nil
}

var errStopping = andon.Errorf(andon.Unavailable, "the program is stopping")

func (a *API) ready(c *call) (healthJSON, error) {
	if a.draining.Load() {
		return healthJSON{}, errStopping
	}
	ctx, cancel := context.WithTimeout(c.ctx(), readyTimeout)
	defer cancel()
	err := a.options.Ready(ctx)
	if e, ok := errors.AsType[*andon.Error](err); ok {
		// Whatever kind it is: a load balancer only has to know that it should try again.
		err = &andon.Error{Kind: andon.Unavailable, Message: e.Message}
		if _, stranger := a.guard.Check(c.x, c.r, false); stranger != nil {
			err = problem.NotReady(err)
		}
		return healthJSON{}, err
	}
	return healthJSON{Status: "ready", Damaged: a.store.Damage()}, err
}
