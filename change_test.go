package andon_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
)

// busy is a store in which devices change while they are listed, and are slow to read.
type busy struct {
	andon.Store
	change func()
}

func (b *busy) ChangesKept(
	ctx context.Context, tenant andon.TenantID,
) (oldest, newest andon.Position, err error) {
	oldest, newest, err = b.Store.ChangesKept(ctx, tenant)
	b.change()
	return oldest, newest, err
}

func (b *busy) Device(
	ctx context.Context, tenant andon.TenantID, id andon.DeviceID,
) (andon.Device, error) {
	<-time.After(time.Second)
	return b.Store.Device(ctx, tenant, id)
}

// TestSnapshotReadsAtOnce: what changed meanwhile is read 64 at once, with its messages.
func TestSnapshotReadsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		b := &busy{Store: store, change: func() {
			var all []andon.Event
			for i := range 100 {
				all = append(all, andon.Event{
					Device: andon.DeviceID(fmt.Sprintf("d%03d", i)), Time: 1_700_000_000_000_000,
					State: "WARNING1", Message: fmt.Sprint("it is ", i),
				})
			}
			if err := store.Append(t.Context(), andon.DefaultTenant, all[0].Time, all); err != nil {
				t.Fatal(err)
			}
		}}
		began := time.Now()
		devices, _, err := andon.Snapshot(t.Context(), b, andon.DefaultTenant)
		if err != nil || len(devices) != 100 || devices["d099"].Message != "it is 99" {
			t.Errorf("%d devices, %+v: %v", len(devices), devices["d099"], err)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("it took %s to read 100 devices, a second each", took)
		}
	})
}
