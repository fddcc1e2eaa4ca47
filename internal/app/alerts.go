package app

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/alerts"
	"github.com/andonhq/andon/internal/config"
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

func (a *App) openAlerts() (err error) {
	a.alerts, err = readMapping(a.Config.Alerts.Mapping)
	return err
}

// takesAlerts returns what takes alerts; nil: nothing does.
func (a *App) takesAlerts() func(context.Context, string) error {
	if a.alerts == nil {
		return nil
	}
	w, unable := a.writer("alerts", a.Config.Alerts.Tenant, a.alerts)
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
