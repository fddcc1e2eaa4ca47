package ddb

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon/internal/store/shared"
)

// Write is one item that is put, or one that is deleted, given by its key.
type Write struct {
	Table       string
	Put, Delete Item
}

func (w *Write) request() types.WriteRequest {
	if w.Put != nil {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: w.Put}}
	}
	return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: w.Delete}}
}

// Write writes items of one table or more, in no order. No key may be given twice.
func (c *Client) Write(ctx context.Context, all ...Write) error {
	chunks := slices.Collect(slices.Chunk(all, MaxWrites))
	return shared.Parallel(ctx, len(chunks), func(ctx context.Context, i int) error {
		return c.writeChunk(ctx, chunks[i])
	})
}

func (c *Client) writeChunk(ctx context.Context, all []Write) (err error) {
	left := map[string][]types.WriteRequest{}
	for i := range all {
		name := *c.name(all[i].Table)
		left[name] = append(left[name], all[i].request())
	}
	table := all[0].Table
	for tries := 0; len(left) > 0 && err == nil; tries++ {
		out, failed := call(ctx, c, "BatchWriteItem", table, c.sdk.BatchWriteItem,
			&dynamodb.BatchWriteItemInput{
				RequestItems:           left,
				ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
			})
		if err = failed; err == nil {
			left = out.UnprocessedItems
		}
		c.unprocessed(left)
		if err == nil && len(left) > 0 {
			c.meter.unprocessed.Add(1)
			err = c.Pause(ctx, tries, "BatchWriteItem", table)
		}
	}
	return err
}

// unprocessed reports the items that a call did not write, whether it failed or not.
func (c *Client) unprocessed(left map[string][]types.WriteRequest) {
	if c.config.Unprocessed == nil {
		return
	}
	for name, all := range left {
		for _, r := range all {
			if r.PutRequest != nil {
				table := strings.TrimPrefix(name, c.config.Prefix)
				c.config.Unprocessed(table, r.PutRequest.Item)
			}
		}
	}
}

// Condition is what must hold of the item that exists.
type Condition struct {
	text   string
	names  map[string]string
	values Item
}

// Absent holds where there is no item. hash is the partition key of the table.
func Absent(hash string) Condition {
	return Condition{text: "attribute_not_exists(#k)", names: map[string]string{"#k": hash}}
}

// Unchanged holds where a number is still what was read.
func Unchanged(name string, value int64) Condition {
	return Condition{
		text: "#v = :v", names: map[string]string{"#v": name}, values: Item{":v": Number(value)},
	}
}

// Nonce is the attribute that says which put an item is of. See Swap.
const Nonce = "Nonce"

// Put puts an item on a condition, and returns ErrRaced where that does not hold. If an answer was
// lost, that may be because of the item itself: it is sent again.
func (c *Client) Put(ctx context.Context, table string, put Item, on Condition) error {
	_, err := call(ctx, c, "PutItem", table, c.sdk.PutItem, &dynamodb.PutItemInput{
		TableName: c.name(table), Item: put, ConditionExpression: aws.String(on.text),
		ExpressionAttributeNames: on.names, ExpressionAttributeValues: on.values,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
	})
	return err
}

// Swap is Put of an item that one process changes at a time. It sets the item's Nonce, by which it
// knows its own put where the answer was lost.
func (c *Client) Swap(ctx context.Context, table string, key, put Item, on Condition) error {
	nonce := rand.Text()
	put[Nonce] = Text(nonce)
	err := c.Put(ctx, table, put, on)
	if !errors.Is(err, ErrRaced) {
		return err
	}
	there, failed := c.Get(ctx, table, key)
	switch {
	case failed != nil:
		return failed
	case there.Text(Nonce) == nonce:
		return nil
	}
	return err
}

// Update sets attributes of one item and leaves its others; nil removes one. With mustExist it
// returns ErrRaced where there is no item.
func (c *Client) Update(
	ctx context.Context, table string, key, set Item, mustExist string,
) error {
	in := &dynamodb.UpdateItemInput{
		TableName: c.name(table), Key: key, ExpressionAttributeNames: map[string]string{},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
	}
	values := Item{}
	var sets, removes, parts []string
	for name, value := range set {
		in.ExpressionAttributeNames["#"+name] = name
		if value == nil {
			removes = append(removes, "#"+name)
			continue
		}
		sets = append(sets, "#"+name+" = :"+name)
		values[":"+name] = value
	}
	if len(sets) > 0 {
		parts = append(parts, "SET "+strings.Join(sets, ", "))
		in.ExpressionAttributeValues = values
	}
	if len(removes) > 0 {
		parts = append(parts, "REMOVE "+strings.Join(removes, ", "))
	}
	in.UpdateExpression = aws.String(strings.Join(parts, " "))
	if mustExist != "" {
		in.ConditionExpression = aws.String("attribute_exists(#hash)")
		in.ExpressionAttributeNames["#hash"] = mustExist
	}
	_, err := call(ctx, c, "UpdateItem", table, c.sdk.UpdateItem, in)
	return err
}

// DeleteAll deletes what queries find, one after the other, page by page.
func (c *Client) DeleteAll(ctx context.Context, all ...Query) (err error) {
	for _, q := range all {
		q.Page = MaxPage
		var after Item
		for more := true; more; more = after != nil {
			if _, after, err = c.DeletePage(ctx, q, after); err != nil {
				return err
			}
		}
	}
	return nil
}

// DeletePage deletes one page of what a query finds after a key, and returns how many items those
// were; next is the key to continue after, nil at the end.
func (c *Client) DeletePage(
	ctx context.Context, q Query, after Item,
) (n int, next Item, err error) {
	found, next, err := c.Page(ctx, q, after)
	if err != nil {
		return 0, nil, err
	}
	all := make([]Write, len(found))
	for n, i := range found {
		key := Item{q.Key.Hash: i[q.Key.Hash], q.Key.Sort: i[q.Key.Sort]}
		all[n] = Write{Table: q.Table, Delete: key}
	}
	return len(all), next, c.Write(ctx, all...)
}
