package rows

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared"
)

// NewestEscalation is the escalation of a device that was made last, of any of its entries; To is
// absent if it withdrew one. It is stored as
//
//	[time of the entry, 8][its severity][its state][0][supervisor, inverted][255]
//
// with the time at which it was made as write timestamp. So of several the newest wins, of one time
// that of the newest entry, and of one entry that of the supervisor who comes first, as in
// NewestOf. From the second generation of the severities on it begins with
//
//	[255][generation, 4]
//
// so that of those that were made at one time the one that was written in a later generation wins.
type NewestEscalation struct {
	andon.Escalation
	Gen shared.Generation
}

func packEscalation(r *andon.Escalation, t *Tenant) cql.Packed {
	var b []byte
	if t.Generation > 0 {
		b = binary.BigEndian.AppendUint32([]byte{255}, uint32(t.Generation))
	}
	b = binary.BigEndian.AppendUint64(b, uint64(r.Time))
	b = append(b, t.Record.States.Severity(r.State))
	b = append(append(b, r.State...), 0)
	for _, c := range []byte(r.To) {
		b = append(b, ^c)
	}
	return append(b, 255)
}

// UnpackEscalation decodes an escalation; the zero value where there is none.
func UnpackEscalation(b []byte, stamp int64) (e NewestEscalation) {
	const state = 8 + 1
	if len(b) > 5 && b[0] == 255 {
		e.Gen = shared.Generation(binary.BigEndian.Uint32(b[1:]))
		b = b[5:]
	}
	if len(b) < state+2 {
		return e
	}
	end := bytes.IndexByte(b[state:], 0) + state
	if end < state {
		return e
	}
	e.Time, e.At = andon.Time(binary.BigEndian.Uint64(b)), andon.Time(stamp)
	e.State = andon.State(b[state:end])
	to := bytes.Clone(b[end+1 : len(b)-1])
	for i := range to {
		to[i] = ^to[i]
	}
	e.To = andon.PersonID(to)
	return e
}

// UpdateEscalation writes an escalation with its device, as the newest unless a newer is stored.
func UpdateEscalation(t *Tenant, r *andon.Escalation) cql.Statement {
	return SetLatest(t.Key, r.Device, "escalation", max(1, int64(r.At)), packEscalation(r, t))
}

// Escalated returns what is written next to an escalation record: with the device, for the present
// incident, and for its supervisor.
func Escalated(t *Tenant, stamp int64, index *Index, r andon.Escalation) []cql.Mutation {
	key, device := t.Key, string(r.Device)
	all := []cql.Mutation{
		cql.One(
			"INSERT INTO escalations_by_day (tenant, device, day, at, time, state, supervisor, "+
				"record) VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
			key, device, int(r.At.Day()), int64(r.At), int64(r.Time), string(r.State),
			string(r.To), packRecord(&r), stamp),
		{SetLatest(key, r.Device, "escalated", int64(r.Time), int64(r.Time)),
			UpdateEscalation(t, &r)},
	}
	index.Partition(OfEscalations, device, r.At.Day(), 0, "", r.At)
	if r.To == "" {
		return all
	}
	day := r.Time.Day()
	index.Partition(OfSupervisor, string(r.To), day, 0, "", r.Time)
	index.Name(string(OfSupervisor), string(r.To))
	return append(all, cql.One(
		"INSERT INTO hints_by_supervisor (tenant, supervisor, day, time, state, device) "+
			"VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
		key, string(r.To), int(day), int64(r.Time), string(r.State), device, stamp))
}

func entryKey(r *andon.Escalation, states *andon.StateSet) andon.EventKey {
	return andon.EventKey{Time: r.Time, Severity: states.Severity(r.State), State: r.State}
}

// NewestOfEach returns, of escalations that were made at one time, the newest of each entry that is
// not in seen, in the order of the entries.
func NewestOfEach(
	rows []andon.Escalation, states *andon.StateSet, seen map[andon.EventKey]bool,
) (each []andon.Escalation) {
	slices.SortFunc(rows, func(a, b andon.Escalation) int {
		return entryKey(&a, states).Compare(entryKey(&b, states))
	})
	same := func(a, b *andon.Escalation) bool { return a.Time == b.Time && a.State == b.State }
	for of := range shared.Runs(rows, same) {
		if key := entryKey(&of[0], states); !seen[key] {
			seen[key] = true
			each = append(each, NewestOf(of))
		}
	}
	return each
}

// EscalationsOf returns the escalations of one entry, even if the entry has expired in the log.
func (s Reader) EscalationsOf(
	ctx context.Context, t *Tenant, e *andon.Escalation,
) (kept []andon.Escalation, err error) {
	for rows, err := range s.Escalations(ctx, t, e.Device, e.Time) {
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if r.Time == e.Time && r.State == e.State {
				kept = append(kept, r)
			}
		}
	}
	return kept, nil
}

// EscalationsDown reads the escalations of a day, newest first.
var EscalationsDown = cql.Query{
	Text: "SELECT at, time, state, supervisor, record FROM escalations_by_day " +
		"WHERE tenant = ? AND device = ? AND day = ?", Partition: 3,
}

// Escalations returns the escalations of a device that may be of an entry from a time on: newest
// first, those that were made at one time together. An escalation is made at the time of its entry
// or later, but that time may be ahead of the clock by what the tenant allows.
func (s Reader) Escalations(
	ctx context.Context, t *Tenant, device andon.DeviceID, from andon.Time,
) iter.Seq2[[]andon.Escalation, error] {
	first := max(0, from-andon.Time(t.Record.MaxFuture)).Day()
	days := s.Units(ctx, t.Key, OfEscalations, string(device), first, LastDay, andon.Desc)
	at := func(r *andon.Escalation) andon.Time { return r.At }
	columns := func(r *andon.Escalation) []any {
		return []any{&r.At, &r.Time, &r.State, &r.To, (*recordValue)(r)}
	}
	return seq.Of(func(yield func([]andon.Escalation) bool) error {
		for u, err := range days {
			if err != nil {
				return err
			}
			args := []any{t.Key, string(device), int(u.Number)}
			one := cql.Pages(s.DB, EscalationsDown, args, 16, columns)
			for made, err := range shared.Merge(ctx, at, andon.Desc, one) {
				for i := range made {
					made[i].Device = device
				}
				if err != nil || !yield(made) {
					return err
				}
			}
		}
		return nil
	})
}

// NewestOf returns the newest of the escalations of one entry: by when it was made, and of two at
// one time the one whose supervisor comes first.
func NewestOf(records []andon.Escalation) andon.Escalation {
	return slices.MinFunc(records, shared.CompareEscalations)
}
