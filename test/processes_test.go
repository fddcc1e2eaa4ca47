package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
)

// The tests of this file send random histories over HTTP to processes that share one store, with
// bodies of a byte to a megabyte, while the processes are killed and stopped at random. In the end
// each process answers as one of the reference store does that was sent the same.

func TestSerialHistoriesOnDynamoDB(t *testing.T) {
	t.Parallel() // it waits for processes that start
	engine := enginetest.DynamoDB(t)
	settings := fmt.Sprintf("store: dynamodb\ndynamodb.prefix: pair_%08x_\n", rand.Uint32()) +
		"dynamodb.readings_retention: forever\ndynamodb.recount: 1s\n"
	if engine.URL != "" {
		settings += "dynamodb.endpoint: " + engine.URL + "\ndynamodb.key: a\ndynamodb.secret: b\n"
	}
	hook := newHook(t)
	settings += hook.settings()
	path := filepath.Join(t.TempDir(), "andon.yaml")
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := run(t, "store", "init", "--config", path); code != 0 {
		t.Fatalf("store init ended with %d:\n%s%s", code, out, errs)
	}
	histories{processes: 2, ends: 6, hook: hook, serve: func() *server {
		return serveQuietly(t, "--config", path)
	}}.run(t)
}

func TestSerialHistoriesOnCassandra(t *testing.T) {
	t.Parallel() // it waits for processes that start
	node := enginetest.Cassandra(t)
	k := newKeyspace(t, []string{node.Addr()}, "tables", "--readings-retention", "forever")
	h, flags := histories{processes: 2, ends: 6}, []string{"--cassandra-recount", "1s"}
	if os.Getenv("ANDON_LONG") != "" { // a lease of a killed process takes its time
		h.hook = newHook(t)
		flags = append(flags, "--config", h.hook.config())
	}
	h.serve = func() *server { return k.serve(t, flags...) }
	h.run(t)
}

// TestSerialHistoriesOnPebble has one process, whose memtable is so small that it flushes and
// merges all the time. Half of the stops wait until a merge has begun.
func TestSerialHistoriesOnPebble(t *testing.T) {
	t.Parallel() // it waits for processes that start
	ends := 12
	if os.Getenv("ANDON_LONG") != "" {
		ends = 150
	}
	dir := t.TempDir()
	path := filepath.Join(t.TempDir(), "andon.yaml")
	hook := newHook(t)
	settings := "store: pebble\npebble.memtable: 1MiB\ndata: " + dir + "\n" + hook.settings()
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	h := histories{processes: 1, ends: ends, hook: hook, serve: func() *server {
		return serveQuietly(t, "--config", path)
	}}
	h.ending = func(end int) {
		if end%4 == 0 {
			eventually(t, patience, "a merge begins", func() error {
				if t.Failed() { // nobody sends what is merged
					return nil
				}
				return merging(dir)
			})
		}
	}
	h.run(t)
	verified(t, "--data", dir)
}

// merging returns nil while the store of a directory writes the tables of a merge. It looks for
// them many times, since a merge of a small store is short.
func merging(dir string) error {
	for range 50 {
		tables, err := filepath.Glob(filepath.Join(dir, "andon.flush-merge-*"))
		if err != nil || len(tables) > 0 {
			return err
		}
		<-time.After(time.Millisecond)
	}
	return errors.New("there are no tables of a merge")
}

// histories sends histories to processes, of which it ends one after the other, and compares what
// they answer with a process of the reference store.
type histories struct {
	processes, ends int
	serve           func() *server
	ending          func(end int) // called before a process is ended, nil for nothing
	hook            *hook         // where a feed of the processes ends; nil: there is none
}

func (h histories) run(t *testing.T) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p := &pair{reference: serveQuietly(t, "--store", "memory")}
	p.running = append(p.running, h.serve())
	const settings = `{"retention":{"events":"forever","readings":"forever"}}`
	p.apply(t, request{"PUT", "/tenants/default", settings, false}, random)
	for range h.processes - 1 { // they start with these settings: the entries are of long ago
		p.running = append(p.running, h.serve())
	}
	var all sync.WaitGroup
	clients := make([]*actor, 4)
	for i := range clients {
		clients[i] = newActor(t, p, seed, i)
		all.Go(clients[i].act)
	}
	for end := range h.ends {
		p.await(t, 5+random.Int64N(40))
		<-time.After(time.Duration(random.Int64N(int64(30 * time.Millisecond))))
		if h.ending != nil {
			h.ending(end)
		}
		i := random.IntN(h.processes)
		if signal := syscall.SIGKILL; end%2 != 0 {
			p.running[i].end(signal, -1)
		} else {
			p.running[i].end(syscall.SIGTERM, 0)
		}
		started := h.serve()
		p.mu.Lock()
		p.running[i] = started
		p.mu.Unlock()
	}
	p.await(t, 20)
	p.done.Store(true)
	all.Wait()
	p.compare(t, clients)
	if h.hook != nil {
		h.hook.compare(t, p.running[0])
	}
	for _, s := range p.running {
		s.end(syscall.SIGTERM, 0)
	}
	t.Logf("%d requests were acknowledged, %d were sent again",
		p.acknowledged.Load(), p.again.Load())
}

// pair is processes on one store, and one that is never ended, which says what they should answer.
type pair struct {
	reference    *server
	acknowledged atomic.Int64
	again        atomic.Int64
	done         atomic.Bool

	mu      sync.Mutex
	running []*server
}

// await waits until some more requests were acknowledged.
func (p *pair) await(t *testing.T, requests int64) {
	t.Helper()
	want := p.acknowledged.Load() + requests
	eventually(t, patience, "requests are acknowledged", func() error {
		if n := p.acknowledged.Load(); n < want && !t.Failed() {
			return fmt.Errorf("%d of %d", n, want)
		}
		return nil
	})
}

// request is one that can be sent again and again. changing says that its answer is another one
// where it was done before.
type request struct {
	method, path, body string
	changing           bool
}

// apply sends a request to any process until one answers it, then to the reference, whose answer
// has to be the same. A process that starts, or whose memtables are full, says to send it again.
func (p *pair) apply(t *testing.T, r request, random *rand.Rand) {
	status, said, tries := 0, "", 0
	for ; status == 0 || status == http.StatusServiceUnavailable ||
		status == http.StatusTooManyRequests; tries++ {
		if tries > 0 {
			p.again.Add(1)
			<-time.After(20 * time.Millisecond)
		}
		p.mu.Lock()
		to := p.running[random.IntN(len(p.running))]
		p.mu.Unlock()
		status, said = r.send(to)
	}
	want, wanted := r.send(p.reference)
	known := tries == 1 || !r.changing
	if known && (status != want || strings.HasPrefix(r.path, "/events") && said != wanted) {
		t.Errorf("%s %s (%d bytes): %d %.300s; the reference: %d %.300s",
			r.method, r.path, len(r.body), status, said, want, wanted)
	}
	p.acknowledged.Add(1)
}

// send returns the status, 0 where there was no answer, and the answer without the id of the
// request.
func (r request) send(s *server) (status int, said string) {
	asked, err := http.NewRequest(r.method, s.url+"/api/v1"+r.path, strings.NewReader(r.body))
	if err != nil {
		return 0, err.Error()
	}
	asked.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(asked)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	said, _, _ = strings.Cut(string(text), `,"request_id":`)
	return answer.StatusCode, said
}

// actor sends the history of devices that are its own. It shares some devices with the others: an
// entry of those is the same from each sender.
type actor struct {
	*rand.Rand
	t       *testing.T
	pair    *pair
	devices []andon.DeviceID
	retired map[andon.DeviceID]bool
	sent    []andon.Event
}

func newActor(t *testing.T, p *pair, seed uint64, number int) *actor {
	a := &actor{
		Rand: rand.New(rand.NewPCG(seed, uint64(number)+1)), t: t, pair: p,
		retired: map[andon.DeviceID]bool{},
	}
	for i := range 4 {
		a.devices = append(a.devices, andon.DeviceID(fmt.Sprintf("%d/own #%d", number, i)))
	}
	return a
}

func (a *actor) act() {
	for !a.pair.done.Load() && !a.t.Failed() {
		a.pair.apply(a.t, a.next(), a.Rand)
	}
}

// next returns the next request. Half of them are events, of a single one to a megabyte.
func (a *actor) next() request {
	device := a.devices[a.IntN(len(a.devices))]
	path := "/devices/" + url.PathEscape(string(device))
	switch n := a.IntN(20); {
	case n < 4:
		return a.events(1, 20)
	case n < 9:
		return a.events(1+a.IntN(60), 1+a.IntN(4000))
	case n < 11:
		return a.events(60, 16_000)
	case n < 14:
		return a.readings()
	case n == 14:
		bodies := []string{"", "{", "[", "x", "\x1f", strings.Repeat("[", 1000)}
		return request{"POST", "/events", bodies[a.IntN(len(bodies))], false}
	case n < 17:
		operator := []string{`"Liz"`, `"Sue"`, "null"}[a.IntN(3)]
		return request{"PUT", path + "/operator", `{"operator":` + operator + `}`, true}
	case len(a.sent) == 0:
		return a.events(1, 1)
	case n == 17:
		e := a.sent[a.IntN(len(a.sent))]
		body := fmt.Sprintf(`{"to":"Sara","by":"Liz","note":"n%d","time":%q,"state":%q}`,
			a.IntN(3), e.Time, e.State)
		path = "/devices/" + url.PathEscape(string(e.Device))
		return request{"POST", path + "/escalations", body, true}
	case n == 18:
		e := a.sent[a.IntN(len(a.sent))]
		path = "/devices/" + url.PathEscape(string(e.Device))
		return request{"DELETE", fmt.Sprintf("%s/events/%s/%s", path, e.Time, e.State),
			`{"by":"Liz","note":"wrong"}`, true}
	case len(a.retired) < 1:
		a.retired[device] = true
		return request{"DELETE", path, "", true}
	}
	return a.events(1, 1)
}

// events returns a request of events, each with a message of up to some bytes.
func (a *actor) events(n, most int) request {
	var events []andon.Event
	for range n {
		e := andon.Event{
			Device: a.devices[a.IntN(len(a.devices))], Time: a.time(),
			State: loadStates[a.IntN(len(loadStates))], Message: a.text(most),
		}
		if a.IntN(3) == 0 {
			e.Operator = []andon.PersonID{"Liz", "Sue", "Jo"}[a.IntN(3)]
		}
		if len(a.sent) > 0 && a.IntN(10) == 0 { // once more, or with another content
			e.Time, e.State = a.sent[a.IntN(len(a.sent))].Time, a.sent[0].State
		}
		a.sent = append(a.sent, e)
		if a.IntN(6) == 0 {
			shared := andon.DeviceID(fmt.Sprintf("shared/%d", a.IntN(3)))
			e = entryOf(shared, a.IntN(4000), loadStates[a.IntN(len(loadStates))])
		}
		events = append(events, e)
	}
	text, err := json.Marshal(events)
	if err != nil {
		panic(err)
	}
	return request{"POST", "/events", string(text), false}
}

// time is within five hours, so that entries are late and tied.
func (a *actor) time() andon.Time {
	const first, second = 1_700_000_000, 1_000_000
	return andon.Time(first+a.IntN(18_000)) * second
}

// text is of letters that no other text is likely to have.
func (a *actor) text(most int) string {
	text := make([]byte, a.IntN(most+1))
	for i := range text {
		text[i] = byte('a' + a.IntN(26))
	}
	return string(text)
}

func (a *actor) readings() request {
	var readings []andon.Reading
	for range 1 + a.IntN(200) {
		readings = append(readings, andon.Reading{
			Device: a.devices[a.IntN(len(a.devices))], Time: a.time(),
			Metrics: andon.Metrics{
				{Name: "heat", Value: float64(a.IntN(1000))},
				{Name: andon.MetricName(fmt.Sprint("m", a.IntN(5))), Value: float64(a.IntN(9))},
			},
		})
	}
	text, err := json.Marshal(readings)
	if err != nil {
		panic(err)
	}
	return request{"POST", "/readings", string(text), false}
}

// compare asks all processes everything, and the reference.
func (p *pair) compare(t *testing.T, actors []*actor) {
	t.Helper()
	devices := []andon.DeviceID{"shared/0", "shared/1", "shared/2"}
	for _, a := range actors {
		devices = append(devices, a.devices...)
	}
	want := answersOf(t, newClient(t, p.reference), devices)
	for i, s := range p.running {
		eventually(t, patience, "the answers are the reference's", func() error {
			got := answersOf(t, patient(t, s), devices)
			var wrong []string
			for _, query := range slices.Sorted(maps.Keys(want)) {
				if diff := cmp.Diff(want[query], got[query]); diff != "" {
					wrong = append(wrong, fmt.Sprintf("%s (-want +got):\n%.1000s", query, diff))
				}
			}
			if len(wrong) > 0 {
				return fmt.Errorf("process %d: %d of %d answers differ:\n%.6000s",
					i, len(wrong), len(want), strings.Join(wrong, "\n"))
			}
			return nil
		})
	}
}

// answersOf asks all that was sent, by the query. Times of arrival and of decisions are those of
// the process that took them.
func answersOf(t *testing.T, c *client.Client, devices []andon.DeviceID) map[string]any {
	t.Helper()
	ctx, all := t.Context(), map[string]any{}
	shown := collect(t, c.Devices(ctx, client.DeviceQuery{}))
	for i := range shown {
		d := &shown[i]
		d.Received, d.LastRetired, d.Silent = 0, 0, false
		if d.Escalation != nil {
			d.Escalation.At = 0
		}
	}
	all["devices"] = shown
	all["counts"] = counted(t, c)
	for _, device := range devices {
		asc := client.Query{Order: andon.Asc}
		name := string(device)
		all["entries of "+name] = collect(t, c.DeviceEvents(ctx, device, asc))
		all["warnings of "+name] = collect(t, c.DeviceEvents(ctx, device,
			client.Query{State: "WARNING*"}))
		all["readings of "+name] = collect(t, c.DeviceReadings(ctx, device, asc))
		runs := collect(t, c.Intervals(ctx, device, asc))
		for i := range runs {
			if runs[i].To == 0 || runs[i].To > 1_700_100_000_000_000 { // it goes on, or was retired
				runs[i].To, runs[i].Seconds = 0, 0
			}
		}
		all["runs of "+name] = runs
		var operators []andon.PersonID
		for _, was := range collect(t, c.Assignments(ctx, device, asc)) {
			operators = append(operators, was.Operator)
		}
		all["assignments of "+name] = operators
	}
	for _, person := range []andon.PersonID{"Liz", "Sue", "Jo"} {
		all["entries of "+string(person)] = collect(t,
			c.OperatorEvents(ctx, person, client.Query{}))
	}
	all["escalated to Sara"] = collect(t,
		c.SupervisorEvents(ctx, "Sara", client.Query{}))
	return all
}
