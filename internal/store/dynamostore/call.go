package dynamostore

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// Limits of the service on one call.
const (
	batchGets   = 100
	batchWrites = 25
	pageItems   = 1000 // and 1 MB, whichever comes first
)

// attrNonce is of every item that is swapped: which put it was. Where the answer to a put was lost
// and the SDK sent it again, the second finds the first.
const attrNonce = "Nonce"

// consumption is what a call consumed, by table.
type consumption = []types.ConsumedCapacity

func (s *Store) table(name string) *string { return aws.String(s.options.Prefix + name) }

// call does one call once it may be under way, within the timeout, and counts what it consumed.
//
// A write that has begun is waited for, also where its client has left: given up, it may still be
// done, at any time, and then put an entry back to what it was before the client sent it again. It
// carries the operator that was assigned when it began. What is left is a write that is done after
// its own timeout.
func (s *Store) call(
	ctx context.Context, operation, table string,
	do func(context.Context) (consumption, error),
) error {
	select {
	case s.inFlight <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.inFlight }()
	within := ctx
	if !reads(operation) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		within = context.WithoutCancel(ctx)
	}
	within, cancel := context.WithTimeout(within, s.options.Timeout)
	defer cancel()
	consumed, err := do(within)
	s.meter.note(operation, consumed, err)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return failure(operation, s.options.Prefix+table, err)
}

func reads(operation string) bool {
	switch operation {
	case "GetItem", "BatchGetItem", "Query", "Scan":
		return true
	}
	return false
}

func one(c *types.ConsumedCapacity) consumption {
	if c == nil {
		return nil
	}
	return consumption{*c}
}

// get reads one item; nil where there is none.
func (s *Store) get(ctx context.Context, table string, key item) (is item, err error) {
	began, strong := s.now(), !isEventual(ctx)
	err = s.call(ctx, "GetItem", table, func(ctx context.Context) (consumption, error) {
		out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: s.table(table), Key: key, ConsistentRead: aws.Bool(strong),
			ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
		})
		if err != nil {
			return nil, err
		}
		is = out.Item
		s.explain(ctx, step{operation: "GetItem", table: table, strong: strong, began: began,
			rows: min(len(is), 1), scanned: min(len(is), 1), consumed: one(out.ConsumedCapacity)})
		return one(out.ConsumedCapacity), nil
	})
	return is, err
}

// getAll reads items, in no order; those that are not there are left out. No key
// may stand twice.
func (s *Store) getAll(ctx context.Context, table string, keys []item) (all []item, err error) {
	chunks := slices.Collect(slices.Chunk(keys, batchGets))
	found := make([][]item, len(chunks))
	err = shared.Parallel(ctx, len(chunks), func(ctx context.Context, i int) (err error) {
		found[i], err = s.getChunk(ctx, table, chunks[i])
		return err
	})
	return slices.Concat(found...), err
}

func (s *Store) getChunk(ctx context.Context, table string, keys []item) (all []item, err error) {
	name := *s.table(table)
	strong := !isEventual(ctx)
	asked := types.KeysAndAttributes{ConsistentRead: aws.Bool(strong)}
	for _, key := range keys {
		asked.Keys = append(asked.Keys, key)
	}
	left := map[string]types.KeysAndAttributes{name: asked}
	for tries := 0; len(left) > 0 && err == nil; tries++ {
		began := s.now()
		err = s.call(ctx, "BatchGetItem", table,
			func(ctx context.Context) (consumption, error) {
				out, err := s.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
					RequestItems:           left,
					ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
				})
				if err != nil {
					return nil, err
				}
				s.explain(ctx, step{operation: "BatchGetItem", table: table, strong: strong,
					began: began, rows: len(out.Responses[name]), scanned: len(left[name].Keys),
					consumed: out.ConsumedCapacity})
				for _, i := range out.Responses[name] {
					all = append(all, i)
				}
				left = out.UnprocessedKeys
				return out.ConsumedCapacity, nil
			})
		if err == nil && len(left) > 0 {
			err = s.pause(ctx, tries, "BatchGetItem", table)
		}
	}
	return all, err
}

// pause waits before what was left unprocessed, or was raced, is tried again: longer each time, by
// chance. It gives up at last, so that the client is pushed back.
func (s *Store) pause(ctx context.Context, tries int, doing, table string) error {
	const most = 14
	if tries >= most {
		return andon.Errorf(andon.Busy, "%s %s: DynamoDB left a part undone %d times: raise the "+
			"capacity of the table", doing, s.options.Prefix+table, tries)
	}
	longest := min(2*time.Second, 5*time.Millisecond<<tries)
	t := time.NewTimer(mathrand.N(longest) + time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write is one item to be put, or deleted, without a condition.
type write struct {
	table  string
	put    item
	remove item // its key
}

func (w *write) request() types.WriteRequest {
	if w.put != nil {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: w.put}}
	}
	return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: w.remove}}
}

// writeAll writes items of one table or more, in no order. No key may stand twice.
func (s *Store) writeAll(ctx context.Context, all []write) error {
	chunks := slices.Collect(slices.Chunk(all, batchWrites))
	return shared.Parallel(ctx, len(chunks), func(ctx context.Context, i int) error {
		return s.writeChunk(ctx, chunks[i])
	})
}

func (s *Store) writeChunk(ctx context.Context, all []write) (err error) {
	left := map[string][]types.WriteRequest{}
	for i := range all {
		name := *s.table(all[i].table)
		left[name] = append(left[name], all[i].request())
	}
	table := all[0].table
	for tries := 0; len(left) > 0 && err == nil; tries++ {
		err = s.call(ctx, "BatchWriteItem", table,
			func(ctx context.Context) (consumption, error) {
				out, err := s.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
					RequestItems:           left,
					ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
				})
				if err != nil {
					return nil, err
				}
				left = out.UnprocessedItems
				return out.ConsumedCapacity, nil
			})
		s.undone(left)
		if err == nil && len(left) > 0 {
			s.meter.unprocessed.Add(1)
			err = s.pause(ctx, tries, "BatchWriteItem", table)
		}
	}
	return err
}

// undone counts the entries and readings that the service left undone into what their devices need.
func (s *Store) undone(left map[string][]types.WriteRequest) {
	for _, name := range []string{tableLog, tableReadings} {
		hash := map[string]string{tableLog: attrDevice, tableReadings: attrReadingOf}[name]
		for _, r := range left[*s.table(name)] {
			if r.PutRequest != nil {
				is := item(r.PutRequest.Item)
				s.rates.undone(is.text(hash), unitsOf(itemBytes(is)))
			}
		}
	}
}

// condition is what must hold of the item that is there.
type condition struct {
	text   string
	names  map[string]string
	values item
}

// isAbsent holds where there is no item.
func isAbsent(hash string) condition {
	return condition{text: "attribute_not_exists(#k)", names: map[string]string{"#k": hash}}
}

// isStill holds where a number is still what was read.
func isStill(name string, value int64) condition {
	return condition{
		text: "#v = :v", names: map[string]string{"#v": name}, values: item{":v": number(value)},
	}
}

// swap puts an item where a condition holds, and else returns errRaced.
func (s *Store) swap(ctx context.Context, table string, key, is item, c condition) error {
	nonce := rand.Text()
	is[attrNonce] = text(nonce)
	err := s.call(ctx, "PutItem", table,
		func(ctx context.Context) (consumption, error) {
			out, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{
				TableName: s.table(table), Item: is, ConditionExpression: aws.String(c.text),
				ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
				ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
			})
			if err != nil {
				return nil, err
			}
			return one(out.ConsumedCapacity), nil
		})
	if !errors.Is(err, errRaced) {
		return err
	}
	there, failed := s.get(ctx, table, key)
	switch {
	case failed != nil:
		return failed
	case there.text(attrNonce) == nonce:
		return nil
	}
	return err
}
