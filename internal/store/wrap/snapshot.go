package wrap

import (
	"context"

	"github.com/andonhq/andon"
)

// Snapshotter is a store of files, which can be copied while it goes on. A store need not be one.
type Snapshotter interface {
	// Snapshot has take read a copy of the store as it is at one moment: all that was acknowledged
	// before the call, of later requests each whole or not at all, in their order. The copy is
	// files of a directory, by their names, which do not change and are gone when take returns. One
	// is taken at a time: another is a Conflict.
	Snapshot(ctx context.Context, take func(dir string, files []string) error) error
}

// Snapshot has take read a copy of a store, as Snapshotter has it. It is Unsupported where the
// store has no files of its own.
func Snapshot(
	ctx context.Context, s andon.Store, take func(dir string, files []string) error,
) error {
	return Ask(ctx, s, "Snapshot", "has no files of its own that could be copied: use the means "+
		"of its engine, or andon export",
		func(store Snapshotter) error { return store.Snapshot(ctx, take) })
}
