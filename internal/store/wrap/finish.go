package wrap

import (
	"context"

	"github.com/andonhq/andon"
)

// Finisher is a store that opens quicker if it has finished something before it closes. A store
// need not be one.
type Finisher interface {
	// Finish does what would take longer when the store is opened again, where that is worth it. It
	// comes last before Close. It may be broken off at any time, and need not have been called:
	// then opening takes longer, and nothing is lost. Its error says only why it did not finish.
	Finish(ctx context.Context) error
}

// Finish has a store finish, as Finisher has it. One that is none has nothing to do.
func Finish(ctx context.Context, s andon.Store) error {
	if _, ok := As[Finisher](s); !ok {
		return nil
	}
	return Ask(ctx, s, "Finish", "", func(f Finisher) error { return f.Finish(ctx) })
}
