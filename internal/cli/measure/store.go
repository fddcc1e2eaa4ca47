package measure

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/andonhq/andon"
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
				command.Quoted(name), command.Joined(known, " and "),
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

// ceiling opens the engine alone, next to the store that open has opened.
func (b *benchmark) ceiling(name, dir string) func() (
	keep func(context.Context, []andon.Event) error, end func() error, err error,
) {
	c := b.config
	c.Store, c.Data = name, filepath.Join(dir, name)
	return local.NewQuietApp(b.Program, c).Ceiling
}

// open opens a store: a new one in a directory of its name, or the shared one of the settings.
func (b *benchmark) open(ctx context.Context, name, dir string) (andon.Store, error) {
	c := b.config
	c.Store, c.Data = name, filepath.Join(dir, name)
	store, err := local.NewQuietApp(b.Program, c).OpenStore(ctx, "andon bench")
	if err != nil || c.Place() != adapter.Elsewhere {
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
				"name an empty one, such as andon store init makes beside it", tenants[i].ID)
		}
	}
	return err
}

// warn says where the figures would be of something else than a disk.
func (b *benchmark) warn() {
	if b.report.Machine.Passing != "" {
		m := b.report.Machine
		fmt.Fprintf(b.Stderr, "Note: %s is %s: %s. TMPDIR names another directory.\n",
			m.Directory, m.Disk, m.Passing)
	}
}
