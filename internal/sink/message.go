package sink

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/parallel"
)

const (
	// maxBytes is how long the values of a batch are together, but for the last one.
	maxBytes = 1 << 20
	// readers is how many devices are read at once.
	readers = 16
)

// snapshot is the kind of a message that says what a device shows without a change.
const snapshot = "snapshot"

type writer struct {
	*delivery
	batch *Batch
	bytes int
	show  func([]byte, *andon.Device) ([]byte, error)
}

func (d *delivery) writer(ctx context.Context) (*writer, error) {
	t, err := d.feed.Store.Tenant(ctx, d.tenant)
	if err != nil {
		return nil, err
	}
	b := &Batch{Feed: d.feed.Name, Tenant: d.tenant, Time: d.feed.Now()}
	return &writer{delivery: d, batch: b, show: d.feed.Show(ctx, &t)}, nil
}

// addChanges adds changes until the batch is full, and returns the place after them.
func (d *delivery) addChanges(
	ctx context.Context, w *writer, changes []andon.Change,
) (next place, err error) {
	next = d.place
	next.Sending = nil
	d.feed.waits(d.tenant, d.since(&changes[0]))
	err = parallel.Do(ctx, len(changes), readers, func(ctx context.Context, i int) error {
		if changes[i].After == nil {
			return nil
		}
		shown, err := andon.Shown(ctx, d.feed.Store, d.tenant, &changes[i])
		changes[i].After = &shown
		return err
	})
	if err != nil {
		return next, err
	}
	changed := map[andon.DeviceID]bool{}
	for i := range changes {
		c := &changes[i]
		if w.bytes >= maxBytes && d.place.Sending == nil {
			break
		}
		next.At = c.Position
		if c.Kind != andon.OfTenant {
			changed[c.Device] = true
			if err := w.change(c); err != nil {
				return next, err
			}
		} else if now := severities(c.Tenant); now != next.Severities {
			// Devices whose order stays the same have no change, but another severity perhaps.
			next.Severities, next.Snapshot, d.page = now, &listed{}, nil
			d.feed.Snapshots.Add(1)
		}
	}
	if d.page != nil {
		d.page.devices = slices.DeleteFunc(d.page.devices, func(one andon.Device) bool {
			return changed[one.ID]
		})
	}
	return next, nil
}

// since is when a change came to be, as far as it says so.
func (d *delivery) since(c *andon.Change) andon.Time {
	if c.Kind == andon.ByEntry && c.After != nil && c.After.Received != 0 {
		return c.After.Received
	}
	return d.feed.Now()
}

// addPage adds devices of the page until the batch is full, and returns the place after them.
func (d *delivery) addPage(w *writer) (next place, err error) {
	p, n := d.page, 0
	d.feed.waits(d.tenant, p.read)
	for ; n < len(p.devices) && w.bytes < maxBytes; n++ {
		shown := &p.devices[n]
		m := Message{Device: shown.ID, Kind: snapshot, Position: d.place.At}
		if p.Retired {
			shown = nil
		}
		if err := w.add(m, shown); err != nil {
			return next, err
		}
	}
	next = d.place
	if n == len(p.devices) {
		next.Snapshot, d.page = p.then, nil
		return next, nil
	}
	p.listed = listed{p.devices[n-1].ID, p.Retired}
	next.Snapshot, p.devices = new(p.listed), p.devices[n:]
	return next, nil
}

func (w *writer) change(c *andon.Change) error {
	m := Message{Device: c.Device, Kind: c.Kind.String(), Position: c.Position}
	if c.Before != nil {
		m.Before = c.Before.State
	}
	return w.add(m, c.After)
}

// add adds a message with what the device shows; nil: nothing.
func (w *writer) add(m Message, shown *andon.Device) (err error) {
	m.ID = fmt.Sprintf("%s-%d-%d", w.place.Epoch, m.Position.Sequence, m.Position.Index)
	if m.Kind == snapshot {
		m.ID += "/" + string(m.Device)
	}
	m.Tenant, m.Key, m.Gone = w.tenant, string(m.Device), shown == nil
	if !m.Gone {
		m.After = shown.State
		if m.Shows, err = w.show(nil, shown); err != nil {
			return err
		}
	}
	if len(w.feed.Tenants) != 1 {
		key, _ := json.Marshal([]string{string(m.Tenant), string(m.Device)})
		m.Key = string(key)
	}
	if m.Value, err = json.Marshal(m); err != nil {
		return err
	}
	w.bytes += len(m.Value)
	w.batch.Messages = append(w.batch.Messages, m)
	return nil
}

func (b *Batch) identify() {
	h := sha256.New()
	for i := range b.Messages {
		_, _ = io.WriteString(h, b.Messages[i].ID+"\n")
	}
	b.ID = hex.EncodeToString(h.Sum(nil)[:16])
}
