package app

import (
	"context"
	"log/slog"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
)

// audit is where changes are written down: in the log, whatever its level is, because who changed
// what must not get lost with what is merely informative. nil: nowhere.
func (a *App) audit() func(context.Context, intake.Change) {
	if !a.Config.Log.Audit {
		return nil
	}
	return AuditTo(a.Log.Handler())
}

// AuditTo writes a line for each change, whatever the level of the handler is.
func AuditTo(h slog.Handler) func(context.Context, intake.Change) {
	log := slog.New(everyLevel{h})
	return func(ctx context.Context, c intake.Change) {
		line := []slog.Attr{
			slog.String("what", c.What),
			slog.String("outcome", c.Outcome),
			slog.String("who", c.By.Who),
			slog.String("remote", c.By.Remote),
			slog.String("request_id", c.By.RequestID),
		}
		if c.Tenant != "" {
			line = append(line, slog.String("tenant", string(c.Tenant)))
		}
		if c.Device != "" {
			line = append(line, slog.String("device", string(c.Device)))
		}
		log.LogAttrs(ctx, slog.LevelInfo, "audit", append(line, attrs(c.Details)...)...)
	}
}

// changed has a change of a document written down.
func (a *App) changed(
	ctx context.Context, t andon.TenantID, kind people.DocumentKind, d records.Document, err error,
) {
	a.intake.Document(ctx, t, kind.One(), d.Name, d.Before, d.Version, err)
}

func attrs(details []intake.Detail) (all []slog.Attr) {
	for _, d := range details {
		if inner, ok := d.Value.([]intake.Detail); ok {
			all = append(all, slog.GroupAttrs(d.Name, attrs(inner)...))
			continue
		}
		all = append(all, slog.Any(d.Name, d.Value))
	}
	return all
}

// everyLevel lets through what its handler's level would hold back.
type everyLevel struct{ slog.Handler }

func (everyLevel) Enabled(context.Context, slog.Level) bool { return true }
