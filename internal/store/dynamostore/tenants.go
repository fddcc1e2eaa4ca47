package dynamostore

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/shared"
	doc "github.com/andonhq/andon/internal/store/tenants"
)

// tenant is what is known of one tenant for a second.
type tenant struct {
	key    string // in every table
	record andon.Tenant
	read   time.Time

	doc.Own
}

// every is how old what a process knows of tenants may be.
const every = time.Second

// tenants keeps what was read of tenants for a second, since every request asks.
type tenants struct {
	mu   sync.Mutex
	byID map[andon.TenantID]*tenant
}

func (t *tenants) fresh(id andon.TenantID, now time.Time) *tenant {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found := t.byID[id]; found != nil && now.Sub(found.read).Abs() < every {
		return found
	}
	return nil
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

// stale has a tenant read again.
func (t *tenants) stale(id andon.TenantID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, id)
}

func tenantRecord(id andon.TenantID) andon.Record {
	return andon.Record{Kind: andon.TenantKind, ID: string(id)}
}

// readTenant reads what is stored of a tenant, which may have been deleted.
func (s *Store) readTenant(ctx context.Context, id andon.TenantID) (*tenant, document, error) {
	r := tenantRecord(id)
	is, err := s.document(ctx, "", &r)
	if err != nil {
		return nil, is, err
	}
	t := &tenant{key: tenantKey(id, is.life)}
	if is.standing() != 0 {
		is.into(&r)
		t.record, t.Own, err = doc.Decode(r)
		s.clamp(&t.record)
	}
	return t, is, err
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
	t, is, err := s.readTenant(ctx, id)
	if err == nil && is.standing() == 0 {
		err = andon.NoTenant(id)
	}
	if err != nil {
		return nil, err
	}
	t.read = began
	s.tenants.put(t)
	return t, nil
}

// Tenants is of andon.Tenants.
func (s *Store) Tenants(ctx context.Context) (all []andon.Tenant, damaged error) {
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
	was, stored, err := s.readTenant(ctx, is.ID)
	if err != nil {
		return andon.Tenant{}, err
	}
	t := &tenant{key: was.key, record: is, Own: was.Own}
	t.record.Reordering = was.record.Reordering
	if stored.standing() != 0 {
		seen, err := s.seenStates(ctx, was)
		if err != nil {
			return andon.Tenant{}, err
		}
		if _, changes := was.record.States.Reorders(is.States, seen); changes {
			t.Generation, t.record.Reordering = was.Generation+1, true
		}
	}
	return s.storeTenant(ctx, stored, t)
}

// storeTenant stores a tenant over the document that was read.
func (s *Store) storeTenant(
	ctx context.Context, stored document, t *tenant,
) (andon.Tenant, error) {
	r, err := doc.Encode(&t.record, t.Own)
	if err == nil {
		err = r.CheckPut(stored.standing())
	}
	if err == nil {
		err = s.outlive(ctx, stored)
	}
	if err == nil {
		r, err = s.putRecord(ctx, "", r, stored)
	}
	if err != nil {
		s.tenants.stale(t.record.ID)
		return andon.Tenant{}, err
	}
	t.record.Version, t.read = r.Version, s.now()
	s.tenants.put(t)
	return t.record, nil
}

// outlive waits, before the next life of a tenant begins, until no process takes the former one for
// alive: what it wrote there would be acknowledged and lost.
func (s *Store) outlive(ctx context.Context, stored document) error {
	if stored.version == 0 || stored.standing() != 0 {
		return nil
	}
	select {
	case <-time.After(every):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mayKeep refuses a tenant that wants to keep more than the tables do, since the service deletes by
// what was written with each item. To keep for ever is to keep as long as the tables do; a new
// tenant keeps no more either.
func (s *Store) mayKeep(t *andon.Tenant) error {
	asked := *t
	s.clamp(t)
	for _, r := range []struct {
		what, setting string
		asks, has     andon.Retention
	}{
		{"events", "retention", asked.Events, t.Events},
		{"readings", "readings_retention", asked.Readings, t.Readings},
	} {
		if r.asks > r.has && t.Version != 0 {
			return andon.AtField("body.retention."+r.what,
				"these tables keep %s for %s, and a tenant can't keep them for %s: raise "+
					"dynamodb.%s, for what is written from then on",
				r.what, r.has, r.asks, r.setting)
		}
	}
	return nil
}

// clamp shortens the retentions of a tenant to those of the tables.
func (s *Store) clamp(t *andon.Tenant) {
	for _, r := range []struct {
		of  *andon.Retention
		has andon.Retention
	}{{&t.Events, s.options.Retention}, {&t.Readings, s.options.ReadingsRetention}} {
		if r.has != andon.Forever && (*r.of == andon.Forever || *r.of > r.has) {
			*r.of = r.has
		}
	}
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

// Reorder is of andon.Tenants. A device that is read or written meanwhile is folded again by the
// way; this brings the lists up to date.
func (s *Store) Reorder(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	for {
		s.tenants.stale(id)
		t, err := s.tenant(ctx, id)
		if err != nil || !t.record.Reordering {
			return s.recordOf(t), err
		}
		if err := s.reorderDevices(ctx, t); err != nil {
			return andon.Tenant{}, err
		}
		now, stored, err := s.readTenant(ctx, id)
		if err != nil {
			return andon.Tenant{}, err
		}
		if now.Generation != t.Generation || stored.standing() == 0 {
			continue // it was changed once more
		}
		now.record.Reordering = false
		record, err := s.storeTenant(ctx, stored, now)
		if err == nil || andon.KindOf(err) != andon.Conflict {
			return record, err
		}
	}
}

func (s *Store) recordOf(t *tenant) andon.Tenant {
	if t == nil {
		return andon.Tenant{}
	}
	return t.record
}

// reorderDevices folds all devices of a tenant that were folded by former severities, once every
// process goes by the present ones. It goes by no index, which might not have a new device yet.
func (s *Store) reorderDevices(ctx context.Context, t *tenant) error {
	select {
	case <-time.After(every):
	case <-ctx.Done():
		return ctx.Err()
	}
	var ids []andon.DeviceID
	err := s.scan(ctx, func(key string, d *device) error {
		if key == t.key && d.Generation < t.Generation {
			ids = append(ids, d.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return shared.Parallel(ctx, len(ids), func(ctx context.Context, i int) error {
		behind := false
		return s.withDevice(ctx, t, ids[i],
			func(now *tenant, d *device) (bool, error) {
				behind = behind || d.Known() && d.Generation < now.Generation
				return behind, nil
			})
	})
}

// reorderAll goes on with what was broken off.
func (s *Store) reorderAll(ctx context.Context) {
	all, err := s.Tenants(ctx)
	for _, t := range all {
		if t.Reordering && ctx.Err() == nil {
			_, failed := s.Reorder(ctx, t.ID)
			err = errors.Join(err, failed)
		}
	}
	if err != nil && ctx.Err() == nil {
		s.options.Log.Warn("devices can't be put in the order of changed severities yet",
			"error", err)
	}
}

// Had is of andon.Tenants. The names of states and metrics do not expire.
func (s *Store) Had(
	ctx context.Context, id andon.TenantID,
) (events, readings bool, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return false, false, err
	}
	for i, key := range []string{"state#" + t.key, namesKey(t, andon.MetricNames)} {
		q := s.record(key)
		q.page = 1
		all, _, err := s.ask(ctx, q, nil)
		if err != nil {
			return false, false, err
		}
		*[]*bool{&events, &readings}[i] = len(all) > 0
	}
	return events, readings, nil
}

// DeleteTenant is of andon.Tenants. Its rows are deleted in the background; the next life of a
// tenant of that name has keys of its own.
func (s *Store) DeleteTenant(ctx context.Context, id andon.TenantID) error {
	if id == andon.DefaultTenant {
		return andon.Errorf(andon.Conflict, "tenant %q always exists and can't be deleted", id)
	}
	t, stored, err := s.readTenant(ctx, id)
	if err == nil && stored.standing() == 0 {
		err = andon.NoTenant(id)
	}
	if err != nil {
		return err
	}
	over := write{table: tableRecords, put: keyed(recordKeys(), "over", t.key)}
	if err := s.writeAll(ctx, []write{over}); err != nil {
		return err
	}
	r := tenantRecord(id)
	is := document{version: max(stored.version+1, s.stamp()), life: stored.life + 1}
	if err = s.swapRecord(ctx, "", &r, stored, is, 0); err == nil {
		s.tally.forget(t.key)
		select {
		case s.over <- struct{}{}:
		default: // it is going to look anyway
		}
	}
	s.tenants.stale(id)
	return err
}

// purge deletes what is left of lives that are over, once no process takes them for alive.
func (s *Store) purge(ctx context.Context) {
	for {
		if err := s.purgeAll(ctx); err != nil && ctx.Err() == nil {
			s.options.Log.Warn("deleted tenants can't be purged yet", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.over:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.options.purgeAfter):
		}
	}
}

func (s *Store) purgeAll(ctx context.Context) error {
	var lives []string
	for i, err := range s.each(ctx, s.record("over")) {
		if err != nil {
			return err
		}
		key := i.text(attrSort)
		_, is, err := s.readTenant(ctx, tenantOf(key))
		if err != nil {
			return err
		}
		if tenantKey(tenantOf(key), is.life) != key { // else its deletion was broken off
			lives = append(lives, key)
		}
	}
	if len(lives) == 0 {
		return nil
	}
	err := s.scan(ctx, func(key string, d *device) error {
		if !slices.Contains(lives, key) {
			return nil
		}
		if err := s.deleteRows(ctx, &tenant{key: key}, d); err != nil {
			return err
		}
		return s.writeAll(ctx, []write{{table: tableDevices, remove: devicesKey(key, d.ID)}})
	})
	for _, key := range lives {
		if err == nil {
			err = s.purgeLife(ctx, key)
		}
	}
	return err
}

// purgeLife deletes what is not of a device, and that the life is over.
func (s *Store) purgeLife(ctx context.Context, key string) error {
	s.tally.forget(key)
	for i, err := range s.each(ctx, s.record(kindsKey(key))) {
		if err == nil {
			err = s.deleteAll(ctx, s.record(documentsKey(key, andon.RecordKind(i.text(attrSort)))))
		}
		if err != nil {
			return err
		}
	}
	if err := s.deleteNames(ctx, &tenant{key: key}); err != nil {
		return err
	}
	over := keyed(recordKeys(), "over", key)
	return s.writeAll(ctx, []write{{table: tableRecords, remove: over}})
}

// Expire is of andon.Tenants. The service deletes by itself what has expired; there is nothing to
// do.
func (s *Store) Expire(ctx context.Context, id andon.TenantID, _ andon.Horizon) error {
	_, err := s.tenant(ctx, id)
	return err
}
