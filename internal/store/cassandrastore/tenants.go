package cassandrastore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/andonhq/andon"
)

// tenant is what is known of one tenant for a second.
type tenant struct {
	key    string // in every table; "" of one that was deleted
	record andon.Tenant
	read   time.Time
}

// tenants keeps what was read of tenants for a second, since every request asks.
type tenants struct {
	mu   sync.Mutex
	byID map[andon.TenantID]*tenant
}

func newTenants() *tenants { return &tenants{byID: map[andon.TenantID]*tenant{}} }

func (t *tenants) fresh(id andon.TenantID, now time.Time) *tenant {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.byID[id]
	if found == nil || found.key == "" || now.Sub(found.read).Abs() >= every {
		return nil
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

// stale has a tenant read anew.
func (t *tenants) stale(id andon.TenantID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if was := t.byID[id]; was != nil {
		t.byID[id] = &tenant{record: was.record}
	}
}

// deleted remembers that a tenant was deleted, with the version that its row has now.
func (t *tenants) deleted(id andon.TenantID, version int64) {
	t.put(&tenant{record: andon.Tenant{ID: id, Version: uint64(version)}})
}

// storedTenant is a tenant's record as it is kept, as JSON. New fields work at their zero value.
type storedTenant struct {
	Events      andon.Retention  `json:"events"`
	Readings    andon.Retention  `json:"readings"`
	MaxFuture   andon.Duration   `json:"max_future"`
	SilentAfter andon.Duration   `json:"silent_after"`
	States      []andon.StateDef `json:"states"`
	Floor       [2]int64         `json:"floor"` // of events and of readings

	Clock andon.ClockMark `json:"clock,omitzero"`
}

func encodeTenant(t *andon.Tenant) (string, error) {
	text, err := json.Marshal(storedTenant{
		Events: t.Events, Readings: t.Readings, MaxFuture: t.MaxFuture,
		SilentAfter: t.SilentAfter, States: t.States.Defs(),
		Floor: [2]int64{int64(t.Floor.Events), int64(t.Floor.Readings)}, Clock: t.Clock,
	})
	return string(text), err
}

func decodeTenant(id andon.TenantID, text string, version int64) (andon.Tenant, error) {
	var stored storedTenant
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return andon.Tenant{}, fmt.Errorf("read tenant %q: %w", id, err)
	}
	states, err := andon.NewStateSet(stored.States)
	return andon.Tenant{
		ID: id, Version: uint64(version), Events: stored.Events, Readings: stored.Readings,
		MaxFuture: stored.MaxFuture, SilentAfter: stored.SilentAfter,
		States: states, Clock: stored.Clock,
		Floor: andon.Horizon{
			Events: andon.Time(stored.Floor[0]), Readings: andon.Time(stored.Floor[1]),
		},
	}, err
}

const tenantColumns = "SELECT id, record, version, life FROM tenants " +
	"WHERE part = 'tenants'"

// tenantRow is a row of the table. One without a record is of a tenant that was deleted.
type tenantRow struct {
	id, record string
	version    int64
	life       int
}

func (r *tenantRow) into() []any {
	return []any{&r.id, &r.record, &r.version, &r.life}
}

func (r *tenantRow) tenant() (*tenant, error) {
	record, err := decodeTenant(andon.TenantID(r.id), r.record, r.version)
	if err != nil {
		return nil, andon.Errorf(andon.Internal, "%w", err)
	}
	return &tenant{key: tenantKey(record.ID, r.life), record: record}, nil
}

// tenantRow reads one row; the zero row where there is none.
func (s *Store) tenantRow(ctx context.Context, id andon.TenantID) (row tenantRow, err error) {
	q := question{tenantColumns + " AND id = ?", 0}
	err = s.each(ctx, q, []any{string(id)}, row.into(), func() {})
	return row, err
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
	if row.record == "" {
		return nil, andon.NoTenant(id)
	}
	t, err := row.tenant()
	if err == nil {
		s.clamp(&t.record)
		t.read = began
		s.tenants.put(t)
	}
	return t, err
}

// Tenants is of andon.Tenants.
func (s *Store) Tenants(ctx context.Context) ([]andon.Tenant, error) {
	var all []andon.Tenant
	var row tenantRow
	var damaged error
	err := s.each(ctx, question{tenantColumns, 0}, nil, row.into(), func() {
		if row.record == "" {
			return
		}
		t, err := row.tenant()
		if damaged = errors.Join(damaged, err); err == nil {
			s.clamp(&t.record)
			all = append(all, t.record)
		}
	})
	byID := func(a, b andon.Tenant) int { return cmp.Compare(a.ID, b.ID) }
	slices.SortFunc(all, byID)
	return all, errors.Join(err, damaged)
}

// Tenant is of andon.Tenants. What another process changed is seen within a second.
func (s *Store) Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return andon.Tenant{}, err
	}
	return t.record, nil
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
	if row.record != "" && uint64(row.version) == is.Version {
		err = s.checkStates(ctx, &row, &is)
	} else if row.record != "" || is.Version != 0 {
		s.tenants.stale(is.ID)
		err = andon.Errorf(andon.Conflict, "tenant %q was changed meanwhile", is.ID)
	}
	if err == nil {
		err = s.outlive(ctx, &row)
	}
	if err != nil {
		return andon.Tenant{}, err
	}
	is.Version = uint64(row.version) + 1
	text, err := encodeTenant(&is)
	if err != nil {
		return andon.Tenant{}, err
	}
	if err := s.swapTenant(ctx, is.ID, &row, text); err != nil {
		return andon.Tenant{}, err
	}
	s.tenants.put(&tenant{tenantKey(is.ID, row.life), is, s.now()})
	return is, nil
}

// outlive waits, before the next life of a tenant begins, until no process takes the former one for
// alive: what it wrote there would be acknowledged and lost.
func (s *Store) outlive(ctx context.Context, row *tenantRow) error {
	if row.id == "" || row.record != "" {
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

// checkStates refuses to change the severity of a state that has entries.
func (s *Store) checkStates(ctx context.Context, row *tenantRow, is *andon.Tenant) error {
	was, err := row.tenant()
	if err != nil {
		return err
	}
	seen, err := s.seenStates(ctx, was.key)
	if err != nil {
		return err
	}
	if name, ok := was.record.States.Reorders(is.States, seen); ok {
		e := andon.AtField("body.states", "state %q has entries, and on Cassandra it keeps its "+
			"severity %d, since what devices are found by follows from it; %d was asked for: "+
			"name the state anew, or use another tenant",
			name, was.record.States.Severity(name), is.States.Severity(name))
		e.Kind = andon.Conflict
		return e
	}
	return nil
}

// Reorder is of andon.Tenants: there is never anything to do, since severities stay.
func (s *Store) Reorder(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	return s.Tenant(ctx, id)
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

// swapTenant writes a record over the version that was read, "" to delete it.
func (s *Store) swapTenant(
	ctx context.Context, id andon.TenantID, was *tenantRow, record string,
) error {
	q := s.session.Query("UPDATE tenants SET record = ?, version = ?, life = ? "+
		"WHERE part = 'tenants' AND id = ? IF version = ?",
		record, was.version+1, was.life, string(id), was.version)
	if was.id == "" {
		q = s.session.Query("INSERT INTO tenants (part, id, record, version, life) "+
			"VALUES ('tenants', ?, ?, ?, ?) IF NOT EXISTS", string(id), record, 1, 0)
	}
	found := map[string]any{}
	// Not to be repeated by the driver: the first time may have happened, and the second would not.
	applied, err := q.Consistency(s.options.write()).Idempotent(false).
		MapScanCASContext(ctx, found)
	if err != nil {
		return failure("write the tenant", err)
	}
	if !applied {
		s.tenants.stale(id)
		return andon.Errorf(andon.Conflict, "tenant %q was changed meanwhile", id)
	}
	return nil
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

// DeleteTenant is of andon.Tenants. Its rows are given back in the background; the next life of a
// tenant of that name has keys of its own.
func (s *Store) DeleteTenant(ctx context.Context, id andon.TenantID) error {
	if id == andon.DefaultTenant {
		return andon.Errorf(andon.Conflict, "tenant %q always exists and can't be deleted", id)
	}
	row, err := s.tenantRow(ctx, id)
	if err != nil {
		return err
	}
	if row.record == "" {
		return andon.NoTenant(id)
	}
	over := tenantKey(id, row.life)
	// Before, so that it is not forgotten; and after, since a purge may have found it too early.
	if err := s.markOver(ctx, over); err != nil {
		return err
	}
	row.life++
	if err := s.swapTenant(ctx, id, &row, ""); err != nil {
		return err
	}
	if err := s.markOver(ctx, over); err != nil {
		return err
	}
	s.tenants.deleted(id, row.version+1)
	s.counts.forget(over)
	select {
	case s.over <- struct{}{}:
	default: // it is going to look anyway
	}
	return nil
}

// markOver notes that a life is over and its rows are to be given back.
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
