package app

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/keeper"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/wallclock"
)

// newKeeper makes the service that keeps incidents. Its parts are there once the store is open.
func (a *App) newKeeper() {
	a.keeper = &keeper.Keeper{Now: a.Now, Log: a.Log, Made: a.made}
	a.services.add(&worker{label: "incidents", run: func(ctx context.Context) error {
		by := intake.Caller{Who: "incidents"}
		return a.keeper.Run(context.WithValue(ctx, intake.CallerKey{}, by))
	}})
}

// wireKeeper gives the keeper its parts. It comes before the API is made.
func (a *App) wireKeeper() *records.Incidents {
	k := a.keeper
	k.Store, k.Doer, k.Leases, k.Notifier = a.store, a.intake, a.leases(), a.notify
	if k.Leases.Alone { // elsewhere most of the work is that of the store's own machines
		k.Busy = a.intake.Busy
	} else {
		k.Forget = a.documents.Forget
	}
	k.Clock = wallclock.New(a.Now, a.Passed, andon.ClockMark{}, nil)
	k.Learn = a.intake.Groups.LearnShown
	k.Incidents = records.NewIncidents(a.store, a.Now)
	k.Setting = func(ctx context.Context, id andon.TenantID) (*people.Setting, error) {
		known, err := a.documents.Known(ctx, id)
		if err != nil {
			return nil, err
		}
		all, err := a.intake.Groups.Select(ctx, id, groups.Selection{})
		tenant, lost := a.store.Tenant(ctx, id)
		return &people.Setting{
			States: tenant.States, LongestShelf: tenant.LongestShelf,
			Known: known, Now: a.Now(),
			Groups: all.Groups, Children: all.Children,
			Parent: func(d andon.DeviceID) andon.DeviceID { return all.Profile(d).Parent },
		}, errors.Join(err, lost)
	}
	k.Incidents.Setting = k.SettingNow
	k.Incidents.Effects = func(ctx context.Context, id andon.TenantID, h *records.Held) error {
		return k.Effects(ctx, id, h)
	}
	return k.Incidents
}

// maintenance returns the windows of a tenant that are open.
func (a *App) maintenance(ctx context.Context, id andon.TenantID) ([]people.Window, error) {
	if !a.store.Capabilities().Whole {
		return nil, nil
	}
	known, err := a.documents.Known(ctx, id)
	if err != nil {
		return nil, err
	}
	return a.calendars.Open(id, known, a.Now()), nil
}

// groupOf returns what says which group a device of a tenant is in.
func (a *App) groupOf(
	ctx context.Context, id andon.TenantID,
) (func(andon.DeviceID) andon.Group, error) {
	all, err := a.intake.Groups.Select(ctx, id, groups.Selection{})
	return func(d andon.DeviceID) andon.Group { return all.Profile(d).Group }, err
}

// purged removes the incidents of a device that was purged, and how rules stand on it.
func (a *App) purged(ctx context.Context, t andon.TenantID, device andon.DeviceID) error {
	if a.rules != nil {
		if err := a.rules.Forget(ctx, t, device); err != nil {
			return err
		}
	}
	if a.keeper == nil {
		return nil
	}
	return a.keeper.Incidents.Forget(ctx, t, device, andon.Position{})
}

// registerIncidents adds what /metrics shows of incidents.
func (a *App) registerIncidents(registry *prometheus.Registry) {
	m := meter{promauto.With(registry)}
	m.gauge("andon_incidents_open",
		"Incidents of all tenants that are open, as this process knows.",
		func() float64 { return float64(a.keeper.Incidents.Known()) })
	m.gauge("andon_incidents_lag_seconds", "For how long there have been changes of devices that "+
		"are not taken in.", func() float64 { return a.keeper.Lag().Seconds() })
	m.counter("andon_incidents_late_steps_total",
		"Steps done more than a second after they were due.", a.keeper.Late.Load)
}
