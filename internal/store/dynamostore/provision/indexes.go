package provision

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// Spare deletes an index that a table has and no one reads, or notes that it exists.
func (s *Setup) Spare(ctx context.Context, table, index string, remove bool) error {
	is, err := s.describe(ctx, table)
	if err != nil || is == nil || findIndex(is, index) == nil {
		return err
	}
	if !remove {
		s.Note(table + " has the index " + index + ", which is not in the settings, and each " +
			"reading pays for it: --remove-indexes deletes it")
		return nil
	}
	in := &dynamodb.UpdateTableInput{TableName: &table,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{
			Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String(index)},
		}}}
	err = do(ctx, s, "dynamodb update-table", table, s.sdk.UpdateTable, in)
	if err == nil {
		err = s.wait(ctx, table)
	}
	return err
}

// Get reads one item; nil where there is none, or no table.
func (s *Setup) Get(ctx context.Context, table string, key ddb.Item) (ddb.Item, error) {
	if s.nowhere {
		return nil, nil
	}
	out, err := s.sdk.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &table, Key: key, ConsistentRead: aws.Bool(true),
	})
	if errors.As(err, new(*types.ResourceNotFoundException)) {
		return nil, nil
	}
	if err != nil {
		return nil, ddb.Failure("GetItem", table, err)
	}
	return out.Item, nil
}

// Put writes one item of texts and numbers.
func (s *Setup) Put(ctx context.Context, table string, i ddb.Item) error {
	shown := map[string]any{"TableName": table, "Item": shownItem(i)}
	if err := s.show("dynamodb put-item", shown); err != nil || s.DryRun {
		return err
	}
	_, err := s.sdk.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: i})
	return ddb.Failure("dynamodb put-item", table, err)
}

// shownItem returns an item as the AWS CLI takes it.
func shownItem(i ddb.Item) map[string]any {
	shown := map[string]any{}
	for name, value := range i {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			shown[name] = map[string]string{"S": v.Value}
		case *types.AttributeValueMemberN:
			shown[name] = map[string]string{"N": v.Value}
		}
	}
	return shown
}
