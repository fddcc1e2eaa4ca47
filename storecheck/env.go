package storecheck

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/wrap"
)

// Env is what a check runs in: the store under test, a clock that the check sets, and throwaway
// tenants. A check uses it from one goroutine, but for the clock.
type Env struct {
	Store  andon.Store    // the store under test behind exact retention by the clock of the Env
	Intake *intake.Intake // before Store, with the same clock
	Base   andon.Time     // what scripts count time from: 22:00 UTC of yesterday

	now     atomic.Int64
	tenants map[string]andon.TenantID         // by the name that the check gives them
	made    []andon.TenantID                  // all that are to be deleted
	feeds   map[andon.TenantID]andon.Position // up to where their feeds were looked at
	tenant  string                            // the name of the one that a script is in
}

// patience is how long an eventual store may take to show what it acknowledged.
const patience = 20 * time.Second

// firstTenant is the name of the tenant that a script begins in.
const firstTenant = "first"

// NewEnv makes an Env on a store. Its clock stands at Base, which is near the real time because
// engines that expire rows by themselves go by that, and two hours before midnight so that scripts
// cross a boundary of days always or never, whenever they run.
func NewEnv(store andon.Store) *Env {
	const twoHours = 2 * 60 * 60 * 1_000_000
	e := &Env{Base: andon.DayStart(andon.TimeOf(time.Now()).Day()) - twoHours}
	e.Store = wrap.Retain(store, e.Now)
	e.Intake = intake.New(e.Store, intake.Options{Now: e.Now})
	e.Renew()
	return e
}

// Now returns what the clock of the Env says.
func (e *Env) Now() andon.Time { return andon.Time(e.now.Load()) }

// SetNow sets the clock of the Env.
func (e *Env) SetNow(t andon.Time) { e.now.Store(int64(t)) }

// Renew sets the clock back to Base and forgets the tenants, so that a check can start again. Those
// that there were are deleted by Close.
func (e *Env) Renew() {
	e.SetNow(e.Base)
	e.tenant = firstTenant
	e.tenants = map[string]andon.TenantID{}
	e.feeds = map[andon.TenantID]andon.Position{}
}

// Tenant returns the throwaway tenant with that name, and makes it where there is none yet.
func (e *Env) Tenant(ctx context.Context, name string) (andon.TenantID, error) {
	if id, ok := e.tenants[name]; ok {
		return id, nil
	}
	id := andon.TenantID(fmt.Sprintf("andon-check-%s-%s", rand.Text(), name))
	e.made = append(e.made, id)
	if _, err := e.Store.PutTenant(ctx, andon.NewTenant(id)); err != nil {
		return "", fmt.Errorf("make throwaway tenant: %w", err)
	}
	e.tenants[name] = id
	return id, nil
}

// Here returns the tenant that the check is in.
func (e *Env) Here(ctx context.Context) (andon.TenantID, error) { return e.Tenant(ctx, e.tenant) }

// Close deletes the throwaway tenants.
func (e *Env) Close(ctx context.Context) error {
	var first error
	for _, id := range e.made {
		err := e.Store.DeleteTenant(ctx, id)
		if err != nil && andon.KindOf(err) != andon.NotFound && first == nil {
			first = err
		}
	}
	e.made = nil
	return first
}

// Eventually returns nil as soon as holds does, and its last error when patience runs out. Where
// the store shows at once what it acknowledged, holds is asked only once.
func (e *Env) Eventually(ctx context.Context, holds func() error) error {
	err := holds()
	if e.Store.Capabilities().Immediate {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for err != nil {
		select {
		case <-ctx.Done():
			return err
		case <-deadline:
			return fmt.Errorf("still after %s: %w", patience, err)
		case <-tick.C:
			err = holds()
		}
	}
	return nil
}

// Expire settles the horizon of a tenant at now and has the store give back what is older. Only of
// this one tenant: the clock of the Env may be far ahead of the user's.
func (e *Env) Expire(ctx context.Context, id andon.TenantID) error {
	t, err := e.Store.Tenant(ctx, id)
	if err != nil {
		return err
	}
	events, readings, err := e.Store.Had(ctx, id)
	if err != nil {
		return err
	}
	t.Settle(e.Now(), events, readings)
	if t, err = e.Store.PutTenant(ctx, t); err != nil {
		return err
	}
	return e.Store.Expire(ctx, id, t.Floor)
}
