package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/mapping"
)

// delivery is some messages on their way to the store. The index of an item is that of its origin.
type delivery struct {
	*Writer
	messages []mapping.Message
	origins  []origin
	tenants  []ofTenant
	accepted int
	refused  []Rejection
	digest   [sha256.Size]byte // of the message that was refused last
	// isLast says that what makes the store fail is refused: it was tried long enough.
	isLast bool
	fault  error                   // the last such failure
	faulty map[andon.DeviceID]bool // of which devices there was one
}

// origin is where an entry comes from, or what is none.
type origin struct {
	message int
	*mapping.Entry
}

// ofTenant is what the messages have of one tenant, in the order of arrival.
type ofTenant struct {
	id       andon.TenantID
	events   []ingest.Item[andon.Event]
	readings []ingest.Item[andon.Reading]
}

func newDelivery(w *Writer, messages []mapping.Message) *delivery {
	d := &delivery{Writer: w, messages: messages, faulty: map[andon.DeviceID]bool{}}
	for i := range messages {
		entries, refused := w.Mapping.Map(&messages[i])
		for _, r := range refused {
			d.refuse(origin{i, &mapping.Entry{Index: r.Index, Line: r.Line}}, r.Error)
		}
		for n := range entries {
			d.add(i, &entries[n])
		}
	}
	return d
}

func (d *delivery) add(message int, e *mapping.Entry) {
	if e.Tenant == "" {
		e.Tenant = d.Tenant
	}
	t := slices.IndexFunc(d.tenants, func(t ofTenant) bool { return t.id == e.Tenant })
	if t < 0 {
		t, d.tenants = len(d.tenants), append(d.tenants, ofTenant{id: e.Tenant})
	}
	in, index := &d.tenants[t], len(d.origins)
	d.origins = append(d.origins, origin{message, e})
	if e.Event != nil {
		in.events = append(in.events, ingest.Item[andon.Event]{Index: index, Value: *e.Event})
	}
	if e.Reading != nil {
		in.readings = append(in.readings,
			ingest.Item[andon.Reading]{Index: index, Value: *e.Reading})
	}
}

// deliver hands the entries of a tenant to intake.
func (d *delivery) deliver(ctx context.Context, t *ofTenant) error {
	for len(t.events) > 0 {
		n := eventsOfBatch(t.events)
		if err := put(ctx, d, t.id, t.events[:n], d.Intake.Events); err != nil {
			return err
		}
		t.events = t.events[n:]
	}
	for len(t.readings) > 0 {
		n := readingsOfBatch(t.readings)
		if err := put(ctx, d, t.id, t.readings[:n], d.Intake.Readings); err != nil {
			return err
		}
		t.readings = t.readings[n:]
	}
	return nil
}

// put hands items to intake. What is refused as a whole is tried in halves, so that what is good is
// kept, and so is what makes the store fail, in the end. The error is one that may end by itself.
func put[T any](
	ctx context.Context, d *delivery, tenant andon.TenantID, items []ingest.Item[T],
	admit func(context.Context, andon.TenantID, ingest.Batch[T]) (intake.Result, error),
) error {
	result, err := admit(ctx, tenant, ingest.Batch[T]{Items: items})
	switch kind := andon.KindOf(err); {
	case err == nil:
	case kind == andon.NotFound || kind == andon.Unsupported:
		// That is the tenant, or the store: for all the same.
	case !d.refuses(kind):
		return err
	case len(items) > 1:
		half := len(items) / 2
		if err := put(ctx, d, tenant, items[:half], admit); err != nil {
			return err
		}
		return put(ctx, d, tenant, items[half:], admit)
	case kind == andon.Internal || kind == andon.Damaged:
		d.fault = err
		d.faulty[d.origins[items[0].Index].device()] = true
		if d.accepted == 0 && len(d.faulty) > mostFaulty {
			return err // it is the store
		}
	}
	for i := range items {
		if err != nil {
			d.refuse(d.origins[items[i].Index], err.Error())
		}
	}
	for _, r := range result.Rejected {
		d.refuse(d.origins[r.Index], r.Error)
	}
	d.accepted += result.Accepted
	return nil
}

// mostFaulty is for how many devices the store may fail, and for none not, until it is no use to
// try others.
const mostFaulty = 8

// refuses reports whether an error is about some of the entries for which it came.
func (d *delivery) refuses(k andon.Kind) bool {
	switch k {
	case andon.Invalid, andon.TooLarge, andon.Conflict:
		return true
	case andon.Internal, andon.Damaged:
		return d.isLast
	}
	return false
}

func (o *origin) device() andon.DeviceID {
	if o.Event != nil {
		return o.Event.Device
	}
	return o.Reading.Device
}

// refuse accounts for an entry that is not kept. The first one of a message shows the message. The
// tenant may be anything that a message says, and a record must hold it.
func (d *delivery) refuse(o origin, reason string) {
	m := &d.messages[o.message]
	r := Rejection{SourceRejection: andon.SourceRejection{
		Source: d.Name, Place: m.Place, Index: o.Index, Line: o.Line,
		Tenant: andon.TenantID(legible([]byte(o.Tenant[:min(len(o.Tenant), andon.MaxIDBytes)]))),
		Reason: legible([]byte(reason)),
	}}
	if n := len(d.refused); n == 0 || d.refused[n-1].Place != m.Place {
		r.Message, d.digest = legible(m.Value), sha256.Sum256(m.Value)
	}
	entry := []byte(reason) // why there is none: a mapping always says the same
	if o.Event != nil || o.Reading != nil {
		entry, _ = json.Marshal(o.Entry) // a number that JSON has not is in the message
	}
	sum := sha256.Sum256(fmt.Appendf(d.digest[:], "%d %s", m.Time, entry))
	r.Digest = hex.EncodeToString(sum[:8])
	d.refused = append(d.refused, r)
}

// eventsOfBatch returns how many of the events intake takes at once. Of two that are one entry with
// different content the later one counts, as if they came in two requests, so it begins a batch.
func eventsOfBatch(items []ingest.Item[andon.Event]) int {
	type key struct {
		device andon.DeviceID
		time   andon.Time
		state  andon.State
	}
	most := min(len(items), andon.MaxRequestEntries)
	seen := make(map[key]*andon.Event, most)
	for i := range most {
		e := &items[i].Value
		k := key{e.Device, e.Time, e.State}
		if before := seen[k]; before != nil && *before != *e {
			return i
		}
		seen[k] = e
	}
	return most
}

// readingsOfBatch returns how many of the readings intake takes at once.
func readingsOfBatch(items []ingest.Item[andon.Reading]) int {
	metrics := 0
	for i := range items {
		metrics += len(items[i].Value.Metrics)
		if i > 0 && metrics > andon.MaxRequestMetrics || i == andon.MaxRequestEntries {
			return i
		}
	}
	return len(items)
}
