package records

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/seq"
)

// Position is a place in a list of incidents by when they opened, the newest first.
type Position struct {
	Opened andon.Time
	ID     string
}

// PositionOf is that of an incident.
func PositionOf(i *people.Incident) Position { return Position{i.Opened, i.ID} }

func (p Position) compare(to Position) int {
	return cmp.Or(cmp.Compare(to.Opened, p.Opened), strings.Compare(p.ID, to.ID))
}

// key is that of the record of a closed one. Those that are late come after it at their time.
func (p Position) key() string {
	_, place, err := split(p.ID)
	if err != nil {
		place = p.ID
	}
	return keyOf(p.Opened, place)
}

// PastQuery selects incidents by when they opened. Those that are found in the log alone opened
// when they began.
type PastQuery struct {
	Span  andon.Span
	After Position // resume after it; the zero value is the start
	// Only reports which devices are wanted, as that of andon.DeviceQuery.
	Only  func(andon.DeviceID) bool
	Limit int
}

// Past returns the newest incidents that a query selects, as the log has them now: those that are
// stored, and those that nobody saw, since the entries came late. There are as many as its limit,
// unless no more are left.
//
// What is late is in the log of its device alone. So the devices are listed, and the logs of those
// are read that changed since: in a short span first, and in longer ones while too few are found.
func (in *Incidents) Past(
	ctx context.Context, id andon.TenantID, q PastQuery,
) (all []people.Incident, err error) {
	const hour = andon.Duration(3_600_000_000)
	tenant, err := in.store.Tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	latest := in.now().Add(tenant.MaxFuture)
	if q.Span.To == 0 || q.Span.To > latest {
		q.Span.To = latest
	}
	if q.After == (Position{}) {
		q.After = Position{Opened: q.Span.To}
	}
	first := q.Span.From
	for length := hour; len(all) < q.Limit; length = min(8*length, 1_000_000*hour) {
		q.Span.From = max(first, q.After.Opened.Add(-length), 0)
		last := Position{q.Span.From, "~"} // after all of its time
		stored, err := in.storedWithin(ctx, id, q)
		if err != nil {
			return nil, err
		}
		if len(stored) == q.Limit {
			last = PositionOf(&stored[len(stored)-1])
			q.Span.From = last.Opened
		}
		some, err := in.holding(ctx, id, stored)
		if err == nil {
			some, err = in.withLate(ctx, id, q, last, some)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if q.After = last; last.Opened <= first && len(stored) < q.Limit {
			break
		}
	}
	return all[:min(len(all), q.Limit)], nil
}

// storedWithin returns the first incidents of a query that are stored, as they are.
func (in *Incidents) storedWithin(
	ctx context.Context, id andon.TenantID, q PastQuery,
) (all []people.Incident, err error) {
	open, err := in.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, i := range open {
		if q.Span.Holds(i.Opened) && q.After.compare(PositionOf(i)) < 0 && q.Only(i.Device) {
			all, there[i.ID] = append(all, *i), true
		}
	}
	n := 0
	for i, err := range in.closed(ctx, id, q.Span.From, q.After.key()) {
		if err != nil {
			return nil, err
		}
		if there[i.ID] || !q.Only(i.Device) {
			continue
		}
		if all, n = append(all, i), n+1; n == q.Limit {
			break
		}
	}
	sortByOpened(all)
	return all[:min(len(all), q.Limit)], nil
}

func sortByOpened(all []people.Incident) {
	slices.SortFunc(all, func(a, b people.Incident) int {
		return PositionOf(&a).compare(PositionOf(&b))
	})
}

// holding leaves those out that have become part of others, or are not true any more.
func (in *Incidents) holding(
	ctx context.Context, id andon.TenantID, all []people.Incident,
) (some []people.Incident, err error) {
	now := slices.Clone(all)
	untrue, err := in.follow(ctx, id, now)
	for i := range all {
		if err == nil && !untrue[i] && now[i].ID == all[i].ID {
			some = append(some, now[i])
		}
	}
	return some, err
}

// withLate adds those that are late to the incidents of a query up to a place in its list.
func (in *Incidents) withLate(
	ctx context.Context, id andon.TenantID, q PastQuery, last Position, all []people.Incident,
) ([]people.Incident, error) {
	newest := func() {
		sortByOpened(all)
		all = all[:min(len(all), q.Limit)]
	}
	span := andon.Span{From: q.Span.From, To: q.After.Opened}
	devices := in.changed(ctx, id, span.From, q.Only, nil)
	err := in.eachDevice(ctx, id, devices, span, func(some []people.Incident) error {
		for _, i := range some {
			if at := PositionOf(&i); i.Late && q.After.compare(at) < 0 && at.compare(last) <= 0 {
				all = append(all, i)
			}
		}
		if len(all) > 2*q.Limit {
			newest()
		}
		return nil
	})
	newest()
	return all, err
}

// Move puts a closed incident where those are. It may be repeated.
func (in *Incidents) Move(ctx context.Context, tenant andon.TenantID, h *Held) error {
	place := Place(h.Device, h.Kind)
	key := keyOf(h.Opened, place)
	text, err := h.text()
	if err != nil {
		return err
	}
	of, err := json.Marshal(kept{At: h.Entry.Time, From: h.Begun(), Ended: h.Ended})
	if err != nil {
		return err
	}
	var all []andon.Record
	if h.Kind != people.StateKind { // first, so that figures have what lists have
		device, _ := json.Marshal(map[string]andon.DeviceID{"device": h.Device})
		all = append(all, andon.Record{
			Kind: endedKind, ID: keyOf(h.Ended, place), Data: andon.JSON(device),
		})
	}
	all = append(all,
		andon.Record{Kind: closedKind, ID: key, Data: text},
		andon.Record{Kind: ofKind, ID: deviceHash(h.Device) + "/" + key, Data: andon.JSON(of)})
	for _, r := range all {
		r.Tenant = tenant
		_, err := in.store.PutRecord(ctx, r)
		if err != nil && andon.KindOf(err) != andon.Conflict { // or it was moved before
			return err
		}
	}
	err = in.store.DeleteRecord(ctx, andon.Record{
		Tenant: tenant, Kind: OpenKind, ID: place, Version: h.Version,
	})
	if err = andon.Ignore(err, andon.NotFound, andon.Conflict); err != nil {
		return err
	}
	in.know(tenant, place, nil, h.Version)
	return nil
}

// closed yields the closed incidents that opened at a time or later and come after a key.
func (in *Incidents) closed(
	ctx context.Context, tenant andon.TenantID, from andon.Time, after string,
) iter.Seq2[people.Incident, error] {
	return seq.Of(func(yield func(people.Incident) bool) error {
		q := andon.RecordQuery{After: after, Limit: math.MaxInt}
		for r, err := range in.store.Records(ctx, tenant, closedKind, q) {
			if err != nil {
				return err
			}
			is, err := decode(&r)
			if err != nil || is.Opened < from || !yield(*is) {
				return err
			}
		}
		return nil
	})
}

// changed yields the devices whose log may have had an incident at a time or later that has ended:
// whoever shows the same since then has had none. Unless it is nil, retired gets when those were
// retired that had sent entries and were there then.
func (in *Incidents) changed(
	ctx context.Context, tenant andon.TenantID, from andon.Time, only func(andon.DeviceID) bool,
	retired *[]andon.Time,
) iter.Seq2[andon.DeviceID, error] {
	return seq.Of(func(yield func(andon.DeviceID) bool) error {
		for _, kind := range []andon.DeviceKind{andon.ShownDevices, andon.RetiredDevices} {
			q := andon.DeviceQuery{Kind: kind, Only: only, Brief: true, Limit: andon.MaxLimit}
			for d, err := range andon.EachDevice(ctx, in.store, tenant, q) {
				if err != nil {
					return err
				}
				at := max(d.Since, d.IncidentSince)
				if kind == andon.RetiredDevices {
					if at = d.Time; d.Severity > 0 {
						at = d.Retired
					}
					if retired != nil && d.Time != 0 && d.Retired > from {
						*retired = append(*retired, d.Retired)
					}
				}
				if at >= from && !yield(d.ID) {
					return nil
				}
			}
		}
		return nil
	})
}

// mostOfDevice is how many incidents of one device are in memory at once.
const mostOfDevice = 100_000

// eachDevice calls do with the incidents of each device that were open within a span, one after the
// other.
func (in *Incidents) eachDevice(
	ctx context.Context, id andon.TenantID, devices iter.Seq2[andon.DeviceID, error],
	span andon.Span, do func([]people.Incident) error,
) error {
	for some, err := range seq.Pieces(func() int { return 16 * readers }, devices) {
		if err != nil {
			return err
		}
		found := make([][]people.Incident, len(some))
		err = parallel.Do(ctx, len(some), readers, func(ctx context.Context, i int) (err error) {
			found[i], err = in.ofDevice(ctx, id, some[i], span, mostOfDevice, true)
			return err
		})
		for i := range found {
			if err == nil {
				err = do(found[i])
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ended yields the devices with an incident that is open, or of another kind than state and ended
// at a time or later.
func (in *Incidents) ended(
	ctx context.Context, tenant andon.TenantID, from andon.Time,
) iter.Seq2[andon.DeviceID, error] {
	return seq.Of(func(yield func(andon.DeviceID) bool) error {
		open, err := in.Open(ctx, tenant)
		for _, i := range open {
			if !yield(i.Device) {
				return nil
			}
		}
		if err != nil {
			return err
		}
		q := andon.RecordQuery{Limit: math.MaxInt}
		for r, err := range in.store.Records(ctx, tenant, endedKind, q) {
			if err != nil || r.ID > keyOf(from, "~") {
				return err
			}
			is, err := decode(&r)
			if err != nil || !yield(is.Device) {
				return err
			}
		}
		return nil
	})
}

// During calls do with the incidents of each device that held within a span, as the log has them
// now, one device after the other. It returns when devices were retired that had not been before
// the span, and are not back.
func (in *Incidents) During(
	ctx context.Context, id andon.TenantID, span andon.Span, only func(andon.DeviceID) bool,
	do func([]people.Incident) error,
) (retired []andon.Time, err error) {
	devices := seq.Of(func(yield func(andon.DeviceID) bool) error {
		seen := map[andon.DeviceID]bool{}
		for _, some := range []iter.Seq2[andon.DeviceID, error]{
			in.ended(ctx, id, span.From), in.changed(ctx, id, span.From, only, &retired),
		} {
			for device, err := range some {
				if err != nil {
					return err
				}
				if seen[device] || !only(device) {
					continue
				}
				if seen[device] = true; !yield(device) {
					return nil
				}
			}
		}
		return nil
	})
	err = in.eachDevice(ctx, id, devices, span, func(some []people.Incident) error {
		return do(slices.DeleteFunc(some, func(i people.Incident) bool {
			return i.Until != 0 && i.Until < span.From
		}))
	})
	return retired, err
}
