package keeper_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/all"
)

// TestFigures runs the server on the stores that ask no other machine.
func TestFigures(t *testing.T) {
	for _, e := range all.New() {
		if e.Place() != adapter.Elsewhere {
			t.Run(e.Name(), func(t *testing.T) {
				t.Parallel()
				figures(t, e)
			})
		}
	}
}

// plant is a tenant of a server whose clock is set.
type plant struct {
	*testing.T
	*client.Client
	tenant andon.TenantID
	begin  andon.Time
	now    atomic.Int64
}

// newPlant starts a server on a store.
func newPlant(t *testing.T, e adapter.Engine) *plant {
	p := &plant{
		T: t, begin: clock().Add(-parsed(t, "62h")),
		tenant: andon.TenantID(fmt.Sprintf("figures-%08x", rand.Uint32())),
	}
	p.setClock("0s")
	c := app.NewConfig(all.Engines{e})
	c.Listen, c.Data, c.Log.Audit = "127.0.0.1:0", t.TempDir(), false
	a := app.New(app.Options{
		Config: c, Log: slog.New(slog.DiscardHandler),
		Now:    func() andon.Time { return andon.Time(p.now.Load()) },
		Passed: func() time.Duration { return andon.Time(p.now.Load()).Sub(0).Std() },
	})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	over := &http.Transport{}
	t.Cleanup(func() {
		over.CloseIdleConnections()
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	of, err := client.New(client.Options{
		URL: a.URL(), HTTP: &http.Client{Transport: over}, Tenant: p.tenant,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Client = of
	return p
}

func (p *plant) setClock(after string) { p.now.Store(int64(p.begin.Add(parsed(p.T, after)))) }

func (p *plant) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *plant) says(device, state, at string) {
	p.Helper()
	_, err := p.AppendEvents(p.Context(), []andon.Event{{
		Device: andon.DeviceID(device), State: andon.State(state),
		Time: p.begin.Add(parsed(p.T, at)),
	}})
	p.must(err)
}

func (p *plant) measures(at string, value float64) {
	p.Helper()
	_, err := p.AppendReadings(p.Context(), []andon.Reading{{
		Device: "p1", Time: p.begin.Add(parsed(p.T, at)),
		Metrics: andon.Metrics{{Name: "t", Value: value}},
	}})
	p.must(err)
}

// until waits for an answer.
func (p *plant) until(want string, get func() string) {
	p.Helper()
	for over := time.After(5 * time.Minute); ; {
		got := get()
		if got == want {
			return
		}
		select {
		case <-over:
			p.Fatalf("it is\n%s\nwant\n%s", got, want)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// list is some incidents, in the order of their texts: "p1 state 2m-5m".
func (p *plant) list(some iter.Seq2[client.Incident, error]) string {
	p.Helper()
	minutes := func(t andon.Time) string {
		if t == 0 {
			return ""
		}
		return fmt.Sprint(int(t.Sub(p.begin).Std().Minutes()), "m")
	}
	var all []string
	for i, err := range some {
		p.must(err)
		text := fmt.Sprint(i.Device, " ", i.Kind, " ", minutes(i.Since), "-", minutes(i.Until))
		if i.Late {
			text += " late"
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (p *plant) incidents(q client.IncidentQuery) func() string {
	return func() string { p.Helper(); return p.list(p.Incidents(p.Context(), q)) }
}

func (p *plant) history(device andon.DeviceID) func() string {
	return func() string {
		p.Helper()
		return p.list(p.DeviceIncidents(p.Context(), device, client.Query{Page: 2}))
	}
}

// report is the figures of a span, of a group or of all.
func (p *plant) report(group andon.Group, from, to string) string {
	p.Helper()
	r, err := p.IncidentReport(p.Context(), client.ReportQuery{
		Selection: client.Selection{Group: group}, Per: "device",
		From: p.begin.Add(parsed(p.T, from)), To: p.begin.Add(parsed(p.T, to)),
	})
	p.must(err)
	text := fmt.Sprintf("%d devices, %d incidents, %d stale, up %.3f",
		r.Devices, r.Incidents, len(r.Stale), *r.Availability)
	for _, row := range r.Rows {
		text += fmt.Sprint(", ", row.Name, " ", row.Incidents)
	}
	return text
}

// figures has devices measured by rules, late, flapping and silent for days, and checks the lists
// of the past and the figures.
func figures(t *testing.T, e adapter.Engine) {
	p := newPlant(t, e)
	ctx := t.Context()
	_, err := p.PutTenant(ctx, p.tenant,
		client.TenantChange{SilentAfter: new(parsed(t, "10h"))})
	p.must(err)
	const hot = `{"when": {"metric": "t", "op": ">", "value": 80}, "for": "2m",
		"clear_value": 75, "state": "WARNING2"}`
	_, err = p.Apply(ctx, []client.Document{
		{Kind: "rule", Name: "hot", Content: hot},
		{Kind: "rule", Name: "gone", Content: `{"match": {"devices": ["p1"]},
			"when": {"metric": "t", "absent_for": "30m"}, "state": "WARNING1"}`},
	}, false)
	p.must(err)
	p.must(p.PutGroupRules(ctx, []andon.GroupRule{{Prefix: "d", Group: "hall"}}))

	p.measures("0m", 81)
	p.setClock("2m")
	p.measures("2m", 82)
	p.until("p1 state 2m-", p.history("p1"))
	p.setClock("5m")
	p.measures("5m", 74)
	p.until("p1 state 2m-5m", p.history("p1"))
	p.setClock("6m")
	p.says("d1", "NORMAL", "5m")
	p.says("d1", "WARNING1", "1m")
	p.says("d1", "NORMAL", "3m")
	p.until("d1 state 1m-3m late", p.history("d1"))
	p.setClock("36m")
	p.until("p1 absent:gone 35m-, p1 state 2m-5m", p.history("p1"))
	p.setClock("50m")
	p.measures("50m", 70)
	p.until("p1 absent:gone 35m-50m, p1 state 2m-5m", p.history("p1"))

	flapping := client.IncidentQuery{Flapping: new(true)}
	p.until("", p.incidents(flapping))
	for i := range 9 {
		state := fmt.Sprint("WARNING", 1+i%2)
		p.says("f1", state, fmt.Sprint("50m", i, "s"))
		p.until("f1 state 50m-", p.incidents(client.IncidentQuery{
			Query: client.Query{State: state}, Device: "f1",
		}))
	}
	p.until("f1 state 50m-", p.incidents(flapping))
	p.says("f1", "NORMAL", "51m")
	p.until("f1 state 50m-51m", p.incidents(flapping)) // it counts when that is taken in

	p.setClock("12h")
	p.until("d1 silent 6m-, f1 silent 50m-, f1 state 50m-51m, p1 absent:gone 80m-, "+
		"p1 silent 50m-, p1 state 2m-5m", p.incidents(client.IncidentQuery{}))
	p.until("", p.incidents(flapping))
	p.setClock("60h")
	p.says("d1", "NORMAL", "60h")
	p.until("d1 silent 6m-3600m, d1 state 1m-3m late", p.history("d1"))
	p.setClock("61h")
	p.until("d1 silent 6m-3600m, d1 state 1m-3m late, f1 silent 50m-, f1 state 50m-51m, "+
		"p1 absent:gone 35m-50m, p1 absent:gone 80m-, p1 silent 50m-, p1 state 2m-5m",
		p.incidents(client.IncidentQuery{Query: client.Query{From: p.begin, Page: 2}}))

	for _, want := range [][4]string{
		{"", "58h", "61h", "3 devices, 0 incidents, 4 stale, up 0.111"},
		{"hall", "58h", "61h", "1 devices, 0 incidents, 1 stale, up 0.333"},
		{"", "0h", "1h", "3 devices, 7 incidents, 0 stale, up 0.478, p1 3, d1 2, f1 2"},
	} {
		if got := p.report(andon.Group(want[0]), want[1], want[2]); got != want[3] {
			t.Errorf("the figures of %q are\n%s\nwant\n%s", want[:3], got, want[3])
		}
	}
	said, err := p.TestRule(ctx, client.RuleTrial{
		Rule: hot, From: p.begin, To: p.begin.Add(parsed(t, "1h")),
	})
	p.must(err)
	if len(said.Items) != 2 || said.Items[0].State != "WARNING2" ||
		said.Items[1].What != "cleared" || said.Readings != 4 {
		t.Errorf("the rule would have said %+v", said)
	}
}
