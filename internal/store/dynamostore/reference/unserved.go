package reference

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
	"github.com/andonhq/andon/internal/store/wrap"
)

// unserved refuses every call of s except its maintenance: what else a layout can't serve would
// need a scan of the table, or items that its model does not have.
func unserved(s andon.Store) andon.Store {
	return wrap.Around(s, func(_ context.Context, method string) (end func(error), err error) {
		switch method {
		case "Diagnose", "Figures", "Finish", "Snapshot", "RebuildLatest", "Size":
			return nil, nil // as the other layout
		case "Changes", "AwaitChange", "ChangesKept":
			return nil, shared.ErrNoFeed
		case "Arrivals":
			return nil, shared.ErrNoArrivals
		}
		return nil, unservedHere("what was asked for")
	})
}

func unservedHere(what string) error {
	return andon.Errorf(andon.Unsupported, "a table of the guide's own model can't serve %s: "+
		"dynamodb.layout andon can", what)
}
