package cassandrastore

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// bucketsDesign is the reference's fifth, and what is chosen unless another is: each state in a
// number of partitions, which may differ by tenant and state.
//
// Partition: one a tenant, state and bucket, so at most 100,000 devices (of some 50 bytes) times
// the number of buckets in a state. Write: one row at a change, and one deleted later. Read: as
// many partitions as buckets, side by side: few buckets are faster for few devices, many for many.
// What breaks it: a number that does not fit; `andon store rebuild latest` changes it.
type bucketsDesign struct{ counts bucketCounts }

func (bucketsDesign) tables() []table {
	return []table{{"latest_by_bucket", "Devices that may be in a state, by the number of " +
		"buckets that the state has. Written at the time of their entry.",
		`(tenant text, state text, buckets int, bucket int, device text,
  PRIMARY KEY ((tenant, state, buckets, bucket), device))`}}
}

// at returns the partition of a device.
func (d bucketsDesign) at(p place) []any {
	n := d.counts.of(p.tenant, p.state)
	return []any{p.tenant, string(p.state), n, shared.Spread(shared.Hash(p.device), n)}
}

func (bucketsDesign) rowADevice() bool { return false }

func (d bucketsDesign) add(p place) mutation {
	return mutation{{
		"INSERT INTO latest_by_bucket (tenant, state, buckets, bucket, device) " +
			"VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?",
		append(d.at(p), p.rowInState(), int64(p.at)),
	}}
}

func (d bucketsDesign) remove(p place) []mutation {
	return []mutation{{{
		"DELETE FROM latest_by_bucket USING TIMESTAMP ? " +
			"WHERE tenant = ? AND state = ? AND buckets = ? AND bucket = ? AND device = ?",
		append(append([]any{int64(p.at)}, d.at(p)...), p.rowInState()),
	}}}
}

func (d bucketsDesign) retire(p place, states []andon.State) []mutation {
	return removeAll(d, p, states)
}

func (d bucketsDesign) find(p place) []finding {
	n := d.counts.of(p.tenant, p.state)
	all := make([]finding, n)
	for bucket := range n {
		all[bucket] = finding{
			question{
				"SELECT device FROM latest_by_bucket WHERE tenant = ? AND state = ? " +
					"AND buckets = ? AND bucket = ? AND device >= ?", 4,
			},
			[]any{p.tenant, string(p.state), n, bucket, p.device}, idsOnly,
		}
	}
	return all
}
