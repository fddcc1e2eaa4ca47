package app

import (
	"context"
	"log/slog"
)

// auditLog is where the audit lines go: into the log, whatever its level is, because who changed
// what must not get lost with what is merely informative. nil: nowhere.
func (a *App) auditLog() *slog.Logger {
	if a.Config.Log.Audit == "off" {
		return nil
	}
	return slog.New(everyLevel{a.Log.Handler()})
}

// everyLevel lets through what its handler's level would hold back.
type everyLevel struct{ slog.Handler }

// Enabled is of slog.Handler.
func (everyLevel) Enabled(context.Context, slog.Level) bool { return true }
