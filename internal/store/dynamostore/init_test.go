package dynamostore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/dynamostore/provision"
)

// initTest is a set of tables of a test's own, of which none is there.
type initTest struct {
	*testing.T
	Options
	db *dynamodb.Client
}

func newInitTest(t *testing.T, on *enginetest.Service) initTest {
	t.Helper()
	o := defaults()
	o.Endpoint, o.Region, o.Key, o.Secret = on.URL, "us-east-1", "test", "test"
	o.Prefix = fmt.Sprintf("%s-%d-", t.Name(),
		time.Now().UnixNano())
	o.Prefix = strings.ReplaceAll(o.Prefix, "/", "-")
	ct := initTest{t, o, rawClient(t, on.URL)}
	t.Cleanup(func() {
		for _, table := range o.tables() {
			ct.delete(context.Background(), table.Name)
		}
	})
	return ct
}

func (ct initTest) delete(ctx context.Context, table string) {
	// The test may have made less than all tables.
	_, _ = ct.db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
}

// init returns what Init tells.
func (ct initTest) init(s adapter.Setup) (reported []string, err error) {
	ct.Helper()
	err = Init(ct.Context(), ct.Options, s, func(statement string) {
		reported = append(reported, statement)
	})
	return reported, err
}

func (ct initTest) mustInit(s adapter.Setup) []string {
	ct.Helper()
	reported, err := ct.init(s)
	if err != nil {
		ct.Fatal(err)
	}
	return reported
}

func (ct initTest) verify() error {
	c, err := ddb.Open(ct.Context(), newStore(ct.Options).clientConfig())
	if err != nil {
		return err
	}
	defer c.Close()
	return provision.Verify(ct.Context(), c, ct.tables())
}

// commands are the reported commands of the AWS CLI, without their input.
func commands(t *testing.T, reported []string) (all []string) {
	t.Helper()
	for _, statement := range reported {
		statement = strings.TrimPrefix(statement, "aws ")
		command, input, has := strings.Cut(statement, " --cli-input-json ")
		if has && !json.Valid([]byte(strings.Trim(input, "'"))) {
			t.Errorf("%s has an input that is no JSON: %s", command, input)
		}
		if has && strings.Contains(input, "null") {
			t.Errorf("%s has an input with null, which the AWS CLI refuses: %s", command, input)
		}
		all = append(all, command)
	}
	return all
}

// TestSerialInit makes tables with all that belongs to them, and what is missing of them.
func TestSerialInit(t *testing.T) {
	ct := newInitTest(t, enginetest.Moto(t))
	ct.Capacity = provision.Capacity{
		Mode: provision.Provisioned,
		Read: provision.Units{Min: 5, Max: 100}, Write: provision.Units{Min: 7, Max: 70},
		Recovery: true, Stream: "keys-only",
	}
	if err := ct.verify(); andon.KindOf(err) != andon.Invalid ||
		!strings.Contains(err.Error(), "andon store init") {
		t.Errorf("before there are tables: %v", err)
	}
	dry := commands(t, ct.mustInit(adapter.Setup{DryRun: true}))
	if err := ct.verify(); err == nil {
		t.Error("a dry run has made tables")
	}
	reported := commands(t, ct.mustInit(adapter.Setup{}))
	waits := func(c string) bool { return strings.HasPrefix(c, "dynamodb wait") }
	if want := slices.DeleteFunc(dry, waits); !slices.Equal(reported, want) {
		t.Errorf("a dry run reports other calls than are done:\n%q\n%q", want, reported)
	}
	if err := ct.verify(); err != nil {
		t.Errorf("after andon store init: %v", err)
	}
	if again := ct.mustInit(adapter.Setup{}); len(again) > 0 {
		t.Errorf("a second time it does %q", again)
	}
	ct.looksWhole()
	ct.dropIndex(items.TableDevices, items.IndexList)
	if err := ct.verify(); err == nil || !strings.Contains(err.Error(), "lacks the index ByState") {
		t.Errorf("without an index: %v", err)
	}
	if again := commands(t, ct.mustInit(adapter.Setup{})); !slices.Equal(again,
		[]string{"dynamodb update-table"}) {
		t.Errorf("without an index it does %q", again)
	}
	if err := ct.verify(); err != nil {
		t.Errorf("after the index was made again: %v", err)
	}
}

// looksWhole looks at what Init has made, other than by verify.
func (ct initTest) looksWhole() {
	ct.Helper()
	for _, table := range ct.tables() {
		name := table.Name
		is := ct.describe(name)
		if got := aws.ToInt64(is.ProvisionedThroughput.WriteCapacityUnits); got != 7 {
			ct.Errorf("%s begins with %d write units, want 7", name, got)
		}
		if on := ct.expiry(name); on != table.TTL {
			ct.Errorf("items of %s expire by %q, want %q", name, on, table.TTL)
		}
	}
}

func (ct initTest) describe(table string) *types.TableDescription {
	ct.Helper()
	out, err := ct.db.DescribeTable(ct.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		ct.Fatal(err)
	}
	return out.Table
}

// expiry returns the attribute by which items of a table expire.
func (ct initTest) expiry(table string) string {
	ct.Helper()
	out, err := ct.db.DescribeTimeToLive(ct.Context(),
		&dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil {
		ct.Fatal(err)
	}
	return aws.ToString(out.TimeToLiveDescription.AttributeName)
}

func (ct initTest) dropIndex(table, index string) {
	ct.Helper()
	_, err := ct.db.UpdateTable(ct.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String(ct.Prefix + table),
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{
			Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: &index},
		}},
	})
	if err != nil {
		ct.Fatal(err)
	}
}

// TestSerialInitWithout makes tables on an engine that does not know TTL.
func TestSerialInitWithout(t *testing.T) {
	ct := newInitTest(t, enginetest.DynamoDB(t))
	for _, mode := range []string{provision.OnDemand, provision.Provisioned} {
		ct.Capacity.Mode = mode
		reported := ct.mustInit(adapter.Setup{})
		notes := slices.DeleteFunc(slices.Clone(reported), func(s string) bool {
			return !strings.HasPrefix(s, "# ")
		})
		t.Logf("%s: %q", mode, reported)
		if text := strings.Join(notes, "\n"); !strings.Contains(text, "no UpdateTimeToLive") &&
			!strings.Contains(text, "deletes nothing") {
			t.Errorf("%s: it does not say that nothing is deleted: %q", mode, notes)
		}
		if err := ct.verify(); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

func TestSerialInitNowhere(t *testing.T) {
	o := defaults()
	o.Region, o.Endpoint, o.Key, o.Secret = "eu-west-1", "http://127.0.0.1:1", "k", "s"
	var reported []string
	tell := func(statement string) { reported = append(reported, statement) }
	err := Init(t.Context(), o, adapter.Setup{}, tell)
	if andon.KindOf(err) != andon.Unavailable || len(reported) > 0 {
		t.Errorf("an engine that is not there: %v, %q", err, reported)
	}
	err = Init(t.Context(), o, adapter.Setup{DryRun: true}, tell)
	if err != nil || !strings.HasPrefix(reported[0], "# ") ||
		!slices.Contains(commands(t, reported), "dynamodb create-table") {
		t.Errorf("a dry run for an engine that is yet to come: %v, %q", err, reported)
	}
	err = Init(t.Context(), o, adapter.Setup{Replication: "3"}, tell)
	if andon.KindOf(err) != andon.Invalid {
		t.Errorf("copies are asked for: %v", err)
	}
}

func TestSerialDiagnose(t *testing.T) {
	o := newTables(t)
	s := open(t, o)
	var reported []string
	err := s.Diagnose(t.Context(), func(name, value, source string, advice ...string) {
		reported = append(reported, strings.Join(append([]string{name, value, source}, advice...),
			" | "))
	})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(reported, "\n")
	for _, want := range []string{
		"table " + o.Prefix + "Devices | (DeviceID), active, on demand: about ",
		"index ByState of it | (List, ID), active",
		"aws dynamodb describe-table --table-name " + o.Prefix + "Records",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// TestSerialMissingTable: nothing starts without a table, and what runs is soon not ready.
func TestSerialMissingTable(t *testing.T) {
	ct := newInitTest(t, enginetest.DynamoDB(t))
	ct.mustInit(adapter.Setup{})
	ct.Now = realClock
	s := open(t, ct.Options)
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	gone := ct.Prefix + items.TableReadings
	ct.delete(t.Context(), gone)
	_, opened := Open(t.Context(), ct.Options)
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("the tables were described again: %v", err)
	}
	s.usable = provision.Usable{} // as some seconds later
	for _, err := range []error{s.Ready(t.Context()), opened} {
		if andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(), gone) {
			t.Errorf("without table %s: %v", gone, err)
		}
	}
}
