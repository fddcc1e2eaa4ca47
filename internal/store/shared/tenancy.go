package shared

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/recent"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/tenants"
)

// TenantAge is how old what a process knows of a tenant may be.
const TenantAge = recent.Age

// Tenant is what a process knows of a tenant.
type Tenant struct {
	Key    string // what it is in keys: another one in each of its incarnations
	Record andon.Tenant
	tenants.Own
}

// Tenancy serves single records by what a database can do with their documents, and the tenants of
// a store as such documents. It keeps each tenant for TenantAge, since every request asks.
type Tenancy struct {
	// Read returns the document of a record as it is now, the zero value where there is none. A
	// tenant is what it is in keys; "" is none.
	Read func(ctx context.Context, tenant string, r *andon.Record) (Document, error)
	// Write writes a document over the one that was read, with all that finds it; Conflict where
	// that was changed meanwhile.
	Write func(ctx context.Context, tenant string, r *andon.Record, was, is Document) error
	// Stamp is a time in µs, above all that this process took before.
	Stamp func() int64

	Recent recent.Values[*Tenant]
	Limits func() tenants.Limits

	// Key is what a tenant is in keys that was deleted so many times.
	Key func(id andon.TenantID, incarnations int) string
	// List returns documents as andon.Records has it.
	List func(
		context.Context, andon.TenantID, andon.RecordKind, andon.RecordQuery,
	) iter.Seq2[andon.Record, error]
	// Seen returns the states that have entries, in order.
	Seen func(ctx context.Context, key string) ([]andon.State, error)
	// Named returns the names in use as andon.Current has it.
	Named func(context.Context, andon.TenantID, andon.NameQuery) iter.Seq2[andon.NameCount, error]
	// Hold holds the appends of this process to a tenant, where what they write depends on its
	// severities; nil: nothing is held.
	Hold func(context.Context, andon.TenantID) (release func(), err error)
	// Refold writes all devices of a tenant again that were written in an earlier generation, once
	// every process uses the present one. Reordered wakes the job that calls it.
	Refold    func(context.Context, *Tenant) error
	Reordered chan struct{}
	// Over notes that the incarnation of a tenant ends and what is to be deleted then. Once it has
	// ended, Purging wakes the job that does so, and Counts forget it.
	Over    func(ctx context.Context, key string) error
	Purging chan struct{}
	Counts  *Counts
	// Feed has changes of records; nil: none has.
	Feed interface {
		// PrepareTenant is called before a change is stored, and may note something in Own.
		PrepareTenant(ctx context.Context, is *Tenant) error
		// AppendTenant appends the change that is stored. It may be repeated.
		AppendTenant(ctx context.Context, is *Tenant) error
	}

	admitting sync.Mutex
	admitted  map[string]*admitted // by Tenant.Key
}

// admitted are the states that a tenant has had, as far as this process has read, and those that it
// admitted itself.
type admitted struct {
	states map[andon.State]bool
	read   andon.Time
}

// Stored returns what is stored of a tenant, which may have been deleted.
func (t *Tenancy) Stored(ctx context.Context, id andon.TenantID) (*Tenant, Document, error) {
	id = andon.TenantID(strings.Clone(string(id))) // what is read is remembered by it
	r := andon.Record{Kind: andon.TenantKind, ID: string(id)}
	stored, err := t.Read(ctx, "", &r)
	if err != nil {
		return nil, stored, err
	}
	is := &Tenant{Own: tenants.Own{Place: uint32(stored.Incarnations)}}
	if stored.Live() != 0 {
		stored.Into(&r)
		is.Record, is.Own, err = tenants.Decode(r)
		t.Limits().Clamp(&is.Record)
	}
	is.Key = t.Key(id, max(stored.Incarnations, int(is.Place)))
	return is, stored, err
}

func (t *Tenancy) existing(ctx context.Context, id andon.TenantID) (*Tenant, Document, error) {
	is, stored, err := t.Stored(ctx, id)
	if err == nil && stored.Live() == 0 {
		err = andon.NoTenant(id)
	}
	return is, stored, err
}

// Known returns a tenant that exists. The default tenant is made where it is not there: in a new
// store, and in a table that was lost and made again.
func (t *Tenancy) Known(ctx context.Context, id andon.TenantID) (*Tenant, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return t.Recent.Get(ctx, id, 0, func(ctx context.Context, _ *Tenant) (*Tenant, error) {
		is, _, err := t.existing(ctx, id)
		if id == andon.DefaultTenant && andon.KindOf(err) == andon.NotFound {
			_, err = t.PutTenant(ctx, andon.NewTenant(id))
			if err == nil || andon.KindOf(err) == andon.Conflict { // another process made it
				is, _, err = t.existing(ctx, id)
			}
		}
		return is, err
	})
}

// KeyOf returns what the tenant of a record is in keys; "" is none.
func (t *Tenancy) KeyOf(ctx context.Context, id andon.TenantID) (string, error) {
	if id == "" {
		return "", ctx.Err()
	}
	is, err := t.Known(ctx, id)
	if err != nil {
		return "", err
	}
	return is.Key, nil
}

// Tenants implements andon.Tenants.
func (t *Tenancy) Tenants(ctx context.Context) (all []andon.Tenant, damaged error) {
	q := andon.RecordQuery{Limit: math.MaxInt}
	for r, err := range t.List(ctx, "", andon.TenantKind, q) {
		if err != nil {
			return nil, err
		}
		record, _, err := tenants.Decode(r)
		if damaged = errors.Join(damaged, err); err == nil {
			t.Limits().Clamp(&record)
			all = append(all, record)
		}
	}
	return all, damaged
}

// Each calls do with each tenant that exists, and continues after an error.
func (t *Tenancy) Each(ctx context.Context, do func(*Tenant) error) error {
	all, err := t.Tenants(ctx)
	for i := range all {
		is, failed := t.Known(ctx, all[i].ID)
		if failed == nil {
			failed = do(is)
		}
		if failed != nil && andon.KindOf(failed) != andon.NotFound { // it was deleted meanwhile
			err = errors.Join(err, failed)
		}
	}
	return err
}

// Tenant implements andon.Tenants. What another process changed is seen within TenantAge.
func (t *Tenancy) Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	is, err := t.Known(ctx, id)
	if err != nil {
		return andon.Tenant{}, err
	}
	return is.Record, nil
}

// PutTenant implements andon.Tenants.
func (t *Tenancy) PutTenant(ctx context.Context, record andon.Tenant) (andon.Tenant, error) {
	if err := t.Limits().Admit(&record); err != nil {
		return andon.Tenant{}, err
	}
	was, stored, err := t.Stored(ctx, record.ID)
	if err != nil {
		return andon.Tenant{}, err
	}
	is := &Tenant{Key: was.Key, Record: record, Own: was.Own}
	is.Record.Reordering = was.Record.Reordering
	if stored.Live() != 0 && stored.Live() == record.Version {
		end, err := t.changeStates(ctx, was, is)
		if err != nil {
			return andon.Tenant{}, err
		}
		defer end()
	}
	now, err := t.Replace(ctx, stored, is)
	if err == nil && stored.Live() != 0 && is.Generation == was.Generation {
		now, err = t.reorderSince(ctx, was, now)
	}
	return now, err
}

// Replace stores a tenant over the document that was read.
func (t *Tenancy) Replace(
	ctx context.Context, stored Document, is *Tenant,
) (andon.Tenant, error) {
	changes := t.Feed != nil && stored.Live() != 0
	if changes {
		if err := t.Feed.PrepareTenant(ctx, is); err != nil {
			return andon.Tenant{}, err
		}
	}
	r, err := tenants.Encode(&is.Record, is.Own)
	if err == nil {
		err = r.CheckPut(stored.Live())
	}
	if err == nil && stored.Version != 0 && stored.Live() == 0 {
		// The next incarnation begins when no process takes the earlier one for alive: what such a
		// process wrote would be acknowledged and lost.
		err = sleep.For(ctx, TenantAge)
	}
	if err == nil {
		r, err = t.Put(ctx, "", r, stored)
	}
	t.Recent.Forget(is.Record.ID)
	if err != nil {
		return andon.Tenant{}, err
	}
	// What is remembered is read from the document: no part of it is a part of the request.
	r.ID = strings.Clone(r.ID)
	if is.Record, is.Own, err = tenants.Decode(r); err != nil {
		return andon.Tenant{}, err
	}
	if changes {
		err = t.Feed.AppendTenant(ctx, is)
	}
	return is.Record, err
}

// Amend changes a tenant as it is stored now, again where it was changed meanwhile. change returns
// whether there is anything to store.
func (t *Tenancy) Amend(
	ctx context.Context, id andon.TenantID, change func(now *Tenant) bool,
) (record andon.Tenant, done bool, err error) {
	for {
		now, stored, err := t.existing(ctx, id)
		if err != nil || !change(now) {
			return andon.Tenant{}, false, err
		}
		record, err = t.Replace(ctx, stored, now)
		if err == nil || andon.KindOf(err) != andon.Conflict {
			return record, err == nil, err
		}
	}
}

// DeleteTenant implements andon.Tenants. Its rows are deleted in the background; the next
// incarnation of a tenant of that name has keys of its own.
func (t *Tenancy) DeleteTenant(ctx context.Context, id andon.TenantID) error {
	if id == andon.DefaultTenant {
		return andon.Errorf(andon.Conflict, "tenant %q always exists and can't be deleted", id)
	}
	was, stored, err := t.existing(ctx, id)
	if err == nil {
		err = t.Over(ctx, was.Key) // first, so that it is not forgotten
	}
	if err != nil {
		return err
	}
	r := andon.Record{Kind: andon.TenantKind, ID: string(id)}
	is := Document{
		Version: t.Next(stored), Incarnations: max(stored.Incarnations, int(was.Place)) + 1,
	}
	err = t.Write(ctx, "", &r, stored, is)
	if t.Recent.Forget(id); err != nil {
		return err
	}
	err = t.Over(ctx, was.Key) // again: the job may have read the note too early
	t.Counts.Forget(was.Key)
	sleep.Wake(t.Purging)
	return err
}

// AdmitStates implements andon.Tenants. The states that a tenant has had are read before one is
// admitted that is new to this process, but at most once in TenantAge: once the limit is reached,
// each new state would otherwise read again. What several processes admit at the same moment may be
// more than the limit together.
func (t *Tenancy) AdmitStates(
	ctx context.Context, id andon.TenantID, states []andon.State, most int,
) ([]andon.State, error) {
	is, err := t.Known(ctx, id)
	if err != nil {
		return nil, err
	}
	t.admitting.Lock()
	defer t.admitting.Unlock()
	if t.admitted == nil {
		t.admitted = map[string]*admitted{}
	}
	had := t.admitted[is.Key]
	if had == nil {
		had = &admitted{states: map[andon.State]bool{}}
		t.admitted[is.Key] = had
	}
	if !slices.ContainsFunc(states, func(s andon.State) bool { return !had.states[s] }) {
		return nil, nil
	}
	if now := t.Recent.Now(); max(now.Sub(had.read), had.read.Sub(now)).Std() >= TenantAge {
		seen, err := t.Seen(ctx, is.Key)
		if err != nil {
			return nil, err
		}
		for _, state := range seen {
			had.states[state] = true
		}
		had.read = now
	}
	return is.Record.States.Admit(states, had.states, most), nil
}

// Had implements andon.Tenants. The names of states and metrics do not expire.
func (t *Tenancy) Had(
	ctx context.Context, id andon.TenantID,
) (events, readings bool, err error) {
	is, err := t.Known(ctx, id)
	if err != nil {
		return false, false, err
	}
	seen, err := t.Seen(ctx, is.Key)
	if err != nil {
		return false, false, err
	}
	ctx = andon.WithConsistency(ctx, andon.Strong) // what is concluded from it is stored
	for _, err := range t.Named(ctx, id, andon.NameQuery{Of: andon.MetricNames, Limit: 1}) {
		return len(seen) > 0, err == nil, err
	}
	return len(seen) > 0, false, nil
}

// Expire implements andon.Tenants. The database deletes by itself what has expired.
func (t *Tenancy) Expire(ctx context.Context, id andon.TenantID, _ andon.Horizon) error {
	_, err := t.Known(ctx, id)
	return err
}
