package provision

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// Diagnose reports what tables are, as `andon doctor` shows it.
func Diagnose(
	ctx context.Context, c *ddb.Client, tables []ddb.Table,
	report func(name, value, source string, advice ...string),
) error {
	for _, t := range tables {
		is, err := describe(ctx, c.SDK(), t.Name)
		switch {
		case err != nil:
			return err
		case is == nil:
			continue // it was deleted since the store was opened
		}
		source := "aws dynamodb describe-table --table-name " + t.Name
		report("table "+t.Name, about(is), source)
		for _, i := range is.GlobalSecondaryIndexes {
			report("index "+aws.ToString(i.IndexName)+" of it", fmt.Sprintf("%s, %s: about %d "+
				"items, %d bytes", keysOf(i.KeySchema), strings.ToLower(string(i.IndexStatus)),
				aws.ToInt64(i.ItemCount), aws.ToInt64(i.IndexSizeBytes)), source)
		}
		if err := diagnoseExpiry(ctx, c, t, report); err != nil {
			return err
		}
	}
	return nil
}

// about returns what a table is, in words. The service counts its items every six hours.
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

// diagnoseExpiry reports whether the service deletes what has expired.
func diagnoseExpiry(
	ctx context.Context, c *ddb.Client, t ddb.Table,
	report func(name, value, source string, advice ...string),
) error {
	if t.TTL == "" {
		return nil
	}
	const what = "expiry of it"
	source := "aws dynamodb describe-time-to-live --table-name " + t.Name
	switch on, err := expiryAttribute(ctx, c.SDK(), t.Name); {
	case andon.KindOf(err) == andon.Unsupported:
		report(what, "unknown to this engine", source)
	case err != nil:
		return err
	case on == t.TTL:
		report(what, "by "+on, source)
	default:
		report(what, "off", source, "What has expired stays, and is paid for, though no answer "+
			"has it: andon store init turns it on.")
	}
	return nil
}
