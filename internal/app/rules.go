package app

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/rules/runner"
)

// newRules makes what evaluates rules on readings. Its parts are there once the store is open.
func (a *App) newRules() {
	a.rules = runner.New(a.Now, a.Log)
	a.rules.Group = a.groupOf
	a.services.add(&worker{label: "rules", run: a.rules.Run})
}

// measured is what is done about readings that were stored; nil: nothing.
func (a *App) measured() func(context.Context, andon.TenantID, []andon.Reading) error {
	if a.rules == nil {
		return nil
	}
	return a.rules.Measured
}

// wireRules gives the rules their parts. It comes before the API is made.
func (a *App) wireRules(registry *prometheus.Registry) {
	r := a.rules
	r.Store, r.Documents = a.store, a.documents
	r.Append = func(
		ctx context.Context, id andon.TenantID, all []andon.Event,
	) ([]andon.Rejection, error) {
		result, err := a.intake.Events(ctx, id, intake.RequestOf(all))
		return result.Rejected, err
	}
	if a.keeper != nil {
		r.Absent, a.keeper.Retired = a.absent, r.Visit
	}
	m := meter{promauto.With(registry)}
	m.counter("andon_rule_entries_total", "Entries that rules have said.", r.Entries.Load)
	m.counter("andon_rule_failures_total", "Readings of a device that a rule could not be "+
		"evaluated on, and entries of rules that were refused.", r.Errors.Load)
	m.counter("andon_rule_disabled_total", "Rules that were disabled after failures in a row.",
		r.Disabled.Load)
}

// absent opens or ends the incident of a metric that is absent.
func (a *App) absent(ctx context.Context, id andon.TenantID, is runner.Absence) error {
	t, err := a.store.Tenant(ctx, id)
	if err != nil {
		return err
	}
	kind := people.AbsentKind + people.Kind(is.Rule)
	return a.keeper.Observe(ctx, id, is.Device, kind, people.Observation{
		Holds: is.Is, Since: is.At, Severity: t.States.Severity(is.State), Message: is.Message,
		Entry: andon.EntryRef{Time: is.At, State: is.State}, Why: is.Why,
	})
}
