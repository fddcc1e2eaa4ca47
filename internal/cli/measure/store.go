package measure

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/spell"
	"github.com/andonhq/andon/internal/store/adapter"
)

func (b *benchmark) checkStores() (err error) {
	if b.config, err = b.load(); err != nil {
		return err
	}
	known := b.config.Engines.Names()
	for i, name := range b.stores {
		if !slices.Contains(known, name) {
			return andon.Errorf(andon.Invalid, "--store %s can't be measured: there are %s%s",
				command.Quoted(name), strings.Join(known, ", "),
				spell.DidYouMean(name, known))
		}
		if slices.Contains(b.stores[:i], name) {
			return andon.Errorf(andon.Invalid, "--store %s is named twice", name)
		}
		e, err := b.config.Engines.Find(name)
		if err != nil {
			return err
		}
		if err := e.Check(); err != nil {
			return err
		}
	}
	return nil
}

// app is an application whose store is in a directory of its name, or is the shared one of the
// settings.
func (b *benchmark) app(store, dir string) *app.App {
	c := b.config
	c.Store, c.Data = store, filepath.Join(dir, store)
	return local.NewQuietApp(b.Program, c)
}

// open opens a store.
func (b *benchmark) open(ctx context.Context, name, dir string) (andon.Store, error) {
	a := b.app(name, dir)
	store, err := a.OpenStore(ctx, "andon bench")
	if err != nil || a.Config.Place() != adapter.Elsewhere {
		return store, err
	}
	if err := mustBeEmpty(ctx, store); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// mustBeEmpty refuses a shared store that has devices: measuring would slow down the users
// of these devices, and the devices would distort the figures.
func mustBeEmpty(ctx context.Context, store andon.Store) error {
	tenants, err := store.Tenants(ctx)
	for i := 0; i < len(tenants) && err == nil; i++ {
		var counts []andon.StateCount
		counts, err = store.Counts(ctx, tenants[i].ID, 0)
		if len(counts) > 0 && err == nil {
			err = andon.Errorf(andon.Conflict, "the store is in use: tenant %s has devices; "+
				"name an empty one, such as andon store init makes", tenants[i].ID)
		}
	}
	return err
}
