package dynamostore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// The tests here need no engine: they look at what the store does with answers that an engine on
// one machine never gives.

// fakeService is a DynamoDB of five calls: GetItem, BatchGetItem, Query of a partition of Records,
// PutItem with the conditions of this store, and BatchWriteItem.
type fakeService struct {
	mu    sync.Mutex
	items map[string]map[string]fakeItem // by table and key
	calls map[string]int
	// before is called before a call is done; what it returns is the type of an error, perhaps with
	// its message.
	before func(operation string) string
	// undone says how many of so many writes of a batch are left undone, or items unread.
	undone func(items int) int
}

type fakeItem map[string]map[string]any

// RoundTrip implements http.RoundTripper.
func (f *fakeService) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var asked map[string]json.RawMessage
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	// The log of changes has its own time, and no test here is about it.
	if !bytes.Contains(body, []byte("change#")) {
		if refused := f.called(operation); refused != "" {
			kind, message, _ := strings.Cut(refused, ": ")
			return answerOf(http.StatusBadRequest, map[string]string{
				"__type": "com.amazonaws.dynamodb.v20120810#" + kind, "message": message,
			}), nil
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch operation {
	case "GetItem":
		item := f.items[read[string](asked["TableName"])][keyText(read[fakeItem](asked["Key"]))]
		return answerOf(http.StatusOK, map[string]any{"Item": item}), nil
	case "BatchGetItem":
		return answerOf(http.StatusOK, f.batchGet(asked)), nil
	case "Query":
		return answerOf(http.StatusOK, f.query(asked)), nil
	case "PutItem":
		return f.put(asked), nil
	}
	return answerOf(http.StatusOK, f.batchWrite(asked)), nil
}

// called counts a call, and returns how it fails, or "".
func (f *fakeService) called(operation string) string {
	f.mu.Lock()
	f.calls[operation]++
	before := f.before
	f.mu.Unlock()
	if before == nil {
		return ""
	}
	return before(operation)
}

// count returns how often an operation was called since the last call of count for it.
func (f *fakeService) count(operation string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.calls[operation]
	f.calls[operation] = 0
	return n
}

// failing sets what is called before each call.
func (f *fakeService) failing(before func(operation string) string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
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
		items.AttrDevice, items.AttrKey, items.AttrReadingOf, items.AttrStateDate, items.AttrSort,
		items.AttrTimestamp,
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
	type keys struct {
		Keys           []fakeItem
		ConsistentRead bool
	}
	found, left := map[string][]fakeItem{}, map[string]keys{}
	for table, of := range read[map[string]keys](asked["RequestItems"]) {
		n := len(of.Keys)
		if f.undone != nil {
			n -= f.undone(n)
		}
		for _, key := range of.Keys[:n] {
			if i := f.items[table][keyText(key)]; i != nil {
				found[table] = append(found[table], i)
			}
		}
		if n < len(of.Keys) {
			left[table] = keys{of.Keys[n:], of.ConsistentRead}
		}
	}
	return map[string]any{"Responses": found, "UnprocessedKeys": left}
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

func (f *fakeService) query(asked map[string]json.RawMessage) map[string]any {
	values := read[map[string]map[string]string](asked["ExpressionAttributeValues"])
	found := []fakeItem{}
	for _, i := range f.items[read[string](asked["TableName"])] {
		if i[items.AttrKey]["S"] == values[":h"]["S"] &&
			i[items.AttrSort]["S"].(string) >= values[":a"]["S"] {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(a, b fakeItem) int {
		return strings.Compare(a[items.AttrSort]["S"].(string), b[items.AttrSort]["S"].(string))
	})
	if !read[bool](asked["ScanIndexForward"]) {
		slices.Reverse(found)
	}
	return map[string]any{"Items": found[:min(len(found), read[int](asked["Limit"]))]}
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
	o := defaults()
	o.Now = realClock
	s := newStore(o)
	s.db = ddb.New(aws.Config{
		Region: "nowhere", HTTPClient: &http.Client{Transport: f},
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}, s.clientConfig())
	if _, err := s.Known(t.Context(), andon.DefaultTenant); err != nil {
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
		f.failing(func(operation string) string {
			if operation == "BatchGetItem" {
				return "ProvisionedThroughputExceededException"
			}
			return ""
		})
		_, err := s.Device(t.Context(), andon.DefaultTenant, "d")
		if n := f.count("BatchGetItem"); andon.KindOf(err) != andon.Busy || n < 2 || n > 10 {
			t.Errorf("%v, after %d attempts", err, n)
		}
	})
}

// TestDeniedWrites: a process whose credentials lack the right to write is not ready once it was
// to. It is ready after a while, so that writes are sent to it that show whether it has the right.
func TestDeniedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := f.open(t)
		refused := ""
		f.failing(func(operation string) string {
			if operation == "PutItem" {
				return refused
			}
			return ""
		})
		for _, refused = range []string{"AccessDeniedException", ""} {
			if err := s.db.Denied(); err != nil {
				t.Error(err)
			}
			_, err := s.PutTenant(t.Context(), andon.NewTenant("t"))
			ready := s.db.Denied()
			if denied := refused != ""; denied != (err != nil) || denied != (ready != nil) ||
				denied && !strings.Contains(ready.Error(), "lack a right") {
				t.Errorf("%q: %v, %v", refused, err, ready)
			}
			<-time.After(time.Minute)
		}
	})
}

// TestUnprocessedWrites: what a batch leaves unprocessed is written again, and given up where it is
// left unprocessed again and again.
func TestUnprocessedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := f.open(t)
		batches := 0
		f.undone = func(writes int) int {
			batches++
			return writes - 1
		}
		var all []ddb.Write
		for n := range 10 {
			put := items.RecordKeys().Item("key", string(rune('a'+n)))
			all = append(all, ddb.Write{Table: items.TableRecords, Put: put})
		}
		if err := s.db.Write(t.Context(), all...); err != nil || batches != 10 {
			t.Errorf("%v, after %d batches", err, batches)
		}
		for n := range 10 {
			i, err := s.db.Get(t.Context(), items.TableRecords,
				items.RecordKeys().Item("key", string(rune('a'+n))))
			if err != nil || i == nil {
				t.Errorf("write %d: %v, %v", n, i, err)
			}
		}
		batches = 0
		f.undone = func(writes int) int {
			batches++
			return writes
		}
		err := s.db.Write(t.Context(), all...)
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
	f.failing(func(operation string) string {
		if operation == "PutItem" {
			f.failing(nil)
			if theirs, err = other.PutRecord(t.Context(), theirs); err != nil {
				t.Error(err)
			}
		}
		return ""
	})
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
func TestWaitingRequests(t *testing.T) {
	const requests = 20
	f := newFake()
	s := f.open(t)
	taken, err := s.devices.Take(t.Context(), mustTenant(t, s).Key, "d")
	if err != nil {
		t.Fatal(err)
	}
	f.count("BatchWriteItem")
	f.count("PutItem")
	returned := make(chan error, requests)
	for n := range andon.Time(requests) {
		go func() { returned <- send(s, "d", n, "NORMAL") }()
	}
	for s.appends.Waiting("default", "d") < requests {
		runtime.Gosched()
	}
	taken.Give()
	for range requests {
		if err := <-returned; err != nil {
			t.Error(err)
		}
	}
	if n := [2]int{f.count("BatchWriteItem"), f.count("PutItem")}; n != [2]int{1, 1} {
		t.Errorf("batches and puts: %v, want one of each", n)
	}
}

// send appends an entry of a device, perhaps one that a request brings together with others.
func send(s *Store, device andon.DeviceID, after andon.Time, state andon.State) error {
	return s.Append(context.Background(), andon.DefaultTenant, realClock(), []andon.Event{
		{Device: device, Time: andon.MinTime + after, State: state},
	})
}

// TestUnreadKeys: what a batch leaves unread is read again, and given up where it is left unread
// again and again.
func TestUnreadKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := f.open(t)
		var keys []ddb.Item
		for n := range 10 {
			if err := send(s, andon.DeviceID(rune('a'+n)), 0, "NORMAL"); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, items.DevicesKey(mustTenant(t, s).Key, andon.DeviceID(rune('a'+n))))
		}
		batches := 0
		f.undone = func(items int) int {
			batches++
			return items - 1
		}
		all, err := s.db.BatchGet(t.Context(), items.TableDevices, keys)
		if err != nil || len(all) != 10 || batches != 10 {
			t.Errorf("%d items, %v, after %d batches", len(all), err, batches)
		}
		batches = 0
		f.undone = func(items int) int {
			batches++
			return items
		}
		_, err = s.db.BatchGet(t.Context(), items.TableDevices, keys)
		if andon.KindOf(err) != andon.Busy || batches > 20 {
			t.Errorf("%v, after %d batches of which nothing was read", err, batches)
		}
	})
}

// TestDeviceIsChangedMeanwhile: a device that another process changes between reading and putting
// is not put over that, but folded again.
func TestDeviceIsChangedMeanwhile(t *testing.T) {
	f := newFake()
	s, other := f.open(t), f.open(t)
	if err := send(s, "d", 0, "NORMAL"); err != nil {
		t.Fatal(err)
	}
	f.failing(func(operation string) string {
		if operation == "PutItem" {
			f.failing(nil)
			if err := send(other, "d", 2, "WARNING1"); err != nil {
				t.Error(err)
			}
		}
		return ""
	})
	if err := send(s, "d", 1, "NORMAL"); err != nil {
		t.Fatal(err)
	}
	d, err := other.readDevice(t.Context(), mustTenant(t, other), "d")
	if err != nil || d.State != "WARNING1" || d.Time != andon.MinTime+2 ||
		d.PrevTime != andon.MinTime+1 {
		t.Errorf("the device is %+v, %v", d, err)
	}
}

// TestOneDeliveryStands: two processes deliver an entry with other content at once. The device
// shows what the log has of it.
func TestOneDeliveryStands(t *testing.T) {
	f := newFake()
	one, other := f.open(t), f.open(t)
	id, at := andon.DefaultTenant, andon.MinTime
	deliver := func(s *Store, operator andon.PersonID) {
		t.Helper()
		err := s.Append(t.Context(), id, realClock(), []andon.Event{{
			Device: "d", Time: at, State: "ODD", Operator: operator,
			Message: "by " + string(operator),
		}})
		if err != nil {
			t.Error(err)
		}
	}
	f.failing(func(operation string) string {
		if operation == "PutItem" { // the entry is there, and its device is about to be put
			f.failing(nil)
			deliver(other, "Tom")
		}
		return ""
	})
	deliver(one, "Liz")
	d, err := one.Device(t.Context(), id, "d")
	e, failed := one.Entry(t.Context(), id, "d", at, "ODD")
	if err := errors.Join(err, failed); err != nil || d.Operator != e.Operator ||
		d.Message != e.Message || e.Message != "by "+string(e.Operator) {
		t.Errorf("the device shows %+v of %+v, %v", d, e, err)
	}
}

// TestAssignedByAnotherMeanwhile: where another process is faster to assign the same operator,
// nothing is added here, and the answer says so.
func TestAssignedByAnotherMeanwhile(t *testing.T) {
	f := newFake()
	one, other := f.open(t), f.open(t)
	assign := func(s *Store, now andon.Time) andon.Assignment {
		t.Helper()
		kept, err := s.Assign(t.Context(), andon.DefaultTenant, now,
			[]andon.Assignment{{Device: "d", Operator: "Liz"}})
		if err != nil {
			t.Fatal(err)
		}
		return kept[0]
	}
	f.failing(func(operation string) string {
		if operation == "PutItem" {
			f.failing(nil)
			assign(other, andon.MinTime+2)
		}
		return ""
	})
	if a := assign(one, andon.MinTime+1); !a.Again || a.From != andon.MinTime+2 {
		t.Errorf("it is %+v", a)
	}
}

// TestOneOfJoinedRequestsIsAtFault: of requests that are written together, one that can't be
// written does not have the others refused.
func TestOneOfJoinedRequestsIsAtFault(t *testing.T) {
	f := newFake()
	s := f.open(t)
	taken, err := s.devices.Take(t.Context(), mustTenant(t, s).Key, "d")
	if err != nil {
		t.Fatal(err)
	}
	const requests = 3
	answers := make(chan error, requests)
	for n := range andon.Time(requests) {
		go func() { answers <- send(s, "d", n, "NORMAL") }()
	}
	for s.appends.Waiting(string(andon.DefaultTenant), "d") < requests {
		runtime.Gosched()
	}
	batches := 0
	f.failing(func(operation string) string {
		if operation != "BatchWriteItem" {
			return ""
		}
		if batches++; batches > 2 { // that of all of them, and that of the first
			return ""
		}
		return "ValidationException: Item size has exceeded the maximum allowed size"
	})
	taken.Give()
	refused := 0
	for range requests {
		if err := <-answers; andon.KindOf(err) == andon.Invalid && err != nil {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if refused != 1 || batches != 1+requests {
		t.Errorf("%d of %d requests were refused, by %d batches", refused, requests, batches)
	}
}

// TestGrowthAfterFailure: a device grows by what the service left unprocessed, also of a request
// that failed for that. Sent again, its entries are in more partitions, each in one.
func TestGrowthAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := f.open(t)
		now := realClock()
		s.options.Now = func() andon.Time { return now } // within one window of the rates
		s.rates.OfShard = 10
		f.undone = func(items int) int { // the device is read, and nothing is written
			if items == 1 {
				return 0
			}
			return items
		}
		var events []andon.Event
		for n := range 20 {
			events = append(events, andon.Event{Device: "hot", Time: minute(n), State: "A"})
		}
		ctx, id := t.Context(), andon.DefaultTenant
		if err := s.Append(ctx, id, realClock(), events); andon.KindOf(err) != andon.Busy {
			t.Fatalf("nothing was written, and the error is %v", err)
		}
		f.undone = nil
		if err := s.Append(ctx, id, realClock(), events); err != nil {
			t.Fatal(err)
		}
		d, err := s.readDevice(ctx, mustTenant(t, s), "hot")
		if err != nil || d.Partitions() < 2 {
			t.Errorf("it has %d partitions, %v", d.Partitions(), err)
		}
		partitions, entries := map[any]bool{}, map[any]int{}
		stored := f.items[s.options.Prefix+items.TableLog]
		for _, i := range stored {
			partitions[i[items.AttrDevice]["S"]] = true
			entries[i[items.AttrStateDate]["S"]]++
		}
		if len(partitions) < 2 || len(entries) != 20 || len(stored) != 20 {
			t.Errorf("%d items of %d entries are in %d partitions", len(stored), len(entries),
				len(partitions))
		}
	})
}
