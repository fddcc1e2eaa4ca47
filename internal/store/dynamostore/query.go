package dynamostore

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// question asks for the items of one partition, in the order of the sort key.
type question struct {
	table, index string // index is "" for the table itself
	key          keys
	partition    string
	prefix       string // of the sort key; or
	from, to     string // its bounds, both included; "" for none
	order        andon.Order
	page         int // items of one call
}

// condition is the key condition.
func (q *question) condition() condition {
	c := condition{
		text: "#h = :h", names: map[string]string{"#h": q.key.hash},
		values: item{":h": text(q.partition)},
	}
	add := func(text string, values ...string) {
		c.text += " AND " + text
		c.names["#s"] = q.key.sort
		for i, v := range values {
			c.values[[]string{":a", ":b"}[i]] = &types.AttributeValueMemberS{Value: v}
		}
	}
	switch {
	case q.prefix != "":
		add("begins_with(#s, :a)", q.prefix)
	case q.from != "" && q.to != "":
		add("#s BETWEEN :a AND :b", q.from, q.to)
	case q.from != "":
		add("#s >= :a", q.from)
	case q.to != "":
		add("#s <= :a", q.to)
	}
	return c
}

// none reports that the bounds leave nothing, which the service would refuse.
func (q *question) none() bool { return q.from != "" && q.to != "" && q.from > q.to }

// ask reads one page from behind a key; next is the key to go on behind, nil at the end.
func (s *Store) ask(
	ctx context.Context, q question, behind item,
) (all []item, next item, err error) {
	if q.none() {
		return nil, nil, ctx.Err()
	}
	c, began := q.condition(), s.now()
	in := &dynamodb.QueryInput{
		TableName: s.table(q.table), KeyConditionExpression: aws.String(c.text),
		ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
		ScanIndexForward: aws.Bool(q.order == andon.Asc), ExclusiveStartKey: behind,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
		Limit:                  aws.Int32(int32(min(max(q.page, 1), pageItems))),
	}
	if q.index != "" {
		in.IndexName = aws.String(q.index)
	}
	strong := q.index == "" && !isEventual(ctx)
	in.ConsistentRead = aws.Bool(strong)
	err = s.call(ctx, "Query", q.table, func(ctx context.Context) (consumption, error) {
		out, err := s.db.Query(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, i := range out.Items {
			all = append(all, i)
		}
		next = out.LastEvaluatedKey
		s.explain(ctx, step{operation: "Query", table: q.table, index: q.index, strong: strong,
			condition: c, began: began, rows: int(out.Count), scanned: int(out.ScannedCount),
			consumed: one(out.ConsumedCapacity)})
		return one(out.ConsumedCapacity), nil
	})
	return all, next, err
}

// rows are the answers of a question, each read by decode, which may leave an item out.
func rows[R any](s *Store, q question, decode func(item) (R, bool, error)) *shared.Rows[R] {
	var behind item
	return shared.NewRows(func(ctx context.Context, _ []byte) (all []R, more []byte, err error) {
		found, next, err := s.ask(ctx, q, behind)
		for _, i := range found {
			r, ok, err := decode(i)
			if err != nil {
				return nil, nil, err
			}
			if ok {
				all = append(all, r)
			}
		}
		if behind = next; next != nil {
			more = []byte{1}
		}
		return all, more, err
	})
}

// collect reads all answers of a question, each by decode.
func collect[R any](
	ctx context.Context, s *Store, q question, decode func(item) (R, bool, error),
) (all []R, err error) {
	q.page = pageItems
	for r, err := range rows(s, q, decode).All(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// each is the items of a question, page by page.
func (s *Store) each(ctx context.Context, q question) iter.Seq2[item, error] {
	if q.page == 0 {
		q.page = pageItems
	}
	return rows(s, q, func(i item) (item, bool, error) { return i, true, nil }).All(ctx)
}

// step is a call as a plan shows it.
type step struct {
	operation, table, index string
	strong                  bool
	condition               condition
	began                   time.Time
	rows, scanned           int
	consumed                []types.ConsumedCapacity
}

// explain writes a call into the plan that the context asks for.
func (s *Store) explain(ctx context.Context, is step) {
	p := andon.PlanOf(ctx)
	if p == nil {
		return
	}
	words := []string{is.operation, *s.table(is.table)}
	if is.index != "" {
		words = append(words, "index "+is.index)
	}
	add := andon.PlanStep{Consistency: eventual, Rows: is.rows, Scanned: is.scanned,
		Took: andon.Took(s.now().Sub(is.began))}
	for _, c := range is.consumed {
		add.Units += aws.ToFloat64(c.CapacityUnits)
	}
	if is.strong {
		add.Consistency = strong
	}
	if is.condition.text != "" {
		shown := is.condition.text
		for short, name := range is.condition.names {
			shown = strings.ReplaceAll(shown, short, name)
		}
		words = append(words, shown)
		add.Partition = []string{is.condition.values.text(":h")}
	}
	add.Statement = strings.Join(words, " ")
	p.Add(add)
}
