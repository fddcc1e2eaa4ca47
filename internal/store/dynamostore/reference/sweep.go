package reference

import (
	"context"
	"fmt"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// Sweep implements andon.Maintenance: it reads the whole table and deletes the entries before the
// horizon, also those that others wrote without an expiry. An item that is no entry stays.
func (r *Store) Sweep(
	ctx context.Context, id andon.TenantID, h andon.Horizon,
) (deleted int64, err error) {
	if err := r.checkTenant(ctx, id); err != nil || h.Events == 0 {
		return 0, err
	}
	var after ddb.Item
	for {
		found, next, err := r.db.Scan(ctx, r.Table, after, min(r.SweepRate, ddb.MaxPage))
		var gone []ddb.Write
		for _, i := range found {
			ref, unreadable := refOf(i.Text(items.AttrStateDate))
			if unreadable == nil && ref.Time < h.Events {
				key := ddb.Item{items.AttrDevice: i[items.AttrDevice],
					items.AttrStateDate: i[items.AttrStateDate]}
				gone = append(gone, ddb.Write{Table: r.Table, Delete: key})
			}
		}
		if err == nil {
			err = r.db.Write(ctx, gone...)
		}
		if err != nil {
			return deleted, fmt.Errorf("after %d deletions (sweep again): %w", deleted, err)
		}
		deleted += int64(len(gone))
		if after = next; after == nil {
			return deleted, nil
		}
		pause := time.Duration(len(gone)) * time.Second / time.Duration(r.SweepRate)
		if err := sleep.For(ctx, pause); err != nil {
			return deleted, err
		}
	}
}
