package app

import (
	"context"
	"io"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/backup"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/wrap"
)

// backup writes a backup of the open store, and goes on serving.
func (a *App) backup(ctx context.Context, w io.Writer) error {
	about := a.about()
	about.Store = a.store.Capabilities().Name
	return wrap.Snapshot(ctx, a.store, func(dir string, files []string) error {
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
	c, ok := e.(adapter.Copier)
	if !ok {
		return andon.Errorf(andon.Unsupported,
			"the store %s has no files of its own that could be copied", e.Name())
	}
	env := a.env(adapter.Env{Owner: "andon backup"})
	return c.Copy(env, func(dir string, files []string) error {
		return backup.Write(ctx, w, a.about(), dir, files)
	})
}

// VerifyStore checks all of the store of a configuration, as adapter.Verifier has it. Unsupported
// where the store has no files of its own.
func (a *App) VerifyStore(
	ctx context.Context, tell func(place, what string), progress func(done, total int64),
) (rows map[string]int64, err error) {
	e, err := a.Config.Engine()
	if err != nil {
		return nil, err
	}
	v, ok := e.(adapter.Verifier)
	if !ok {
		return nil, andon.Errorf(andon.Unsupported,
			"the store %s has no files of its own that could be verified", e.Name())
	}
	return v.Verify(ctx, a.env(adapter.Env{Owner: "andon verify"}), tell, progress)
}
