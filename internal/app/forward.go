package app

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/forward"
	"github.com/andonhq/andon/internal/source"
)

// GatewayGroups lists all settings of a gateway, bound to c.
func (c *Config) GatewayGroups() []config.Group {
	f := c.Forward
	return append([]config.Group{{Settings: []config.Setting{
		{Key: "to", Value: config.Text(&f.To), Help: "address of the server to send to"},
		{Key: "to_token_file", Value: config.Text(&f.TokenFile),
			Help: "file that holds the token which that server asks for"},
		{Key: "tenant", Value: config.Given(&f.Tenant), Help: "tenant that owns the devices there"},
		{Key: "max_bytes", Value: config.Size(&f.MaxBytes),
			Help: "most bytes of entries that wait to be sent; beyond them devices get 507"},
	}}}, c.Groups()...)
}

// gateway is the service that sends on what a gateway takes.
type gateway struct {
	worker
	app   *App
	queue *forward.Queue
}

func newGateway(a *App) *gateway {
	g := &gateway{app: a, worker: worker{label: "forward"}}
	g.run = func(ctx context.Context) error {
		return g.queue.Send(ctx, source.New(source.Options{
			Name: g.label, Tenant: andon.TenantID(a.Config.Forward.Tenant), Intake: g.queue,
			Refused: a.rejections, Metrics: a.sources, Log: a.Log, Now: a.Now,
		}))
	}
	return g
}

// ready reports that the server refuses this gateway, which somebody has to see to. That it is out
// of reach is what a gateway is for.
func (g *gateway) ready() error {
	if s := g.queue.State(); s.Refused {
		return andon.Errorf(andon.Unavailable, "%s refuses what this gateway sends, which keeps "+
			"it: %w", g.app.Config.Forward.To, s.Trouble)
	}
	return nil
}

// stop sends what it can before it ends. The rest is sent after the next start.
func (g *gateway) stop(ctx context.Context) error {
	if g.queue != nil {
		g.queue.Flush(ctx)
	}
	return g.worker.stop(ctx)
}

// openQueue puts the queue in front of the store.
func (g *gateway) openQueue(ctx context.Context) error {
	a := g.app
	token, err := readToken(a.Config.Forward.TokenFile)
	if err == nil {
		g.queue, err = forward.Open(ctx, a.store, a.Config.Forward, token, a.Log)
	}
	if err != nil {
		return errors.Join(err, a.store.Close())
	}
	a.store = g.queue
	return nil
}

func (g *gateway) gauges() looked {
	return func(to chan<- prometheus.Metric) {
		s, age := g.queue.State(), 0.0
		if s.Entries > 0 && s.Oldest > 0 {
			age = max(0, g.app.Now().Sub(s.Oldest).Std().Seconds())
		}
		to <- gaugeOf("andon_forward_bytes", "Entries that wait, in bytes.", float64(s.Bytes))
		to <- gaugeOf("andon_forward_entries", "Entries that wait.", float64(s.Entries))
		to <- gaugeOf("andon_forward_oldest_seconds", "How long the oldest has been waiting.", age)
		to <- gaugeOf("andon_forward_upstream_up", "1 if the server took the last request, else 0.",
			oneIf(s.Trouble == nil))
	}
}
