package app

import (
	"context"
	"io"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/backup"
	"github.com/andonhq/andon/internal/store/adapter"
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
	e, err := a.Config.Engine()
	if err != nil {
		return err
	}
	env := a.env(adapter.Env{Owner: "andon backup"})
	return e.Copy(env, func(dir string, files []string) error {
		return backup.Write(ctx, w, a.about(), dir, files)
	})
}

// Ceiling opens the engine of the store of a configuration alone, as adapter.Files has it.
func (a *App) Ceiling() (
	keep func(context.Context, []andon.Event) error, end func() error, err error,
) {
	e, err := a.Config.Engine()
	if err != nil {
		return nil, nil, err
	}
	return e.Ceiling(a.env(adapter.Env{}))
}

// VerifyStore checks all of the store of a configuration, as adapter.Files has it.
func (a *App) VerifyStore(
	ctx context.Context, report func(place, what string), progress func(done, total int64),
) (rows map[string]int64, err error) {
	e, err := a.Config.Engine()
	if err != nil {
		return nil, err
	}
	return e.Verify(ctx, a.env(adapter.Env{Owner: "andon verify"}), report, progress)
}
