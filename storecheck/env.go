package storecheck

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/wrap"
)

// Env is what a check runs in: the system under test, a clock that the check sets, and throwaway
// tenants. A check uses it from one goroutine, but for the clock.
type Env struct {
	// System is the store with admission, or what takes its place: a server on the store, whose
	// clock is that of the Env.
	System System
	Store  andon.Store    // with exact retention by the clock of the Env
	Intake *intake.Intake // before Store, with the same clock
	// Base is what scripts count time from: 22:00 UTC of yesterday.
	Base andon.Time

	undeclared andon.Store // what Store is around

	now      atomic.Int64
	failing  bool                              // what is done is to fail
	tenants  map[string]andon.TenantID         // by the name that the check gives them
	made     []andon.TenantID                  // all that are to be deleted
	feeds    map[andon.TenantID]andon.Position // up to where their feeds were looked at
	arrivals map[andon.TenantID]andon.Position // where what arrived was read first
	tenant   string                            // the name of the one that a script is in
	rejected []string                          // indexes of the last request of send
	kind     andon.RecordKind                  // its own: what is due is asked for across tenants
	versions map[string]uint64                 // of records, by tenant and id, or by a given name
}

// timeout is how long an eventual store may take to show what it acknowledged.
const timeout = time.Minute

// firstTenant is the name of the tenant that a script begins in.
const firstTenant = "first"

// NewEnv makes an Env on a store. Its clock is at Base, which is near the real time because
// engines that expire rows by themselves go by that, and two hours before midnight so that scripts
// cross a boundary of days always or never, whenever they run.
func NewEnv(store andon.Store) *Env {
	const twoHours = 2 * 60 * 60 * 1_000_000
	e := &Env{Base: andon.DayStart(andon.TimeOf(time.Now()).Day()) - twoHours}
	e.Store = wrap.Retain(asDeclared(store), e.Now)
	e.undeclared = store
	e.Intake = intake.New(e.Store, intake.Options{Now: e.Now})
	e.System = local{Whole{e.Store}, store, e.Intake, e.Now}
	e.renew()
	return e
}

// Now returns what the clock of the Env says.
func (e *Env) Now() andon.Time { return andon.Time(e.now.Load()) }

// SetNow sets the clock of the Env.
func (e *Env) SetNow(t andon.Time) { e.now.Store(int64(t)) }

// Renew sets the clock back to Base and deletes the tenants, so that a check can start again.
func (e *Env) Renew(ctx context.Context) error {
	err := e.Close(ctx)
	e.renew()
	return err
}

func (e *Env) renew() {
	e.SetNow(e.Base)
	e.tenant = firstTenant
	e.tenants = map[string]andon.TenantID{}
	e.feeds = map[andon.TenantID]andon.Position{}
	e.arrivals = map[andon.TenantID]andon.Position{}
	e.kind, e.versions = andon.RecordKind("check-"+rand.Text()), map[string]uint64{}
}

// Tenant returns the throwaway tenant with that name, and makes it where there is none yet.
func (e *Env) Tenant(ctx context.Context, name string) (andon.TenantID, error) {
	if id, ok := e.tenants[name]; ok {
		return id, nil
	}
	id := andon.TenantID(fmt.Sprintf("andon-check-%s-%s", name, rand.Text()))
	e.made = append(e.made, id)
	if err := e.System.MakeTenant(ctx, id); err != nil {
		return "", fmt.Errorf("make throwaway tenant: %w", err)
	}
	e.tenants[name] = id
	return id, nil
}

// Here returns the tenant that the check is in.
func (e *Env) Here(ctx context.Context) (andon.TenantID, error) { return e.Tenant(ctx, e.tenant) }

// Close deletes the throwaway tenants, also when ctx has ended.
func (e *Env) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var all error
	for _, id := range e.made {
		err := e.System.DeleteTenant(ctx, id)
		if err != nil && andon.KindOf(err) != andon.NotFound {
			all = errors.Join(all, fmt.Errorf("delete throwaway tenant %s: %w", id, err))
		}
	}
	e.made = nil
	return all
}

// Eventually returns nil as soon as holds does, and its last error when the timeout ends. Where
// the store shows at once what it acknowledged, holds is asked only once.
func (e *Env) Eventually(ctx context.Context, holds func() error) error {
	err := holds()
	if e.failing || e.System.Capabilities().Immediate {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(timeout)
	for err != nil && !isNotAsked(err) {
		select {
		case <-ctx.Done():
			return err
		case <-deadline:
			return fmt.Errorf("still after %s: %w", timeout, err)
		case <-tick.C:
			err = holds()
		}
	}
	return err
}
