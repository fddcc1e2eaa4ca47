package wrap_test

import (
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
	"github.com/andonhq/andon/storetest"
)

// TestTwice: the wrapper on a wrapped store is still a store. What it does is checked with every
// store, since storecheck runs all of them behind it.
func TestTwice(t *testing.T) {
	storetest.Run(t, func(*testing.T) andon.Store {
		never := func() andon.Time { return 0 }
		return wrap.Retain(memstore.New(), never)
	})
}
