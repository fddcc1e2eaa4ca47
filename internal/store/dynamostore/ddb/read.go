package ddb

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon/internal/store/shared"
)

// Get reads one item; nil where there is none.
func (c *Client) Get(ctx context.Context, table string, key Item) (i Item, err error) {
	began, strong := c.config.Now(), !IsEventual(ctx)
	out, err := call(ctx, c, "GetItem", table, c.sdk.GetItem, &dynamodb.GetItemInput{
		TableName: c.name(table), Key: key, ConsistentRead: aws.Bool(strong),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
	})
	if err != nil {
		return nil, err
	}
	found := min(len(out.Item), 1)
	c.explain(ctx, step{operation: "GetItem", table: table, strong: strong, began: began,
		rows: found, scanned: found, consumed: consumedBy(out)})
	return out.Item, nil
}

// BatchGet reads items, and returns those that exist, in no order. No key may be given twice.
func (c *Client) BatchGet(ctx context.Context, table string, keys []Item) ([]Item, error) {
	chunks := slices.Collect(slices.Chunk(keys, MaxGets))
	found := make([][]Item, len(chunks))
	err := shared.Parallel(ctx, len(chunks), func(ctx context.Context, i int) (err error) {
		found[i], err = c.getChunk(ctx, table, chunks[i])
		return err
	})
	return slices.Concat(found...), err
}

func (c *Client) getChunk(
	ctx context.Context, table string, keys []Item,
) (all []Item, err error) {
	name := *c.name(table)
	strong := !IsEventual(ctx)
	asked := types.KeysAndAttributes{ConsistentRead: aws.Bool(strong)}
	for _, key := range keys {
		asked.Keys = append(asked.Keys, key)
	}
	left := map[string]types.KeysAndAttributes{name: asked}
	for tries := 0; len(left) > 0 && err == nil; tries++ {
		began := c.config.Now()
		out, err := call(ctx, c, "BatchGetItem", table, c.sdk.BatchGetItem,
			&dynamodb.BatchGetItemInput{
				RequestItems:           left,
				ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
			})
		if err != nil {
			return nil, err
		}
		c.explain(ctx, step{operation: "BatchGetItem", table: table, strong: strong,
			began: began, rows: len(out.Responses[name]), scanned: len(left[name].Keys),
			consumed: out.ConsumedCapacity})
		all = appendItems(all, out.Responses[name])
		if left = out.UnprocessedKeys; len(left) == 0 {
			return all, nil
		}
		if err := c.Pause(ctx, tries, "BatchGetItem", table); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func appendItems(all []Item, more []map[string]types.AttributeValue) []Item {
	for _, i := range more {
		all = append(all, i)
	}
	return all
}
