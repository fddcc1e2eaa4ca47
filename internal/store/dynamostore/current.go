package dynamostore

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
)

// Device implements andon.Current.
func (s *Store) Device(
	ctx context.Context, tenant andon.TenantID, id andon.DeviceID,
) (andon.Device, error) {
	ctx = s.forAnswer(ctx)
	d, err := s.find(ctx, tenant, id)
	if err == nil {
		err = s.present(ctx, d)
	}
	if err == nil && !d.Alive() {
		err = andon.NoDevice(id)
	}
	if err != nil {
		return andon.Device{}, err
	}
	shown := []andon.Device{*d.Shown()}
	err = s.contents(ctx, d.Tenant, []*device{d}, shown)
	return shown[0], err
}

// contents fills in the message and the attributes of the newest entries, and reads the escalations
// where they are wanted.
func (s *Store) contents(
	ctx context.Context, t *tenant, all []*device, shown []andon.Device,
) error {
	var keys []ddb.Item
	at := map[andon.DeviceID]int{}
	for i, d := range all {
		at[d.ID] = i
		ref := andon.EntryRef{Time: d.Time, State: d.State}
		keys = append(keys, places(d, ref)...)
	}
	found, err := s.eventsAt(ctx, t, keys)
	if err == nil && ddb.IsEventual(ctx) && len(found) < len(all) {
		// The device shows an entry that an eventual read does not see yet.
		found, err = s.eventsAt(ddb.Strongly(ctx), t, keys)
	}
	for _, e := range found {
		is := &shown[at[e.Device]]
		is.Message, is.Attributes = e.Message, e.Attributes
	}
	if err != nil || !andon.CollectsEscalations(ctx) {
		return err
	}
	var escalated []mark
	for i, d := range all {
		if shown[i].EscalatedTo != "" {
			escalated = append(escalated, items.Latest(d, shown[i].EscalatedEntry))
		}
	}
	records, err := s.latestMarked(ctx, escalated)
	for _, r := range records {
		andon.NoteEscalation(ctx, r.Escalation)
	}
	return err
}

// Devices implements andon.Current. Devices are found through indexes, and each is checked against
// its item.
func (s *Store) Devices(
	ctx context.Context, id andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	ctx = s.forAnswer(ctx)
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Device) bool) error {
		if err := ddb.ByIndex(ctx, "lists of devices"); err != nil {
			return err
		}
		if q.Kind == andon.AllDevices {
			return s.unread(ctx, t, &q, yield)
		}
		if q.Sort != andon.ByDevice && q.Kind == andon.ShownDevices {
			return s.sorted(ctx, t, &q, yield)
		}
		found, err := s.candidates(ctx, t, &q)
		if err != nil {
			return err
		}
		show := func(ids []andon.DeviceID) ([]andon.Device, error) {
			return s.listed(ctx, t, ids, &q)
		}
		return shared.Select(found, q.Limit, show, yield)
	})
}

// unread yields devices of every kind without reading them. One that moved, while the indexes were
// read, to a list that had been read before changed just now.
func (s *Store) unread(
	ctx context.Context, t *tenant, q *andon.DeviceQuery, yield func(andon.Device) bool,
) error {
	found, err := s.candidates(ctx, t, q)
	var ids []andon.DeviceID
	if err == nil { // one more: where it resumes may be among them
		ids, err = seq.Collect(seq.First(q.Limit+1, found))
	}
	if err != nil {
		return err
	}
	ids = append(ids, s.Logs.ForTenant(t).Recent(indexLag)...)
	slices.Sort(ids)
	yield = seq.UpTo(q.Limit, yield)
	for _, id := range slices.Compact(ids) {
		if d := (andon.Device{ID: id}); q.Admits(&d) && !yield(d) {
			break
		}
	}
	return nil
}

// listed returns those of some devices that a query selects, as its list shows them.
func (s *Store) listed(
	ctx context.Context, t *tenant, ids []andon.DeviceID, q *andon.DeviceQuery,
) (shown []andon.Device, err error) {
	of, shown, err := s.admitted(ctx, t, ids, q)
	if err == nil && q.Kind == andon.ShownDevices {
		err = s.contents(ctx, t, of, shown)
	}
	return shown, err
}

// admitted is listed without message and attributes.
func (s *Store) admitted(
	ctx context.Context, t *tenant, ids []andon.DeviceID, q *andon.DeviceQuery,
) (of []*device, shown []andon.Device, err error) {
	ids = slices.DeleteFunc(ids, func(id andon.DeviceID) bool { return !q.AdmitsID(id) })
	all, err := s.readDevices(ctx, t, ids)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range all {
		if err := s.present(ctx, d); err != nil {
			return nil, nil, err
		}
		is, in := d.List(q.Kind, t.Record.States)
		if q.Kind == andon.MeasuringDevices && d.Time == 0 && d.Retired == 0 {
			newest, err := s.newestReading(ctx, d, q.MeasuredSince)
			if err != nil {
				return nil, nil, err
			}
			if in = newest != nil; in {
				is.Time = newest.Time
			}
		}
		if in && q.Admits(&is) {
			of, shown = append(of, d), append(shown, is)
		}
	}
	return of, shown, nil
}

// candidates returns the devices that a query may select, in order, each once, by the index with
// the fewest.
func (s *Store) candidates(
	ctx context.Context, t *tenant, q *andon.DeviceQuery,
) (iter.Seq2[andon.DeviceID, error], error) {
	var all []ddb.Query
	switch {
	case q.Kind == andon.RetiredDevices:
		all = items.ListQueries(t, items.ListRetired)
	case q.Kind == andon.MeasuringDevices, q.Kind == andon.AssignedDevices:
		all = items.ListQueries(t, items.ListSilent)
	case q.EscalatedTo != "":
		all = items.DevicesOf(t, items.OfSupervisor, string(q.EscalatedTo))
	case q.Operator != "":
		all = items.DevicesOf(t, items.OfOperator, string(q.Operator))
	default:
		if q.Kind == andon.AllDevices {
			all = items.ListQueries(t, items.ListRetired, items.ListSilent)
		}
		seen, err := s.seenStates(ctx, t.Key)
		if err != nil {
			return nil, err
		}
		for _, state := range seen {
			if q.States.Match(state) {
				all = append(all, items.DevicesOf(t, items.OfState, string(state))...)
			}
		}
	}
	if q.Kind == andon.ShownDevices {
		return s.ids(ctx, all, q, s.recent(t, q)), nil
	}
	return s.ids(ctx, all, q), nil
}

// indexLag is how long an index is expected to lack a device that changed, at most.
const indexLag = 10 * time.Second

// recent returns devices that changed just now, which the indexes may lack, as far as this process
// has read the feed. So a list that is read after a position of the feed lacks no device of a
// change before it (andon.Snapshot).
func (s *Store) recent(t *tenant, q *andon.DeviceQuery) *shared.Rows[andon.DeviceID] {
	ids := slices.DeleteFunc(s.Logs.ForTenant(t).Recent(indexLag), func(id andon.DeviceID) bool {
		return string(id) < q.Prefix || q.After != nil && id < q.After.Device
	})
	return shared.NewRows(func(context.Context, []byte) ([]andon.DeviceID, []byte, error) {
		return ids, nil, nil
	})
}

// ids returns the devices that queries of indexes find, from where the page begins, and others.
func (s *Store) ids(
	ctx context.Context, all []ddb.Query, q *andon.DeviceQuery,
	others ...*shared.Rows[andon.DeviceID],
) iter.Seq2[andon.DeviceID, error] {
	for i := range all {
		ask := &all[i]
		ask.Page, ask.From = items.PageOf(q.Limit, len(all)), q.Prefix
		if q.After != nil {
			ask.From = max(ask.From, string(q.After.Device))
		}
	}
	others = append(others, ddb.RowsOf(s.db, all, deviceIn(items.AttrID))...)
	return shared.IDs(ctx, q.Prefix, others...)
}

func deviceIn(attribute string) func(ddb.Item) (andon.DeviceID, bool, error) {
	return func(i ddb.Item) (andon.DeviceID, bool, error) {
		return andon.DeviceID(i.Text(attribute)), true, nil
	}
}

// Counts implements andon.Current. What other processes wrote is counted at the next scan of all
// devices.
func (s *Store) Counts(
	ctx context.Context, id andon.TenantID, silentBefore andon.Time,
) ([]andon.StateCount, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	if andon.ConsistencyOf(ctx) == andon.Strong {
		return nil, andon.Errorf(andon.Unsupported, "what other processes wrote is counted up to "+
			"%s later (dynamodb.recount): ask without consistency=strong", s.options.Recount)
	}
	if err := s.counts.Await(ctx); err != nil {
		return nil, err
	}
	return s.counts.States(t.Key, silentBefore), nil
}

// Regroup implements andon.Current.
func (s *Store) Regroup(
	ctx context.Context, id andon.TenantID,
	of func(andon.DeviceID) uint32, devices []andon.DeviceID,
) error {
	t, err := s.tenant(ctx, id)
	if err == nil {
		s.counts.Regroup(t.Key, of, devices)
	}
	return err
}

// Names implements andon.Current.
func (s *Store) Names(
	ctx context.Context, id andon.TenantID, q andon.NameQuery,
) iter.Seq2[andon.NameCount, error] {
	ctx = s.forAnswer(ctx)
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.NameCount) bool) error {
		ask := items.Records(items.NamesKey(t, q.Of))
		if ask.Order, ask.Page = andon.Asc, q.Limit; q.After != "" {
			ask.From = q.After + "\x01" // no name has control characters
		}
		names := seq.Map(s.db.Items(ctx, ask), func(i ddb.Item) andon.NameCount {
			return andon.NameCount{Name: i.Text(items.AttrSort)}
		})
		return seq.Yield(seq.First(q.Limit, names), yield)
	})
}
