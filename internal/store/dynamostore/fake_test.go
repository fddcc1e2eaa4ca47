package dynamostore

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cuckoo"
	"github.com/andonhq/andon/internal/store/shared"
)

// The tests here need no engine: they look at what the store does with answers that an engine on
// one machine never gives.

// fakeService is a DynamoDB of four calls: GetItem, BatchGetItem, PutItem with the conditions of
// this store, and BatchWriteItem.
type fakeService struct {
	mu    sync.Mutex
	items map[string]map[string]fakeItem // by table and key
	calls map[string]int
	// before is called before a call is done; what it returns is the type of an error.
	before func(operation string) string
	// undone says how many of so many writes of a batch are left undone.
	undone func(writes int) int
}

type fakeItem map[string]map[string]any

// RoundTrip is of http.RoundTripper.
func (f *fakeService) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var asked map[string]json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return nil, err
	}
	if f.before != nil {
		if refused := f.before(operation); refused != "" {
			f.count(operation)
			return answerOf(http.StatusBadRequest, map[string]string{
				"__type": "com.amazonaws.dynamodb.v20120810#" + refused, "message": refused,
			}), nil
		}
	}
	f.count(operation)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch operation {
	case "GetItem":
		item := f.items[read[string](asked["TableName"])][keyText(read[fakeItem](asked["Key"]))]
		return answerOf(http.StatusOK, map[string]any{"Item": item}), nil
	case "BatchGetItem":
		return answerOf(http.StatusOK, f.batchGet(asked)), nil
	case "PutItem":
		return f.put(asked), nil
	}
	return answerOf(http.StatusOK, f.batchWrite(asked)), nil
}

func (f *fakeService) count(operation string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[operation]++
}

func read[T any](raw json.RawMessage) (v T) {
	_ = json.Unmarshal(raw, &v)
	return v
}

func answerOf(status int, body any) *http.Response {
	text, _ := json.Marshal(body)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(text)),
	}
}

// keyText is the text of a key, or of the key of an item.
func keyText(i fakeItem) (text string) {
	for _, name := range []string{
		attrDevice, attrKey, attrReadingOf, attrStateDate, attrSort, attrTimestamp,
	} {
		if v, there := i[name]; there {
			one, _ := json.Marshal(v)
			text += string(one)
		}
	}
	return text
}

func (f *fakeService) keep(table string, i fakeItem) {
	if f.items[table] == nil {
		f.items[table] = map[string]fakeItem{}
	}
	f.items[table][keyText(i)] = i
}

func (f *fakeService) batchGet(asked map[string]json.RawMessage) map[string]any {
	found := map[string][]fakeItem{}
	for table, of := range read[map[string]struct{ Keys []fakeItem }](asked["RequestItems"]) {
		for _, key := range of.Keys {
			if i := f.items[table][keyText(key)]; i != nil {
				found[table] = append(found[table], i)
			}
		}
	}
	return map[string]any{"Responses": found, "UnprocessedKeys": map[string]any{}}
}

func (f *fakeService) put(asked map[string]json.RawMessage) *http.Response {
	table, item := read[string](asked["TableName"]), read[fakeItem](asked["Item"])
	is := f.items[table][keyText(item)]
	holds := is == nil
	if read[string](asked["ConditionExpression"]) == "#v = :v" {
		name := read[map[string]string](asked["ExpressionAttributeNames"])["#v"]
		value := read[fakeItem](asked["ExpressionAttributeValues"])[":v"]
		holds = is != nil && is[name]["N"] == value["N"]
	}
	if asked["ConditionExpression"] != nil && !holds {
		return answerOf(http.StatusBadRequest, map[string]string{
			"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
		})
	}
	f.keep(table, item)
	return answerOf(http.StatusOK, map[string]any{})
}

func (f *fakeService) batchWrite(asked map[string]json.RawMessage) map[string]any {
	type request struct {
		PutRequest *struct{ Item fakeItem }
	}
	left := map[string][]request{}
	for table, all := range read[map[string][]request](asked["RequestItems"]) {
		n := len(all)
		if f.undone != nil {
			n -= f.undone(n)
		}
		for _, r := range all[:n] {
			f.keep(table, r.PutRequest.Item)
		}
		if n < len(all) {
			left[table] = all[n:]
		}
	}
	return map[string]any{"UnprocessedItems": left}
}

func newFake() *fakeService {
	return &fakeService{items: map[string]map[string]fakeItem{}, calls: map[string]int{}}
}

// open returns a store on the service, as another process has one.
func (f *fakeService) open(t *testing.T) *Store {
	t.Helper()
	o := Options{Now: realClock}.withDefaults()
	s := &Store{
		options: o, inFlight: make(chan struct{}, o.InFlight),
		devices: shared.NewDevices[device](), written: cuckoo.NewWritten(writtenRows),
		counts: shared.NewCounts(), rates: newRates(), over: make(chan struct{}, 1),
	}
	s.db = dynamodb.NewFromConfig(aws.Config{
		Region: "nowhere", HTTPClient: &http.Client{Transport: f},
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}, func(d *dynamodb.Options) { d.Retryer = again(&s.meter) })
	s.serveRecords()
	if err := s.EnsureDefault(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestThrottledCallsEnd: a call that is throttled again and again ends, after a few attempts, and
// says so.
func TestThrottledCallsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := f.open(t)
		f.before = func(operation string) string {
			if operation == "BatchGetItem" {
				return "ProvisionedThroughputExceededException"
			}
			return ""
		}
		_, err := s.Device(t.Context(), andon.DefaultTenant, "d")
		if n := f.calls["BatchGetItem"]; andon.KindOf(err) != andon.Busy || n < 2 || n > 10 {
			t.Errorf("%v, after %d attempts", err, n)
		}
	})
}

// TestUndoneWrites: what a batch leaves undone is written again, and given up where it is left
// undone again and again.
func TestUndoneWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := f.open(t)
		batches := 0
		f.undone = func(writes int) int {
			batches++
			return writes - 1
		}
		var all []write
		for n := range 10 {
			put := keyed(recordKeys(), "key", string(rune('a'+n)))
			all = append(all, write{table: tableRecords, put: put})
		}
		if err := s.writeAll(t.Context(), all); err != nil || batches != 10 {
			t.Errorf("%v, after %d batches", err, batches)
		}
		for n := range 10 {
			i, err := s.get(t.Context(), tableRecords,
				keyed(recordKeys(), "key", string(rune('a'+n))))
			if err != nil || i == nil {
				t.Errorf("write %d: %v, %v", n, i, err)
			}
		}
		batches = 0
		f.undone = func(writes int) int {
			batches++
			return writes
		}
		err := s.writeAll(t.Context(), all)
		if andon.KindOf(err) != andon.Busy || batches > 20 {
			t.Errorf("%v, after %d batches of which nothing was done", err, batches)
		}
	})
}

// TestRecordIsChangedMeanwhile: a record that another process changes between reading and putting
// is not overwritten.
func TestRecordIsChangedMeanwhile(t *testing.T) {
	f := newFake()
	s, other := f.open(t), f.open(t)
	record := andon.Record{Tenant: andon.DefaultTenant, Kind: "note", ID: "n", Data: `{"a":1}`}
	record, err := s.PutRecord(t.Context(), record)
	if err != nil {
		t.Fatal(err)
	}
	theirs := record
	theirs.Data = `{"theirs":1}`
	f.before = func(operation string) string {
		if operation == "PutItem" {
			f.before = nil
			if theirs, err = other.PutRecord(t.Context(), theirs); err != nil {
				t.Error(err)
			}
		}
		return ""
	}
	record.Data = `{"a":2}`
	if _, err := s.PutRecord(t.Context(), record); andon.KindOf(err) != andon.Conflict {
		t.Errorf("the put over a former version: %v", err)
	}
	is, err := s.Record(t.Context(), andon.DefaultTenant, "note", "n")
	if err != nil || is.Data != theirs.Data || is.Version != theirs.Version {
		t.Errorf("the record is %+v, %v, want %+v", is, err, theirs)
	}
}

// TestChangeGoesByTheDeviceAsItIs: what a process remembers of a device does not say whether a
// change of it is one: another process may have changed it.
func TestChangeGoesByTheDeviceAsItIs(t *testing.T) {
	f := newFake()
	s, other := f.open(t), f.open(t)
	assign := func(s *Store, operator andon.PersonID) andon.Assignment {
		t.Helper()
		kept, err := s.Assign(t.Context(), andon.DefaultTenant, realClock(),
			[]andon.Assignment{{Device: "d", Operator: operator}})
		if err != nil {
			t.Fatal(err)
		}
		return kept[0]
	}
	var again []bool
	for _, a := range []struct {
		by       *Store
		operator andon.PersonID
	}{{s, "Liz"}, {other, "Tom"}, {s, "Liz"}, {s, "Liz"}, {other, "Liz"}, {other, "Tom"}} {
		again = append(again, assign(a.by, a.operator).Again)
	}
	if want := []bool{false, false, false, true, true, false}; !slices.Equal(again, want) {
		t.Errorf("they were assigned already: %v, want %v", again, want)
	}
}

// TestWaitingRequests: those that wait for a device are written together, by one batch and one put.
// Where that can't be written, each is written alone, and has an answer of its own.
func TestWaitingRequests(t *testing.T) {
	const requests = 20
	f := newFake()
	s := f.open(t)
	send := func() (failed int) {
		t.Helper()
		taken, err := s.devices.Take(t.Context(), mustTenant(t, s).Key, "d")
		if err != nil {
			t.Fatal(err)
		}
		clear(f.calls)
		returned := make(chan error, requests)
		for n := range requests {
			e := andon.Event{Device: "d", Time: minute(n), State: "NORMAL"}
			go func() {
				returned <- s.Append(t.Context(), andon.DefaultTenant, minute(0), []andon.Event{e})
			}()
		}
		for s.appends.Waiting("default", "d") < requests {
			runtime.Gosched()
		}
		taken.Give()
		for range requests {
			if <-returned != nil {
				failed++
			}
		}
		return failed
	}
	failed := send()
	if n := [3]int{failed, f.calls["BatchWriteItem"], f.calls["PutItem"]}; n != [3]int{0, 1, 1} {
		t.Errorf("failed requests, batches and puts: %v", n)
	}
	f.before = func(operation string) string {
		if operation == "BatchWriteItem" && f.calls[operation] < 2 {
			return "the item exceeds the maximum allowed size"
		}
		return ""
	}
	failed = send()
	if puts := f.calls["PutItem"]; failed != 1 || puts != requests-1 {
		t.Errorf("%d failed, after %d puts", failed, puts)
	}
}
