// Package storecheck is what every store must do, as values: each semantic of the design and each
// query that Andon answers is at least one check with its expected answers written out.
//
// It imports no testing package, because `andon doctor` runs the checks on a user's own cluster. So
// a check uses only temporary tenants, which it creates and deletes. It never writes to any other
// tenant, DefaultTenant included. Package storetest runs the checks under go test. Where a store
// has several designs, all checks run on one of them, and on the others those that ask for what a
// design decides. The package must not know an engine.
package storecheck

import (
	"context"
	"errors"
	"slices"

	"github.com/andonhq/andon"
)

// Check is one thing that a store must do.
type Check struct {
	Name    string // "a late entry splits the present run"
	Section string // of docs/semantics.md, "2.4"; "limits" are those of its §1
	Run     func(context.Context, *Env) error
	// Server says that all is asked of the System, which may be a server: so do all scenarios.
	Server bool
	// Concurrent says that the check calls the store from several goroutines at once, so that a
	// race detector may find something.
	Concurrent bool
}

// check makes a check that is in a throwaway tenant from its start.
func check(
	section, name string, run func(context.Context, *Env, andon.TenantID) error,
) Check {
	return Check{Name: name, Section: section, Run: func(ctx context.Context, e *Env) error {
		id, err := e.Here(ctx)
		if err != nil {
			return err
		}
		return run(ctx, e, id)
	}}
}

// ofServers makes it one that asks a server too.
func (c Check) ofServers() Check {
	c.Server = true
	return c
}

func (c Check) needing(able func(andon.Capabilities) bool) Check {
	run := c.Run
	c.Run = func(ctx context.Context, e *Env) error {
		if !able(e.Store.Capabilities()) {
			return errUndeclared
		}
		return run(ctx, e)
	}
	return c
}

// concurrent makes it one that calls the store from several goroutines at once.
func (c Check) concurrent() Check {
	c.Concurrent = true
	return c
}

// String returns section and name, which are unique together.
func (c Check) String() string { return c.Section + " " + c.Name }

// Checks returns all checks: those that are scenarios, and those that need more than that.
func Checks() []Check {
	return slices.Concat(
		scenarioChecks(), pagingChecks(),
		capabilityChecks(), tenantChecks(), idChecks(), concurrentChecks(),
		recordChecks(), feedChecks(), arrivalChecks(),
	)
}

// Result is the outcome of one check.
type Result struct {
	Check Check
	Err   error // nil: the store does so, or not all was asked
	// NotAsked says why not all of the check was asked; empty where it was.
	NotAsked string
}

// Few returns some checks that together use each part of a store once: for a store that is in use,
// on which all of them would be a burden.
func Few() []Check {
	few := []string{
		"2.1 sent twice is one entry",
		"2.4 a late entry splits the present run",
		"2.5 newest first is by time across all states",
		"2.6 else it is the assignment at the entry's time",
		"2.7 an escalated entry is in the supervisor's list until withdrawn",
		"2.10 a retired device leaves counts and lists, its history stays",
		"2.12 messages at one time join metric by metric",
		"2.16 of concurrent writers that read one version one wins",
		"3 the devices that are in a given state now",
	}
	return slices.DeleteFunc(Checks(), func(c Check) bool {
		return !slices.Contains(few, c.String())
	})
}

// Run runs checks on a store, one after the other, until ctx ends, and reports each. It returns the
// error of ctx: what a store fails at is in the results.
func Run(ctx context.Context, store andon.Store, checks []Check, report func(Result)) error {
	for _, c := range checks {
		if err := ctx.Err(); err != nil {
			return err
		}
		report(RunOne(ctx, store, c))
	}
	return nil
}

// RunOne runs one check in throwaway tenants and deletes them, also when ctx ended meanwhile.
func RunOne(ctx context.Context, store andon.Store, c Check) Result {
	return c.RunIn(ctx, NewEnv(store))
}

// RunIn runs the check in an Env, and closes that.
func (c Check) RunIn(ctx context.Context, e *Env) (r Result) {
	r.Check, r.Err = c, caught(func() error { return c.Run(ctx, e) })
	if not, is := errors.AsType[NotAsked](r.Err); is {
		r.NotAsked, r.Err = not.Why, nil
	}
	r.Err = errors.Join(r.Err, e.Close(ctx))
	return r
}

type failure struct{ error }

// require ends the check that calls it, or one of its goroutines, with an error that is not nil. It
// must not be called where an error is retried or expected: in Eventually. In a statement of a
// scenario it says that the words are wrong.
func require(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns the value of a call whose error require checks.
func must[T any](value T, err error) T {
	require(err)
	return value
}

// caught returns the error that run returns, or that ends it by require.
func caught(run func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.error
		default:
			panic(p)
		}
	}()
	return run()
}
