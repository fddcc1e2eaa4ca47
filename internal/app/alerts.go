package app

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/alerts"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/source"
)

// AlertsConfig says what becomes of the alerts that are sent here as to an Alertmanager.
type AlertsConfig struct {
	Mapping string // file; "": none are taken
	Tenant  string
}

func (c *AlertsConfig) group() config.Group {
	return config.Group{Name: "alerts", Settings: []config.Setting{
		{Key: "mapping", Value: config.Text(&c.Mapping), Help: "file that says how an alert of " +
			"Prometheus or Alertmanager becomes a state of a device; unless set none are taken"},
		{Key: "tenant", Value: config.Given(&c.Tenant),
			Help: "tenant of the alerts for which the mapping names none"},
	}}
}

// openAlerts reads the mapping, so that a start says what is wrong with it.
func (a *App) openAlerts() error {
	if a.Config.Alerts.Mapping == "" {
		return nil
	}
	_, err := mapping.Read(a.Config.Alerts.Mapping)
	return err
}

// takesAlerts returns what takes alerts; nil: nothing does.
func (a *App) takesAlerts() func(context.Context, string) error {
	c := a.Config.Alerts
	if c.Mapping == "" {
		return nil
	}
	w, unable := a.writer(source.Config{Name: "alerts", Tenant: c.Tenant, Mapping: c.Mapping})
	return func(ctx context.Context, text string) error {
		messages, err := alerts.Messages(text, a.Now())
		switch {
		case err != nil:
			return err
		case unable != nil:
			return andon.Errorf(andon.Unsupported, "%w", unable)
		}
		return w.Write(ctx, messages)
	}
}
