package cassandrastore

// A device that writes more than fits a partition gets more of them for each day: 2, 4, 8 ... The
// number only ever grows. The directory says which partitions there are, so that it takes effect at
// once and readers need not know it. What is delivered again after the number grew may stand in two
// partitions, as one entry: readers join equal identities.

// Rows of one partition, by what one process counted on a day; with several processes, or one that
// was started again, it may come to a multiple of this before the number grows.
const rowsPerPartition = 50_000

// maxShards keeps a device from having a partition for each second.
const maxShards = 1024

// grow raises the number of partitions of a device once a day of it is full.
func (a *appending) grow(d *deviceAppend) {
	day := d.events[len(d.events)-1].Time.Day()
	if d.slot.day != day {
		d.slot.day, d.slot.today = day, 0
	}
	d.slot.today += len(d.events)
	shards := max(d.is.shards, 1)
	if d.slot.today <= rowsPerPartition*shards || shards >= maxShards {
		return
	}
	d.is.shards = shards * 2
	a.log = append(a.log, mutation{{
		"UPDATE latest_by_device USING TIMESTAMP ? SET shards = ? WHERE tenant = ? AND device = ?",
		[]any{int64(d.is.shards), d.is.shards, a.tenant.key, string(d.events[0].Device)},
	}})
}
