package app

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/keeper"
	"github.com/andonhq/andon/internal/people/records"
)

// newKeeper makes the service that keeps incidents. Its parts are there once the store is open.
func (a *App) newKeeper() {
	a.keeper = &keeper.Keeper{Now: a.Now, Log: a.Log}
	a.services.add(&worker{label: "incidents", run: func(ctx context.Context) error {
		by := intake.Caller{Who: "incidents"}
		return a.keeper.Run(context.WithValue(ctx, intake.CallerKey{}, by))
	}})
}

// wireKeeper gives the keeper its parts. It comes before the API is made.
func (a *App) wireKeeper() *records.Incidents {
	k := a.keeper
	k.Store, k.Doer, k.Leases = a.store, a.intake, a.leases()
	k.Incidents = records.NewIncidents(a.store, a.Now)
	if len(a.channels) > 0 {
		k.Notifier = a.notify
	}
	k.Setting = func(ctx context.Context, id andon.TenantID) (*people.Setting, error) {
		known, err := a.documents.Known(ctx, id)
		if err != nil {
			return nil, err
		}
		all, err := a.intake.Groups.Select(ctx, id, groups.Selection{})
		group := func(d andon.DeviceID) andon.Group { return all.Profile(d).Group }
		return &people.Setting{
			Known: known, Group: group, OnCall: known.OnCall, Within: people.Within, Now: a.Now(),
		}, err
	}
	k.Incidents.Setting = k.At
	k.Incidents.Effects = func(ctx context.Context, id andon.TenantID, h *records.Held) error {
		return k.Effects(ctx, id, h)
	}
	return k.Incidents
}
