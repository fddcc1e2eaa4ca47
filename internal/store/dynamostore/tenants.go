package dynamostore

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/recent"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
	doc "github.com/andonhq/andon/internal/store/tenants"
)

// What is known of one tenant, and what is stored.
type (
	tenant  = shared.Tenant
	device  = items.Device
	event   = items.Event
	message = items.Message
	mark    = items.Mark
)

func (s *Store) serveRecords() {
	s.Tenancy = &shared.Tenancy{
		Read: s.document, Write: s.swapRecord, Stamp: s.stamp,
		Recent: recent.Values[*tenant]{Now: s.options.Now},
		Limits: s.limits, Key: items.TenantKey,
		List: s.Records, Seen: s.seenStates, Named: s.Names, Refold: s.refold,
		Reordered: make(chan struct{}, 1),
		Over:      s.markOver, Purging: make(chan struct{}, 1), Counts: s.counts, Feed: s.Logs,
	}
}

func (s *Store) tenant(ctx context.Context, id andon.TenantID) (*tenant, error) {
	return s.Known(ctx, id)
}

func (s *Store) limits() doc.Limits {
	return doc.Limits{
		Keeps:  "these tables keep",
		Events: doc.Limit{Most: s.options.Retention, Raise: "dynamodb.retention"},
		Readings: doc.Limit{
			Most: s.options.ReadingsRetention, Raise: "dynamodb.readings_retention",
		},
	}
}

// listIn yields what walk yields of a tenant.
func listIn[T any](
	ctx context.Context, s *Store, id andon.TenantID,
	walk func(t *tenant, yield func(T) bool) error,
) iter.Seq2[T, error] {
	return seq.From(func() (*tenant, error) { return s.tenant(ctx, id) }, walk)
}

// refold folds all devices of a tenant that were folded by earlier severities, once every process
// uses the current ones. A device that is read or written meanwhile is folded again then; this
// brings the lists up to date. It scans, since an index might not have a new device yet.
func (s *Store) refold(ctx context.Context, t *tenant) error {
	if err := sleep.For(ctx, shared.TenantAge); err != nil {
		return err
	}
	var ids []andon.DeviceID
	err := s.scan(ctx, func(d *device) error {
		if d.Tenant.Key == t.Key && d.Version != 0 && d.Generation < t.Generation {
			ids = append(ids, d.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return shared.Parallel(ctx, len(ids), func(ctx context.Context, i int) error {
		old := false
		return s.withDevice(ctx, t, ids[i], andon.ByReorder, func(d *device) (bool, error) {
			old = old || d.Known() && d.Generation < d.Tenant.Generation
			return old, nil
		})
	})
}

// markOver notes that an incarnation has ended and its rows are to be deleted.
func (s *Store) markOver(ctx context.Context, key string) error {
	return s.db.Write(ctx, ddb.Write{Table: items.TableRecords,
		Put: items.RecordKeys().Item("over", key)})
}

// purgeAll deletes what is left of ended incarnations. It waits for so long before, since a request
// that began before the end of one may still write under its key. Of a damaged device that was
// purged before, the rows of its present incarnation are not found.
func (s *Store) purgeAll(ctx context.Context, after time.Duration) error {
	var incarnations []string
	var unread error // of tenants: the others are purged
	for i, err := range s.db.Items(ctx, items.Records("over")) {
		if err != nil {
			return err
		}
		key := i.Text(items.AttrSort)
		is, _, err := s.Stored(ctx, items.TenantOf(key))
		if err != nil {
			unread = errors.Join(unread, err)
		} else if is.Key != key { // else its deletion was interrupted
			incarnations = append(incarnations, key)
		}
	}
	if len(incarnations) == 0 {
		return unread
	}
	if err := sleep.For(ctx, after); err != nil {
		return err
	}
	err := s.scan(ctx, func(d *device) error {
		if !slices.Contains(incarnations, d.Tenant.Key) {
			return nil
		}
		for _, is := range append(d.Formerly(), d) {
			if err := s.deleteRows(ctx, is); err != nil {
				return err
			}
		}
		return s.db.Write(ctx, ddb.Write{Table: items.TableDevices,
			Delete: items.DevicesKey(d.Tenant.Key, d.ID)})
	})
	for _, key := range incarnations {
		if err == nil {
			err = s.purgeIncarnation(ctx, key)
		}
	}
	return errors.Join(unread, err)
}

// purgeIncarnation deletes what belongs to no device, and then the note that the incarnation ended.
func (s *Store) purgeIncarnation(ctx context.Context, key string) error {
	s.counts.Forget(key)
	for i, err := range s.db.Items(ctx, items.Records(items.KindsKey(key))) {
		if err == nil {
			kind := andon.RecordKind(i.Text(items.AttrSort))
			err = s.db.DeleteAll(ctx, items.Records(items.DocumentsKey(key, kind)))
		}
		if err != nil {
			return err
		}
	}
	if err := s.deleteNames(ctx, &tenant{Key: key}); err != nil {
		return err
	}
	if err := s.Logs.Delete(ctx, key); err != nil {
		return err
	}
	over := items.RecordKeys().Item("over", key)
	return s.db.Write(ctx, ddb.Write{Table: items.TableRecords, Delete: over})
}
