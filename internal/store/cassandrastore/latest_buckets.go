package cassandrastore

import "github.com/andonhq/andon/internal/store/shared"

// bucketsDesign is the reference's fifth, and what is chosen unless another is: each state in a
// number of partitions, which may differ by tenant and state.
//
// Partition: one a tenant, state and bucket, so at most 100,000 devices (of some 50 bytes) times
// the number of buckets in a state. Write: one row at a change, and one deleted later. Read: as
// many partitions as buckets, side by side: few buckets are faster for few devices, many for many.
// What breaks it: a number that does not fit; `andon store rebuild latest` changes it.
type bucketsDesign struct {
	inStates
	rows   *stateRows
	counts bucketCounts
}

func newBucketsDesign(counts bucketCounts) bucketsDesign {
	rows := newStateRows("latest_by_bucket", 4, "tenant", "state", "buckets", "bucket")
	at := func(p place) (*stateRows, []any) {
		n := counts.of(p.tenant, p.state)
		bucket := shared.Spread(shared.Hash(p.device), n)
		return rows, []any{p.tenant, string(p.state), n, bucket}
	}
	return bucketsDesign{inStates{at}, rows, counts}
}

func (bucketsDesign) tables() []table {
	return []table{{"latest_by_bucket", "Devices that may be in a state, by the number of " +
		"buckets that the state has. Written at the time of their entry.",
		`(tenant text, state text, buckets int, bucket int, device text,
  PRIMARY KEY ((tenant, state, buckets, bucket), device))`}}
}

func (d bucketsDesign) find(p place) []finding {
	n := d.counts.of(p.tenant, p.state)
	all := make([]finding, n)
	for bucket := range n {
		args := []any{p.tenant, string(p.state), n, bucket, p.device}
		all[bucket] = finding{d.rows.find, args, idsOnly}
	}
	return all
}
