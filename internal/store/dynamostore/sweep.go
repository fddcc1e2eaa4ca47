package dynamostore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// The service deletes what has expired for free, within days. A sweep deletes it at once, for those
// who must not store it so long, and for tenants that keep less than the tables do. It reads the
// devices in the order in which the service keeps them, and stores a checkpoint after each page.

type sweeping struct {
	store   *Store
	tenant  *tenant
	deleted int64
	swept
}

// swept is the checkpoint of a sweep, as its item holds it.
type swept struct {
	Horizon andon.Horizon
	Device  string // the last of Devices that is done; "" at the beginning
}

func sweptKey(t *tenant) ddb.Item { return items.RecordKeys().Item("sweep", t.Key) }

// Sweep implements andon.Maintenance. It first ends one that was interrupted, with the horizon that
// it had.
func (s *Store) Sweep(
	ctx context.Context, id andon.TenantID, h andon.Horizon,
) (deleted int64, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return 0, err
	}
	w := sweeping{store: s, tenant: t}
	there, err := s.db.Get(ctx, items.TableRecords, sweptKey(t))
	if err != nil {
		return 0, err
	}
	if there != nil {
		if err := json.Unmarshal([]byte(there.Text(items.AttrData)), &w.swept); err != nil {
			return 0, andon.Errorf(andon.Damaged, "the item of the sweep is damaged: %w", err)
		}
		err = w.run(ctx)
	}
	if err == nil && w.olderThan(h) {
		w.swept = swept{Horizon: h}
		err = w.run(ctx)
	}
	if err != nil {
		err = fmt.Errorf("after %d deletions (sweep again, and it continues): %w", w.deleted, err)
	}
	return w.deleted, err
}

// olderThan reports whether what was swept ends a day or more before a horizon.
func (s *swept) olderThan(h andon.Horizon) bool {
	return s.Horizon.Events.Day() < h.Events.Day() || s.Horizon.Readings.Day() < h.Readings.Day()
}

func (w *sweeping) run(ctx context.Context) error {
	err := w.store.scanFrom(ctx, w.Device, w.store.options.sweepPage, func(d *device) error {
		if d.Tenant.Key != w.tenant.Key {
			return nil
		}
		for _, q := range w.expired(d) {
			if err := w.delete(ctx, q); err != nil {
				return err
			}
		}
		return nil
	}, func(last string) error { return w.save(ctx, last) })
	if err != nil {
		return err
	}
	return w.store.db.Write(ctx, ddb.Write{Table: items.TableRecords, Delete: sweptKey(w.tenant)})
}

// save stores the checkpoint after a device.
func (w *sweeping) save(ctx context.Context, last string) error {
	w.Device = last
	data, err := json.Marshal(w.swept)
	if err != nil {
		return err
	}
	w.store.options.Log.Info("a sweep goes on", "tenant", w.tenant.Record.ID,
		"deleted", w.deleted)
	i := sweptKey(w.tenant)
	i[items.AttrData] = ddb.Text(string(data))
	return w.store.db.Write(ctx, ddb.Write{Table: items.TableRecords, Put: i})
}

// expired returns the queries for what a device has that is older than the horizon. Escalations of
// the open incident stay: what the device shows may come from them.
func (w *sweeping) expired(d *device) (all []ddb.Query) {
	of := d.Rows()
	if h := w.Horizon.Events; h > 0 {
		entries := andon.Span{To: h - 1}
		records := entries
		if d.Incident != 0 {
			records.To = min(entries.To, d.Incident-1)
		}
		for _, state := range d.States {
			all = append(all, entriesOf(d, state, entries)...)
			all = append(all, items.InState(items.Records("withdrawal#"+of), state, entries),
				items.StateRange(items.Join(of, items.PartEscalated), state, records),
				items.StateRange(items.Join(of, items.PartEscalations), state, records))
		}
	}
	if h := w.Horizon.Readings; h > 0 {
		for _, part := range d.Parts() {
			all = append(all, ddb.Query{Table: items.TableReadings, Key: items.ReadingKeys(),
				Partition: part, To: items.TimeText(h)})
		}
	}
	return all
}

// delete deletes what a query finds, no faster than SweepRate.
func (w *sweeping) delete(ctx context.Context, q ddb.Query) error {
	rate := w.store.options.SweepRate
	q.Page = min(rate, ddb.MaxPage)
	var after ddb.Item
	for more := true; more; more = after != nil {
		n, next, err := w.store.db.DeletePage(ctx, q, after)
		if err != nil {
			return err
		}
		w.deleted += int64(n)
		after = next
		if n == 0 {
			continue
		}
		if err := sleep.For(ctx, time.Duration(n)*time.Second/time.Duration(rate)); err != nil {
			return err
		}
	}
	return nil
}
