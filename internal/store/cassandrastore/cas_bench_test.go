package cassandrastore

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/shared"
)

// casLoad is one way to write: each client sends one request after the other.
type casLoad struct {
	name             string
	clients, batch   int
	fleet, processes int
	requests         int
}

func casLoads() []casLoad {
	return []casLoad{
		{"1 event by 64, 2,000 devices", 64, 1, 2000, 1, 6000},
		{"1 event by 64, 20,000 devices", 64, 1, 20_000, 1, 6000},
		{"100 events by 4, 2,000 devices", 4, 100, 2000, 1, 120},
		{"100 events by 4, 20,000 devices", 4, 100, 20_000, 1, 120},
		{"1,000 events by 4, 2,000 devices", 4, 1000, 2000, 1, 16},
		{"1,000 events by 4, 20,000 devices", 4, 1000, 20_000, 1, 16},
		{"1 event by 16, one device", 16, 1, 1, 1, 600},
		{"2 processes, 1 event by 64, 2,000 devices", 64, 1, 2000, 2, 6000},
		{"2 processes, 100 events by 4, 2,000 devices", 4, 100, 2000, 2, 120},
		{"2 processes, 1 event by 16, one device", 16, 1, 1, 2, 400},
	}
}

// TestCompareCAS writes as the store does and as it would with a versioned row a device, by turns,
// and prints what each costs (see decision 76).
//
//	ANDON_ENGINES=1 ANDON_COMPARE_CAS=5 go test -run CompareCAS -v -timeout 1h \
//		./internal/store/cassandrastore
//
// The value is how often each is measured. ANDON_COMPARE_CAS_NODES=3 takes a ring of three,
// ANDON_COMPARE_CAS_LOADS those loads whose names have one of the words, separated by "|", and
// ANDON_COMPARE_CAS_COMMIT another consistency of the commit.
func TestCompareCAS(t *testing.T) {
	turns := 0
	if _, err := fmt.Sscan(os.Getenv("ANDON_COMPARE_CAS"), &turns); err != nil {
		t.Skip("it measures, and checks nothing: ANDON_COMPARE_CAS=5 runs it")
	}
	c := newCASComparison(t)
	for _, l := range casLoads() {
		if !c.wanted(l.name) {
			continue
		}
		var now, cas []casResult
		for turn := range turns + 1 {
			a := c.run(t, l, false)
			b := c.run(t, l, true)
			if turn > 0 { // the first is to get warm
				now, cas = append(now, a), append(cas, b)
			}
		}
		fmt.Printf("%-44s now %s\n%-44s cas %s\n%-44s ratio of events/s %s, of CPU %s\n", l.name,
			spell(now), "", spell(cas), "",
			ratios(cas, now, func(r casResult) float64 { return r.rate }),
			ratios(cas, now, func(r casResult) float64 { return r.cpu }))
	}
}

type casComparison struct {
	stores  []*Store
	swap    []*casStore
	pids    []int
	next    atomic.Int64
	settles time.Duration
}

func newCASComparison(t *testing.T) *casComparison {
	c := &casComparison{settles: 10 * time.Second}
	var nodes []*enginetest.Node
	replication := Setup{Replication: "1"}
	if os.Getenv("ANDON_COMPARE_CAS_NODES") == "3" {
		nodes, replication.Replication = enginetest.OwnRing(t, 3).Nodes(), "3"
	} else {
		n, err := enginetest.StartCassandra(t.Context(), enginetest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Discard)
		nodes = []*enginetest.Node{n}
	}
	o := on(nodes[0], "buckets")
	o.Settle, o.pace = c.settles, shared.UsualPace()
	o.Hosts = nil
	for _, n := range nodes {
		o.Hosts = append(o.Hosts, n.Addr())
		found, err := enginetest.Find(n.Dir())
		if err != nil {
			t.Fatal(err)
		}
		c.pids = append(c.pids, found.PID)
	}
	makeSchema(t, o, replication)
	commit := levels[os.Getenv("ANDON_COMPARE_CAS_COMMIT")]
	switch os.Getenv("ANDON_COMPARE_CAS_COMMIT") {
	case "":
		commit = gocql.LocalQuorum
	case "ANY":
		commit = gocql.Any
	}
	for range 2 {
		s := open(t, o)
		c.stores, c.swap = append(c.stores, s), append(c.swap, newCASStore(s, commit))
	}
	run(t, c.stores[0], casTable)
	for _, id := range []andon.TenantID{"now", "cas"} {
		if _, err := c.stores[0].PutTenant(t.Context(), andon.NewTenant(id)); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(2 * shared.TenantAge)
	return c
}

func (c *casComparison) wanted(name string) bool {
	words := os.Getenv("ANDON_COMPARE_CAS_LOADS")
	return words == "" || slices.ContainsFunc(strings.Split(words, "|"), func(w string) bool {
		return strings.Contains(name, w)
	})
}

func (c *casComparison) cpu() (all time.Duration) {
	for _, pid := range c.pids {
		all += enginetest.CPUTime(pid)
	}
	return all
}

// casResult is what one run came to.
type casResult struct {
	rate, cpu float64 // events/s; µs of the engine an event, with what is reviewed later
	p50, p99  time.Duration
	conflicts float64 // an event
}

func (c *casComparison) run(t *testing.T, l casLoad, cas bool) casResult {
	t.Helper()
	s := c.swap[:l.processes]
	took := make([]time.Duration, l.requests)
	began, cpu := time.Now(), c.cpu()
	base := andon.TimeOf(began)
	var next atomic.Int64
	var clients sync.WaitGroup
	for client := range l.clients {
		clients.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= int64(l.requests) {
					return
				}
				events := l.events(n, base)
				at := time.Now()
				var err error
				if p := s[client%l.processes]; cas {
					err = p.Append(t.Context(), "cas", realClock(), events)
				} else {
					err = p.Store.Append(t.Context(), "now", realClock(), events)
				}
				if took[n] = time.Since(at); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
	elapsed := time.Since(began)
	for _, p := range s {
		for p.reviews.Len() > 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	spent := c.cpu() - cpu
	slices.Sort(took)
	events := float64(l.requests * l.batch)
	r := casResult{
		rate: events / elapsed.Seconds(), cpu: float64(spent.Microseconds()) / events,
		p50: took[len(took)/2], p99: took[len(took)*99/100],
	}
	for _, p := range s {
		r.conflicts += float64(p.conflicts.Swap(0)) / events
	}
	return r
}

// events are those of the n-th request: one of each of so many devices, of which one in twenty is a
// warning.
func (l casLoad) events(n int64, base andon.Time) []andon.Event {
	all := make([]andon.Event, 0, l.batch)
	groups := max(l.fleet/l.batch, 1)
	first, round := int(n)%groups*l.batch, int(n)/groups
	for device := first; device < first+l.batch; device++ {
		e := andon.Event{
			Device:     andon.DeviceID(fmt.Sprintf("f%05d/press-%07d", l.fleet, device)),
			Time:       base + andon.Time(n)*100,
			State:      "NORMAL",
			Operator:   andon.PersonID(fmt.Sprintf("operator-%04d", device/1000)),
			Attributes: `{"line":"L7","temperature":71.3}`,
		}
		if l.fleet > 1 && (device+round)%20 == 0 { // late changes of one device are another matter
			e.State, e.Message = "WARNING1", "overheat"
		}
		all = append(all, e)
	}
	return all
}

func spell(all []casResult) string {
	return fmt.Sprintf("%s events/s, %s µs, p50 %s ms, p99 %s ms, conflicts %s",
		of(all, "%.0f", func(r casResult) float64 { return r.rate }),
		of(all, "%.0f", func(r casResult) float64 { return r.cpu }),
		of(all, "%.1f", func(r casResult) float64 { return float64(r.p50.Microseconds()) / 1e3 }),
		of(all, "%.1f", func(r casResult) float64 { return float64(r.p99.Microseconds()) / 1e3 }),
		of(all, "%.2f", func(r casResult) float64 { return r.conflicts }))
}

func of(all []casResult, format string, value func(casResult) float64) string {
	var values []float64
	for _, r := range all {
		values = append(values, value(r))
	}
	slices.Sort(values)
	return fmt.Sprintf(format+" ("+format+" to "+format+")", values[len(values)/2], values[0],
		values[len(values)-1])
}

func ratios(a, b []casResult, value func(casResult) float64) string {
	var values []float64
	for i := range a {
		values = append(values, value(a[i])/value(b[i]))
	}
	slices.Sort(values)
	return fmt.Sprintf("%.2f (%.2f to %.2f)", values[len(values)/2], values[0],
		values[len(values)-1])
}
