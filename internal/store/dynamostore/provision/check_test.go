package provision

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// one is a table with an index that projects an attribute.
func one(prefix string) ddb.Table {
	return ddb.Table{
		Name: fmt.Sprintf("%s_%08x", prefix, rand.Uint32()), Key: ddb.Keys{Hash: "id"},
		Indexes: []ddb.Index{{Name: "ByState", Key: ddb.Keys{Hash: "list", Sort: "id"},
			Projects: []string{"since"}}},
	}
}

// service returns a setup on the engine of the tests, and a client of the same.
func service(t *testing.T) (*Setup, *ddb.Client) {
	t.Helper()
	to := ddb.Access{Endpoint: enginetest.DynamoDB(t).URL, Key: "any", Secret: "any"}
	s, err := Begin(t.Context(), to, Setting{Report: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := ddb.Open(t.Context(), ddb.Config{
		Access: to, Timeout: time.Minute, InFlight: 8, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		c.Close()
	})
	return s, c
}

// TestOtherTables: a table with another key, another type of key, or an index that lacks an
// attribute is refused by Verify and by Setup.
func TestOtherTables(t *testing.T) {
	s, c := service(t)
	for want, change := range map[string]func(*dynamodb.CreateTableInput){
		"has the key (device), and Andon needs (id)": func(in *dynamodb.CreateTableInput) {
			in.KeySchema[0].AttributeName = aws.String("device")
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
				AttributeName: aws.String("device"), AttributeType: types.ScalarAttributeTypeS})
		},
		"key attribute id of type N": func(in *dynamodb.CreateTableInput) {
			i := slices.IndexFunc(in.AttributeDefinitions,
				func(a types.AttributeDefinition) bool { return *a.AttributeName == "id" })
			in.AttributeDefinitions[i].AttributeType = types.ScalarAttributeTypeN
		},
		"index ByState of table": func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[0].Projection = &types.Projection{
				ProjectionType: types.ProjectionTypeKeysOnly}
		},
	} {
		table := one("other")
		in := s.create(table)
		change(in)
		if _, err := s.sdk.CreateTable(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if err := s.wait(t.Context(), table.Name); err != nil {
			t.Fatal(err)
		}
		err := Verify(t.Context(), c, []ddb.Table{table})
		if andon.KindOf(err) != andon.Conflict || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err := s.Table(t.Context(), table); andon.KindOf(err) != andon.Conflict {
			t.Errorf("create it: %v, want %q", err, want)
		}
		_, _ = s.sdk.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &table.Name})
	}
}

func TestUnready(t *testing.T) {
	building := types.GlobalSecondaryIndexDescription{IndexName: aws.String("GSI1"),
		IndexStatus: types.IndexStatusCreating}
	for want, is := range map[string]types.TableDescription{
		"table t is CREATING": {TableStatus: types.TableStatusCreating},
		"index GSI1 of table t is still being built": {TableStatus: types.TableStatusUpdating,
			GlobalSecondaryIndexes: []types.GlobalSecondaryIndexDescription{building}},
	} {
		err := unready("t", &is)
		if andon.KindOf(err) != andon.Unavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := unready("t", &types.TableDescription{TableStatus: "ACTIVE"}); err != nil {
		t.Errorf("a table that is active: %v", err)
	}
}
