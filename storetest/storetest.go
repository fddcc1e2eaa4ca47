// Package storetest runs what storecheck asks of a store under go test, and compares a store with
// the reference by random histories. A store's own test file has little more than a call of Run and
// one of Histories.
package storetest

import (
	"slices"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/storecheck"
)

// Run runs every check of storecheck on one store, each as a subtest. It proves what it ran: the
// log names the store, and a run of no checks fails.
func Run(t *testing.T, open func(t *testing.T) andon.Store) {
	RunSome(t, open, storecheck.Checks())
}

// RunConcurrent runs those checks of Run that call the store from several goroutines at once, for a
// store whose Run is left to tests without the race detector.
func RunConcurrent(t *testing.T, open func(t *testing.T) andon.Store) {
	RunSome(t, open, slices.DeleteFunc(storecheck.Checks(), func(c storecheck.Check) bool {
		return !c.Concurrent
	}))
}

// RunSome runs some of them, where the others can't tell one set-up of a store from another that
// all of them run on.
func RunSome(
	t *testing.T, open func(t *testing.T) andon.Store, checks []storecheck.Check,
) {
	store := open(t)
	t.Logf("store: %+v", store.Capabilities())
	ran := 0
	for _, c := range checks {
		t.Run(c.String(), func(t *testing.T) {
			ran++
			result := storecheck.RunOne(t.Context(), store, c)
			if result.NotAsked != "" {
				t.Log("not all of it was asked: " + result.NotAsked)
			}
			if result.Err != nil {
				t.Error(result.Err)
			}
		})
	}
	if ran == 0 {
		t.Error("no check ran: does -run leave out all of them?")
	}
	t.Run("default tenant stays", func(t *testing.T) { defaultStays(t, store) })
}

// defaultStays is no check of storecheck: a store that got it wrong would lose a user's data.
func defaultStays(t *testing.T, store andon.Store) {
	err := store.DeleteTenant(t.Context(), andon.DefaultTenant)
	if err == nil || andon.KindOf(err) != andon.Conflict {
		t.Errorf("deleting %q: %v, want a conflict", andon.DefaultTenant, err)
	}
	if _, err := store.Tenant(t.Context(), andon.DefaultTenant); err != nil {
		t.Errorf("%q is gone: %v", andon.DefaultTenant, err)
	}
}
