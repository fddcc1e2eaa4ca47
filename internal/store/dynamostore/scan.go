package dynamostore

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
)

// counted takes in what is known of a device. Versions only rise, so they are the times that say
// which of two stands.
func (s *Store) counted(tenant string, d *device) {
	key, over := andon.EventKey{Time: andon.Time(d.version), State: d.State}, andon.Time(0)
	if !d.Alive() {
		over = key.Time
	}
	s.counts.Raise(tenant, 0, d.ID, key, over, d.Received)
}

// countAll reads all devices, as they were a moment ago: what is missed is older than what this
// process wrote, or is counted the next time.
func (s *Store) countAll(ctx context.Context) error {
	return s.scan(weakly(ctx), func(tenant string, d *device) error {
		s.counted(tenant, d)
		s.counts.Progress()
		return nil
	})
}

// scan reads all devices of all tenants, a page at a time.
func (s *Store) scan(ctx context.Context, each func(tenant string, d *device) error) error {
	var behind item
	for {
		found, next, err := s.scanPage(ctx, behind, pageItems)
		if err != nil {
			return err
		}
		for _, i := range found {
			tenant, id := splitDevice(i.text(attrDevice))
			d, err := readDevice(id, i)
			if err == nil {
				err = each(tenant, d)
			}
			if err != nil {
				return err
			}
		}
		if behind = next; behind == nil {
			return nil
		}
	}
}

// scanPage reads the items of the next devices from behind a key; next is the key to go on behind,
// nil at the end.
func (s *Store) scanPage(
	ctx context.Context, behind item, most int32,
) (found []item, next item, err error) {
	err = s.call(ctx, "Scan", tableDevices, func(ctx context.Context) (consumption, error) {
		out, err := s.db.Scan(ctx, &dynamodb.ScanInput{
			TableName: s.table(tableDevices), ExclusiveStartKey: behind,
			Limit: aws.Int32(most), ConsistentRead: aws.Bool(!isEventual(ctx)),
			ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
		})
		if err != nil {
			return nil, err
		}
		for _, i := range out.Items {
			found = append(found, i)
		}
		next = out.LastEvaluatedKey
		return one(out.ConsumedCapacity), nil
	})
	return found, next, err
}
