package cassandrastore

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// Device implements andon.Current.
func (s *Store) Device(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (andon.Device, error) {
	ctx, end := s.within(ctx)
	defer end()
	t, err := s.tenant(ctx, id)
	if err != nil {
		return andon.Device{}, err
	}
	d, err := s.device(ctx, t, t.Purged.Key(device))
	if err == nil && d == nil {
		err = andon.NoDevice(device)
	}
	if err != nil {
		return andon.Device{}, err
	}
	d.ID = device
	return *d, nil
}

// device returns what a device shows; nil if it was never heard or is retired.
func (s *Store) device(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID,
) (*andon.Device, error) {
	v, err := s.shown(ctx, t, device)
	switch {
	case err != nil:
		return nil, err
	case v.pending != nil && s.feeds:
		return s.complete(ctx, t, device, v.pending)
	case !v.Alive(t.Record.States):
		return nil, nil
	}
	d, err := s.showing(ctx, t, device, v)
	if err != nil || !v.searched || !s.feeds || s.isUnwritten(t, device) {
		return d, err
	}
	// The log may have what was written after the view was read. Then there is a mark by now, or
	// the feed has it.
	v, err = s.readPartition(ctx, t.Key, device, false)
	if err == nil && v.pending != nil {
		return s.complete(ctx, t, device, v.pending)
	}
	return d, err
}

// showing returns what a device shows that is not retired, by its view.
func (s *Store) showing(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, v *view,
) (*andon.Device, error) {
	if _, _, err := s.resolve(ctx, t, device, v, nil); err != nil {
		return nil, err
	}
	d := v.shown(device, t.Record.States)
	open := d.Severity > 0
	if open && v.escalated >= d.IncidentSince {
		r, err := s.escalatedNow(ctx, t, device, v)
		if err != nil {
			return nil, err
		}
		d.EscalatedTo = r.To
		d.EscalatedEntry = andon.EntryRef{Time: r.Time, State: r.State}
		d.EscalatedAt = r.At
		if d.EscalatedTo != "" && andon.CollectsEscalations(ctx) { // next to other devices
			e, err := s.rows.Entry(ctx, t, device, r.Time, r.State)
			if err != nil {
				return nil, err
			}
			if e != nil {
				note(ctx, e)
			}
		}
	}
	if final := v.Run.Final && (!open || v.Incident.Final); !final && s.quiet(v) {
		s.reviews.Add(merge.DueReview{
			Tenant: t.Record.ID, Device: device, Due: s.now(), Review: merge.Review{Quiet: true},
		})
	}
	return &d, nil
}

// Devices implements andon.Current. Devices are found by index rows, in the order of their ids, and
// each is checked against what it shows.
func (s *Store) Devices(
	ctx context.Context, id andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	return seq.From(func() (*rows.Tenant, error) { return s.tenant(ctx, id) }, func(
		t *rows.Tenant, yield func(andon.Device) bool,
	) error {
		if q.Sort != andon.ByDevice {
			return andon.Errorf(andon.Unsupported, "the cassandra store lists devices by id only, "+
				"since it would have to read all of them for another order: ask by state, or use "+
				"sort=device")
		}
		found, err := s.candidates(ctx, t, q)
		if err != nil {
			return err
		}
		show := func(ids []andon.DeviceID) ([]andon.Device, error) {
			return shared.Found(ctx, ids,
				func(ctx context.Context, device andon.DeviceID) (*andon.Device, error) {
					return s.listed(ctx, t, device, &q)
				})
		}
		return shared.Select(found, q.Limit, show, yield)
	})
}

// Retire implements andon.Current.
func (s *Store) Retire(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, at andon.Time,
) (andon.Time, error) {
	ctx, end := s.within(ctx)
	defer end()
	err := s.onDevice(ctx, id, device, func(
		ctx context.Context, t *rows.Tenant, device andon.DeviceID, slots *taken,
	) error {
		if err := s.views(ctx, t, slots, 0); err != nil {
			return err
		}
		was := slots.Slots[0].View
		if !was.Alive(t.Record.States) {
			return andon.NoDevice(rows.IDOf(device))
		}
		at = max(at, was.NewestKey(t.Record.States).Time+1)
		return s.retire(ctx, t, device, was, at, andon.ByRetirement)
	})
	if err != nil {
		return 0, err
	}
	return at, nil
}

// retire writes a retirement. The index rows of the device stay until the review: an append that
// has not seen the retirement may bring the device back, and take them as written. Those of a
// retired device are never shown.
func (s *Store) retire(
	ctx context.Context, t *rows.Tenant, device andon.DeviceID, was *view, at andon.Time,
	kind andon.ChangeKind,
) error {
	index := s.newIndexRows(t.Key, s.ttl(andon.Forever))
	index.Device(string(device))
	cause, err := s.pending(ctx, t, kind, s.stamp())
	if err == nil {
		err = index.Write(ctx, rows.Retire(t, device, at, s.stamp(), cause)...)
	}
	if err != nil {
		return err
	}
	if was.Alive(t.Record.States) {
		newest := was.NewestKey(t.Record.States)
		s.counts.Raise(t.Key, was.Generation(t.Gen()), device, newest, at, was.Received)
		s.reviews.Add(merge.DueReview{
			Tenant: t.Record.ID, Device: device, Due: s.now().Add(s.options.Settle),
			Former: newest.State,
		})
	}
	return s.changed(ctx, t, cause, device)
}

// Retirements implements andon.Current.
func (s *Store) Retirements(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) ([]andon.Time, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	device = t.Purged.Key(device)
	var at andon.Time
	var all []andon.Time
	q := cql.Ask("SELECT at FROM retirements_by_device WHERE tenant = ? AND device = ?", 2)
	err = s.db.Each(ctx, q, []any{t.Key, string(device)}, []any{&at}, func() {
		all = append(all, at)
	})
	return all, err
}

// candidates are the devices that a query may select, in order, each once: by the index rows with
// the fewest devices.
func (s *Store) candidates(
	ctx context.Context, t *rows.Tenant, q andon.DeviceQuery,
) (iter.Seq2[andon.DeviceID, error], error) {
	from := q.Prefix
	if q.After != nil && string(q.After.Device) >= from {
		from = designs.After(t.Purged.Key(q.After.Device))
	}
	switch {
	case q.Kind != andon.ShownDevices:
		return s.streams(ctx, allDevices(t.Key, from), q), nil
	case q.EscalatedTo != "":
		return s.escalatedDevices(ctx, t, q, from)
	case q.Operator != "":
		theirs := designs.IDsFrom("devices_by_operator", 2, "tenant", "operator")
		args := []any{t.Key, string(q.Operator), from}
		return s.streams(ctx, []designs.Finding{{Query: theirs, Args: args}}, q), nil
	case q.States.MatchesAll():
		return s.streams(ctx, allDevices(t.Key, from), q), nil
	}
	var all []designs.Finding
	reads := s.working.Load().Reads
	if d, ok := reads.(designs.WholeDesign); ok && len(q.States.Names()) != 1 {
		whole := d.FindAll(designs.Place{Tenant: t.Key, Device: from})
		return s.streams(ctx, []designs.Finding{whole}, q), nil
	}
	seen, err := s.rows.States(ctx, t.Key)
	if err != nil {
		return nil, err
	}
	for _, state := range seen {
		if !q.States.Match(state) {
			continue
		}
		for _, severity := range t.Severities(state) {
			all = append(all, reads.Find(designs.Place{
				Tenant: t.Key, Device: from, State: state, Severity: severity,
			})...)
			if !reads.OneRow() {
				break // its rows have no severity
			}
		}
	}
	return s.streams(ctx, all, q), nil
}

func allDevices(tenant, from string) []designs.Finding {
	all := make([]designs.Finding, rows.Buckets)
	for bucket := range rows.Buckets {
		ask := designs.IDsFrom("devices_by_tenant", 2, "tenant", "bucket")
		all[bucket] = designs.Finding{Query: ask, Args: []any{tenant, bucket, from}}
	}
	return all
}

// streams are the devices of findings.
func (s *Store) streams(
	ctx context.Context, all []designs.Finding, q andon.DeviceQuery,
) iter.Seq2[andon.DeviceID, error] {
	partitions := 0
	for _, f := range all {
		partitions += max(f.Buckets, 1)
	}
	size := cql.PageOf(q.Limit, partitions)
	streams := make([]*shared.Rows[andon.DeviceID], len(all))
	for i, f := range all {
		if streams[i] = s.stream(f, size, q.States); f.Buckets > 0 {
			streams[i] = s.inBuckets(f, size)
		}
	}
	return shared.IDs(ctx, q.Prefix, streams...)
}

// inBuckets is the devices of several buckets, in order. A page has up to size rows of each bucket.
// It ends with the first bucket of which there may be more: what others have after that is read
// again.
func (s *Store) inBuckets(f designs.Finding, size int) *shared.Rows[andon.DeviceID] {
	return shared.NewRows(func(ctx context.Context, from []byte) (
		ids []andon.DeviceID, next []byte, err error,
	) {
		args := append(slices.Clone(f.Args), size)
		if from != nil {
			args[len(f.Args)-1] = string(from)
		}
		var bucket int
		var row, end string
		var rows []string
		read := map[int]int{}
		_, err = s.db.Page(ctx, f.Query, 0, nil, args, []any{&bucket, &row}, func() {
			rows = append(rows, row)
			if read[bucket]++; read[bucket] == size && (next == nil || row < end) {
				end, next = row, []byte(row+"\x00")
			}
		})
		slices.Sort(rows)
		for _, row := range rows {
			if next == nil || row <= end {
				ids = append(ids, andon.DeviceID(designs.DeviceOf(row)))
			}
		}
		return ids, next, err
	})
}

// stream is the devices that one query finds in some states.
func (s *Store) stream(
	f designs.Finding, size int, states andon.StateFilter,
) *shared.Rows[andon.DeviceID] {
	var row, column string
	into := []any{&row}
	if f.State != nil {
		size, into = cql.PageRows, append(into, &column)
	}
	return shared.NewRows(func(ctx context.Context, state []byte) (
		ids []andon.DeviceID, next []byte, err error,
	) {
		next, err = s.db.Page(ctx, f.Query, size, state, f.Args, into, func() {
			if f.State == nil || states.Match(f.State(column)) {
				ids = append(ids, andon.DeviceID(designs.DeviceOf(row)))
			}
		})
		return ids, next, err
	})
}

// escalatedDevices reads the devices that were ever escalated to the supervisor of a query.
func (s *Store) escalatedDevices(
	ctx context.Context, t *rows.Tenant, q andon.DeviceQuery, from string,
) (iter.Seq2[andon.DeviceID, error], error) {
	var ids []andon.DeviceID
	days := s.rows.Units(ctx, t.Key, rows.OfSupervisor, string(q.EscalatedTo), 0, rows.LastDay,
		andon.Desc)
	for u, err := range days {
		if err != nil {
			return nil, err
		}
		entries, err := s.rows.EscalatedOn(ctx, t, q.EscalatedTo, u.Number)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if id := string(e.Device); id >= from && strings.HasPrefix(id, q.Prefix) {
				ids = append(ids, e.Device)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return seq.List(func() ([]andon.DeviceID, error) { return ids, nil }), nil
}
