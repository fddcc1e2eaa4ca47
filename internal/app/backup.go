package app

import (
	"context"
	"io"

	"github.com/andonhq/andon/internal/backup"
)

// backup writes a backup of the open store, and goes on serving.
func (a *App) backup(ctx context.Context, w io.Writer) error {
	about := a.about()
	about.Store = a.store.Capabilities().Name
	return a.store.Snapshot(ctx, func(dir string, files []string) error {
		return backup.Write(ctx, w, about, dir, files)
	})
}

func (a *App) about() backup.About {
	return backup.About{Taken: a.Now(), Program: a.Version.Version}
}

// Backup writes a backup of the store of a configuration, which no process may have open.
// Unsupported where the store has no files of its own.
func (a *App) Backup(ctx context.Context, w io.Writer) error {
	e, env, err := a.Closed("andon backup")
	if err != nil {
		return err
	}
	return e.Copy(env, func(dir string, files []string) error {
		return backup.Write(ctx, w, a.about(), dir, files)
	})
}
