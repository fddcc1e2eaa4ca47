package dynamostore

import (
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// shardsFor returns how many partitions to use for what is about to be written to a device.
func (s *Store) shardsFor(t *tenant, d *device, units int64) int {
	n := max(d.Partitions(), s.options.fixedShards())
	if s.options.Shards != autoShards {
		return n
	}
	return s.rates.Partitions(s.now(), d.Rows(t), units, n)
}

// unprocessed counts an entry or a message that a batch left unprocessed.
func (s *Store) unprocessed(table string, put ddb.Item) {
	hash := map[string]string{items.TableLog: items.AttrDevice,
		items.TableReadings: items.AttrReadingOf}[table]
	if hash != "" {
		s.rates.Again(put.Text(hash), items.UnitsOf(put.Bytes()))
	}
}
