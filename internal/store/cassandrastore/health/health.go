// Package health reads what the nodes of a Cassandra cluster say of themselves in system_views,
// about the tables of one keyspace: how large partitions are, how many tombstones reads pass, and
// what waits. These views exist on each node for itself, so each is asked.
//
// Cassandra 5.0 has no view of the compactions that it estimates are pending: only of those that
// are running or in the queue of their executor. The package must not know what tables hold.
package health

import (
	"context"
	"errors"
	"time"

	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared"
)

// The statements. A view has a row for each table of all keyspaces, or for each pool.
const (
	Partitions = "SELECT keyspace_name, table_name, mebibytes FROM system_views.max_partition_size"
	Tombstones = "SELECT keyspace_name, table_name, p99th, max " +
		"FROM system_views.tombstones_per_read"
	pools = "SELECT name, pending_tasks, blocked_tasks FROM system_views.thread_pools"
	tasks = "SELECT keyspace_name, kind, progress, total FROM system_views.sstable_tasks"
)

// Node is what a node says of itself. A node that did not answer has Err.
type Node struct {
	cql.Node
	Err    error
	Tables map[string]Table
	Pools  map[string]Pool
	// Compacting is how many compactions of the keyspace are running, and Remaining how much they
	// have left to read.
	Compacting int
	Remaining  int64 // bytes
}

// Table is a table on one node.
type Table struct {
	Partition                     int64 // MiB of its largest partition
	TombstonesP99, TombstonesMost float64
}

// Pool is one of the thread pools of a node.
type Pool struct{ Pending, Blocked int64 }

// Read asks each node of the local data centre about a keyspace, all of them concurrently. The
// error is that the nodes are not known.
func Read(ctx context.Context, s *cql.Session, keyspace string) ([]Node, error) {
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return nil, cql.Failure("read the nodes", err)
	}
	all := make([]Node, len(nodes))
	_ = shared.Parallel(ctx, len(nodes), func(ctx context.Context, i int) error {
		n := Node{Node: nodes[i], Tables: map[string]Table{}, Pools: map[string]Pool{}}
		n.Err = cql.Failure("read system_views of "+n.Address, n.read(ctx, s, keyspace))
		all[i] = n
		return nil // of the other nodes it says nothing
	})
	return all, ctx.Err()
}

func (n *Node) read(ctx context.Context, s *cql.Session, of string) error {
	var keyspace, name string
	each := func(text string, into []any, row func()) error {
		into = append([]any{&keyspace, &name}, into...)
		return s.EachOn(ctx, n.Node, text, into, func() {
			if keyspace == of {
				row()
			}
		})
	}
	var size, progress, total int64
	var p99, most float64
	var pool Pool
	return errors.Join(
		each(Partitions, []any{&size}, func() {
			t := n.Tables[name]
			t.Partition = size
			n.Tables[name] = t
		}),
		each(Tombstones, []any{&p99, &most}, func() {
			t := n.Tables[name]
			t.TombstonesP99, t.TombstonesMost = p99, most
			n.Tables[name] = t
		}),
		each(tasks, []any{&progress, &total}, func() {
			n.Compacting++
			n.Remaining += total - progress
		}),
		s.EachOn(ctx, n.Node, pools, []any{&name, &pool.Pending, &pool.Blocked},
			func() { n.Pools[name] = pool }),
	)
}

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
