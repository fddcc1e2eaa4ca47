package dynamostore

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/shared"
)

// The newest escalation record of an entry is one item, which is in GSI2 unless it is a withdrawal.
// Before it is replaced it is copied to the earlier ones. So the records of an entry are the
// earlier ones and the newest, wherever a writer ends, and the thousandth costs what the first did.

// Partitions of a device in addition to its shards.
const (
	partEscalated   = "escalated"
	partEscalations = "escalations"
)

// latestRecord is a newest escalation record. The zero value is that of an entry without one.
type latestRecord struct {
	andon.Escalation
	version int64
}

const (
	attrAt   = "At"
	attrTo   = "To"
	attrBy   = "By"
	attrNote = "Note"
)

func latestKey(t *tenant, d *device, at andon.Time, state andon.State) ddb.Item {
	return logKeys().Item(join(d.rows(t), partEscalated), stateDate(state, at))
}

// latestMark returns its mark.
func latestMark(t *tenant, d *device, ref andon.EntryRef) mark {
	return mark{join(d.rows(t), partEscalated), ref}
}

func formerKey(t *tenant, d *device, r *andon.Escalation) ddb.Item {
	return logKeys().Item(join(d.rows(t), partEscalations),
		stateDate(r.State, r.Time)+"#"+timeText(r.At)+"#"+escape(string(r.To)))
}

// escalationItem adds what is kept of a record to its key.
func escalationItem(i ddb.Item, r *andon.Escalation) ddb.Item {
	i[attrAt] = ddb.Number(r.At)
	i.SetText(attrTo, string(r.To))
	i.SetText(attrBy, string(r.By))
	i.SetText(attrNote, r.Note)
	return i
}

func readEscalation(i ddb.Item) (andon.Escalation, bool, error) {
	ref, _, err := splitStateDate(i.Text(attrStateDate))
	_, device := splitDevice(i.Text(attrDevice))
	return andon.Escalation{
		Device: device, Time: ref.Time, State: ref.State, At: i.Time(attrAt),
		To: andon.PersonID(i.Text(attrTo)), By: andon.PersonID(i.Text(attrBy)),
		Note: i.Text(attrNote),
	}, true, err
}

func readLatest(i ddb.Item) (latestRecord, error) {
	r, _, err := readEscalation(i)
	return latestRecord{r, i.Int(attrVersion)}, err
}

// latestRecord reads the newest record of an entry.
func (s *Store) latestRecord(
	ctx context.Context, t *tenant, d *device, at andon.Time, state andon.State,
) (latestRecord, error) {
	i, err := s.db.Get(ctx, tableLog, latestKey(t, d, at, state))
	if err != nil || i == nil {
		return latestRecord{}, err
	}
	return readLatest(i)
}

// latestRecords reads the newest records of those of some entries of a device that have one.
func (s *Store) latestRecords(
	ctx context.Context, t *tenant, d *device, refs []andon.EntryRef,
) (map[andon.EntryRef]latestRecord, error) {
	var marks []mark
	for _, ref := range refs {
		if d.EverEscalated.covers(ref.Time) {
			marks = append(marks, latestMark(t, d, ref))
		}
	}
	found, err := s.latestMarked(ctx, marks)
	all := map[andon.EntryRef]latestRecord{}
	for m, r := range found {
		all[m.EntryRef] = r
	}
	return all, err
}

// latestMarked reads those of any devices.
func (s *Store) latestMarked(ctx context.Context, marks []mark) (map[mark]latestRecord, error) {
	found, err := s.readMarked(ctx, ddb.Query{Table: tableLog, Key: logKeys()}, marks)
	all := make(map[mark]latestRecord, len(found))
	for m, i := range found {
		if all[m], err = readLatest(i); err != nil {
			return nil, err
		}
	}
	return all, err
}

// replaceLatest puts a newest record over the one that was read.
func (s *Store) replaceLatest(
	ctx context.Context, t *tenant, d *device, was, is latestRecord,
) error {
	if was.version != 0 && (was.At != is.At || was.To != is.To) {
		former := escalationItem(formerKey(t, d, &was.Escalation), &was.Escalation)
		if err := s.db.Write(ctx, ddb.Write{Table: tableLog, Put: former}); err != nil {
			return err
		}
	}
	key := latestKey(t, d, is.Time, is.State)
	i := escalationItem(latestKey(t, d, is.Time, is.State), &is.Escalation)
	i[attrVersion] = ddb.Number(max(was.version+1, s.stamp()))
	if is.To != "" {
		i[attrEscalated] = ddb.Text(join(t.Key, string(is.To)))
	}
	c := ddb.Absent(attrDevice)
	if was.version != 0 {
		c = ddb.Unchanged(attrVersion, was.version)
	}
	return s.db.Swap(ctx, tableLog, key, i, c)
}

// insert adds a record with its own time among those of its entry. The same record twice is one.
func (s *Store) insert(ctx context.Context, t *tenant, d *device, r latestRecord) error {
	for tries := 0; ; tries++ {
		was, err := s.latestRecord(ctx, t, d, r.Time, r.State)
		if err != nil {
			return err
		}
		if was.version != 0 && shared.CompareEscalations(r.Escalation, was.Escalation) > 0 {
			former := escalationItem(formerKey(t, d, &r.Escalation), &r.Escalation)
			return s.db.Write(ctx, ddb.Write{Table: tableLog, Put: former})
		}
		if was.version != 0 && was.Escalation == r.Escalation {
			return nil
		}
		if err = s.replaceLatest(ctx, t, d, was, r); !errors.Is(err, ddb.ErrRaced) {
			return err
		}
		if err := s.db.Pause(ctx, tries, "PutItem", tableLog); err != nil {
			return err
		}
	}
}

// escalations returns all records of an entry, newest first.
func (s *Store) escalations(
	ctx context.Context, t *tenant, d *device, at andon.Time, state andon.State,
) (all []andon.Escalation, err error) {
	newest, err := s.latestRecord(ctx, t, d, at, state)
	if err != nil || newest.version == 0 {
		return nil, err
	}
	q := ddb.Query{
		Table: tableLog, Key: logKeys(), Partition: join(d.rows(t), partEscalations),
		Prefix: stateDate(state, at) + "#",
	}
	former, err := ddb.Collect(ctx, s.db, q, readEscalation)
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
	index := indexRows{}
	index.name(t, andon.SupervisorNames, string(r.To))
	if err := s.writeIndexed(ctx, index); err != nil {
		return r, false, err
	}
	err = s.withDevice(ctx, t, r.Device, andon.ByEscalation, func(
		t *tenant, d *device,
	) (bool, error) {
		e, err := s.escalable(ctx, t, d, r)
		if err == nil && e.Withdrawn != nil {
			err = andon.NoEntry(r.Device, r.Time, r.State)
		}
		if err != nil {
			return false, err
		}
		if !added {
			if kept, added, err = s.addRecord(ctx, t, d, r, e.Escalations); err != nil {
				return false, err
			}
		}
		if len(e.Escalations) == 0 && !added {
			return false, nil
		}
		d.EverEscalated.add(r.Time)
		return true, s.history(ctx, t, d).escalate(r.Time, d.keep(r.State))
	})
	return kept, added, err
}

// escalable returns an entry that can be escalated, with its records: one that exists, or that the
// device shows although it has expired and was deleted.
func (s *Store) escalable(
	ctx context.Context, t *tenant, d *device, r andon.Escalation,
) (andon.Entry, error) {
	e, err := s.entry(ctx, t, d, r.Time, r.State)
	if andon.KindOf(err) == andon.NotFound && d.shows(t, r) {
		e.Escalations, err = s.escalations(ctx, t, d, r.Time, r.State)
	}
	return e, err
}

// shows reports whether the device shows the entry of an escalation.
func (d *device) shows(t *tenant, r andon.Escalation) bool {
	shown := d.Show(t.Record.States)
	return d.Alive() && shown.Shows(andon.EntryRef{Time: r.Time, State: r.State})
}

// addRecord adds a record as the newest, unless it changes nothing.
func (s *Store) addRecord(
	ctx context.Context, t *tenant, d *device, r andon.Escalation, records []andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	for tries := 0; ; tries++ {
		was, err := s.latestRecord(ctx, t, d, r.Time, r.State)
		if err != nil {
			return r, false, err
		}
		switch {
		case slices.Contains(records, r):
			return r, false, nil
		case r.Repeats(&was.Escalation):
			kept = was.Escalation
			kept.Device, kept.Time, kept.State = r.Device, r.Time, r.State
			return kept, false, nil
		case was.version != 0 && r.At <= was.At:
			r.At = was.At + 1
		}
		err = s.replaceLatest(ctx, t, d, was, latestRecord{Escalation: r})
		if !errors.Is(err, ddb.ErrRaced) {
			r.State = andon.State(strings.Clone(string(r.State)))
			return r, err == nil, err
		}
		if err := s.db.Pause(ctx, tries, "PutItem", tableLog); err != nil {
			return r, false, err
		}
	}
}

// EscalatedEntries implements andon.Log.
func (s *Store) EscalatedEntries(
	ctx context.Context, owner andon.TenantID, id andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	ctx = s.forAnswer(ctx)
	return listOfDevice(ctx, s, owner, id, func(
		t *tenant, d *device, yield func(andon.Entry) bool,
	) error {
		yield = seq.UpTo(q.Limit, yield)
		for e, err := range s.escalatedOf(ctx, t, d, q) {
			if err != nil {
				return err
			}
			entry, err := s.entry(ctx, t, d, e.Time, e.State)
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
	ctx context.Context, t *tenant, d *device, q andon.EventQuery,
) iter.Seq2[event, error] {
	if d.EverEscalated.To == 0 || q.Span.Empty() {
		return func(func(event, error) bool) {}
	}
	return s.escalatedIn(ctx, t, d.States, q, func(state andon.State) ddb.Query {
		return s.stateRange(join(d.rows(t), partEscalated), state, q.Rest())
	})
}
