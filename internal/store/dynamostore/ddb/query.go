package ddb

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/shared"
)

// Query selects the items of one partition, in the order of the sort key.
type Query struct {
	Table, Index string // Index is "" for the table itself
	Key          Keys
	Partition    string
	Prefix       string // of the sort key; or
	From, To     string // its bounds, both included; "" for none
	Order        andon.Order
	Page         int // items of one call
}

func (q *Query) condition() Condition {
	c := Condition{
		text: "#h = :h", names: map[string]string{"#h": q.Key.Hash},
		values: Item{":h": Text(q.Partition)},
	}
	add := func(text string, values ...string) {
		c.text += " AND " + text
		c.names["#s"] = q.Key.Sort
		for i, v := range values {
			c.values[[]string{":a", ":b"}[i]] = Text(v)
		}
	}
	switch {
	case q.Prefix != "":
		add("begins_with(#s, :a)", q.Prefix)
	case q.From != "" && q.To != "":
		add("#s BETWEEN :a AND :b", q.From, q.To)
	case q.From != "":
		add("#s >= :a", q.From)
	case q.To != "":
		add("#s <= :a", q.To)
	}
	return c
}

// empty reports that the bounds select nothing, which the service would refuse.
func (q *Query) empty() bool { return q.From != "" && q.To != "" && q.From > q.To }

// Page reads one page of a query after a key; next is the key to continue after, nil at the end.
func (c *Client) Page(
	ctx context.Context, q Query, after Item,
) (all []Item, next Item, err error) {
	if q.empty() {
		return nil, nil, ctx.Err()
	}
	key, began := q.condition(), c.config.Now()
	in := &dynamodb.QueryInput{
		TableName: c.name(q.Table), KeyConditionExpression: aws.String(key.text),
		ExpressionAttributeNames: key.names, ExpressionAttributeValues: key.values,
		ScanIndexForward: aws.Bool(q.Order == andon.Asc), ExclusiveStartKey: after,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
		Limit:                  aws.Int32(int32(min(max(q.Page, 1), MaxPage))),
	}
	if q.Index != "" {
		in.IndexName = aws.String(q.Index)
	}
	strong := q.Index == "" && !IsEventual(ctx)
	in.ConsistentRead = aws.Bool(strong)
	out, err := call(ctx, c, "Query", q.Table, c.sdk.Query, in)
	if err != nil {
		return nil, nil, err
	}
	c.explain(ctx, step{operation: "Query", table: q.Table, index: q.Index, strong: strong,
		condition: key, began: began, rows: int(out.Count), scanned: int(out.ScannedCount),
		consumed: consumedBy(out)})
	return appendItems(nil, out.Items), out.LastEvaluatedKey, nil
}

// Rows returns the items of a query, each read by decode, which may leave one out.
func Rows[R any](c *Client, q Query, decode func(Item) (R, bool, error)) *shared.Rows[R] {
	var after Item
	return shared.NewRows(func(ctx context.Context, _ []byte) (all []R, more []byte, err error) {
		found, next, err := c.Page(ctx, q, after)
		for _, i := range found {
			r, ok, err := decode(i)
			if err != nil {
				return nil, nil, err
			}
			if ok {
				all = append(all, r)
			}
		}
		if after = next; next != nil {
			more = []byte{1}
		}
		return all, more, err
	})
}

// RowsOf is Rows of each of some queries.
func RowsOf[R any](
	c *Client, queries []Query, decode func(Item) (R, bool, error),
) (all []*shared.Rows[R]) {
	for _, q := range queries {
		all = append(all, Rows(c, q, decode))
	}
	return all
}

// Collect reads all items of a query, each by decode.
func Collect[R any](
	ctx context.Context, c *Client, q Query, decode func(Item) (R, bool, error),
) (all []R, err error) {
	q.Page = MaxPage
	return seq.Collect(Rows(c, q, decode).Each(ctx))
}

// Items returns the items of a query, page by page.
func (c *Client) Items(ctx context.Context, q Query) iter.Seq2[Item, error] {
	if q.Page == 0 {
		q.Page = MaxPage
	}
	return Rows(c, q, func(i Item) (Item, bool, error) { return i, true, nil }).Each(ctx)
}

// Scan reads the next items of a whole table after a key, in the order in which the service keeps
// them; next is the key to continue after, nil at the end.
func (c *Client) Scan(
	ctx context.Context, table string, after Item, limit int,
) (found []Item, next Item, err error) {
	out, err := call(ctx, c, "Scan", table, c.sdk.Scan, &dynamodb.ScanInput{
		TableName: c.name(table), ExclusiveStartKey: after, Limit: aws.Int32(int32(limit)),
		ConsistentRead:         aws.Bool(!IsEventual(ctx)),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
	})
	if err != nil {
		return nil, nil, err
	}
	return appendItems(nil, out.Items), out.LastEvaluatedKey, nil
}

// step is a call as a plan shows it.
type step struct {
	operation, table, index string
	strong                  bool
	condition               Condition
	began                   time.Time
	rows, scanned           int
	consumed                consumption
}

// explain adds a call to the plan that the context asks for.
func (c *Client) explain(ctx context.Context, s step) {
	p := andon.PlanOf(ctx)
	if p == nil {
		return
	}
	words := []string{s.operation, *c.name(s.table)}
	if s.index != "" {
		words = append(words, "index "+s.index)
	}
	add := andon.PlanStep{Consistency: Eventual, Rows: s.rows, Scanned: s.scanned,
		Took: andon.Took(c.config.Now().Sub(s.began))}
	for _, used := range s.consumed {
		add.Units += aws.ToFloat64(used.CapacityUnits)
	}
	if s.strong {
		add.Consistency = Strong
	}
	if s.condition.text != "" {
		shown := s.condition.text
		for short, name := range s.condition.names {
			shown = strings.ReplaceAll(shown, short, name)
		}
		words = append(words, shown)
		add.Partition = []string{s.condition.values.Text(":h")}
	}
	add.Statement = strings.Join(words, " ")
	p.Add(add)
}
