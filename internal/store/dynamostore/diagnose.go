package dynamostore

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
)

// Diagnose implements andon.Maintenance.
func (s *Store) Diagnose(
	ctx context.Context, tell func(name, value, source string, advice ...string),
) error {
	at := "region " + s.db.Options().Region
	if s.options.Endpoint != "" {
		at = s.options.Endpoint
	}
	tell("DynamoDB", at, "dynamodb.region, dynamodb.endpoint")
	for _, t := range s.options.tables() {
		name := t.name
		is, err := describe(ctx, s.db, name)
		switch {
		case err != nil:
			return err
		case is == nil:
			continue // it was deleted since the store was opened
		}
		source := "aws dynamodb describe-table --table-name " + name
		tell("table "+name, about(is), source)
		for _, i := range is.GlobalSecondaryIndexes {
			tell("index "+aws.ToString(i.IndexName)+" of it", fmt.Sprintf("%s, %s: about %d "+
				"items, %d bytes", keysOf(i.KeySchema), strings.ToLower(string(i.IndexStatus)),
				aws.ToInt64(i.ItemCount), aws.ToInt64(i.IndexSizeBytes)), source)
		}
		if err := s.diagnoseExpiry(ctx, name, t, tell); err != nil {
			return err
		}
	}
	return nil
}

// about says what a table is, in words. The service counts its items every six hours.
func about(is *types.TableDescription) string {
	paid := "on demand"
	if p := is.ProvisionedThroughput; !paidOnDemand(is) && p != nil {
		paid = fmt.Sprintf("provisioned, %d read and %d write units a second",
			aws.ToInt64(p.ReadCapacityUnits), aws.ToInt64(p.WriteCapacityUnits))
	}
	return fmt.Sprintf("%s, %s, %s: about %d items, %d bytes", keysOf(is.KeySchema),
		strings.ToLower(string(is.TableStatus)), paid, aws.ToInt64(is.ItemCount),
		aws.ToInt64(is.TableSizeBytes))
}

// diagnoseExpiry says whether the service deletes what has expired.
func (s *Store) diagnoseExpiry(
	ctx context.Context, name string, t table,
	tell func(name, value, source string, advice ...string),
) error {
	if t.ttl == "" {
		return nil
	}
	const what = "expiry of it"
	source := "aws dynamodb describe-time-to-live --table-name " + name
	switch on, err := expiryOf(ctx, s.db, name); {
	case andon.KindOf(err) == andon.Unsupported:
		tell(what, "unknown to this engine", source)
	case err != nil:
		return err
	case on == t.ttl:
		tell(what, "by "+on, source)
	default:
		tell(what, "off", source, "What has expired stays, and is paid for, though no answer has "+
			"it: andon store init turns it on.")
	}
	return nil
}
