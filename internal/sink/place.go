package sink

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"hash/fnv"

	"github.com/andonhq/andon"
)

// place is how far a feed of a tenant is delivered: the position of its lease.
type place struct {
	// Epoch is random, another one each time that the feed begins. A position can't be part of an
	// ID: a store may give a change another one each time that it is opened.
	Epoch string `json:"epoch"`

	At andon.Position `json:"at"` // all changes before it are delivered
	// Sending is where the batch ends that is being sent; absent: none is, or one of a snapshot.
	Sending *andon.Position `json:"sending,omitempty"`
	// Snapshot is how far all devices are sent; absent: they need not be, or all are.
	Snapshot *listed `json:"snapshot,omitempty"`
	// Severities are those of the states that the receiver knows.
	Severities string `json:"severities"`
}

// listed is a place in the list of all devices: first those that show something, then those that
// are retired.
type listed struct {
	After   andon.DeviceID `json:"after,omitempty"`
	Retired bool           `json:"retired,omitempty"`
}

type page struct {
	listed  // where it begins
	read    andon.Time
	devices []andon.Device
	then    *listed // what follows it
}

// open reads where the delivery is, and the page that is sent next.
func (d *delivery) open(ctx context.Context) error {
	if text := d.lease.Position(); text == "" {
		_, told := d.feed.told.Load(partOf + string(d.tenant))
		if err := d.begin(ctx, d.feed.Start == "snapshot" || !told); err != nil {
			return err
		}
	} else if d.place == (place{}) {
		if err := json.Unmarshal([]byte(text), &d.place); err != nil {
			return andon.Errorf(andon.Damaged, "read the position of feed %s: %w", d.feed.Name, err)
		}
	}
	if d.place.Snapshot == nil || d.page != nil {
		return nil
	}
	p := &page{listed: *d.place.Snapshot, read: d.feed.Now()}
	q := andon.DeviceQuery{Limit: d.feed.Batch}
	if p.Retired {
		q.Kind = andon.RetiredDevices
	}
	if p.After != "" {
		q.After = &andon.DevicePosition{Device: p.After}
	}
	for one, err := range d.feed.Store.Devices(ctx, d.tenant, q) {
		if err != nil {
			return err
		}
		p.devices = append(p.devices, one)
	}
	switch n := len(p.devices); {
	case n == q.Limit:
		p.then = &listed{p.devices[n-1].ID, p.Retired}
	case !p.Retired:
		p.then = &listed{Retired: true}
	}
	d.page = p
	return nil
}

// begin begins at the newest change, with or without a snapshot.
func (d *delivery) begin(ctx context.Context, snapshot bool) error {
	_, newest, err := d.feed.Store.ChangesKept(ctx, d.tenant)
	if err != nil {
		return err
	}
	t, err := d.feed.Store.Tenant(ctx, d.tenant)
	if err != nil {
		return err
	}
	d.place = place{Epoch: rand.Text()[:10], At: newest, Severities: severities(&t)}
	d.page, d.batch = nil, nil
	if snapshot {
		d.place.Snapshot = &listed{}
		d.feed.Snapshots.Add(1)
	}
	return d.save(ctx, d.place)
}

// save keeps a place, unless it is kept already.
func (d *delivery) save(ctx context.Context, p place) error {
	text, err := json.Marshal(p)
	if err != nil || d.lease.Position() == andon.JSON(text) {
		return err
	}
	return d.lease.Save(ctx, andon.JSON(text))
}

func severities(t *andon.Tenant) string {
	h := fnv.New64a()
	for _, s := range t.States.Defs() {
		fmt.Fprintf(h, "%d %s\n", s.Severity, s.Name)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
