// Package storecheck is what every store must do, as values: each semantic of the design and each
// question that Andon answers is at least one check with its expected answers written out.
//
// It imports no testing package, because `andon doctor` runs the checks on a user's own cluster. So
// a check uses only temporary tenants, which it creates and deletes. It never writes to any other
// tenant, DefaultTenant included. Package storetest runs the checks under go test. The package must
// not know an engine.
package storecheck

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/andonhq/andon"
)

// Check is one thing that a store must do.
type Check struct {
	Name    string // "a late entry splits the present run"
	Section string // of docs/semantics.md, "2.4"; "limits" are those of its §1
	Run     func(context.Context, *Env) error
}

// check makes a check that is in a throwaway tenant from its start.
func check(
	section, name string, run func(context.Context, *Env, andon.TenantID) error,
) Check {
	return Check{Name: name, Section: section, Run: inTenant(run)}
}

// String returns section and name, which are unique together.
func (c Check) String() string { return c.Section + " " + c.Name }

// Checks returns all checks: those that are told as scenarios, and those that need more than that.
func Checks() []Check {
	return slices.Concat(
		scenarioChecks(), identityChecks(), timeChecks(), admissionChecks(), pagingChecks(),
		capabilityChecks(), tenantChecks(), idChecks(), concurrentChecks(),
		recordChecks(), feedChecks(),
	)
}

// Result is the outcome of one check.
type Result struct {
	Check Check
	Err   error // nil: the store does so
	Took  time.Duration
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
		"2.16 of writers side by side who read one version one wins",
		"3 the devices that are in a given state now",
	}
	return slices.DeleteFunc(Checks(), func(c Check) bool {
		return !slices.Contains(few, c.String())
	})
}

// Run runs checks on a store, one after the other, until ctx ends, and reports each. It returns the
// error of ctx: what a store fails at stands in the results.
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
	began := time.Now()
	env := NewEnv(store)
	err := c.Run(ctx, env)
	if closeErr := env.Close(context.WithoutCancel(ctx)); err == nil && closeErr != nil {
		err = fmt.Errorf("delete throwaway tenants: %w", closeErr)
	}
	return Result{Check: c, Err: err, Took: time.Since(began)}
}
