package reference

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/provision"
	"github.com/andonhq/andon/internal/store/shared"
)

// base is a table that somebody else's model describes. It has one tenant.
type base struct {
	andon.Store // unserved
	Options
	db     *ddb.Client
	model  ddb.Table
	usable provision.Usable // as Ready last saw the table
	tenant *shared.Tenant

	ofReadings bool                              // else it is of entries
	timeOf     func(ddb.Item) (andon.Time, bool) // of an item

	mu   sync.Mutex
	kept andon.Tenant // the record of the tenant: its floor and its clock may change
}

// Options are the settings of a store.
type Options struct {
	Table     string
	Eventual  bool            // reads for answers are, unless their request chooses
	Retention andon.Retention // sets when an item expires, unless it is kept forever
	SweepRate int             // most items a second that a sweep deletes

	// Of readings:
	LatestIndex bool             // DeviceLatestGSI answers for newest readings that may be eventual
	Metric      andon.MetricName // that MetricGSI finds; "" for none
}

func newBase(
	db *ddb.Client, o Options, own andon.Store, model ddb.Table, ofReadings bool,
	timeOf func(ddb.Item) (andon.Time, bool),
) *base {
	r := &base{
		Store: unserved(own), Options: o, db: db, model: model,
		tenant: &shared.Tenant{Record: andon.NewTenant(andon.DefaultTenant)},
		timeOf: timeOf, ofReadings: ofReadings,
	}
	r.tenant.Record.Version = 1
	r.kept = r.tenant.Record
	if ofReadings {
		r.kept.Readings = o.Retention
	} else {
		r.kept.Events = o.Retention
	}
	return r
}

// Ready implements andon.Store.
func (r *base) Ready(ctx context.Context) error {
	return r.usable.Verify(ctx, r.db, []ddb.Table{r.model})
}

// Close implements andon.Store.
func (r *base) Close() error {
	r.db.Close()
	return nil
}

// checkTenant refuses every tenant but the default one.
func (r *base) checkTenant(ctx context.Context, id andon.TenantID) error {
	if id != andon.DefaultTenant {
		return andon.NoTenant(id)
	}
	return ctx.Err()
}

// Tenants implements andon.Tenants.
func (r *base) Tenants(ctx context.Context) ([]andon.Tenant, error) {
	t, err := r.Tenant(ctx, andon.DefaultTenant)
	return []andon.Tenant{t}, err
}

// Tenant implements andon.Tenants.
func (r *base) Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept, r.checkTenant(ctx, id)
}

// PutTenant implements andon.Tenants. The floor and the clock alone may change, in memory: the
// table has no place for them.
func (r *base) PutTenant(ctx context.Context, t andon.Tenant) (andon.Tenant, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	settings := t
	settings.Floor, settings.Clock = r.kept.Floor, r.kept.Clock
	settings.Version = r.kept.Version
	switch {
	case settings != r.kept:
		return andon.Tenant{}, unservedHere("settings of tenants, and other tenants")
	case t.Version != r.kept.Version:
		return andon.Tenant{}, andon.Errorf(andon.Conflict, "tenant %q has another version", t.ID)
	}
	t.Version++
	r.kept = t
	return t, ctx.Err()
}

// AdmitStates implements andon.Tenants: the table takes all states.
func (r *base) AdmitStates(
	ctx context.Context, id andon.TenantID, _ []andon.State, _ int,
) ([]andon.State, error) {
	return nil, r.checkTenant(ctx, id)
}

// Had implements andon.Tenants. The table has had what it is for.
func (r *base) Had(ctx context.Context, id andon.TenantID) (events, readings bool, err error) {
	return !r.ofReadings, r.ofReadings, r.checkTenant(ctx, id)
}

// Expire implements andon.Tenants: the service deletes what has expired, in its own time.
func (r *base) Expire(ctx context.Context, id andon.TenantID, _ andon.Horizon) error {
	return r.checkTenant(ctx, id)
}

// Sweep implements andon.Maintenance: it reads the whole table and deletes the items before the
// horizon, also those that others wrote without an expiry. An item without a time stays.
func (r *base) Sweep(
	ctx context.Context, id andon.TenantID, h andon.Horizon,
) (deleted int64, err error) {
	horizon := h.Events
	if r.ofReadings {
		horizon = h.Readings
	}
	if err := r.checkTenant(ctx, id); err != nil || horizon == 0 {
		return 0, err
	}
	var after ddb.Item
	for {
		found, next, err := r.db.Scan(ctx, r.Table, after, min(r.SweepRate, ddb.MaxPage))
		var gone []ddb.Write
		for _, i := range found {
			if at, ok := r.timeOf(i); ok && at < horizon {
				key := ddb.Item{r.model.Key.Hash: i[r.model.Key.Hash],
					r.model.Key.Sort: i[r.model.Key.Sort]}
				gone = append(gone, ddb.Write{Table: r.Table, Delete: key})
			}
		}
		if err == nil {
			err = r.db.Write(ctx, gone...)
		}
		if err != nil {
			return deleted, fmt.Errorf("after %d deletions (sweep again): %w", deleted, err)
		}
		deleted += int64(len(gone))
		if after = next; after == nil {
			return deleted, nil
		}
		pause := time.Duration(len(gone)) * time.Second / time.Duration(r.SweepRate)
		if err := sleep.For(ctx, pause); err != nil {
			return deleted, err
		}
	}
}
