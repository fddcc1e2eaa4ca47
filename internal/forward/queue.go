// Package forward makes an Andon the gateway of another one: it keeps what is sent to it in a queue
// on disk, and sends that on, in order, once the server takes it.
//
// The queue is records of the embedded store, so it is as durable, as quick and as well guarded
// against torn writes, damage and full disks as all that the store has. A record has entries of one
// request, and is deleted after the server has taken or refused each. What is refused goes to the
// list of rejections. How far that is, is in a record of its own, so that a start sends nothing
// again. Where a kill came before it entries are sent again, as the same ones: each has its time,
// and so its identity, from the beginning.
//
// The package knows no engine and no transport but the client. What an entry means, and which
// states a tenant may have, is the server's to decide.
package forward

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/source"
)

// Kind is the kind of the records of the queue, which belong to no tenant. The id of one is its
// number in the queue, when its entries arrived (µs), and how many they are; its data is an array
// of them as the API takes them.
const Kind andon.RecordKind = "forward"

type record struct {
	andon.Record
	number  int64
	arrival andon.Time
	entries int
}

// markKind is the kind of the record that has the mark.
const markKind andon.RecordKind = "forward_sent"

// mark is how far the queue was sent.
type mark struct {
	Number  int64      `json:"number"`  // of the last record that was sent
	Arrival andon.Time `json:"arrival"` // the latest of those that were sent with it
}

// Config says where to send to.
type Config struct {
	To        string // address of the server
	TokenFile string // with the token that it asks for; "" for none
	Tenant    string // that owns the devices there
	MaxBytes  int64  // of the entries that wait
}

// Queue is the store of a gateway: an embedded one, in which entries wait as records. It is also
// the source.Intake by which they go to the server.
type Queue struct {
	andon.Store
	config *Config
	server *client.Client
	log    *slog.Logger
	more   chan struct{} // is woken when there may be more to send
	sent   mark          // of Send

	mu      sync.Mutex
	last    record         // the number of the newest, and the latest arrival
	writing map[int64]bool // numbers of records that are not durable yet
	state   State
}

// State is what is told of a gateway.
type State struct {
	Bytes   int64 // of entries that wait
	Entries int
	Oldest  andon.Time // when those arrived that are sent on now
	Trouble error      // why the server did not take the last request; nil: it did
	Refused bool       // Trouble is that it refuses this gateway
}

// Refuse returns an Invalid error if a store is the queue of a gateway. One that has no place for
// records is none.
func Refuse(ctx context.Context, store andon.Store) error {
	_, err := store.Record(ctx, "", markKind, "mark")
	switch {
	case err == nil:
		return andon.Errorf(andon.Invalid, "the store is the queue of a gateway (andon forward): "+
			"name another directory (--data)")
	case andon.KindOf(err) == andon.NotFound, andon.KindOf(err) == andon.Unsupported:
		return nil
	}
	return err
}

// claim makes a store the queue of a gateway, unless it is that of a server.
func (q *Queue) claim(ctx context.Context) error {
	tenants, err := q.Tenants(ctx)
	if err != nil {
		return err
	}
	used := len(tenants) > 1
	for _, err := range q.Devices(ctx, andon.DefaultTenant, andon.DeviceQuery{Limit: 1}) {
		if err != nil {
			return err
		}
		used = true
	}
	if used {
		return andon.Errorf(andon.Invalid, "the store is that of a server (andon serve), which "+
			"has devices or tenants: name another directory (--data)")
	}
	return q.keep(andon.Freeing(ctx))
}

// load reads how far the queue was sent, deletes what is left of that, and counts the rest.
func (q *Queue) load(ctx context.Context) error {
	r, err := q.Record(ctx, "", markKind, "mark")
	switch {
	case err == nil:
		err = json.Unmarshal([]byte(r.Data), &q.sent)
	case andon.KindOf(err) == andon.NotFound:
		err = q.claim(ctx)
	}
	if err != nil {
		return fmt.Errorf("open the queue: %w", err)
	}
	q.last = record{number: q.sent.Number, arrival: q.sent.Arrival}
	for r, err := range q.after(ctx, 0) {
		switch {
		case err != nil:
			return err
		case r.number <= q.sent.Number:
			if err := q.DeleteRecord(ctx, r.Record); err != nil {
				return err
			}
		default:
			q.add(&r, 1)
			q.last.number = r.number
		}
	}
	return nil
}

func (q *Queue) keep(ctx context.Context) error {
	data, err := json.Marshal(q.sent)
	if err != nil {
		return err
	}
	r, err := q.Record(ctx, "", markKind, "mark")
	if err != nil && andon.KindOf(err) != andon.NotFound {
		return err
	}
	r.Kind, r.ID, r.Data = markKind, "mark", andon.JSON(data)
	_, err = q.PutRecord(ctx, r)
	return err
}

// add counts a record that waits; -1 takes it off again.
func (q *Queue) add(r *record, n int) {
	q.state.Bytes += int64(n * len(r.Data))
	q.state.Entries += n * r.entries
	q.last.arrival = max(q.last.arrival, r.arrival)
}

// Latest is not before the time of any entry that got one from this gateway, also before a restart.
// One that is an hour ahead of the clock does not count: the clock was wrong then.
func (q *Queue) Latest(now andon.Time) andon.Time {
	const hour = 3_600_000_000
	if q.last.arrival > now+hour {
		return 0
	}
	return q.last.arrival
}

// Capabilities says that nothing is served here.
func (q *Queue) Capabilities() andon.Capabilities {
	c := q.Store.Capabilities()
	c.Forwards = q.config.To
	return c
}

// Tenant knows the tenant of the gateway, which is also that of a request that names none. How long
// it keeps entries, and how far ahead they may be, is the server's to decide.
func (q *Queue) Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	if id == andon.TenantID(q.config.Tenant) {
		id = andon.DefaultTenant
	}
	const centuries = 365_000 * 86_400_000_000 // as long as a tenant may say
	t, err := q.Store.Tenant(ctx, id)
	t.Readings, t.MaxFuture = andon.Forever, centuries
	return t, err
}

// Append implements andon.Log.
func (q *Queue) Append(
	ctx context.Context, _ andon.TenantID, received andon.Time, events []andon.Event,
) error {
	return put(ctx, q, received, events, func(e *andon.Event) andon.Time { return e.Time })
}

// AppendReadings implements andon.Readings.
func (q *Queue) AppendReadings(
	ctx context.Context, _ andon.TenantID, received andon.Time, readings []andon.Reading,
) error {
	return put(ctx, q, received, readings, func(r *andon.Reading) andon.Time { return r.Time })
}

// put adds entries to the queue, in as many records as they need, if there is space for all.
func put[T any](
	ctx context.Context, q *Queue, received andon.Time, entries []T, of func(*T) andon.Time,
) (err error) {
	var all []record
	for len(entries) > 0 {
		data, n := source.Join(entries)
		r := record{Record: andon.Record{Data: data}, arrival: received, entries: n}
		for i := range entries[:n] {
			const second = 1_000_000 // what is further ahead has a time of its own
			if at := of(&entries[i]); at < received+second {
				r.arrival = max(r.arrival, at) // that it got, so that others come after it
			}
		}
		all, entries = append(all, r), entries[n:]
	}
	if !q.begin(all) {
		return andon.Errorf(andon.Full, "the queue of this gateway is full (max_bytes): the "+
			"server at %s does not take what waits", q.config.To)
	}
	for i := range all {
		if err == nil {
			_, err = q.PutRecord(ctx, all[i].Record)
		}
		q.end(&all[i], err)
	}
	return err
}

// begin gives records their numbers, if there is space for all of them.
func (q *Queue) begin(all []record) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	bytes := q.state.Bytes
	for i := range all {
		bytes += int64(len(all[i].Data))
	}
	if bytes > q.config.MaxBytes {
		return false
	}
	for i := range all {
		r := &all[i]
		q.last.number++
		r.number = q.last.number
		r.Kind, r.ID = Kind, fmt.Sprintf("%019d-%d-%d", r.number, r.arrival, r.entries)
		q.writing[r.number] = true
		q.add(r, 1)
	}
	return true
}

// end notes that a record is durable, or that there is none.
func (q *Queue) end(r *record, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if delete(q.writing, r.number); err != nil {
		q.add(r, -1)
	}
	sleep.Wake(q.more)
}

// durable returns the number up to which all records are durable. Those after it are not sent yet:
// one that becomes durable later would be passed over.
func (q *Queue) durable() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	to := q.last.number
	for n := range q.writing {
		to = min(to, n-1)
	}
	return to
}

// after returns the records after a number. What is damaged is passed over, and lost.
func (q *Queue) after(ctx context.Context, number int64) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for more, lost := true, false; more; {
			more = false
			query := andon.RecordQuery{After: fmt.Sprintf("%019d~", number), Limit: 64}
			for found, err := range q.Records(ctx, "", Kind, query) {
				if more = true; andon.KindOf(err) == andon.Damaged {
					if number++; !lost {
						q.log.Error("entries of the queue are lost", "from", number, "error", err)
					}
					lost = true
					break
				}
				r := record{Record: found}
				if err == nil {
					_, err = fmt.Sscanf(r.ID, "%d-%d-%d", &r.number, &r.arrival, &r.entries)
				}
				if !yield(r, err) || err != nil {
					return
				}
				number, lost = r.number, false
			}
		}
	}
}
