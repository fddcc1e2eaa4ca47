package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon/internal/enginetest"
)

// rawClient is a client that tries once.
func rawClient(t testing.TB, url string) *dynamodb.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &url, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient:  &http.Client{Transport: transport},
		Retryer:     aws.NopRetryer{},
	})
}

// proxyTest is a table behind a proxy.
type proxyTest struct {
	*testing.T
	p     *proxy
	db    *dynamodb.Client
	table string
}

func newProxyTest(t *testing.T, set func(*proxy)) proxyTest {
	t.Helper()
	p := newProxy(t, enginetest.DynamoDB(t).URL)
	set(p)
	pt := proxyTest{T: t, p: p, db: rawClient(t, p.URL), table: fmt.Sprintf("%s-%d", t.Name(),
		time.Now().UnixNano())}
	pt.table = strings.ReplaceAll(pt.table, "/", "-")
	name := func(attribute string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &attribute, KeyType: kind}
	}
	text := func(attribute string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &attribute,
			AttributeType: types.ScalarAttributeTypeS}
	}
	_, err := pt.db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &pt.table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{text("a"), text("b"), text("c")},
		KeySchema: []types.KeySchemaElement{
			name("a", types.KeyTypeHash), name("b", types.KeyTypeRange),
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("ByC"), Projection: &types.Projection{
				ProjectionType: types.ProjectionTypeAll},
			KeySchema: []types.KeySchemaElement{name("c", types.KeyTypeHash)},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = dynamodb.NewTableExistsWaiter(pt.db, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay = time.Millisecond
	}).Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &pt.table}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := pt.db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{
			TableName: &pt.table})
		if err != nil {
			t.Error(err)
		}
	})
	return pt
}

func (pt proxyTest) item(keys ...string) map[string]types.AttributeValue {
	item := map[string]types.AttributeValue{}
	for i, key := range keys {
		item[string(rune('a'+i))] = &types.AttributeValueMemberS{Value: key}
	}
	return item
}

func (pt proxyTest) put(keys ...string) error {
	_, err := pt.db.PutItem(pt.Context(), &dynamodb.PutItemInput{
		TableName: &pt.table, Item: pt.item(keys...)})
	return err
}

// count returns how many items of the partition a, strongly read, or of the index, there are.
func (pt proxyTest) count(index, key, value string) int {
	pt.Helper()
	in := &dynamodb.QueryInput{
		TableName: &pt.table, KeyConditionExpression: aws.String("#k = :v"),
		ConsistentRead:            aws.Bool(index == ""),
		ExpressionAttributeNames:  map[string]string{"#k": key},
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": pt.item(value)["a"]},
	}
	if index != "" {
		in.IndexName = &index
	}
	out, err := pt.db.Query(pt.Context(), in)
	if err != nil {
		pt.Fatal(err)
	}
	return int(out.Count)
}

func TestProxyLimits(t *testing.T) {
	now := time.Unix(1000, 0)
	pt := newProxyTest(t, func(p *proxy) {
		p.limits = documented(1)
		p.limits.now = func() time.Time { return now }
	})
	until := func() (done int, err error) {
		for err == nil && done < 500 {
			if err = pt.put("hot", fmt.Sprint(done)); err == nil {
				done++
			}
		}
		return done, err
	}
	done, err := until()
	var throttled *types.ThrottlingException
	if done != 100 || !errors.As(err, &throttled) {
		t.Errorf("a tenth of a second of one key took %d writes, then %v; want 100", done, err)
	}
	if err := pt.put("other", "1"); err != nil {
		t.Errorf("another key, while one is too busy: %v", err)
	}
	now = now.Add(50 * time.Millisecond)
	if done, _ := until(); done != 50 {
		t.Errorf("50 ms later there was room for %d writes, want 50", done)
	}
	if got := pt.p.refused("ThrottlingException"); got != 2 {
		t.Errorf("the proxy counts %d throttled calls, want 2", got)
	}
	batch := map[string][]types.WriteRequest{}
	for i := range 4 {
		of := []string{"hot", "cold"}[i%2]
		batch[pt.table] = append(batch[pt.table], types.WriteRequest{PutRequest: &types.PutRequest{
			Item: pt.item(of, fmt.Sprint(1000+i))}})
	}
	out, err := pt.db.BatchWriteItem(t.Context(),
		&dynamodb.BatchWriteItemInput{RequestItems: batch})
	if err != nil || len(out.UnprocessedItems[pt.table]) != 2 {
		t.Errorf("a batch, half of it of a busy key: %v are left, %v", out.UnprocessedItems, err)
	}
}

func TestProxyFaults(t *testing.T) {
	pt := newProxyTest(t, func(*proxy) {})
	pt.p.inject(fault{operation: "PutItem", after: 1, times: 1, do: throttle})
	pt.p.inject(fault{operation: "PutItem", after: 1, times: 1, do: serverError})
	pt.p.inject(fault{operation: "PutItem", after: 1, times: 1, do: loseAnswer})
	for i, want := range []any{
		nil, new(*types.ProvisionedThroughputExceededException), new(*types.InternalServerError),
		errors.New("EOF"), nil,
	} {
		err := pt.put("k", fmt.Sprint(i))
		switch want := want.(type) {
		case nil:
			if err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		case error:
			if err == nil || !strings.Contains(err.Error(), want.Error()) {
				t.Errorf("write %d: %v, want %v", i, err, want)
			}
		default:
			if !errors.As(err, want) {
				t.Errorf("write %d: %v, want %T", i, err, want)
			}
		}
	}
	if got := pt.count("", "a", "k"); got != 3 {
		t.Errorf("there are %d items; want 3, one of them with a lost answer", got)
	}
}

func TestProxyHalf(t *testing.T) {
	pt := newProxyTest(t, func(*proxy) {})
	pt.p.inject(fault{operation: "BatchWriteItem", times: 1, do: half})
	var requests []types.WriteRequest
	for i := range 5 {
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{
			Item: pt.item("k", fmt.Sprint(i))}})
	}
	out, err := pt.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{pt.table: requests}})
	if err != nil || len(out.UnprocessedItems[pt.table]) != 2 || pt.count("", "a", "k") != 3 {
		t.Errorf("half a batch: %v, %d left, %d done", err, len(out.UnprocessedItems[pt.table]),
			pt.count("", "a", "k"))
	}
	pt.p.inject(fault{operation: "BatchGetItem", times: 1, do: half})
	var keys []map[string]types.AttributeValue
	for i := range 3 {
		keys = append(keys, pt.item("k", fmt.Sprint(i)))
	}
	got, err := pt.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{pt.table: {Keys: keys}}})
	if err != nil || len(got.Responses[pt.table]) != 2 ||
		len(got.UnprocessedKeys[pt.table].Keys) != 1 {
		t.Errorf("half of a batch of keys: %v, %+v", err, got)
	}
}

func TestProxyLag(t *testing.T) {
	var m *mirror
	pt := newProxyTest(t, func(p *proxy) { m = p.lag() })
	for _, keys := range [][]string{{"k", "1", "red"}, {"k", "2", "red"}} {
		if err := pt.put(keys...); err != nil {
			t.Fatal(err)
		}
	}
	table, index := pt.count("", "a", "k"), pt.count("ByC", "c", "red")
	if table != 2 || index != 0 {
		t.Errorf("before the index follows: %d in the table, %d in the index", table, index)
	}
	if err := m.catchUp(); err != nil {
		t.Fatal(err)
	}
	if err := pt.put("k", "2", "blue"); err != nil {
		t.Fatal(err)
	}
	red, blue := pt.count("ByC", "c", "red"), pt.count("ByC", "c", "blue")
	if red != 2 || blue != 0 {
		t.Errorf("the index has %d red and %d blue before it follows, want 2 and 0", red, blue)
	}
	if err := m.catchUp(); err != nil {
		t.Fatal(err)
	}
	red, blue = pt.count("ByC", "c", "red"), pt.count("ByC", "c", "blue")
	if red != 1 || blue != 1 {
		t.Errorf("the index has %d red and %d blue after it followed, want 1 and 1", red, blue)
	}
}
