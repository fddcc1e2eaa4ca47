package items

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/shared"
)

// Event is an entry of the log as it is stored, without its escalation.
type Event struct {
	andon.Event
	Delivery  int64  // of two deliveries of one entry in two shards the later wins; 0: not known
	Partition string // that it was read from
	// Record is the newest escalation record where the entry was found by that.
	Record andon.Escalation
}

// The attributes of an entry.
const (
	attrDelivery   = "Delivery"
	AttrMessage    = "Message"
	AttrAttributes = "Attributes"
)

// LogKeys are the keys of DeviceStateLog.
func LogKeys() ddb.Keys { return ddb.Keys{Hash: AttrDevice, Sort: AttrStateDate} }

// Micros returns its time.
func (e *Event) Micros() int64 { return int64(e.Time) }

// Ref returns what names it within its device.
func (e *Event) Ref() andon.EntryRef { return andon.EntryRef{Time: e.Time, State: e.State} }

// Item returns what is stored of an event in one of n shards.
func (e *Event) Item(d *Device, n int, expires Expiry) ddb.Item {
	sort := StateDate(e.State, e.Time)
	i := LogKeys().Item(ShardKey(d.Rows(), ShardOf(sort, n)), sort)
	i[AttrDate] = ddb.Text(TimeText(e.Time))
	e.setContent(i, d.Tenant)
	expires.Set(i, e.Time)
	return i
}

func (e *Event) among() string { return string(e.Device) + StateDate(e.State, e.Time) }

// setContent adds what an entry says to an item.
func (e *Event) setContent(i ddb.Item, t *tenant) {
	i[attrDelivery] = ddb.Number(e.Delivery)
	if e.Operator != "" {
		i[AttrOperator] = ddb.Text(indexKey(t, OfOperator, string(e.Operator), e.among()))
	}
	i.SetText(AttrMessage, e.Message)
	i.SetText(AttrAttributes, string(e.Attributes))
}

// ReadEvent reads an entry.
func ReadEvent(i ddb.Item) (e Event, ok bool, err error) {
	ref, _, err := SplitStateDate(i.Text(AttrStateDate))
	if err != nil {
		return e, false, err
	}
	_, device := SplitDevice(i.Text(AttrDevice))
	_, operator := SplitDevice(i.Text(AttrOperator))
	return Event{
		Event: andon.Event{
			Device: device, Time: ref.Time, State: ref.State, Operator: andon.PersonID(operator),
			Message: i.Text(AttrMessage), Attributes: andon.JSON(i.Text(AttrAttributes)),
		},
		Delivery: i.Int(attrDelivery), Partition: i.Text(AttrDevice),
	}, true, nil
}

// Expiry is after how long the service deletes.
type Expiry andon.Retention

// Set sets when an item expires, in whole seconds, rounded up.
func (e Expiry) Set(i ddb.Item, at andon.Time) {
	if andon.Retention(e) != andon.Forever {
		i[AttrTTL] = ddb.Number((int64(at)+int64(e))/1e6 + 1)
	}
}

// StateRange returns the query for entries, or their records, of one state in a span.
func StateRange(partition string, state andon.State, span andon.Span) ddb.Query {
	q := ddb.Query{Table: TableLog, Key: LogKeys(), Partition: partition}
	return InState(q, state, span)
}

// InState bounds a sort key that begins with <state>#<time>.
func InState(q ddb.Query, state andon.State, span andon.Span) ddb.Query {
	to := span.To
	if to == 0 {
		to = andon.MaxTime
	}
	q.From = StateDate(state, span.From)
	q.To = StateDate(state, min(to, andon.MaxTime))
	return q
}

// PageOf returns the page size of each of n queries for one list of any limit.
func PageOf(limit, n int) int {
	n = max(n, 1)
	limit = min(limit, n*ddb.MaxPage) // twice the largest limit is below 0
	return min(max(2*limit/n, 16), limit+1, ddb.MaxPage)
}

// Found returns the entries that some queries find, each read by read, in the order of q and each
// identity once. It does not stop at the limit.
func Found(
	ctx context.Context, db *ddb.Client, t *tenant, q andon.EventQuery, all []ddb.Query,
	read func(ddb.Item) (Event, bool, error),
) iter.Seq2[Event, error] {
	var rows []*shared.Rows[Event]
	for _, ask := range all {
		ask.Order, ask.Page = q.Order, PageOf(q.Limit, len(all))
		rows = append(rows, ddb.Rows(db, ask, read))
	}
	return Merged(ctx, t, q, rows)
}

// Merged returns the entries of some lists, as Found does. Each list is in the order of q.
func Merged(
	ctx context.Context, t *tenant, q andon.EventQuery, rows []*shared.Rows[Event],
) iter.Seq2[Event, error] {
	if q.Span.Empty() {
		rows = nil
	}
	states := t.Record.States
	return seq.Of(func(yield func(Event) bool) error {
		for found, err := range shared.Merge(ctx, (*Event).Micros, q.Order, rows...) {
			if err != nil {
				return err
			}
			for _, e := range Distinct(found, states, q.Order) {
				if q.Admits(e.Key(states)) && !yield(e) {
					return nil
				}
			}
		}
		return nil
	})
}

// Distinct sorts entries, and keeps the later delivery of each.
func Distinct(found []Event, states *andon.StateSet, o andon.Order) []Event {
	slices.SortFunc(found, func(a, b Event) int {
		c := a.Key(states).Compare(b.Key(states))
		if o == andon.Desc {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(b.Delivery, a.Delivery))
	})
	return slices.CompactFunc(found, func(a, b Event) bool {
		return a.Device == b.Device && a.Time == b.Time && a.State == b.State
	})
}
