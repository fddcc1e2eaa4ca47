package dynamostore

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
)

// tally is how many devices are in each state, without asking for each device. It is the histogram
// of a map from device to its newest version that is known, of about 60 bytes a device. What this
// process wrote is in it at once; what others wrote, since all devices were read last. Versions
// only rise, so the two may cross in any way.
type tally struct {
	seed maphash.Seed
	read chan struct{} // closed once all devices were read

	mu      sync.Mutex
	tenants map[string]map[uint64]tallied
}

type tallied struct {
	version  int64
	state    andon.State // absent: it is in none
	received andon.Time
}

func newTally() *tally {
	return &tally{
		seed: maphash.MakeSeed(), read: make(chan struct{}),
		tenants: map[string]map[uint64]tallied{},
	}
}

// take takes in what is known of a device.
func (c *tally) take(tenant string, d *device) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.tenants[tenant]
	if all == nil {
		all = map[uint64]tallied{}
		c.tenants[tenant] = all
	}
	sum := maphash.String(c.seed, string(d.ID))
	if all[sum].version >= d.version {
		return
	}
	is := tallied{version: d.version, received: d.Received}
	if d.Alive() {
		is.state = d.State
	}
	all[sum] = is
}

// forget forgets a tenant.
func (c *tally) forget(tenant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tenants, tenant)
}

// countingPatience is how long a request waits for the first reading.
const countingPatience = 10 * time.Second

func (c *tally) await(ctx context.Context) error {
	patience := time.NewTimer(countingPatience)
	defer patience.Stop()
	select {
	case <-c.read:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-patience.C:
		return andon.Errorf(andon.Unavailable, "the devices of each state are still being counted "+
			"since the start: try again in a moment")
	}
}

// of returns the states that devices of a tenant are in.
func (c *tally) of(tenant string, silentBefore andon.Time) (counts []andon.StateCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := map[andon.State]int{}
	for _, d := range c.tenants[tenant] {
		if d.state == "" {
			continue
		}
		i, ok := at[d.state]
		if !ok {
			i = len(counts)
			at[d.state], counts = i, append(counts, andon.StateCount{State: d.state})
		}
		counts[i].Count++
		if d.received < silentBefore {
			counts[i].Silent++
		}
	}
	return counts
}

// count reads all devices, again and again.
func (s *Store) count(ctx context.Context) {
	for first := true; ; {
		pause := s.options.Recount
		err := s.scan(ctx, func(tenant string, d *device) error {
			s.tally.take(tenant, d)
			return nil
		})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.options.Log.Warn("the devices can't be counted", "error", err)
			pause = time.Second
		case first:
			first = false
			close(s.tally.read)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// scan reads all devices of all tenants, a page at a time.
func (s *Store) scan(ctx context.Context, each func(tenant string, d *device) error) error {
	var behind item
	for {
		var found []item
		err := s.call(ctx, "Scan", tableDevices,
			func(ctx context.Context) (consumption, error) {
				out, err := s.db.Scan(ctx, &dynamodb.ScanInput{
					TableName: s.table(tableDevices), ExclusiveStartKey: behind,
					Limit: aws.Int32(pageItems), ConsistentRead: aws.Bool(true),
					ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
				})
				if err != nil {
					return nil, err
				}
				for _, i := range out.Items {
					found = append(found, i)
				}
				behind = out.LastEvaluatedKey
				return one(out.ConsumedCapacity), nil
			})
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
		if err != nil || behind == nil {
			return err
		}
	}
}
