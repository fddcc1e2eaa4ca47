package entries

import (
	"context"

	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// Deletion deletes entries, in blocks and in memory. It is used as a blocks.Deletion.
type Deletion struct {
	*blocks.Deletion
	log *Log
}

// Exclusively calls do while no flush runs, and then what the deletion has left for its end.
func (l *Log) Exclusively(do func(d *Deletion) error) error {
	defer l.recent.forget()
	return l.Log.Exclusively(func(d *blocks.Deletion) error { return do(&Deletion{d, l}) })
}

// Days deletes the days of a tenant before one.
func (d *Deletion) Days(
	ctx context.Context, b *engine.Batch, t *blocks.Tenant, day uint32,
) error {
	d.AtEnd(func() { delete(d.log.days, t.Number) })
	return d.Deletion.Days(ctx, b, t, day)
}

// Tenant says that the caller deletes all of a tenant.
func (d *Deletion) Tenant(t *blocks.Tenant) {
	d.Deletion.Tenant(t)
	d.AtEnd(func() {
		delete(d.log.days, t.Number)
		d.log.Memory.forgetTenant(t.Number)
	})
}

// Device deletes what there is of a device, and reports whether it has blocks.
func (d *Deletion) Device(
	ctx context.Context, b *engine.Batch, t *blocks.Tenant, device uint32,
) (found bool, err error) {
	err = d.Deletion.Device(ctx, b, t, deviceKey(device), func(uint32) { found = true })
	d.AtEnd(func() { d.log.Memory.forget(t.Number, device) })
	return found, err
}
