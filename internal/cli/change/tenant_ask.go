package change

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// losses says what a change of the retention deletes of a tenant.
func losses(now andon.Time, is client.Tenant, change client.TenantChange) (all []string) {
	for _, r := range []struct {
		kind       string
		is, wanted *andon.Retention
	}{
		{"events", &is.Retention.Events, change.EventsRetention},
		{"readings", &is.Retention.Readings, change.ReadingsRetention},
	} {
		if r.wanted != nil && shorter(*r.wanted, *r.is) {
			all = append(all, fmt.Sprintf("%s before %s", r.kind, now-andon.Time(*r.wanted)))
		}
	}
	return all
}

// shorter reports whether a retention keeps less than another; forever keeps the most.
func shorter(a, b andon.Retention) bool {
	return a != andon.Forever && (b == andon.Forever || cmp.Less(a, b))
}

// confirmLosses asks the user whether entries may be deleted.
func confirmLosses(
	ctx context.Context, p *command.Program, id andon.TenantID, losses []string,
) error {
	if len(losses) == 0 {
		return nil
	}
	return p.Confirm(ctx, string(id), fmt.Sprintf("The shorter retention deletes of tenant %s,"+
		" at once and for good:\n  %s", draw.Legible(string(id)), strings.Join(losses, "\n  ")))
}

// showChange prints the tenant as a change would make it, and what it would delete.
func showChange(
	p *command.Program, t client.Tenant, exists bool, wanted client.TenantChange, losses []string,
	form *command.Choice,
) error {
	if id := t.Tenant; !exists {
		fresh := andon.NewTenant(id)
		t = client.Tenant{
			Tenant: id, MaxFuture: fresh.MaxFuture, SilentAfter: fresh.SilentAfter,
			Retention: client.Retention{Events: fresh.Events, Readings: fresh.Readings},
			States:    fresh.States.Defs(), UnknownStates: fresh.Unknown,
		}
		fmt.Fprintf(p.Stderr, "Tenant %s would be created.\n", draw.Legible(string(id)))
	}
	set(&t.Retention.Events, wanted.EventsRetention)
	set(&t.Retention.Readings, wanted.ReadingsRetention)
	set(&t.MaxFuture, wanted.MaxFuture)
	set(&t.SilentAfter, wanted.SilentAfter)
	set(&t.UnknownStates, wanted.UnknownStates)
	if wanted.States != nil {
		t.States = wanted.States
	}
	for _, l := range losses {
		fmt.Fprintf(p.Stderr, "It would delete %s.\n", l)
	}
	return command.ShowOne(p, &command.Output{Format: form}, tenantColumns(), t)
}

func set[T any](field *T, wanted *T) {
	if wanted != nil {
		*field = *wanted
	}
}
