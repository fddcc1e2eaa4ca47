package bench

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

// diary notes which server is asked when. Each request takes a while, and each that brings
// something gives the server something to do for longer.
type diary struct {
	mu     sync.Mutex
	order  strings.Builder // names of servers, once for as long as no other one is asked
	last   string
	at     time.Time // of the last request
	pauses []time.Duration
	dials  int
	takes  time.Duration // each request
}

const (
	leftover = 3 * time.Second
	patience = 50 * time.Second // with a connection that sends nothing
)

// note notes a request to a server.
func (d *diary) note(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if name != d.last {
		d.order.WriteString(name)
	}
	if pause := time.Since(d.at); !d.at.IsZero() && pause > restLook {
		d.pauses = append(d.pauses, pause)
	}
	d.last, d.at = name, time.Now()
}

// server is one that writes into the diary.
func (d *diary) server(name string) Server {
	begun := time.Now()
	until := begun
	return Server{
		Name: name, Able: Answers,
		Dial: func(context.Context) (Conn, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.dials++
			return &noting{diary: d, name: name, until: &until, at: time.Now()}, nil
		},
		Usage: func(context.Context) (Usage, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return Usage{CPU: min(time.Since(begun), until.Sub(begun))}, nil
		},
	}
}

// noting is a connection to such a server.
type noting struct {
	*diary
	name  string
	until *time.Time // the server is busy
	at    time.Time  // of the last request
}

// Do is of Conn.
func (s *noting) Do(ctx context.Context, method, _ string, _ []byte) ([]byte, error) {
	s.note(s.name)
	if method == "POST" {
		s.mu.Lock()
		*s.until = time.Now().Add(leftover)
		s.mu.Unlock()
	}
	idle := time.Since(s.at)
	if idle > patience {
		return nil, andon.Errorf(andon.Unavailable, "closed, as nothing came for %s", idle)
	}
	err := sleep.For(ctx, s.takes)
	s.at = time.Now()
	return bytes.Repeat([]byte(`{"device":"d"}`), 100), err
}

// Close is of Conn.
func (s *noting) Close() error { return nil }

func (d *diary) measure(t *testing.T, names string, o Options) []Row {
	t.Helper()
	var servers []Server
	for _, name := range names {
		servers = append(servers, d.server(string(name)))
	}
	o.Now, o.Devices, o.Events, o.Batch, o.Writers = time.Now, 200, 2000, 50, 8
	o.Duration = 50 * d.takes
	far := 0.0
	o.Told = func(s Step) {
		if now := float64(s.Number-1) + s.Done; now < far || now > float64(s.Of) {
			t.Errorf("%s: at %v of %d behind %v", s.Load, now, s.Of, far)
		} else {
			far = now
		}
	}
	rows, err := MeasureServers(t.Context(), servers, o)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestServersTakeTurns: each load comes to each server in turn, five times, over connections that
// stay open. What they came to is side by side.
func TestServersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const turns = "abc" + "cba" + "abc" + "cba" + "abc"
		d := &diary{takes: time.Millisecond}
		rows := d.measure(t, "abc", Options{Loads: []string{"questions", "single"}})
		const loads = 1 + 7*2 + 3
		want := "abc" + strings.Repeat(turns, loads) // what makes devices busy is in front
		for _, double := range []string{"a", "b", "c"} {
			want = strings.ReplaceAll(want, double+double, double)
		}
		if got := d.order.String(); got != want {
			t.Errorf("asked in the order\n%s, not\n%s", got, want)
		}
		if want := 3 * (1 + 4 + 7*(1+16) + 8 + 2*openCallers); d.dials != want {
			t.Errorf("%d connections, not %d", d.dials, want)
		}
		if len(rows) != 3*loads {
			t.Fatalf("%d rows", len(rows))
		}
		if batches := rows[0].Ops; batches != 10*200/50 {
			t.Errorf("filled in %d batches", batches)
		}
		for i, r := range rows {
			if first := rows[i/3*3]; r.Subject != string("abc"[i%3]) || r.Load != first.Load ||
				len(r.rates) != spells {
				t.Errorf("row %d: %+v", i, r)
			}
			if most := float64(8 / d.takes.Seconds()); r.Open &&
				(r.OpsRate < 0.6*most || r.OpsRate > 0.75*most) {
				t.Errorf("%s: %.0f in a second, at 70 %% of %.0f", r.Load, r.OpsRate, most)
			}
		}
	})
}

// TestServersRest: before a load that comes to all in turn, and before each server that has a long
// one by itself, they all get the time to do what is left.
func TestServersRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{takes: time.Millisecond}
		d.measure(t, "ab", Options{Loads: []string{"single", "list", "soak"}, Rest: time.Minute})
		if len(d.pauses) != 3+2+2 { // three loads of single events
			t.Errorf("they rested %d times", len(d.pauses))
		}
		for _, pause := range d.pauses {
			if pause < leftover || pause > leftover+2*restLook {
				t.Errorf("they rested for %s", pause)
			}
		}
	})
}

// TestServersCloseWhatIsIdle: where a spell is long, others come over new connections behind it.
func TestServersCloseWhatIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{takes: 2 * time.Second}
		d.measure(t, "abc", Options{Loads: []string{"single"}}) // else it fails
	})
}

// TestOfCeiling is by turns: a mood of the machine that lasts for one of them does not count, as it
// would if the medians of both were compared.
func TestOfCeiling(t *testing.T) {
	write := func(name string, rates ...float64) Row {
		return Row{
			Subject: name, Load: "write", OpsRate: median(rates), EventsRate: new(1.0),
			rates: rates,
		}
	}
	rows := []Row{
		write("server", 50, 10, 30), write("key", 100, 20, 30), write("raw", 200, 100, 60),
	}
	Beside(rows, "server", Ceilings{Writes: "key", Raw: "raw"})
	if r := rows[0]; *r.OfCeiling != 0.5 || *r.OfRaw != 0.25 {
		t.Errorf("%v of key, %v of raw", *r.OfCeiling, *r.OfRaw)
	}
}
