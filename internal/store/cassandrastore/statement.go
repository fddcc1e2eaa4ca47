package cassandrastore

import (
	"context"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// question is a statement that reads. Its first partition values are the partition key.
type question struct {
	text      string
	partition int
}

// pageRows is how many rows are asked for at a time unless fewer are asked for.
const pageRows = 1000

// readPage asks a question from where state says, and calls row for each row of one page, after the
// row's columns are in into. It returns where the next page begins; nothing behind the last one.
// No statement is under way while row runs, except this one.
func (s *Store) readPage(
	ctx context.Context, q question, size int, state []byte, args, into []any, row func(),
) (next []byte, err error) {
	ctx, release, err := s.acquire(ctx)
	if err != nil {
		return nil, failure("read", err)
	}
	defer release()
	began, rows := s.now(), 0
	it := s.session.Query(q.text, args...).Consistency(s.options.read()).Idempotent(true).
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
			Statement: q.text, Partition: partitionOf(args[:q.partition]),
			Consistency: s.options.ReadConsistency, Rows: rows,
			Took: andon.Took(s.now().Sub(began)),
		})
	}
	return next, failure("read", err)
}

// newPages are the rows of a question, asked for so many at a time.
func newPages[R any](
	s *Store, q question, args []any, size int, into func(*R) []any,
) *shared.Rows[R] {
	return shared.NewRows(func(ctx context.Context, state []byte) ([]R, []byte, error) {
		var r R
		var rows []R
		next, err := s.readPage(ctx, q, size, state, args, into(&r), func() {
			rows = append(rows, r)
		})
		return rows, next, err
	})
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

// each asks a question page by page to its end.
func (s *Store) each(ctx context.Context, q question, args, into []any, row func()) error {
	for state := []byte(nil); ; {
		next, err := s.readPage(ctx, q, pageRows, state, args, into, row)
		if err != nil || len(next) == 0 {
			return err
		}
		state = next
	}
}

// statement is one that writes. Those of one mutation are of one partition.
type statement struct {
	text string
	args []any
}

// mutation is what is written to one partition, in one piece.
type mutation []statement

// write writes mutations side by side and returns when all of them are acknowledged, or the first
// error. After an error any of them may have been written.
func (s *Store) write(ctx context.Context, mutations []mutation) error {
	err := shared.Parallel(ctx, len(mutations), func(ctx context.Context, i int) error {
		return s.mutate(ctx, mutations[i])
	})
	return failure("write", err)
}

func (s *Store) mutate(ctx context.Context, m mutation) error {
	ctx, release, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	if len(m) == 1 {
		return s.session.Query(m[0].text, m[0].args...).Consistency(s.options.write()).
			Idempotent(true).ExecContext(ctx)
	}
	batch := s.session.Batch(gocql.UnloggedBatch).Consistency(s.options.write())
	for _, o := range m {
		batch.Entries = append(batch.Entries, gocql.BatchEntry{
			Stmt: o.text, Args: o.args, Idempotent: true,
		})
	}
	return batch.ExecContext(ctx)
}

// acquire takes one of the places for statements under way, until release is called. The statement
// may take Options.Timeout, all of its attempts together.
func (s *Store) acquire(
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

// within gives all statements together the time of one. It is for what is done in a few steps;
// where there may be many, each has its own, and the first that fails ends it.
func (s *Store) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.options.Timeout)
}

// stamp returns the write timestamp of a delivery: µs on this process's clock, strictly rising. A
// statement that is sent again keeps its stamp, so what a timeout left behind can't undo what came
// later.
func (s *Store) stamp() int64 {
	for {
		last := s.lastStamp.Load()
		next := max(int64(s.options.Now()), last+1)
		if s.lastStamp.CompareAndSwap(last, next) {
			return next
		}
	}
}

// writeLogged writes what belongs together but lies in several partitions: once Cassandra has it,
// all of it will be there.
func (s *Store) writeLogged(ctx context.Context, statements []statement) error {
	ctx, release, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	batch := s.session.Batch(gocql.LoggedBatch).Consistency(s.options.write())
	for _, o := range statements {
		batch.Entries = append(batch.Entries, gocql.BatchEntry{
			Stmt: o.text, Args: o.args, Idempotent: true,
		})
	}
	return failure("write", batch.ExecContext(ctx))
}
