package cassandrastore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// RebuildLatest changes how devices are found by state, or writes the present index rows again,
// while every process continues. It has four steps, each a change of the settings that all
// processes follow: writers write both layouts; every device is written into the new one, and
// repaired from its log; readers read the new layout; the old one is dropped. It may be interrupted
// anywhere and started again.
func (s *Store) RebuildLatest(
	ctx context.Context, to, buckets string, progress func(done, total int64),
) error {
	r := &rebuild{store: s, progress: progress}
	if err := r.plan(ctx, to, buckets); err != nil {
		return err
	}
	progress(0, s.counts.Devices())
	if r.changes {
		if err := r.follow(ctx, r.from, &r.to); err != nil {
			return err
		}
	}
	if err := r.repair(ctx); err != nil {
		return err
	}
	if r.changes {
		if err := r.follow(ctx, r.to, &r.from); err != nil {
			return err
		}
		if err := r.follow(ctx, r.to, nil); err != nil {
			return err
		}
	}
	return r.drop(ctx)
}

type rebuild struct {
	store    *Store
	progress func(done, total int64)
	from, to designs.Layout
	changes  bool
	text     string // of the settings as this rebuild last knew them
	tenants  []andon.Tenant
}

// plan decides on the new layout and makes its tables.
func (r *rebuild) plan(ctx context.Context, to, buckets string) (err error) {
	s := r.store
	if to != "" && !slices.Contains(designs.Names(), to) {
		return andon.Errorf(andon.Invalid, "design %q is unknown: use %s",
			to, strings.Join(designs.Names(), ", "))
	}
	if _, err := designs.ParseBuckets(buckets); err != nil {
		return err
	}
	if err := s.refresh(ctx); err != nil {
		return err
	}
	if r.tenants, err = s.Tenants(ctx); err != nil {
		return err
	}
	r.from = s.working.Load().Latest
	r.to = designs.Layout{Design: cmp.Or(to, r.from.Design)}
	if buckets != "" && r.to.Design != "buckets" {
		return andon.Errorf(andon.Invalid, "the design %s has no buckets", r.to.Design)
	}
	var declared []andon.StateDef
	for _, t := range r.tenants {
		declared = append(declared, t.States.Defs()...)
	}
	r.to.Complete(cmp.Or(buckets, r.from.Buckets), declared)
	r.text = s.working.Load().Text
	if next := s.working.Load().Next; next != nil && r.from.Equal(r.to) {
		r.from = *next // broken off when readers had gone over
	}
	r.changes = !r.from.Equal(r.to)
	d, err := designs.New(r.to)
	if err != nil {
		return err
	}
	for _, t := range d.Tables() {
		if err := s.db.Define(ctx, t.Create(s.options.Keyspace, 1)); err != nil {
			return err
		}
	}
	return nil
}

// follow changes the settings, and waits until every process follows them and what was written
// before has landed.
func (r *rebuild) follow(ctx context.Context, reads designs.Layout, also *designs.Layout) error {
	s := r.store
	stored, text, err := provision.ReadSettings(ctx, s.db, s.options.Keyspace)
	if err != nil {
		return err
	}
	if text != r.text {
		return andon.Errorf(andon.Conflict, "the settings of the keyspace were changed meanwhile: "+
			"does somebody else rebuild, too? Run it again when that is done")
	}
	stored.Latest, stored.Next = reads, also
	next, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	if string(next) != text {
		err = provision.SwapSettings(ctx, s.db, s.options.Keyspace, text, string(next))
	}
	if err != nil {
		return err
	}
	r.text = string(next)
	if err := s.refresh(ctx); err != nil {
		return err
	}
	return sleep.For(ctx, s.options.landedAfter())
}

func (r *rebuild) repair(ctx context.Context) error {
	total, done := r.store.counts.Devices(), int64(0)
	did := func(n int) {
		done += int64(n)
		r.progress(done, max(total, done))
	}
	for i := range r.tenants {
		t, err := r.store.tenant(ctx, r.tenants[i].ID)
		if andon.KindOf(err) == andon.NotFound && err != nil {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		if err := r.store.eachDevice(ctx, t, r.store.repair, did); err != nil {
			return err
		}
	}
	return nil
}

// eachDevice calls do for all devices of a tenant, many concurrently, and did with how many are
// done.
func (s *Store) eachDevice(
	ctx context.Context, t *rows.Tenant,
	do func(context.Context, *rows.Tenant, andon.DeviceID) error, did func(n int),
) error {
	all := s.streams(ctx, allDevices(t.Key, ""), andon.DeviceQuery{Limit: cql.PageRows})
	for ids, err := range seq.Pieces(func() int { return 256 }, all) {
		if err == nil {
			err = shared.Parallel(ctx, len(ids), func(ctx context.Context, i int) error {
				if !t.Purged.Present(ids[i]) {
					return nil
				}
				return do(ctx, t, ids[i])
			})
		}
		if err != nil {
			return err
		}
		did(len(ids))
	}
	return nil
}

// repair compares what is stored of a device with its log, and writes its index rows again.
func (s *Store) repair(ctx context.Context, t *rows.Tenant, device andon.DeviceID) error {
	return s.withDevice(ctx, t, device, func(t *rows.Tenant, v *view) error {
		if err := s.raiseFromLog(ctx, t, device, v); err != nil {
			return err
		}
		_, _, err := s.putRight(ctx, t, device, v, &merge.Review{Quiet: s.quiet(v)}, nil)
		return err
	})
}

// withDevice calls do with the view of a device while no append of this process writes to it,
// unless the device is purged meanwhile.
func (s *Store) withDevice(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID,
	do func(t *rows.Tenant, v *view) error,
) error {
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	t, slots, err := s.take(ctx, t, device)
	switch {
	case errors.Is(err, errPurged):
		return nil
	case err != nil:
		return err
	}
	defer slots.Give()
	slots.Forget()
	v, err := s.readView(ctx, t, device, false)
	if err != nil {
		return err
	}
	return do(t, v)
}

// putRight writes the index rows and the starts of a device again, by what it shows, and more. It
// deletes the index rows of the states that the device left, and writes those of its state if the
// run is another one. With nil it writes them anyway, and deletes those of all others if the device
// is quiet: else a process may just take the index row of another state for kept.
func (s *Store) putRight(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, v *view, review *merge.Review,
	left []andon.State, more ...cql.Mutation,
) (run, incident merge.NewStart, err error) {
	index := append(more, restoredRows(t, device, v)...)
	if !v.Alive(t.Record.States) {
		return run, incident, s.db.Write(ctx, append(index, s.unlist(t, device, v)...)...)
	}
	p := placeOf(t, device, v)
	add := left == nil || !v.Run.Begins(p.Gen, v.RunBase(t.Record.States))
	if left == nil && s.quiet(v) {
		left = v.Others("")
	}
	left = slices.DeleteFunc(left, func(of andon.State) bool { return of == "" || of == p.State })
	before := p
	before.At--
	for _, d := range s.working.Load().Writes {
		if index = append(index, designs.RemoveAll(d, before, left)...); add {
			index = append(index, d.Add(p))
		}
	}
	if err := s.db.Write(ctx, index...); err != nil {
		return run, incident, err
	}
	run, incident, err = s.resolve(ctx, t, device, v, review)
	if m := rows.SetStarts(t.Key, device, run, incident); err == nil && len(m) > 0 {
		err = s.db.Write(ctx, m)
	}
	return run, incident, err
}

// raiseFromLog writes the newest entry of the log if what the device shows is older: then a write
// was lost.
func (s *Store) raiseFromLog(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, v *view,
) error {
	for e, err := range s.rows.Walk(ctx, t, device, andon.EventQuery{Limit: 1}, nil) {
		key := e.Key(t.Record.States)
		key.Device = ""
		if err != nil || key.Compare(v.NewestKey(t.Record.States)) <= 0 {
			return err
		}
		a := &appending{store: s, tenant: t, stamp: s.stamp()}
		d := &deviceAppend{events: []andon.Event{e.Event}, is: v}
		v.Raise(merge.Newest{State: e.State, Time: e.Time})
		v.Received = max(v.Received, min(e.Time, s.options.Now()))
		v.heardStamp = max(v.heardStamp, int64(v.Received)) // what was written meanwhile stays
		a.shown(d)
		return s.db.Write(ctx, a.log...)
	}
	return nil
}

// drop drops the tables and views of designs that no process uses any more, including those of an
// interrupted rebuild. Partitions of a number of buckets that is no longer used stay: a tombstone
// of now would hide what a later rebuild to that number writes at the times of entries, and stale
// index rows are harmless.
func (r *rebuild) drop(ctx context.Context) error {
	s := r.store
	now, err := designs.New(r.to)
	if err != nil {
		return err
	}
	there, err := s.db.Tables(ctx, s.options.Keyspace)
	if err != nil {
		return err
	}
	delete(there, "latest_by_device")
	for _, t := range now.Tables() {
		delete(there, t.Name)
	}
	for _, what := range []string{"MATERIALIZED VIEW", "TABLE"} { // a view before its table
		for name, is := range there {
			if is != what || !strings.HasPrefix(name, "latest_") {
				continue
			}
			text := "DROP " + what + " IF EXISTS " + s.options.Keyspace + "." + name
			if err := s.db.Define(ctx, text); err != nil {
				return err
			}
		}
	}
	return nil
}
