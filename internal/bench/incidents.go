package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/sleep"
)

// Incidents measures what keeping incidents costs a server.
type Incidents struct {
	Now      func() time.Time
	Timers   int           // steps of policies that are pending
	Storm    int           // devices that leave NORMAL
	Duration time.Duration // in which they do
	Idle     time.Duration // how long a server is watched that has nothing to do
	// Serve starts a server on a directory of a name, where incidents are kept or not, and returns
	// once it answers. Messages go to an address. kill ends it at once.
	Serve  func(ctx context.Context, name string, keeps bool, to string) (Started, error)
	Report func(step string) // called with the progress of the run

	part    string // that is measured
	figures []Figure
}

// Started is a server that runs.
type Started struct {
	URL  string
	Kill func()
}

// Figure is one thing that was measured.
type Figure struct {
	Part  string  `json:"part"`
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Measure runs all. What was measured before an error is returned with it.
func (b *Incidents) Measure(ctx context.Context) ([]Figure, error) {
	if b.Timers > 0 {
		if err := b.timers(ctx); err != nil {
			return b.figures, fmt.Errorf("timers: %w", err)
		}
	}
	for _, leave := range []int{b.Storm, b.Storm / 1000} {
		if leave == 0 {
			continue
		}
		if err := b.storm(ctx, leave); err != nil {
			return b.figures, fmt.Errorf("storm: %w", err)
		}
	}
	return b.figures, nil
}

func (b *Incidents) note(what string, value float64, unit string) {
	b.figures = append(b.figures, Figure{b.part, what, value, unit})
}

// timers has many devices leave NORMAL, whose policies have something to do tomorrow. Then it
// starts the server again, without incidents and with them.
func (b *Incidents) timers(ctx context.Context) error {
	b.part = grouped(b.Timers) + " pending timers"
	b.Report(b.part + ": opening")
	s, err := b.open(ctx, "timers", true, "http://127.0.0.1:9")
	if err != nil {
		return err
	}
	defer func() { s.end() }()
	if err := s.tell(ctx, andon.DefaultTenant, "24h"); err != nil {
		return err
	}
	began := b.Now()
	f := &front{devices: b.Timers, left: func() int { return b.Timers }, rounds: 1}
	if err := f.report(ctx, s, andon.DefaultTenant); err != nil {
		return err
	}
	if err := s.settle(ctx, b.Timers); err != nil {
		return err
	}
	b.note("incidents opened", float64(b.Timers)/b.Now().Sub(began).Seconds(), "a second")
	used, err := usage(ctx, s.URL, "")
	if err != nil {
		return err
	}
	b.note("CPU of each, with its event",
		float64(used.CPU.Microseconds())/float64(b.Timers), "µs")
	for _, keeps := range []bool{false, true} {
		b.Report(fmt.Sprintf("%s: start, incidents %t", b.part, keeps))
		how := ", without incidents"
		if keeps {
			how = ""
		}
		s.end()
		began := b.Now()
		if s, err = b.open(ctx, "timers", keeps, "http://127.0.0.1:9"); err != nil {
			return err
		}
		b.note("start after kill -9"+how, b.Now().Sub(began).Seconds(), "s")
		if err := b.watch(ctx, s, how); err != nil {
			return err
		}
		if !keeps {
			continue
		}
		began = b.Now()
		if _, err := s.c.IncidentCounts(ctx, client.IncidentQuery{}); err != nil {
			return err
		}
		b.note("first counts of what is open", b.Now().Sub(began).Seconds(), "s")
		if err := b.watch(ctx, s, ", once it was asked what is open"); err != nil {
			return err
		}
	}
	return nil
}

// watch notes how long a server works by itself, and what it uses in a second after that.
func (b *Incidents) watch(ctx context.Context, s *subject, how string) error {
	const quiet = 100 * time.Millisecond // of CPU in a second
	began, window := b.Now(), time.Second
	before, err := usage(ctx, s.URL, "")
	for err == nil {
		if err = sleep.For(ctx, window); err != nil {
			break
		}
		var after Usage
		if after, err = usage(ctx, s.URL, ""); err != nil {
			break
		}
		used := after.CPU - before.CPU
		if before = after; window > time.Second {
			b.note("CPU of a second without due timers"+how,
				float64(used.Milliseconds())/window.Seconds(), "ms")
			b.note("memory"+how, float64(after.Memory>>20), "MiB")
			break
		}
		if used < quiet {
			b.note("work of its own"+how, b.Now().Sub(began).Seconds()-1, "s")
			window = max(b.Idle, window+1)
		}
	}
	return err
}

// storm has devices leave NORMAL while the fleet reports as fast as it can, in turn on a server
// that keeps incidents and on one that does not.
func (b *Incidents) storm(ctx context.Context, leave int) error {
	b.part = grouped(leave) + " devices leave NORMAL in " + b.Duration.String()
	told := newReceiver(b.Now)
	defer told.Close()
	var servers [2]*subject
	for i := range servers {
		name := fmt.Sprintf("storm-%d-%d", leave, i)
		s, err := b.open(ctx, name, i == 1, told.URL)
		if err != nil {
			return err
		}
		defer s.end()
		servers[i] = s
	}
	var rates [2][]float64
	for turn := range 3 {
		for i, s := range servers {
			b.Report(fmt.Sprintf("%s: turn %d, incidents %t", b.part, turn+1, i == 1))
			rate, err := b.turn(ctx, s, i == 1, turn, leave, told)
			if err != nil {
				return err
			}
			rates[i] = append(rates[i], rate)
		}
	}
	off, on := median(rates[0]), median(rates[1])
	b.note("events without incidents", off, "a second")
	b.note("events with incidents", on, "a second")
	b.note("of the rate without", on/off, "")
	return nil
}

// turn is one storm, in a tenant of its own. It returns the rate at which events were taken.
func (b *Incidents) turn(
	ctx context.Context, s *subject, keeps bool, turn, leave int, told *receiver,
) (float64, error) {
	tenant, err := s.fresh(ctx, keeps, turn)
	if err != nil {
		return 0, err
	}
	f := &front{devices: max(b.Storm, MinDevices), rounds: 1, left: func() int { return 0 }}
	if err := f.report(ctx, s, tenant); err != nil {
		return 0, err
	}
	if err := sleep.For(ctx, 2*time.Second); err != nil {
		return 0, err
	}
	told.forget()
	began := b.Now()
	f.rounds, f.left = 0, func() int {
		share := b.Now().Sub(began).Seconds() / b.Duration.Seconds()
		return min(int(share*float64(leave))+1, leave)
	}
	f.over = func() bool { return b.Now().Sub(began) > b.Duration }
	f.sent.Store(0)
	err = f.report(ctx, s, tenant)
	rate := float64(f.sent.Load()) / b.Now().Sub(began).Seconds()
	if err != nil || !keeps {
		return rate, err
	}
	ended := b.Now()
	f.rounds, f.over, f.left = 1, nil, func() int { return leave } // the last ones, too
	if err := f.report(ctx, s, tenant); err != nil {
		return 0, err
	}
	if err := s.shows(ctx, tenant, leave); err != nil {
		return 0, err
	}
	shown := b.Now().Sub(ended)
	if err := s.counts(ctx, tenant, leave); err != nil {
		return 0, err
	}
	opened := b.Now().Sub(ended)
	first, messages, err := told.await(ctx)
	if err != nil {
		return 0, err
	}
	if turn == 0 {
		return rate, nil // the first one is not shown
	}
	of := fmt.Sprintf(", turn %d", turn+1)
	b.note("all are shown by state after the last"+of, shown.Seconds(), "s")
	b.note("all incidents are open after the last"+of, opened.Seconds(), "s")
	b.note("first message after the first"+of, first.Sub(began).Seconds(), "s")
	b.note("messages to one person"+of, float64(messages), "")
	return rate, nil
}

// fresh makes the tenant of a turn, and deletes that of the one before, which leaves nothing.
func (s *subject) fresh(
	ctx context.Context, keeps bool, turn int,
) (tenant andon.TenantID, err error) {
	if turn > 0 {
		former := andon.TenantID(fmt.Sprint("storm-", turn-1))
		if err := s.c.DeleteTenant(ctx, former); err != nil {
			return "", err
		}
	}
	tenant = andon.TenantID(fmt.Sprint("storm-", turn))
	if _, err := s.c.PutTenant(ctx, tenant, client.TenantChange{}); err != nil || !keeps {
		return tenant, err
	}
	return tenant, s.tell(ctx, tenant, "0s")
}

// subject is a server that is measured.
type subject struct {
	Started
	c   *client.Client
	end func()
}

func (b *Incidents) open(
	ctx context.Context, name string, keeps bool, to string,
) (*subject, error) {
	started, err := b.Serve(ctx, name, keeps, to)
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Options{URL: started.URL})
	return &subject{started, c, sync.OnceFunc(func() { c.Close(); started.Kill() })}, err
}

// tell makes the documents by which one person is told of each incident, after some time.
func (s *subject) tell(ctx context.Context, tenant andon.TenantID, after string) error {
	_, err := s.c.ForTenant(tenant).Apply(ctx, []client.Document{
		{Kind: "person", Name: "Liz", Content: `{"contacts":[{"channel":"bench"}]}`},
		{Kind: "policy", Name: "bench", Content: andon.JSON(
			`{"match":{},"steps":[{"after":"` + after + `","to":"person Liz"}]}`)},
	}, false)
	return err
}

// settle waits until so many incidents are open.
func (s *subject) settle(ctx context.Context, open int) error {
	return until(ctx, 100*time.Millisecond, func() (bool, error) {
		values, _, err := s.c.ServerMetrics(ctx)
		return values["andon_incidents_open"] >= float64(open), err
	})
}

// shows waits until so many devices are shown in another state than NORMAL.
func (s *subject) shows(ctx context.Context, tenant andon.TenantID, left int) error {
	return until(ctx, 10*time.Millisecond, func() (bool, error) {
		states, n, err := s.c.ForTenant(tenant).States(ctx)
		for i := range states {
			if states[i].State == "NORMAL" {
				n -= states[i].Count
			}
		}
		return n >= left, err
	})
}

// counts waits until so many incidents are counted. It asks as often as a board.
func (s *subject) counts(ctx context.Context, tenant andon.TenantID, open int) error {
	return until(ctx, 500*time.Millisecond, func() (bool, error) {
		n, err := s.c.ForTenant(tenant).IncidentCounts(ctx, client.IncidentQuery{})
		return n.Total >= open, err
	})
}

// until asks again and again, so often, until it is so.
func until(ctx context.Context, often time.Duration, is func() (bool, error)) error {
	for {
		so, err := is()
		if so || err != nil {
			return err
		}
		if err := sleep.For(ctx, often); err != nil {
			return err
		}
	}
}

// front is a fleet of which some have left NORMAL: those whose numbers are below left.
type front struct {
	devices int
	rounds  int // of all devices; 0: until it is over
	left    func() int
	over    func() bool
	sent    atomic.Int64
}

// report has the devices report by four clients, in batches of 1,000.
func (f *front) report(ctx context.Context, s *subject, tenant andon.TenantID) error {
	const clients, batch = 4, 1000
	var next atomic.Int64
	last := int64(f.rounds) * int64(f.devices)
	target := Server("", s.URL, "", tenant)
	return parallel.Do(ctx, clients, clients, func(ctx context.Context, _ int) error {
		c, err := target.Dial(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }() // what was sent is acknowledged
		events := make([]andon.Event, 0, batch)
		for ctx.Err() == nil {
			from := next.Add(batch) - batch
			if last > 0 && from >= last || last == 0 && f.over() {
				return nil
			}
			events = events[:0]
			for i, left := from, f.left(); i < from+batch && (last == 0 || i < last); i++ {
				n := int(i) % f.devices
				e := andon.Event{Device: andon.DeviceID(fmt.Sprint("device-", n)), State: "NORMAL"}
				if n < left {
					e.State = "WARNING1"
				}
				events = append(events, e)
			}
			if err := c.Append(ctx, events, func() {}); err != nil {
				return err
			}
			f.sent.Add(int64(len(events)))
		}
		return context.Cause(ctx)
	})
}

// receiver takes the messages of a webhook.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	known map[string]bool // by idempotency key
	first time.Time
}

func (r *receiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.first = map[string]bool{}, time.Time{}
}

func newReceiver(now func() time.Time) *receiver {
	r := &receiver{known: map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.known[q.Header.Get("webhook-id")] = true; r.first.IsZero() {
			r.first = now()
		}
	}))
	return r
}

// await waits until a message has come, and returns when that was, and how many have come.
func (r *receiver) await(ctx context.Context) (first time.Time, messages int, err error) {
	err = until(ctx, 50*time.Millisecond, func() (bool, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		first, messages = r.first, len(r.known)
		return messages > 0, nil
	})
	return first, messages, err
}
