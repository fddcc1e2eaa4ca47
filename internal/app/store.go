package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/forward"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/wrap"
)

// openStore comes after listening, so that the store can say whose it is by the address.
func (a *App) openStore(ctx context.Context) error {
	store, err := a.openIn(ctx, adapter.Env{Owner: "andon at " + a.URL()})
	if err != nil {
		return err
	}
	if err := a.startClock(ctx, store); err != nil {
		return errors.Join(err, store.Close())
	}
	a.store = wrap.RetainBelieved(wrap.Around(store, a.calls.hook), a.Now, a.clock.Believed)
	if a.gateway != nil {
		return a.gateway.openQueue(ctx)
	}
	if err := forward.Refuse(ctx, store); err != nil {
		return errors.Join(err, store.Close())
	}
	return nil
}

// OpenStore opens the store of a configuration as Start does, for what works on it without serving.
// It has no exact retention: the caller wraps it where that matters.
func (a *App) OpenStore(ctx context.Context, owner string) (andon.Store, error) {
	if err := a.checkOwner(); err != nil {
		return nil, err
	}
	return a.openIn(ctx, adapter.Env{Owner: owner})
}

// OpenInAnyDesign is OpenStore whatever the settings say of designs.
func (a *App) OpenInAnyDesign(ctx context.Context, owner string) (andon.Store, error) {
	if err := a.checkOwner(); err != nil {
		return nil, err
	}
	return a.openIn(ctx, adapter.Env{Owner: owner, AnyDesign: true})
}

func (a *App) openIn(ctx context.Context, env adapter.Env) (andon.Store, error) {
	return a.Config.Engines.Open(ctx, a.Config.Store, a.env(env))
}

// env completes what a store is opened with.
func (a *App) env(e adapter.Env) adapter.Env {
	e.Log, e.Now, e.Fatal, e.Dir = a.Log, a.Now, a.Fatal, a.Config.Data
	e.Ordered = a.ordered.observe
	return e
}

// Closed returns the engine of the store of a configuration, and what its methods are called with,
// for what is done with a store that is not open (adapter.Schema, adapter.Files).
func (a *App) Closed(owner string) (adapter.Engine, adapter.Env, error) {
	e, err := a.Config.Engine()
	if err == nil {
		err = a.checkOwner()
	}
	return e, a.env(adapter.Env{Owner: owner}), err
}

// checkOwner refuses that root works on the directory of a store that belongs to another user: the
// server of that user could not open what root leaves there.
func (a *App) checkOwner() error {
	if a.Config.Place() != adapter.Directory || os.Geteuid() != 0 {
		return nil
	}
	owner, err := ownerOf(a.Config.Data)
	if err != nil || owner == "0" {
		return nil // whoever opens it says what is wrong with it
	}
	name := owner
	if u, err := user.LookupId(owner); err == nil {
		name = u.Username
	}
	return fmt.Errorf("%s belongs to the user %s, whose server could not open what root leaves "+
		"there: run this as that user, with sudo -u %[2]s: %w", a.Config.Data, name,
		fs.ErrPermission)
}
