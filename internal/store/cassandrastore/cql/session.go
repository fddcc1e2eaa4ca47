package cql

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// Session sends statements. Its methods may be called concurrently.
type Session struct {
	driver      *gocql.Session
	options     Options
	speculation gocql.SpeculativeExecutionPolicy
	failures    *failures
	inFlight    chan struct{}
}

// Connect returns a session on the keyspace of the options.
func (c *Cluster) Connect() (*Session, error) { return connect(c.Options, c.Options.Keyspace, c) }

func connect(o Options, keyspace string, c *Cluster) (*Session, error) {
	config, err := o.config(keyspace)
	if err != nil {
		return nil, err
	}
	failed := &failures{}
	config.RetryPolicy = &again{most: 2, failures: failed}
	driver, err := config.CreateSession()
	if err != nil {
		return nil, unreached(o, err)
	}
	s := &Session{
		driver: driver, options: o, failures: failed, speculation: gocql.NonSpeculativeExecution{},
		inFlight: make(chan struct{}, o.InFlight),
	}
	if c != nil && o.Speculate > 0 && c.Datacenters[c.Datacenter] > 1 {
		s.speculation = &gocql.SimpleSpeculativeExecution{
			NumAttempts: 1, TimeoutDelay: o.Speculate,
		}
	}
	return s, nil
}

// Driver returns the session of the driver, for measurements of the driver itself.
func (s *Session) Driver() *gocql.Session { return s.driver }

// Close ends the connections.
func (s *Session) Close() { s.driver.Close() }

// Query is a statement that reads. Its first Partition values are the partition key.
type Query struct {
	Text      string
	Partition int
}

// Ask returns the query of a text.
func Ask(text string, partition int) Query { return Query{text, partition} }

// PageRows is how many rows are read at a time unless the caller needs fewer.
const PageRows = 1000

// PageOf returns how many rows of each of n partitions are read at a time for a list of any limit.
func PageOf(limit, n int) int {
	n = max(n, 1)
	return min(max(2*min(limit, n*PageRows)/n, 16), PageRows)
}

// Page reads one page of a query from state on, and calls row for each row of it, after the columns
// of the row are in into. It returns the state of the next page; nil after the last one.
func (s *Session) Page(
	ctx context.Context, q Query, size int, state []byte, args, into []any, row func(),
) (next []byte, err error) {
	ctx, release, err := s.acquire(ctx)
	if err != nil {
		return nil, Failure("read", err)
	}
	defer release()
	began, rows := s.options.Now(), 0
	it := s.driver.Query(q.Text, args...).Consistency(s.options.read()).Idempotent(true).
		PageSize(size).PageState(state).SetSpeculativeExecutionPolicy(s.speculation).
		IterContext(ctx)
	next = append(next, it.PageState()...)
	for it.Scan(into...) {
		rows++
		row()
	}
	err = it.Close()
	if plan := andon.PlanOf(ctx); plan != nil {
		plan.Add(andon.PlanStep{
			Statement: q.Text, Partition: partitionOf(args[:q.Partition]),
			Consistency: s.options.ReadConsistency, Rows: rows,
			Took: andon.Took(s.options.Now().Std().Sub(began.Std())),
		})
	}
	return next, Failure("read", err)
}

func partitionOf(args []any) []string {
	var values []string
	for _, a := range args {
		if b, ok := a.([]byte); ok {
			a = fmt.Sprintf("0x%x", b)
		}
		values = append(values, fmt.Sprint(a))
	}
	return values
}

// Each reads a query page by page to its end, and calls row for each row.
func (s *Session) Each(ctx context.Context, q Query, args, into []any, row func()) error {
	for state := []byte(nil); ; {
		next, err := s.Page(ctx, q, PageRows, state, args, into, row)
		if err != nil || len(next) == 0 {
			return err
		}
		state = next
	}
}

// Texts reads all rows of a query that has one column of text.
func Texts[T ~string](ctx context.Context, s *Session, q Query, args ...any) (all []T, err error) {
	var value string
	err = s.Each(ctx, q, args, []any{&value}, func() { all = append(all, T(value)) })
	return all, err
}

// Pages are the rows of a query, of which each page has size.
func Pages[R any](
	s *Session, q Query, args []any, size int, into func(*R) []any,
) *shared.Rows[R] {
	return shared.NewRows(func(ctx context.Context, state []byte) ([]R, []byte, error) {
		var r R
		var rows []R
		next, err := s.Page(ctx, q, size, state, args, into(&r), func() {
			rows = append(rows, r)
			r = *new(R) // or the driver would write the next row's bytes over this one's
		})
		return rows, next, err
	})
}

// InRange is a condition that divides a table whose partitions are devices of tenants. Ranges are
// its values: so many parts of the ring.
const InRange = "token(tenant, device) >= ? AND token(tenant, device) <= ?"

// Ranges returns the values of InRange for each of n parts, a power of two.
func Ranges(n uint64) iter.Seq[[]any] {
	step := math.MaxUint64/n + 1
	return func(yield func([]any) bool) {
		for i := range n {
			from := int64(i*step) + math.MinInt64
			if !yield([]any{from, from + int64(step-1)}) {
				return
			}
		}
	}
}

// Text is the column of rows that have one text, for Pages.
func Text(value *string) []any { return []any{value} }

// A Statement writes.
type Statement struct {
	Text string
	Args []any
}

// Mutation is what is written to one partition as one atomic batch.
type Mutation []Statement

// Do returns a statement.
func Do(text string, args ...any) Statement { return Statement{text, args} }

// One returns the mutation of one statement.
func One(text string, args ...any) Mutation { return Mutation{{text, args}} }

// Write writes mutations concurrently, and returns when all of them are acknowledged, or the first
// error. After an error any of them may have been written.
func (s *Session) Write(ctx context.Context, mutations ...Mutation) error {
	err := shared.Parallel(ctx, len(mutations), func(ctx context.Context, i int) error {
		return s.mutate(ctx, mutations[i])
	})
	return Failure("write", err)
}

func (s *Session) mutate(ctx context.Context, m Mutation) error {
	if len(m) > 1 {
		return s.batch(ctx, gocql.UnloggedBatch, m)
	}
	ctx, release, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return s.driver.Query(m[0].Text, m[0].Args...).Consistency(s.options.write()).
		Idempotent(true).ExecContext(ctx)
}

// WriteLogged writes what belongs together but is in several partitions: once Cassandra has it, all
// of it is written.
func (s *Session) WriteLogged(ctx context.Context, statements []Statement) error {
	return Failure("write", s.batch(ctx, gocql.LoggedBatch, statements))
}

func (s *Session) batch(ctx context.Context, kind gocql.BatchType, all []Statement) error {
	ctx, release, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	batch := s.driver.Batch(kind).Consistency(s.options.write())
	for _, w := range all {
		batch.Entries = append(batch.Entries, gocql.BatchEntry{
			Stmt: w.Text, Args: w.Args, Idempotent: true,
		})
	}
	return batch.ExecContext(ctx)
}

// acquire waits until fewer than Options.InFlight statements are sent, until release is called. The
// statement may take Options.Timeout, all of its attempts together.
func (s *Session) acquire(
	ctx context.Context,
) (within context.Context, release func(), err error) {
	select {
	case s.inFlight <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	within, cancel := context.WithTimeout(ctx, s.options.Timeout)
	return within, func() {
		cancel()
		<-s.inFlight
	}, nil
}

// Swap runs a lightweight transaction, and returns the columns of its condition where it was not
// applied. The driver does not repeat it: the first attempt may have been applied, and the second
// would then not be.
func (s *Session) Swap(
	ctx context.Context, text string, args ...any,
) (applied bool, found map[string]any, err error) {
	ctx, release, err := s.acquire(ctx)
	if err != nil {
		return false, nil, err
	}
	defer release()
	found = map[string]any{}
	applied, err = s.driver.Query(text, args...).Consistency(s.options.write()).
		Idempotent(false).MapScanCASContext(ctx, found)
	return applied, found, err
}

// Consistency is how many replicas answer a statement.
type Consistency = gocql.Consistency

// The consistencies of statements that do not follow the options: of system tables, which each node
// has of its own, and of what all processes of a keyspace agree on.
const (
	LocalOne = gocql.LocalOne
	Quorum   = gocql.Quorum
)

// Reads is the consistency of reads.
func (s *Session) Reads() Consistency { return s.options.read() }

// ExecAt runs one statement at a consistency.
func (s *Session) ExecAt(ctx context.Context, c Consistency, text string, args ...any) error {
	return s.driver.Query(text, args...).Consistency(c).ExecContext(ctx)
}

// EachAt reads a query at a consistency, and calls row for each row.
func (s *Session) EachAt(
	ctx context.Context, c Consistency, q string, args, into []any, row func(),
) error {
	return each(s.driver.Query(q, args...).Consistency(c).IterContext(ctx), into, row)
}

func each(it *gocql.Iter, into []any, row func()) error {
	for it.Scan(into...) {
		row()
	}
	return it.Close()
}

// EachOn reads a system view on one node, and calls row for each row.
func (s *Session) EachOn(ctx context.Context, node Node, q string, into []any, row func()) error {
	on := s.driver.Query(q).SetHostID(node.ID).Consistency(LocalOne)
	return each(on.IterContext(ctx), into, row)
}

// Node is a node of the cluster.
type Node struct{ ID, Address, datacenter string }

// Nodes returns the nodes of the local data centre.
func (s *Session) Nodes(ctx context.Context) ([]Node, error) {
	all, _, err := s.nodes(ctx)
	away := func(n Node) bool { return n.datacenter != all[0].datacenter }
	return slices.DeleteFunc(slices.Clone(all), away), err
}

// nodes returns all nodes, the one that answers first, and its version.
func (s *Session) nodes(ctx context.Context) (all []Node, version string, err error) {
	var n Node
	columns := []any{&n.ID, &n.Address, &n.datacenter}
	_, err = s.OneAt(ctx, LocalOne, "SELECT host_id, rpc_address, data_center, release_version "+
		"FROM system.local", nil, append(columns, &version)...)
	if err != nil {
		return nil, "", err
	}
	all = append(all, n)
	err = s.EachOn(ctx, n, "SELECT host_id, native_address, data_center FROM system.peers_v2",
		columns, func() { all = append(all, n) })
	return all, version, err
}

// OneAt reads the first row of a query at a consistency; found is false where there is none.
func (s *Session) OneAt(
	ctx context.Context, c Consistency, q string, args []any, into ...any,
) (found bool, err error) {
	err = s.driver.Query(q, args...).Consistency(c).ScanContext(ctx, into...)
	if errors.Is(err, gocql.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
