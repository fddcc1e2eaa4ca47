package dynamostore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// proxy is between a store and an imitation of DynamoDB, and does what the imitation does not:
// it enforces the limits of a partition key, fails as the service fails, and lets indexes lag.
type proxy struct {
	URL      string
	upstream string
	http     *http.Client

	mu     sync.Mutex
	calls  map[string]int // by operation
	errors map[string]int // by what was answered instead: "ThrottlingException"
	faults []*fault
	tables map[string]schema
	limits *limits             // nil: none
	tick   func(target string) // is reported each call before it is served; nil: no one is
	mirror *mirror             // nil: indexes do not lag
}

// fault is one way to fail.
type fault struct {
	operation string // "PutItem"; "" for all
	after     int    // calls of it that work before
	times     int    // calls of it that fail; then it is over
	every     int    // in place of times: each call of that number fails, for ever
	do        func(*proxy, http.ResponseWriter, call)
	seen      int
}

// call is one request to the service.
type call struct {
	operation string
	header    http.Header
	body      map[string]any
}

// schema is what the proxy knows of a table.
type schema struct {
	table   hashSort
	indexes map[string]hashSort
}

// hashSort are the names of the attributes of a key.
type hashSort struct{ hash, sort string }

// newProxy starts a proxy that ends with the test.
func newProxy(t testing.TB, upstream string) *proxy {
	t.Helper()
	p := &proxy{
		upstream: upstream, http: &http.Client{Transport: &http.Transport{}},
		calls: map[string]int{}, errors: map[string]int{}, tables: map[string]schema{},
	}
	server := httptest.NewServer(p)
	p.URL = server.URL
	t.Cleanup(func() {
		server.Close()
		p.http.CloseIdleConnections()
	})
	return p
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.tick != nil {
		p.tick(r.Header.Get("X-Amz-Target"))
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c := call{operation: operation, header: r.Header.Clone()}
	if err := json.NewDecoder(r.Body).Decode(&c.body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if f := p.failing(c); f != nil {
		f.do(p, w, c)
		return
	}
	p.serve(w, c)
}

// serve does what the service does, within its limits.
func (p *proxy) serve(w http.ResponseWriter, c call) {
	switch {
	case p.mirror != nil && p.mirror.serve(w, c):
	case p.limits != nil:
		p.limited(w, c)
	default:
		p.pass(w, c)
	}
}

// pass sends a call on, and its answer back.
func (p *proxy) pass(w http.ResponseWriter, c call) {
	status, answer, err := p.ask(c)
	if err != nil {
		p.refuse(w, c, http.StatusInternalServerError, "InternalServerError", err.Error())
		return
	}
	reply(w, status, answer)
}

func reply(w http.ResponseWriter, status int, answer map[string]any) {
	text, err := json.Marshal(answer)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte("{}")
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that left does not need it
}

// refuse answers with an error as the service words it.
func (p *proxy) refuse(w http.ResponseWriter, _ call, status int, kind, message string) {
	p.mu.Lock()
	p.errors[kind]++
	p.mu.Unlock()
	reply(w, status, map[string]any{
		"__type": "com.amazonaws.dynamodb.v20120810#" + kind, "message": message,
	})
}

// ask sends a call to the imitation.
func (p *proxy) ask(c call) (status int, answer map[string]any, err error) {
	body, err := json.Marshal(c.body)
	if err != nil {
		return 0, nil, err
	}
	r, err := http.NewRequest(http.MethodPost, p.upstream, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	for _, name := range []string{"Content-Type", "Authorization", "X-Amz-Target", "X-Amz-Date",
		"X-Amz-Security-Token"} {
		if value := c.header.Get(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+c.operation)
	got, err := p.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		return 0, nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return got.StatusCode, answer, d.Decode(&answer)
}

// called returns how many calls of an operation came.
func (p *proxy) called(operation string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[operation]
}

// refused returns how many calls were answered with an error of a kind.
func (p *proxy) refused(kind string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.errors[kind]
}

// inject makes calls fail from now on.
func (p *proxy) inject(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, &f)
}

// failing counts a call, and returns the fault that it meets.
func (p *proxy) failing(c call) *fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[c.operation]++
	for _, f := range p.faults {
		if f.operation != "" && f.operation != c.operation {
			continue
		}
		if f.after > 0 {
			f.after--
			continue
		}
		if f.every > 0 {
			if f.seen++; f.seen%f.every == 0 {
				return f
			}
		} else if f.times > 0 {
			f.times--
			return f
		}
	}
	return nil
}

// throttle answers as a table does whose capacity is used up.
func throttle(p *proxy, w http.ResponseWriter, c call) {
	p.refuse(w, c, http.StatusBadRequest, "ProvisionedThroughputExceededException",
		"The level of configured provisioned throughput for the table was exceeded. Consider "+
			"increasing your provisioning level with the UpdateTable API.")
}

// throttleKey answers as a table on demand does of which one key is too busy.
func throttleKey(p *proxy, w http.ResponseWriter, c call) {
	p.refuse(w, c, http.StatusBadRequest, "ThrottlingException",
		"Throughput exceeds the current capacity of your table or index. DynamoDB is "+
			"automatically scaling your table or index so please try again shortly. If "+
			"exceptions persist, check if you have a hot key.")
}

// serverError answers 500 and does nothing.
func serverError(p *proxy, w http.ResponseWriter, c call) {
	p.refuse(w, c, http.StatusInternalServerError, "InternalServerError",
		"The request processing has failed because of an unknown error, exception or failure.")
}

// loseAnswer does what was asked, and ends the connection instead of answering.
func loseAnswer(p *proxy, w http.ResponseWriter, c call) {
	_, _, _ = p.ask(c) // its error is lost, too
	hang(p, w, c)
}

// hang ends the connection without an answer; nothing was done.
func hang(*proxy, http.ResponseWriter, call) { panic(http.ErrAbortHandler) }

// until answers once a channel is closed.
func until(later <-chan struct{}) func(*proxy, http.ResponseWriter, call) {
	return func(p *proxy, w http.ResponseWriter, c call) {
		<-later
		p.serve(w, c)
	}
}

// held is a call that waits until the test releases it.
type held struct {
	reached, goOn, done chan struct{}
	release             func()
}

// hold holds the next call of an operation.
func (p *proxy) hold(t *testing.T, operation string) *held {
	h := &held{make(chan struct{}), make(chan struct{}), make(chan struct{}), nil}
	h.release = sync.OnceFunc(func() { close(h.goOn) })
	t.Cleanup(h.release) // or the proxy could not end
	p.inject(fault{operation: operation, times: 1,
		do: func(p *proxy, w http.ResponseWriter, c call) {
			defer close(h.done)
			close(h.reached)
			<-h.goOn
			p.serve(w, c)
		}})
	return h
}

// half does the first half of a batch, and leaves the rest to be sent again.
func half(p *proxy, w http.ResponseWriter, c call) {
	items, _ := c.body["RequestItems"].(map[string]any)
	done, left := map[string]any{}, map[string]any{}
	for table, of := range items {
		// A BatchWriteItem has a list there, a BatchGetItem a map with a list.
		if keys, is := of.(map[string]any); is {
			done[table], left[table] = maps.Clone(keys), maps.Clone(keys)
			split(done, left, table, keys["Keys"].([]any), func(into map[string]any, l []any) {
				into[table].(map[string]any)["Keys"] = l
			})
			continue
		}
		split(done, left, table, of.([]any), func(into map[string]any, l []any) { into[table] = l })
	}
	rest := "UnprocessedItems"
	if c.operation == "BatchGetItem" {
		rest = "UnprocessedKeys"
	}
	p.part(w, c, done, rest, left)
}

// split puts the first half of a list into done and the second into left, and nothing where a half
// is empty.
func split(done, left map[string]any, table string, list []any, put func(map[string]any, []any)) {
	middle := (len(list) + 1) / 2
	put(done, list[:middle])
	if middle == len(list) {
		delete(left, table)
		return
	}
	put(left, list[middle:])
}

// part does a part of a batch; what is left it returns under a name.
func (p *proxy) part(
	w http.ResponseWriter, c call, done map[string]any, rest string, left map[string]any,
) {
	if len(done) == 0 {
		throttle(p, w, c)
		return
	}
	c.body = maps.Clone(c.body)
	c.body["RequestItems"] = done
	status, answer, err := p.ask(c)
	if err != nil {
		serverError(p, w, c)
		return
	}
	if status == http.StatusOK && len(left) > 0 {
		joinMaps(answer, rest, left)
	}
	reply(w, status, answer)
}

// join adds what was left of a batch to what the answer leaves already.
func joinMaps(answer map[string]any, rest string, left map[string]any) {
	already, _ := answer[rest].(map[string]any)
	if already == nil {
		already = map[string]any{}
	}
	for table, of := range left {
		if list, is := of.([]any); is {
			before, _ := already[table].([]any)
			already[table] = append(before, list...)
			continue
		}
		already[table] = of
	}
	answer[rest] = already
}

// schemaOf asks for the keys of a table, once.
func (p *proxy) schemaOf(c call, table string) (schema, error) {
	p.mu.Lock()
	s, known := p.tables[table]
	p.mu.Unlock()
	if known {
		return s, nil
	}
	c.operation, c.body = "DescribeTable", map[string]any{"TableName": table}
	status, answer, err := p.ask(c)
	if err != nil || status != http.StatusOK {
		return s, fmt.Errorf("describe %s: %d, %w", table, status, err)
	}
	about := answer["Table"].(map[string]any)
	s = schema{table: keysIn(about), indexes: map[string]hashSort{}}
	indexes, _ := about["GlobalSecondaryIndexes"].([]any)
	for _, i := range indexes {
		i := i.(map[string]any)
		s.indexes[i["IndexName"].(string)] = keysIn(i)
	}
	p.mu.Lock()
	p.tables[table] = s
	p.mu.Unlock()
	return s, nil
}

func keysIn(about map[string]any) (k hashSort) {
	for _, key := range about["KeySchema"].([]any) {
		key := key.(map[string]any)
		if key["KeyType"] == "HASH" {
			k.hash = key["AttributeName"].(string)
		} else {
			k.sort = key["AttributeName"].(string)
		}
	}
	return k
}

// text is the value of a key attribute: {"S":"press-7"} is S:press-7.
func textOf(value any) string {
	m, _ := value.(map[string]any)
	for kind, v := range m {
		return kind + ":" + fmt.Sprint(v)
	}
	return ""
}

var hashCondition = regexp.MustCompile(`(#?[\w.]+)\s*=\s*(:\w+)`)

// hashOf returns the partition key that a Query asks for.
func hashOf(c call, key string) string {
	condition, _ := c.body["KeyConditionExpression"].(string)
	names, _ := c.body["ExpressionAttributeNames"].(map[string]any)
	values, _ := c.body["ExpressionAttributeValues"].(map[string]any)
	for _, m := range hashCondition.FindAllStringSubmatch(condition, -1) {
		name := m[1]
		if of, is := names[name].(string); is {
			name = of
		}
		if name == key {
			return textOf(values[m[2]])
		}
	}
	return ""
}
