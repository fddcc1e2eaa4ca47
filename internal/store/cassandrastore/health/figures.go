package health

import (
	"context"
	"time"

	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
)

// timeout is how long a scrape of metrics waits for the nodes.
const timeout = 2 * time.Second

// watched are the pools whose queues say that a node does not keep up.
var watched = [...]string{
	"CompactionExecutor", "MutationStage", "ReadStage", "Native-Transport-Requests",
}

// Figures reports what the nodes say of a keyspace, and how the statements of this process fared. A
// node that does not answer in time has no figures but that.
func Figures(
	s *cql.Session, keyspace string,
	report func(name, help string, value float64, labels ...string),
) {
	s.Failures(func(reason string, attempts int64) {
		report("attempts_failed_total", "Attempts of statements that failed, most of which were "+
			"repeated on another node.", float64(attempts), "reason", reason)
	})
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	nodes, _ := Read(ctx, s, keyspace)
	for i := range nodes {
		nodes[i].figures(report)
	}
}

func (n *Node) figures(report func(name, help string, value float64, labels ...string)) {
	add := func(name, help string, value float64, labels ...string) {
		report(name, help, value, append(labels, "node", n.Address)...)
	}
	answers := 1.0
	if n.Err != nil {
		answers = 0
	}
	add("node_answers", "1 where a node answered about itself, 0 where it did not.", answers)
	if n.Err != nil {
		return
	}
	for table, t := range n.Tables {
		add("largest_partition_bytes", "The largest partition of a table on a node.",
			float64(t.Partition<<20), "table", table)
		add("tombstones_per_read", "Tombstones that 99 of 100 reads of a table passed at most, "+
			"lately.", t.TombstonesP99, "table", table)
	}
	for _, pool := range watched {
		add("pending_tasks", "Tasks that wait in a pool of a node.",
			float64(n.Pools[pool].Pending), "pool", pool)
		add("blocked_tasks", "Tasks that could not enter the queue of a pool of a node.",
			float64(n.Pools[pool].Blocked), "pool", pool)
	}
	add("compactions_running", "Compactions of the keyspace that run on a node.",
		float64(n.Compacting))
	add("compacting_bytes", "What they have left to read.", float64(n.Remaining))
}
