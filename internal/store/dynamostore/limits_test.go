package dynamostore

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"sync"
	"time"
)

// limits are what one value of a partition key may use of a table or an index. The service has
// 1,000 write units and 3,000 read units a second.
type limits struct {
	writes, reads float64       // units a second
	burst         time.Duration // how much of the past may be made up for
	now           func() time.Time

	mu   sync.Mutex
	keys map[keyUse]*use
}

// documented are the service's own limits, at a fraction of its speed: so a slow machine has time
// to reach them.
func documented(fraction float64) *limits {
	return &limits{
		writes: 1000 * fraction, reads: 3000 * fraction, burst: 100 * time.Millisecond,
		now:  time.Now,
		keys: map[keyUse]*use{},
	}
}

// keyUse is one value of a partition key, of a table or an index, and what it is used for.
type keyUse struct {
	table, index, key string
	write             bool
}

// use is what a key has left; less than zero where a call cost more than there was.
type use struct {
	left float64
	at   time.Time
	all  float64
}

// admits reports whether a key has anything left.
func (l *limits) admits(k keyUse) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.useOf(k).left > 0
}

// charge takes units from a key.
func (l *limits) charge(k keyUse, units float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.useOf(k)
	u.left -= units
	u.all += units
}

// useOf returns what a key has now.
func (l *limits) useOf(k keyUse) *use {
	rate := l.reads
	if k.write {
		rate = l.writes
	}
	most := rate * l.burst.Seconds()
	u := l.keys[k]
	if u == nil {
		u = &use{left: most, at: l.now()}
		l.keys[k] = u
	}
	now := l.now()
	u.left = min(most, u.left+rate*now.Sub(u.at).Seconds())
	u.at = now
	return u
}

// limited does a call within the limits.
func (p *proxy) limited(w http.ResponseWriter, c call) {
	switch c.operation {
	case "PutItem", "UpdateItem", "DeleteItem":
		p.limitedWrite(w, c)
	case "BatchWriteItem":
		p.limitedBatch(w, c)
	case "Query", "GetItem":
		p.limitedRead(w, c)
	default:
		p.pass(w, c)
	}
}

// limitedWrite does one write within the limits of its keys.
func (p *proxy) limitedWrite(w http.ResponseWriter, c call) {
	table, _ := c.body["TableName"].(string)
	s, err := p.schemaOf(c, table)
	item, _ := c.body["Item"].(map[string]any)
	if item == nil {
		item, _ = c.body["Key"].(map[string]any)
	}
	if err != nil || item == nil {
		p.pass(w, c)
		return
	}
	p.charged(w, c, s.uses(table, item))
}

// charged does a call where all keys that it uses have something left, and charges them what the
// imitation says that it cost.
func (p *proxy) charged(w http.ResponseWriter, c call, uses []keyUse) {
	for _, k := range uses {
		if !p.limits.admits(k) {
			throttleKey(p, w, c)
			return
		}
	}
	asked, _ := c.body["ReturnConsumedCapacity"].(string)
	c.body = maps.Clone(c.body)
	c.body["ReturnConsumedCapacity"] = "INDEXES"
	status, answer, err := p.ask(c)
	if err != nil {
		serverError(p, w, c)
		return
	}
	used, _ := answer["ConsumedCapacity"].(map[string]any)
	for _, k := range uses {
		p.limits.charge(k, consumed(used, k.index))
	}
	if asked == "" || asked == "NONE" {
		delete(answer, "ConsumedCapacity")
	}
	reply(w, status, answer)
}

// uses are the keys of a table and of its indexes that a write of an item goes to.
func (s schema) uses(table string, item map[string]any) []keyUse {
	all := []keyUse{{table: table, key: textOf(item[s.table.hash]), write: true}}
	for name, k := range s.indexes {
		if item[k.hash] != nil && (k.sort == "" || item[k.sort] != nil) {
			all = append(all, keyUse{
				table: table, index: name, key: textOf(item[k.hash]), write: true,
			})
		}
	}
	return all
}

// consumed is what a call used of a table, or of an index of it.
func consumed(used map[string]any, index string) float64 {
	of, _ := used["Table"].(map[string]any)
	if index != "" {
		indexes, _ := used["GlobalSecondaryIndexes"].(map[string]any)
		of, _ = indexes[index].(map[string]any)
	}
	units, _ := of["CapacityUnits"].(json.Number)
	f, _ := units.Float64()
	return f
}

// limitedBatch does what the limits admit of a batch. Like the service, it fails as a whole only
// where nothing of it is admitted.
func (p *proxy) limitedBatch(w http.ResponseWriter, c call) {
	items, _ := c.body["RequestItems"].(map[string]any)
	done, left := map[string]any{}, map[string]any{}
	for table, of := range items {
		s, err := p.schemaOf(c, table)
		requests, _ := of.([]any)
		if err != nil || requests == nil {
			p.pass(w, c)
			return
		}
		for _, r := range requests {
			into := left
			if p.admitted(s, table, r.(map[string]any)) {
				into = done
			}
			before, _ := into[table].([]any)
			into[table] = append(before, r)
		}
	}
	if len(done) == 0 && len(left) > 0 {
		throttleKey(p, w, c)
		return
	}
	p.part(w, c, done, "UnprocessedItems", left)
}

// admitted charges one request of a batch, where the limits admit it.
func (p *proxy) admitted(s schema, table string, request map[string]any) bool {
	item := map[string]any{}
	if put, is := request["PutRequest"].(map[string]any); is {
		item, _ = put["Item"].(map[string]any)
	} else if del, is := request["DeleteRequest"].(map[string]any); is {
		item, _ = del["Key"].(map[string]any)
	}
	uses := s.uses(table, item)
	for _, k := range uses {
		if !p.limits.admits(k) {
			return false
		}
	}
	units := math.Ceil(float64(size(item)) / 1024)
	for _, k := range uses {
		p.limits.charge(k, units)
	}
	return true
}

// size is that of an item as the service counts it, to a few bytes.
func size(item map[string]any) (bytes int) {
	for name, value := range item {
		bytes += len(name) + sizeOf(value)
	}
	return bytes
}

func sizeOf(value any) (bytes int) {
	switch v := value.(type) {
	case string:
		return len(v)
	case []any:
		for _, of := range v {
			bytes += 1 + sizeOf(of)
		}
	case map[string]any:
		for kind, of := range v {
			if m, is := of.(map[string]any); is && kind == "M" {
				bytes += 3 + size(m)
				continue
			}
			bytes += sizeOf(of)
		}
	}
	return bytes
}

// limitedRead does a read within the limits of its key.
func (p *proxy) limitedRead(w http.ResponseWriter, c call) {
	table, _ := c.body["TableName"].(string)
	s, err := p.schemaOf(c, table)
	if err != nil {
		p.pass(w, c)
		return
	}
	k := keyUse{table: table}
	if c.operation == "GetItem" {
		key, _ := c.body["Key"].(map[string]any)
		k.key = textOf(key[s.table.hash])
	} else {
		k.index, _ = c.body["IndexName"].(string)
		of := s.table
		if k.index != "" {
			of = s.indexes[k.index]
		}
		k.key = hashOf(c, of.hash)
	}
	p.charged(w, c, []keyUse{k})
}
