package cassandrastore

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/rwlock"
	"github.com/andonhq/andon/internal/seq"
	doc "github.com/andonhq/andon/internal/store/tenants"
)

// tenant is what is known of one tenant for a second.
type tenant struct {
	key    string // in every table; "" of one that was deleted
	record andon.Tenant
	read   time.Time
	purged *purged // nil: none was

	doc.Own
}

// tenants keeps what was read of tenants for a second, since every request asks.
type tenants struct {
	mu      sync.Mutex
	byID    map[andon.TenantID]*tenant
	appends map[andon.TenantID]*rwlock.Lock
	purged  map[string]*purged   // by key
	listed  map[string]time.Time // when those were read
}

func newTenants() *tenants {
	return &tenants{
		byID: map[andon.TenantID]*tenant{}, appends: map[andon.TenantID]*rwlock.Lock{},
		purged: map[string]*purged{}, listed: map[string]time.Time{},
	}
}

// appendsOf returns the lock of a tenant's appends: they hold it beside each other, and a change of
// severities alone, since what an append writes follows from them.
func (t *tenants) appendsOf(id andon.TenantID) *rwlock.Lock {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.appends[id]
	if l == nil {
		l = &rwlock.Lock{}
		t.appends[andon.TenantID(strings.Clone(string(id)))] = l
	}
	return l
}

func (t *tenants) fresh(id andon.TenantID, now time.Time) *tenant {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.byID[id]
	if found == nil || found.key == "" || now.Sub(found.read).Abs() >= every ||
		now.Sub(t.listed[found.key]).Abs() >= every { // a tenant that was written is not read
		return nil
	}
	if now := t.purged[found.key]; now != found.purged {
		is := *found
		is.purged, found = now, &is
		t.byID[id] = found
	}
	return found
}

// put remembers a record. One that was read before a change that is known already is left out.
func (t *tenants) put(is *tenant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := is.record.ID
	if was := t.byID[id]; was == nil || was.record.Version <= is.record.Version {
		t.byID[id] = is
	}
}

// allStale has all tenants read again: another process that held itself for alone may have changed
// them.
func (t *tenants) allStale() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, is := range t.byID {
		t.byID[is.record.ID] = &tenant{record: is.record, Own: is.Own}
	}
}

// stale has a tenant read again.
func (t *tenants) stale(id andon.TenantID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if was := t.byID[id]; was != nil {
		t.byID[id] = &tenant{record: was.record, Own: was.Own}
	}
}

// deleted remembers that a tenant was deleted, with the version that its row has now.
func (t *tenants) deleted(id andon.TenantID, version int64) {
	t.put(&tenant{record: andon.Tenant{ID: id, Version: uint64(version)}})
}

// tenantRow reads the record of a tenant; the zero row where there never was one.
func (s *Store) tenantRow(ctx context.Context, id andon.TenantID) (recordRow, error) {
	return s.recordRow(ctx, "", andon.TenantKind, string(id))
}

// tenantFrom reads the row of a tenant. Its place is the incarnation that it is in. One that was
// deleted has its next incarnation in due, and nothing else.
func tenantFrom(id andon.TenantID, row recordRow) (t *tenant, err error) {
	t = &tenant{Own: doc.Own{Place: uint32(row.due)}}
	if row.standing() != 0 {
		r := andon.Record{Kind: andon.TenantKind, ID: string(id)}
		row.into(&r)
		t.record, t.Own, err = doc.Decode(r)
	}
	t.key = tenantKey(id, int(t.Place))
	return t, err
}

// tenant returns a tenant that is there.
func (s *Store) tenant(ctx context.Context, id andon.TenantID) (*tenant, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t := s.tenants.fresh(id, s.now()); t != nil {
		return t, nil
	}
	began := s.now()
	row, err := s.tenantRow(ctx, id)
	if err != nil {
		return nil, err
	}
	if row.standing() == 0 {
		return nil, andon.NoTenant(id)
	}
	t, err := tenantFrom(id, row)
	if err != nil {
		return nil, err
	}
	if t.purged, err = s.readPurged(ctx, t.key); err != nil {
		return nil, err
	}
	s.clamp(&t.record)
	t.read = began
	s.tenants.put(t)
	s.tenants.wasListed(t.key, began)
	return t, nil
}

// Tenants is of andon.Tenants.
func (s *Store) Tenants(ctx context.Context) ([]andon.Tenant, error) {
	var all []andon.Tenant
	var damaged error
	q := andon.RecordQuery{Limit: math.MaxInt}
	for r, err := range s.Records(ctx, "", andon.TenantKind, q) {
		if err != nil {
			return nil, err
		}
		record, _, err := doc.Decode(r)
		if damaged = errors.Join(damaged, err); err == nil {
			s.clamp(&record)
			all = append(all, record)
		}
	}
	return all, damaged
}

// Tenant is of andon.Tenants. What another process changed is seen within a second.
func (s *Store) Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return andon.Tenant{}, err
	}
	return t.record, nil
}

// listIn is what walk yields of a tenant.
func listIn[T any](
	ctx context.Context, s *Store, id andon.TenantID,
	walk func(t *tenant, yield func(T) bool) error,
) iter.Seq2[T, error] {
	return seq.Of(func(yield func(T) bool) error {
		t, err := s.tenant(ctx, id)
		if err != nil {
			return err
		}
		return walk(t, yield)
	})
}

// PutTenant is of andon.Tenants.
func (s *Store) PutTenant(ctx context.Context, is andon.Tenant) (andon.Tenant, error) {
	if err := s.mayKeep(&is); err != nil {
		return andon.Tenant{}, err
	}
	row, err := s.tenantRow(ctx, is.ID)
	if err != nil {
		return andon.Tenant{}, err
	}
	was, err := tenantFrom(is.ID, row)
	if err != nil {
		return andon.Tenant{}, err
	}
	t := &tenant{key: was.key, record: is, Own: was.Own}
	if row.standing() != 0 && row.standing() == is.Version {
		own, end, err := s.beginStates(ctx, was, is.States)
		if err != nil {
			return andon.Tenant{}, err
		}
		defer end()
		t.Own = own
	}
	return s.storeTenant(ctx, row, t)
}

// storeTenant stores a tenant over the row that was read.
func (s *Store) storeTenant(
	ctx context.Context, row recordRow, t *tenant,
) (andon.Tenant, error) {
	t.record.Reordering = len(t.Former) > 0
	document, err := doc.Encode(&t.record, t.Own)
	if err == nil {
		err = document.CheckPut(row.standing())
	}
	if err == nil {
		err = s.outlive(ctx, row)
	}
	if err == nil {
		document, err = s.putRecord(ctx, "", document, row)
	}
	if err != nil {
		s.tenants.stale(t.record.ID)
		return andon.Tenant{}, err
	}
	t.record.Version, t.read = document.Version, s.now()
	s.tenants.put(t)
	return t.record, nil
}

// outlive waits, before the next incarnation of a tenant begins, until no process takes the former
// one for alive: what it wrote there would be acknowledged and lost.
func (s *Store) outlive(ctx context.Context, row recordRow) error {
	if row.version == 0 || row.standing() != 0 {
		return nil
	}
	select {
	case <-time.After(every):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mayKeep refuses a tenant that wants to keep more than the keyspace does, since Cassandra lets
// rows expire by the keyspace's retention. To keep for ever is to keep as long as the keyspace
// does; a new tenant keeps no more either.
func (s *Store) mayKeep(t *andon.Tenant) error {
	asked := *t
	s.clamp(t)
	for _, r := range []struct {
		what      string
		asks, has andon.Retention
	}{
		{"events", asked.Events, t.Events}, {"readings", asked.Readings, t.Readings},
	} {
		if r.asks > r.has && t.Version != 0 {
			return andon.AtField("body.retention."+r.what,
				"this keyspace keeps %s for %s, and a tenant can't keep them for %s: raise it "+
					"with `andon store init`, for what is written from then on",
				r.what, r.has, r.asks)
		}
	}
	return nil
}

// clamp shortens the retentions of a tenant to those of the keyspace, which may have been shortened
// since.
func (s *Store) clamp(t *andon.Tenant) {
	w := s.working.Load()
	for _, r := range []struct {
		of  *andon.Retention
		has andon.Retention
	}{{&t.Events, w.Retention}, {&t.Readings, w.Readings}} {
		if r.has != andon.Forever && (*r.of == andon.Forever || *r.of > r.has) {
			*r.of = r.has
		}
	}
}

// beginStates returns what is kept with a set of states that follows another. It keeps the appends
// of this process out, where the severity of any state changes, until the change ends.
func (s *Store) beginStates(
	ctx context.Context, was *tenant, states *andon.StateSet,
) (own doc.Own, end func(), err error) {
	var all []andon.State
	for _, d := range slices.Concat(was.record.States.Defs(), states.Defs()) {
		all = append(all, d.Name)
	}
	if _, changes := was.record.States.Reorders(states, all); !changes {
		return was.Own, func() {}, nil
	}
	appends := s.tenants.appendsOf(was.record.ID)
	if err := appends.Lock(ctx); err != nil {
		return own, nil, err
	}
	seen, err := s.seenStates(ctx, was.key)
	if err != nil {
		appends.Unlock()
		return own, nil, err
	}
	return was.next(states, seen), appends.Unlock, nil
}

// seenStates returns the states that have entries, in order.
func (s *Store) seenStates(ctx context.Context, key string) (seen []andon.State, err error) {
	var state string
	q := question{"SELECT state FROM states_by_tenant WHERE tenant = ?", 1}
	err = s.each(ctx, q, []any{key}, []any{&state}, func() {
		seen = append(seen, andon.State(state))
	})
	return seen, err
}

// Had is of andon.Tenants. The names of states and metrics do not expire.
func (s *Store) Had(
	ctx context.Context, id andon.TenantID,
) (events, readings bool, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return false, false, err
	}
	seen, err := s.seenStates(ctx, t.key)
	if err != nil {
		return false, false, err
	}
	q := question{"SELECT label FROM directory WHERE tenant = ? AND kind = ? AND id = ? LIMIT 1", 3}
	var name string
	err = s.each(ctx, q, []any{t.key, string(ofNames), ofMetric}, []any{&name}, func() {
		readings = true
	})
	return len(seen) > 0, readings, err
}

// ensureDefault makes the default tenant where it is not there.
func (s *Store) ensureDefault(ctx context.Context) error {
	_, err := s.tenant(ctx, andon.DefaultTenant)
	if err == nil || andon.KindOf(err) != andon.NotFound {
		return err
	}
	_, err = s.PutTenant(ctx, andon.NewTenant(andon.DefaultTenant))
	if err != nil && andon.KindOf(err) == andon.Conflict {
		return nil // another process made it
	}
	return err
}

// DeleteTenant is of andon.Tenants. Its rows are given back in the background; the next incarnation
// of a tenant of that name has keys of its own.
func (s *Store) DeleteTenant(ctx context.Context, id andon.TenantID) error {
	if id == andon.DefaultTenant {
		return andon.Errorf(andon.Conflict, "tenant %q always exists and can't be deleted", id)
	}
	row, err := s.tenantRow(ctx, id)
	if err != nil {
		return err
	}
	if row.standing() == 0 {
		return andon.NoTenant(id)
	}
	t, err := tenantFrom(id, row)
	if err != nil {
		return err
	}
	over := t.key
	// Before, so that it is not forgotten; and after, since a purge may have found it too early.
	if err := s.markOver(ctx, over); err != nil {
		return err
	}
	document := andon.Record{Kind: andon.TenantKind, ID: string(id)}
	version, err := s.dropRecord(ctx, "", &document, row, int64(t.Place)+1, 0)
	if err != nil {
		s.tenants.stale(id)
		return err
	}
	if err := s.markOver(ctx, over); err != nil {
		return err
	}
	s.tenants.deleted(id, version)
	s.counts.Forget(over)
	select {
	case s.over <- struct{}{}:
	default: // it is going to look anyway
	}
	return nil
}

// markOver notes that an incarnation is over and its rows are to be given back.
func (s *Store) markOver(ctx context.Context, key string) error {
	return s.write(ctx, []mutation{{{
		"INSERT INTO purges (part, tenant) VALUES ('purges', ?) USING TIMESTAMP ?",
		[]any{key, s.stamp()},
	}}})
}

// Expire is of andon.Tenants. Cassandra lets rows expire by themselves, when the retention of the
// keyspace is over; there is nothing to do.
func (s *Store) Expire(ctx context.Context, id andon.TenantID, _ andon.Horizon) error {
	_, err := s.tenant(ctx, id)
	return err
}
