package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/rules/runner"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/memstore"
)

const (
	hot = `{"when": {"metric": "t", "op": ">", "value": 80}, "state": "WARNING2",
		"match": {"prefix": "p", "group": "hall"}, "message": "{t}"}`
	second = andon.Duration(1_000_000)
)

// process is a process that evaluates rules on a store.
type process struct {
	*testing.T
	*runner.Runner
	documents *records.Documents
	begin     andon.Time
	broken    atomic.Bool // entries can't be kept
	endless   atomic.Bool // the next end of an absence can't be taken in

	mu       sync.Mutex
	absences []runner.Absence
}

// settle lets virtual time go on.
func settle(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func now() andon.Time { return andon.TimeOf(time.Now()) }

func newProcess(t *testing.T, store andon.Store) *process {
	p := &process{T: t, documents: records.NewDocuments(store, now), begin: now()}
	p.Runner = runner.New(now, slog.New(slog.DiscardHandler))
	p.Store, p.Documents = store, p.documents
	p.Group = func(
		context.Context, andon.TenantID,
	) (func(andon.DeviceID) andon.Group, error) {
		return func(d andon.DeviceID) andon.Group {
			if d == "p-elsewhere" {
				return ""
			}
			return "hall/line"
		}, nil
	}
	p.Append = func(
		ctx context.Context, id andon.TenantID, all []andon.Event,
	) (refused []andon.Rejection, err error) {
		if p.broken.Load() {
			return nil, errors.New("the power is off")
		}
		if strings.HasPrefix(string(all[0].Device), "p-refused") {
			return []andon.Rejection{{Error: "no"}}, nil
		}
		return nil, store.Append(ctx, id, now(), all)
	}
	p.Absent = func(_ context.Context, _ andon.TenantID, a runner.Absence) error {
		if !a.Is && p.endless.CompareAndSwap(true, false) {
			return errors.New("the power is off")
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.absences = append(p.absences, a)
		return nil
	}
	return p
}

func (p *process) rule(name, text string) {
	p.Helper()
	_, err := p.documents.Put(p.Context(), andon.DefaultTenant, people.Rules,
		records.Document{Name: name, Data: andon.JSON(text)}, nil)
	if err != nil {
		p.Fatal(err)
	}
}

// measure stores and evaluates a reading: seconds after the beginning, and metric and value.
func (p *process) measure(device andon.DeviceID, at int, metric string, value float64) error {
	all := []andon.Reading{{
		Device: device, Time: p.begin.Add(andon.Duration(at) * second),
		Metrics: andon.Metrics{{Name: andon.MetricName(metric), Value: value}},
	}}
	err := p.Store.AppendReadings(p.Context(), andon.DefaultTenant, now(), all)
	if err != nil {
		p.Fatal(err)
	}
	return p.Measured(p.Context(), andon.DefaultTenant, all)
}

func (p *process) measures(device andon.DeviceID, metric string, values ...float64) {
	p.Helper()
	for i, value := range values {
		if err := p.measure(device, i, metric, value); err != nil {
			p.Fatal(err)
		}
	}
}

// expect compares the entries of a device: "0 WARNING2 81, 2 NORMAL".
func (p *process) expect(device andon.DeviceID, want string) {
	p.Helper()
	var got []string
	for e, err := range p.Store.DeviceEvents(p.Context(), andon.DefaultTenant, device,
		andon.EventQuery{Order: andon.Asc, Limit: 100}) {
		if err != nil {
			p.Fatal(err)
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(e.Time.Sub(p.begin).Seconds(), " ", e.State,
			" ", e.Message)))
	}
	if got := strings.Join(got, ", "); got != want {
		p.Errorf("%s has %q, want %q", device, got, want)
	}
}

// TestMeasured: what rules say is entries; late readings, devices that do not fit, and a metric
// that came in another message.
func TestMeasured(t *testing.T) {
	p := newProcess(t, memstore.New())
	p.measures("p", "t", 99) // there is no rule yet
	p.rule("hot", hot)
	p.rule("both", `{"when": {"expr": "a > b"}, "state": "WARNING3", "match": {"devices": ["q"]}}`)
	p.rule("rise", `{"when": {"metric": "r", "op": ">", "value": 5, "over": "2s"},
		"state": "WARNING1"}`)
	p.measures("p", "t", 70, 81, 90, 80, 81)
	p.expect("p", "1 WARNING2 81, 3 NORMAL, 4 WARNING2 81")
	p.measures("p", "t", 99, 1, 1, 1) // all are late
	p.expect("p", "1 WARNING2 81, 3 NORMAL, 4 WARNING2 81")
	p.measures("p-elsewhere", "t", 99)
	p.expect("p-elsewhere", "")
	p.measures("q", "a", 1, 2)
	p.measures("q", "b", 3, 1)
	p.expect("q", "1 WARNING3")
	p.measures("s", "r", 0, 4, 6, 9, 10)
	p.expect("s", "2 WARNING1, 3 NORMAL")
	if err := p.measure("s", 1, "r", 90); err != nil { // late
		t.Fatal(err)
	}
	p.expect("s", "2 WARNING1, 3 NORMAL")
	if got := p.Entries.Load(); got != 6 {
		t.Errorf("%d entries are counted, want 6", got)
	}
}

// TestOthers: a rule does not make look better what somebody else said, and a rule that is gone
// takes nothing back.
func TestOthers(t *testing.T) {
	p := newProcess(t, memstore.New())
	p.rule("hot", hot)
	say := func(at int, state andon.State) {
		e := andon.Event{Device: "p", Time: p.begin.Add(andon.Duration(at) * second), State: state}
		err := p.Store.Append(t.Context(), andon.DefaultTenant, now(), []andon.Event{e})
		if err != nil {
			t.Fatal(err)
		}
	}
	p.measures("p", "t", 81)
	say(1, "WARNING4")
	p.measures("p", "t", 81, 81, 1, 81)
	p.expect("p", "0 WARNING2 81, 1 WARNING4")
	say(9, "NORMAL")
	if err := p.measure("p", 10, "t", 1); err != nil {
		t.Fatal(err)
	}
	p.expect("p", "0 WARNING2 81, 1 WARNING4, 9 NORMAL, 10 NORMAL")
	if err := p.Forget(t.Context(), andon.DefaultTenant, "p"); err != nil {
		t.Fatal(err)
	}
	if err := p.measure("p", 3, "t", 99); err != nil { // later readings are stored
		t.Fatal(err)
	}
	p.expect("p", "0 WARNING2 81, 1 WARNING4, 9 NORMAL, 10 NORMAL")
}

// TestKilled: what a process decided and did not say before it was killed is said by another one,
// once, and sending the reading again says nothing else.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		p := newProcess(t, store)
		p.rule("hot", hot)
		p.broken.Store(true)
		if err := p.measure("p", 0, "t", 81); err == nil {
			t.Error("what was not said is no error")
		}
		p.expect("p", "")
		other := newProcess(t, store)
		other.begin = p.begin
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- other.Runner.Run(ctx) }()
		settle(7 * time.Second)
		p.expect("p", "0 WARNING2 81")
		p.measures("p", "t", 81, 82)
		p.expect("p", "0 WARNING2 81")
		if err := p.measure("p", 2, "t", 3); err == nil {
			t.Error("what was not said is no error")
		}
		if err := other.measure("p", 3, "t", 99); err != nil {
			t.Fatal(err)
		}
		p.expect("p", "0 WARNING2 81, 2 NORMAL, 3 WARNING2 99")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestTwoProcesses: however two processes share the readings of devices, what a device shows at the
// end is by its newest reading, and no time has two entries that differ.
func TestTwoProcesses(t *testing.T) {
	store := memstore.New()
	both := []*process{newProcess(t, store), newProcess(t, store)}
	both[0].rule("hot", hot)
	both[1].begin = both[0].begin
	const last = 60
	var all sync.WaitGroup
	for n := range 4 {
		device, random := andon.DeviceID(fmt.Sprint("p", n)), rand.New(rand.NewPCG(1, uint64(n)))
		values := make([]float64, last)
		for i := range values {
			values[i] = 70 + 20*float64(random.IntN(2))
		}
		all.Go(func() {
			for i := 0; i < last; i += 2 { // two at a time, in either order
				var pair sync.WaitGroup
				for j := range 2 {
					pair.Go(func() {
						if err := both[j].measure(device, i+j, "t", values[i+j]); err != nil {
							t.Error(err)
						}
					})
				}
				pair.Wait()
				d, err := store.Device(t.Context(), andon.DefaultTenant, device)
				want := andon.State("NORMAL")
				if values[i+1] > 80 {
					want = "WARNING2"
				}
				never := andon.KindOf(err) == andon.NotFound && want == "NORMAL"
				if !never && (err != nil || d.State != want) {
					t.Errorf("after %v %s shows %s: %v", values[:i+2], device, d.State, err)
				}
			}
		})
	}
	all.Wait()
}

// TestDisabled: a rule that fails again and again is disabled, and says so; one that is written
// again is evaluated again.
func TestDisabled(t *testing.T) {
	p := newProcess(t, memstore.New())
	p.rule("quotient", `{"when": {"expr": "t / 0 > t"}, "state": "WARNING1"}`)
	p.rule("refused", `{"when": {"metric": "t", "op": ">", "value": 5}, "state": "WARNING1",
		"match": {"prefix": "p-refused"}}`)
	disabled := func() (all []string) {
		known, err := p.documents.Known(t.Context(), andon.DefaultTenant)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range known.Rules {
			if why := r.Disabled; why != "" {
				_, why, _ = strings.Cut(why, "errors in a row, the last: ")
				all = append(all, r.Name+": "+why)
			}
		}
		return all
	}
	for i := range 9 {
		p.measures(andon.DeviceID(fmt.Sprint(i)), "t", 1)
	}
	if got := disabled(); got != nil {
		t.Error("disabled after nine failures: ", got)
	}
	p.measures("p-refused", "t", 6, 4, 6, 4, 6, 4, 6, 4, 6, 4, 6)
	if got, want := fmt.Sprint(disabled()),
		"[quotient: division by zero refused: the entry was refused: no]"; got != want {
		t.Errorf("disabled is %s, want %s", got, want)
	}
	p.rule("quotient", `{"when": {"expr": "t / 2 > 1"}, "state": "WARNING1"}`)
	p.measures("d", "t", 1, 3)
	p.expect("d", "1 WARNING1")
	if p.Disabled.Load() != 2 {
		t.Errorf("%d rules are counted as disabled, want 2", p.Disabled.Load())
	}
}

// TestTooOld: a rule is not disabled because the tenant does not keep what it says any more.
func TestTooOld(t *testing.T) {
	p := newProcess(t, memstore.New())
	tenant, err := p.Store.Tenant(t.Context(), andon.DefaultTenant)
	if err == nil {
		tenant.Events = andon.Retention(3600 * second)
		_, err = p.Store.PutTenant(t.Context(), tenant)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.rule("old", `{"when": {"metric": "t", "op": ">", "value": 5}, "state": "WARNING1"}`)
	for i := range 22 {
		value := float64(4 + 2*(i%2))
		if err := p.measure("p-refused-old", i-7200, "t", value); err != nil {
			t.Fatal(err)
		}
	}
	known, err := p.documents.Known(t.Context(), andon.DefaultTenant)
	if err != nil || known.Rules[0].Disabled != "" || p.Errors.Load() != 0 {
		t.Errorf("%+v, %d errors, %v", known.Rules, p.Errors.Load(), err)
	}
}

// TestAbsent: a metric that is not sent for its span is absent, also where it was last sent before
// the rule was made, from which the span counts then, until it is sent again or the rule is gone.
func TestAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t, memstore.New())
		p.measures("before", "t", 1)
		p.measures("never", "x", 1)
		settle(30 * time.Second)
		p.rule("gone", `{"when": {"metric": "t", "absent_for": "10s"}, "state": "WARNING2",
			"message": "m"}`)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Runner.Run(ctx) }()
		for at := 31; at < 60; at += 7 {
			if err := p.measure("d", at, "t", 1); err != nil {
				t.Fatal(err)
			}
			settle(7 * time.Second)
		}
		if err := p.measure("d", 80, "x", 1); err != nil {
			t.Fatal(err)
		}
		settle(20 * time.Second)
		if err := p.measure("d", 80, "t", 1); err != nil {
			t.Fatal(err)
		}
		err := p.documents.Delete(ctx, andon.DefaultTenant, people.Rules, "gone",
			nil)
		if err != nil {
			t.Fatal(err)
		}
		settle(30 * time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		var got []string
		for _, a := range p.absences {
			is := fmt.Sprint(a.Device, " ", a.Is, " ", a.At.Sub(p.begin).Seconds())
			if a.Device == "before" && !a.Is {
				is = fmt.Sprint(a.Device, " ", a.Is)
			}
			if len(got) == 0 || !strings.Contains(strings.Join(got, ", "), is) {
				got = append(got, is)
			}
		}
		want := "before true 40, d true 69, d false 80, before false"
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestAbsenceEnds: an absence ends although another rule turns once its rule is gone, the rule is
// about something else, or the end can't be taken in at first.
func TestAbsenceEnds(t *testing.T) {
	const low = `{"when": {"metric": "x", "op": "<", "value": 5}, "state": "WARNING1"}`
	for name, end := range map[string]func(*process){
		"its rule is gone": func(p *process) {
			err := p.documents.Delete(p.Context(), andon.DefaultTenant, people.Rules, "gone",
				nil)
			if err != nil {
				p.Fatal(err)
			}
			p.measures("d", "x", 1)
		},
		"its rule compares": func(p *process) { p.rule("gone", low) },
		"it can't be taken in": func(p *process) {
			all := []andon.Reading{{
				Device: "d", Time: now(), Metrics: andon.Metrics{{Name: "t", Value: 1}},
			}}
			if err := p.Store.AppendReadings(p.Context(), "default", now(), all); err != nil {
				p.Fatal(err)
			}
			p.endless.Store(true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProcess(t, memstore.New())
				p.rule("low", low)
				p.rule("gone", `{"when": {"metric": "t", "absent_for": "10s"},
					"state": "WARNING2"}`)
				p.measures("d", "t", 1)
				p.measures("d", "x", 9)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- p.Runner.Run(ctx) }()
				settle(15*time.Second + time.Millisecond)
				end(p)
				settle(14 * time.Second)
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				isEnd := func(a runner.Absence) bool { return !a.Is }
				if len(p.absences) == 0 || !slices.ContainsFunc(p.absences, isEnd) {
					t.Errorf("it does not end: %+v", p.absences)
				}
			})
		})
	}
}

// TestReplay: a rule would have said what it has said, where readings came in order.
func TestReplay(t *testing.T) {
	p := newProcess(t, memstore.New())
	p.rule("hot", hot)
	p.measures("p", "t", 70, 81, 90, 80, 81)
	p.measures("p2", "t", 81, 80)
	p.measures("z", "t", 99)
	known, err := p.documents.Known(t.Context(), andon.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	rule, err := known.Rules[0].Program()
	if err != nil {
		t.Fatal(err)
	}
	span := andon.Span{From: p.begin, To: p.begin.Add(3 * second)}
	for limit, want := range map[int]string{
		99: "p 1 raised WARNING2 81, p 3 cleared NORMAL , p2 0 raised WARNING2 81, " +
			"p2 1 cleared NORMAL ",
		3: "p 1 raised WARNING2 81, p 3 cleared NORMAL , p2 0 raised WARNING2 81 and more",
	} {
		tried, err := p.Replay(t.Context(), andon.DefaultTenant, rule, span, limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range tried.Items {
			got = append(got, fmt.Sprint(s.Device, " ", s.Time.Sub(p.begin).Seconds(), " ", s.What,
				" ", s.State, " ", s.Message))
		}
		is := strings.Join(got, ", ")
		if tried.More {
			is += " and more"
		}
		if is != want || tried.Devices != 2 || tried.Readings != 6 {
			t.Errorf("got %s of %d, %d, want %s", is, tried.Devices, tried.Readings, want)
		}
	}
	events, err := seq.Collect(p.Store.DeviceEvents(t.Context(), andon.DefaultTenant, "z",
		andon.EventQuery{Limit: 9}))
	if err != nil || len(events) > 0 {
		t.Errorf("a replay has stored %v, %v", events, err)
	}
}
