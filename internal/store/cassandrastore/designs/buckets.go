package designs

import (
	"slices"

	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
)

// bucketsDesign is the reference's fifth, and the default: each state in a number of partitions,
// which may differ by tenant and state.
//
// Partition: one a tenant, state and bucket, so at most 100,000 devices (of some 50 bytes) times
// the number of buckets in a state. Write: one row at a change, and one deleted later. Read: as
// many partitions as buckets, up to 16 with one statement: few buckets are faster for few devices,
// many for many.
// What breaks it: a number that does not fit; `andon store rebuild latest` changes it.
type bucketsDesign struct {
	inStates
	counts BucketCounts
}

// together is how many buckets one statement reads: that costs less than a statement for each, and
// a node that was asked for all of many would have to gather them.
const together = 16

const findInBuckets = "SELECT bucket, device FROM latest_by_bucket WHERE tenant = ? AND " +
	"state = ? AND buckets = ? AND bucket IN ? AND device >= ? PER PARTITION LIMIT ?"

func newBucketsDesign(counts BucketCounts) bucketsDesign {
	rows := newStateRows("latest_by_bucket", 4, "tenant", "state", "buckets", "bucket")
	at := func(p Place) (*stateRows, []any) {
		n := counts.Count(p.Tenant, p.State)
		key, bucket := counts.Bucket(p.Device, n)
		return rows, []any{p.Tenant, string(p.State), key, bucket}
	}
	return bucketsDesign{inStates{at}, counts}
}

func (bucketsDesign) Tables() []cql.Table {
	return []cql.Table{cql.NewTable(
		"latest_by_bucket", "Devices that may be in a state, by the number of "+
			"buckets that the state has, and their hash. Written at the time of their entry.",
		`(tenant text, state text, buckets int, bucket int, device text,
  PRIMARY KEY ((tenant, state, buckets, bucket), device))`)}
}

func (d bucketsDesign) Find(p Place) []Finding {
	n := d.counts.Count(p.Tenant, p.State)
	buckets := make([]int, n)
	for bucket := range buckets {
		buckets[bucket] = bucket
	}
	var all []Finding
	for some := range slices.Chunk(buckets, together) {
		args := []any{p.Tenant, string(p.State), d.counts.key(n), some, p.Device}
		all = append(all, Finding{
			Query: cql.Ask(findInBuckets, 4), Args: args, Buckets: len(some),
		})
	}
	return all
}
