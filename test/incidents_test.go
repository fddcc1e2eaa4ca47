package test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/parallel"
)

// TestSerialKillPolicies kills a server at random while the policies of 2,000 incidents run, or of
// 10,000.
func TestSerialKillPolicies(t *testing.T) {
	w := newWards(t, 1, "store: pebble\ndata: "+t.TempDir()+"\n")
	w.run(2000, 10_000)
}

// TestSerialKillPoliciesOnDynamoDB kills either of two processes.
func TestSerialKillPoliciesOnDynamoDB(t *testing.T) {
	settings, err := os.ReadFile(dynamoSettings(t))
	if err != nil {
		t.Fatal(err)
	}
	newWards(t, 2, string(settings)).run(200, 1000)
}

// TestSerialKillPoliciesOnCassandra kills either of two processes. A killed one takes a while to be
// replaced, so what DynamoDB shows already is left to the long tests.
func TestSerialKillPoliciesOnCassandra(t *testing.T) {
	if os.Getenv(enginetest.LongTests) == "" {
		t.Skip(enginetest.LongTests + " is not set")
	}
	node := enginetest.Cassandra(t)
	k := newKeyspace(t, []string{node.Addr()}, "buckets")
	newWards(t, 2, fmt.Sprintf("store: cassandra\ncassandra.hosts: %s\ncassandra.keyspace: %s\n",
		node.Addr(), k.name)).run(200, 1000)
}

// team is how many devices have a policy, an operator and a supervisor of their own: so few that
// what is told of all of them is no flood, and each message says of how many of them it is.
const team = 10

// wards are devices of which people are told by processes that are killed again and again, and are
// back each time.
type wards struct {
	*testing.T
	config         string
	devices, kills int
	wait           time.Duration // before each step of a policy
	running        []*server
	clients        []*client.Client
	hook           receiver
	asked          map[andon.PersonID]int // steps that tell a person
	late, unseen   andon.Duration         // the latest step, and policy after its event

	mu    sync.Mutex
	downs [][2]andon.Time // when a process, or this machine, did nothing
}

func newWards(t *testing.T, processes int, settings string) *wards {
	w := &wards{
		T: t, running: make([]*server, processes), clients: make([]*client.Client, processes),
		hook: receiver{t: t, by: map[string]*message{}}, asked: map[andon.PersonID]int{},
	}
	hook := httptest.NewServer(&w.hook)
	t.Cleanup(hook.Close)
	dir := t.TempDir()
	w.config = filepath.Join(dir, "andon.yaml")
	for path, text := range map[string]string{
		filepath.Join(dir, "secret"): "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		w.config: settings + fmt.Sprintf("notify.channels:\n- {name: hook, kind: webhook, "+
			"url: '%s', secret_file: '%s'}\n", hook.URL, filepath.Join(dir, "secret")),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// receiver takes messages, and fails the first time that each of them comes: it comes again.
type receiver struct {
	t      *testing.T
	mu     sync.Mutex
	by     map[string]*message // by idempotency key
	misses int
}

type message struct {
	To    andon.PersonID
	Count int
	times int
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var sent struct{ Data message }
	if err := json.NewDecoder(req.Body).Decode(&sent); err != nil {
		r.misses++ // its sender was killed
		return
	}
	key := strings.TrimPrefix(req.Header.Get("webhook-id"), "msg_")
	is := r.by[key]
	if is == nil {
		is = &sent.Data
		r.by[key] = is
	}
	if is.times++; is.To != sent.Data.To || is.Count != sent.Data.Count {
		r.t.Errorf("message %s was %+v, and then %+v", key, is, sent.Data)
	}
	if is.times == 1 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func ward(i int) andon.DeviceID { return andon.DeviceID(fmt.Sprintf("ward-%05d", i)) }

func instant() andon.Time { return andon.TimeOf(time.Now()) }

// run checks that each step is in the log once, in time, and that what follows from it is done.
// What opened before is not opened again by what is read again.
func (w *wards) run(devices, long int) {
	w.Helper()
	w.devices, w.kills, w.wait = devices, 3, 2*time.Second
	if os.Getenv(enginetest.LongTests) != "" {
		w.devices, w.kills, w.wait = long, 12, 5*time.Second
	}
	for i := range w.running {
		w.start(i)
	}
	if _, err := w.clients[0].Apply(w.Context(), w.documents(), false); err != nil {
		w.Fatal(err)
	}
	end := w.watch()
	w.send(w.devices/4, "WARNING1")
	w.send(w.devices/4, "NORMAL")
	w.kill()
	w.send(w.devices, "WARNING2")
	for range w.kills {
		w.kill()
	}
	<-time.After(3 * w.wait) // they take so long, and a list of all takes the server a while
	eventually(w.T, patience, "all policies have ended", w.ended)
	end()
	w.check()
	eventually(w.T, patience, "all messages are delivered", w.delivered)
	contend(w.T, w.clients...)
	for _, s := range w.running {
		s.end(syscall.SIGTERM, 0)
	}
}

func (w *wards) start(i int) {
	s := serveQuietly(w.T, "--config", w.config)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[i], w.clients[i] = s, newClient(w.T, s)
}

// documents are a policy and two people for each team.
func (w *wards) documents() (all []client.Document) {
	for n := range w.devices / team {
		for _, name := range []string{"Liz", "Sara"} {
			all = append(all, client.Document{
				Kind: "person", Name: fmt.Sprintf("%s-%04d", name, n),
				Content: `{"contacts":[{"channel":"hook"}]}`,
			})
		}
		all = append(all, client.Document{
			Kind: "policy", Name: fmt.Sprintf("p-%04d", n), Content: andon.JSON(fmt.Sprintf(
				`{"match":{"prefix":"ward-%04d"},"assign":"person Liz-%04[1]d","steps":[`+
					`{"after":"%[2]s","to":"operator"},`+
					`{"after":"%[3]s","to":"supervisor Sara-%04[1]d"},`+
					`{"after":"%[4]s","to":"operator"}]}`, n, w.wait, 2*w.wait, 3*w.wait)),
		})
	}
	return all
}

// watch sends an event again and again, until it is ended. While one takes long the machine, or the
// store, is busy, which delays steps as well.
func (w *wards) watch() (end func()) {
	const each, long = 50 * time.Millisecond, andon.Duration(75_000)
	done, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(each)
		defer ticker.Stop()
		for n, last := 0, instant(); ; n++ {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			w.mu.Lock()
			to := w.running[n%len(w.running)]
			w.mu.Unlock()
			request{"POST", "/events", `{"device":"watch","state":"NORMAL"}`, false}.send(to)
			now := instant()
			if now.Sub(last) > long {
				w.down(last, now)
			}
			last = now
		}
	}()
	return func() { close(stop); <-done }
}

func (w *wards) down(from, to andon.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.downs = append(w.downs, [2]andon.Time{from, to})
}

// latest is until when a step may come that was due: a second later, or than the last end of what
// held it up.
func (w *wards) latest(due andon.Time) andon.Time {
	const within = andon.Duration(1_000_000)
	latest := due.Add(within)
	for _, d := range w.downs { // in the order of their ends
		if d[0] <= latest && due <= d[1] {
			latest = max(latest, d[1].Add(within))
		}
	}
	return latest
}

func (w *wards) kill() {
	w.Helper()
	<-time.After(time.Duration(rand.Int64N(int64(1500 * time.Millisecond))))
	i, from := rand.IntN(len(w.running)), instant()
	w.running[i].end(syscall.SIGKILL, -1)
	w.start(i)
	w.down(from, instant())
}

// send sends a state of many devices, some at a time, to one process or another.
func (w *wards) send(devices int, state andon.State) {
	w.Helper()
	for first := 0; first < devices; first += 200 {
		var all []andon.Event
		for i := first; i < min(first+200, devices); i++ {
			all = append(all, andon.Event{Device: ward(i), State: state})
		}
		if _, err := w.any(first/200).AppendEvents(w.Context(), all); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *wards) any(i int) *client.Client { return w.clients[i%len(w.clients)] }

// ended returns nil once the policies of all devices have.
func (w *wards) ended() error {
	<-time.After(time.Second)
	done, n := 0, 0
	for in, err := range w.any(0).Incidents(w.Context(), client.IncidentQuery{}) {
		if n++; err != nil {
			return err
		}
		if in.Escalation != nil && in.Escalation.NextAt == 0 {
			done++
		}
	}
	if n != w.devices || done != w.devices {
		return fmt.Errorf("%d incidents are open, %d policies have ended", n, done)
	}
	return nil
}

// delivered returns nil once each message has come, and all that people are told by steps is in
// one. What is in two is told twice. What did not arrive before its incidents were over is listed.
func (w *wards) delivered() error {
	status := map[string]string{} // the newest attempt comes first
	for n, err := range w.any(1).Notifications(w.Context(), "", "", 0) {
		if err != nil {
			return err
		}
		if status[n.ID] == "" {
			status[n.ID] = n.Status
		}
	}
	w.hook.mu.Lock()
	defer w.hook.mu.Unlock()
	told, again, came := map[andon.PersonID]int{}, 0, 0
	for key, is := range status {
		m := w.hook.by[key]
		if m != nil {
			came++
		}
		if is == "listed" {
			continue
		}
		if is != "delivered" || m == nil {
			return fmt.Errorf("message %s is %s, and came as %+v", key, is, m)
		}
		told[m.To] += m.Count
		again += m.times - 2 // what fails comes twice
	}
	if came != len(w.hook.by) {
		return fmt.Errorf("%d messages came, %d of them are known", len(w.hook.by), came)
	}
	for n := range w.devices / team {
		for _, name := range []string{"Liz", "Sara"} {
			to := andon.PersonID(fmt.Sprintf("%s-%04d", name, n))
			if told[to] < team { // a message counts a device once
				return fmt.Errorf("%s was told of %d devices", to, told[to])
			}
			if told[to] > w.asked[to] {
				w.Fatalf("%s was told of %d devices in %d steps", to, told[to], w.asked[to])
			}
		}
	}
	w.Logf("%d messages, of which %d came once more after they were taken, %d were cut off",
		len(status), again, w.hook.misses)
	return nil
}

// check checks all incidents.
func (w *wards) check() {
	w.Helper()
	err := parallel.Do(w.Context(), w.devices, 8, func(ctx context.Context, i int) error {
		want, got := 1, 0
		if i < w.devices/4 {
			want = 2
		}
		for in, err := range w.any(i).DeviceIncidents(ctx, ward(i), client.Query{}) {
			if got++; err != nil {
				return err
			}
			whole, err := w.any(i).Incident(ctx, in.ID)
			if err != nil {
				return err
			}
			w.checkLog(&whole)
		}
		if got != want {
			w.Errorf("%s has %d incidents, want %d", ward(i), got, want)
		}
		return nil
	})
	if err != nil {
		w.Error(err)
	}
	w.Logf("the latest step came %s after it was due, the latest policy began %s after the event",
		w.late, w.unseen)
	for d, err := range w.any(0).Devices(w.Context(), client.DeviceQuery{Device: "ward-*"}) {
		if err != nil || !strings.HasPrefix(string(d.EscalatedTo), "Sara-") {
			w.Fatalf("%s is escalated to %q, %v", d.Device, d.EscalatedTo, err)
		}
	}
}

// checkLog checks the log of an incident. Of one that is over some steps may have been done.
func (w *wards) checkLog(in *client.Incident) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var began andon.Time
	var told int
	for _, s := range in.Steps {
		switch s.What {
		case "opened", "assigned":
		case "policy started":
			if began != 0 {
				w.Errorf("the policy of %s started twice", in.Device)
			}
			began = s.At
			w.unseen = max(w.unseen, began.Sub(in.Opened))
		case "notified", "escalated":
			told++
			w.asked[s.To]++
			due := began.Add(andon.DurationOf(time.Duration(told) * w.wait))
			w.late = max(w.late, s.At.Sub(due))
			if s.At < due || s.At > w.latest(due) {
				w.Errorf("step %d of %s was due at %s and done at %s", told, in.Device, due, s.At)
			}
		default:
			if in.Ended == 0 {
				w.Errorf("%s has a step %+v", in.Device, s)
			}
		}
	}
	if told > 3 || in.Ended == 0 && (began == 0 || told != 3) {
		w.Errorf("%d steps of the policy of %s are done", told, in.Device)
	}
}
