package dynamostore

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
)

// The newest escalation record of an entry is one item, which is in GSI2 unless it is a withdrawal.
// Before it is replaced it is copied to the earlier ones. So the records of an entry are the
// earlier ones and the newest, wherever a writer ends, and the thousandth costs what the first did.

// latestRecord reads the newest record of an entry.
func (s *Store) latestRecord(
	ctx context.Context, d *device, ref andon.EntryRef,
) (items.LatestRecord, error) {
	i, err := s.db.Get(ctx, items.TableLog, items.Latest(d, ref).Item())
	if err != nil || i == nil {
		return items.LatestRecord{}, err
	}
	return items.ReadLatest(i)
}

// latestMarked reads the newest records of those of some entries of any devices that have one.
func (s *Store) latestMarked(
	ctx context.Context, marks []mark) (map[mark]items.LatestRecord, error,
) {
	found, err := s.readMarked(ctx, marks)
	all := make(map[mark]items.LatestRecord, len(found))
	for m, i := range found {
		if all[m], err = items.ReadLatest(i); err != nil {
			return nil, err
		}
	}
	return all, err
}

// replaceLatest puts a newest record over the one that was read.
func (s *Store) replaceLatest(ctx context.Context, d *device, was, is items.LatestRecord) error {
	if was.Version != 0 && (was.At != is.At || was.To != is.To) {
		if err := s.keepEscalation(ctx, d, &was.Escalation); err != nil {
			return err
		}
	}
	key := items.Latest(d, is.Ref()).Item()
	i := is.Item(d, max(was.Version+1, s.stamp()))
	for _, to := range []andon.PersonID{was.To, is.To} {
		s.indexed(d.Tenant, items.Named{Of: items.OfSupervisor, Name: string(to)}, 1)
	}
	c := ddb.Absent(items.AttrDevice)
	if was.Version != 0 {
		c = ddb.Unchanged(items.AttrVersion, was.Version)
	}
	return s.db.Swap(ctx, items.TableLog, key, i, c)
}

// keepEscalation writes a record as an earlier one.
func (s *Store) keepEscalation(ctx context.Context, d *device, r *andon.Escalation) error {
	former := items.EscalationItem(items.FormerKey(d, r), r)
	return s.db.Write(ctx, ddb.Write{Table: items.TableLog, Put: former})
}

// insert adds a record with its own time among those of its entry. The same record twice is one.
func (s *Store) insert(ctx context.Context, d *device, r items.LatestRecord) error {
	return s.db.Again(ctx, ddb.ErrRaced, "PutItem", items.TableLog, func() error {
		was, err := s.latestRecord(ctx, d, r.Ref())
		switch {
		case err != nil:
			return err
		case was.Version != 0 && shared.CompareEscalations(r.Escalation, was.Escalation) > 0:
			return s.keepEscalation(ctx, d, &r.Escalation)
		case was.Version != 0 && was.Escalation == r.Escalation:
			return nil
		}
		return s.replaceLatest(ctx, d, was, r)
	})
}

// escalations returns all records of an entry, newest first.
func (s *Store) escalations(
	ctx context.Context, d *device, ref andon.EntryRef,
) (all []andon.Escalation, err error) {
	newest, err := s.latestRecord(ctx, d, ref)
	if err != nil || newest.Version == 0 {
		return nil, err
	}
	q := ddb.Query{
		Table: items.TableLog, Key: items.LogKeys(),
		Partition: items.Join(d.Rows(), items.PartEscalations),
		Prefix:    items.StateDate(ref.State, ref.Time) + "#",
	}
	former, err := ddb.Collect(ctx, s.db, q, items.ReadEscalation)
	if err != nil {
		return nil, err
	}
	all = append([]andon.Escalation{newest.Escalation}, former...)
	// The newest may have been copied to the earlier ones already, where its successor was not put.
	slices.SortStableFunc(all, shared.CompareEscalations)
	return slices.CompactFunc(all, func(a, b andon.Escalation) bool {
		return shared.CompareEscalations(a, b) == 0
	}), nil
}

// Escalate implements andon.Log.
func (s *Store) Escalate(
	ctx context.Context, id andon.TenantID, r andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return r, false, err
	}
	index := items.IndexRows{}
	index.Name(t, andon.SupervisorNames, string(r.To))
	if err := s.writeIndexed(ctx, index); err != nil {
		return r, false, err
	}
	err = s.withDevice(ctx, t, r.Device, andon.ByEscalation, func(d *device) (bool, error) {
		e, of, err := s.escalable(ctx, d, r)
		if err == nil && e.Withdrawn != nil {
			err = andon.NoEntry(r.Device, r.Time, r.State)
		}
		if err != nil {
			return false, err
		}
		if !added {
			if kept, added, err = s.addRecord(ctx, d, r, e.Escalations, of); err != nil {
				return false, err
			}
		}
		if len(e.Escalations) == 0 && !added {
			return false, nil
		}
		d.Escalates(r.Time, max(kept.At, e.CurrentEscalation().At))
		return true, s.history(ctx, d).escalate(r.Time, d.Keep(r.State))
	})
	return kept, added, err
}

// escalable returns an entry that can be escalated, with its records: one that exists, or that the
// device shows although it has expired and was deleted.
func (s *Store) escalable(
	ctx context.Context, d *device, r andon.Escalation,
) (e andon.Entry, of event, err error) {
	ref := andon.EntryRef{Time: r.Time, State: r.State}
	e, of, err = s.entry(ctx, d, ref)
	if andon.KindOf(err) == andon.NotFound && d.Shows(r) {
		e.Escalations, err = s.escalations(ctx, d, ref)
	}
	return e, of, err
}

// addRecord adds a record as the newest, unless it changes nothing.
func (s *Store) addRecord(
	ctx context.Context, d *device, r andon.Escalation, records []andon.Escalation, of event,
) (kept andon.Escalation, added bool, err error) {
	err = s.db.Again(ctx, ddb.ErrRaced, "PutItem", items.TableLog, func() error {
		was, err := s.latestRecord(ctx, d, andon.EntryRef{Time: r.Time, State: r.State})
		switch kept = r; {
		case err != nil || slices.Contains(records, r):
			return err
		case r.Repeats(&was.Escalation):
			kept = was.Escalation
			kept.Device, kept.Time, kept.State = r.Device, r.Time, r.State
			return nil
		case was.Version != 0 && r.At <= was.At:
			kept.At = was.At + 1
		}
		kept.State = andon.State(strings.Clone(string(kept.State)))
		err = s.replaceLatest(ctx, d, was, items.LatestRecord{Escalation: kept, Of: of})
		added = err == nil
		return err
	})
	return kept, added, err
}

// EscalatedEntries implements andon.Log.
func (s *Store) EscalatedEntries(
	ctx context.Context, owner andon.TenantID, id andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	ctx = s.forAnswer(ctx)
	return listOfDevice(ctx, s, owner, id, func(d *device, yield func(andon.Entry) bool) error {
		yield = seq.UpTo(q.Limit, yield)
		for e, err := range s.escalatedOf(ctx, d, q) {
			if err != nil {
				return err
			}
			entry, _, err := s.entry(ctx, d, e.Ref())
			if andon.KindOf(err) == andon.NotFound || entry.Withdrawn != nil {
				continue // it has expired, or was wrong
			}
			if err != nil || !yield(entry) {
				return err
			}
		}
		return nil
	})
}

// escalatedOf finds the entries of a device that were ever escalated.
func (s *Store) escalatedOf(
	ctx context.Context, d *device, q andon.EventQuery,
) iter.Seq2[event, error] {
	var all []ddb.Query
	if d.EverEscalated.To != 0 {
		part := items.Join(d.Rows(), items.PartEscalated)
		all = inStates(d.States, q, func(state andon.State) []ddb.Query {
			return []ddb.Query{items.StateRange(part, state, q.Rest())}
		})
	}
	return items.Found(ctx, s.db, d.Tenant, q, all, items.ReadEscalated)
}
