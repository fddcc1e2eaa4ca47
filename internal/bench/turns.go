package bench

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
)

const (
	openCallers = 256 // of single events, where they begin at their time
	openShare   = 0.7 // of what a server takes at most
	// longestIdle is how long a connection is left alone: servers, and proxies before them, close
	// those that send nothing for long.
	longestIdle = 10 * time.Second
)

// lane is a server under loads of one kind.
type lane struct {
	Server
	next atomic.Int64 // the number of its next request
	most float64      // requests in a second, if they come as fast as they are answered

	q      request      // that is put to the server now
	conns  chan *caller // those that are not in use
	used   time.Time    // the connections were, at last
	before Usage
	open   bool // requests begin at their time
	spells []*spell
}

// jobOf makes the job of one spell.
type jobOf func(l *lane, turn int) job

// lanes are those of the servers that have what is needed.
func (r *serverRun) lanes(needs Abilities) (lanes []*lane) {
	for _, s := range r.servers {
		if s.Able&needs == needs {
			lanes = append(lanes, &lane{Server: s})
		}
	}
	return lanes
}

// unmeasured is another lane beside one whose row tells what the server used.
func (l *lane) unmeasured() *lane {
	beside := &lane{Server: l.Server}
	beside.Usage = nil
	return beside
}

// takeTurns puts a request to servers in turn, to each of them for a spell, over connections that
// stay open. Every second turn goes the other way round, so that no server is always behind the one
// that leaves most to be done in the background. What a server does while others have their turn
// counts as used by its requests: it has put it off.
func (r *serverRun) takeTurns(
	ctx context.Context, lanes []*lane, q request, turns int, jobOf jobOf,
) ([]Row, error) {
	for _, l := range lanes {
		l.q, l.conns, l.spells = q, make(chan *caller, q.callers), nil
		defer l.disconnect()
	}
	order := slices.Clone(lanes)
	for turn := range turns {
		for _, l := range order {
			if err := r.spell(ctx, l, jobOf(l, turn)); err != nil {
				return nil, fmt.Errorf("%s: %w", l.Name, err)
			}
		}
		slices.Reverse(order)
	}
	rows := make([]Row, len(lanes))
	for i, l := range lanes {
		var err error
		if rows[i], err = r.row(ctx, l); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name, err)
		}
	}
	return rows, nil
}

// put puts a request to one server in one go.
func (r *serverRun) put(ctx context.Context, l *lane, q request, j job) (Row, error) {
	rows, err := r.takeTurns(ctx, []*lane{l}, q, 1, func(*lane, int) job { return j })
	if err != nil {
		return Row{}, err
	}
	return rows[0], nil
}

// prepare puts so many requests to each server, which are not measured.
func (r *serverRun) prepare(ctx context.Context, needs Abilities, q request, most int) error {
	for _, l := range r.lanes(needs) {
		if _, err := r.put(ctx, l, q, job{most: int64(most)}); err != nil {
			return err
		}
	}
	return nil
}

// closed is a spell in which each caller sends again once it is answered.
func (r *serverRun) closed(_ *lane, turn int) job {
	r.tell(float64(turn) / spells)
	return job{length: r.Duration / spells}
}

// open is a spell in which requests come at their time, at a part of what the server takes at most.
func (r *serverRun) open(wave time.Duration) jobOf {
	return func(l *lane, turn int) job {
		j := r.closed(l, turn)
		j.due = l.every(time.Duration(float64(time.Second)/(l.most*openShare)), wave)
		return j
	}
}

// every is when requests are due, beginning with the next one. Those of a wave are due at once.
func (l *lane) every(gap, wave time.Duration) (due func(n int64) time.Duration) {
	from := l.next.Load()
	return func(n int64) time.Duration {
		at := time.Duration(n-from) * gap
		return at - at%wave
	}
}

// connect opens connections, instead of those that there were.
func (l *lane) connect(ctx context.Context) error {
	l.disconnect()
	for range l.q.callers {
		c, err := l.Dial(ctx)
		if err != nil {
			return err
		}
		l.conns <- &caller{Conn: c}
	}
	return nil
}

func (l *lane) disconnect() {
	for len(l.conns) > 0 {
		_ = (<-l.conns).Close()
	}
}

// spell puts requests to a server in one go.
func (r *serverRun) spell(ctx context.Context, l *lane, j job) (err error) {
	if l.spells == nil {
		if l.before, err = l.usage(ctx); err != nil {
			return err
		}
	}
	if l.spells == nil || r.Now().Sub(l.used) > longestIdle {
		if err = l.connect(ctx); err != nil {
			return err
		}
	}
	j.callers, j.next, l.open = l.q.callers, &l.next, j.due != nil
	j.do = func(ctx context.Context, n int64, w *stopwatch) error {
		c := <-l.conns
		defer func() { l.conns <- c }()
		return c.send(ctx, l.q, n, w.start)
	}
	went, err := r.drive(ctx, j)
	l.spells, l.used = append(l.spells, went), r.Now()
	return err
}

// row is what came of all spells.
func (r *serverRun) row(ctx context.Context, l *lane) (Row, error) {
	row := Row{Subject: l.Name, Load: l.q.name, Open: l.open}
	row.note(l.q.callers, l.spells)
	if !l.open {
		l.most = row.OpsRate
	}
	if l.q.events > 0 {
		row.EventsRate = new(row.OpsRate * float64(l.q.events))
		r.used(l.q, l.next.Load())
	}
	after, err := l.usage(ctx)
	if err == nil && l.Usage != nil {
		row.used(l.before, after, row.Ops*int64(max(l.q.events, 1)), l.q.events > 0)
	}
	return row, err
}

// send sends a request. It says when it is ready to be sent.
func (c *caller) send(ctx context.Context, q request, n int64, ready func()) error {
	if k, direct := c.Conn.(Keeper); direct && q.brings != nil {
		events := q.brings(n)
		ready()
		return k.Keep(ctx, events)
	}
	method, path, body := q.make(n, c.body[:0])
	c.body = body
	ready()
	answer, err := c.Do(ctx, method, path, body)
	if err == nil && bytes.Count(answer, []byte(`"device":`)) < q.least {
		err = andon.Errorf(andon.Internal, "the answer to %s names fewer than %d devices",
			path, q.least)
	}
	return err
}

// used notes how many rounds of the fleet a load of events needs.
func (r *serverRun) used(q request, next int64) {
	r.wrote = true
	r.most = max(r.most, (int(next)*q.events/r.Devices+2)*max(q.rounds, 1))
}

func (s *Server) usage(ctx context.Context) (Usage, error) {
	if s.Usage == nil {
		return Usage{}, nil
	}
	return s.Usage(ctx)
}

// used notes what a server used for so many events or questions.
func (r *Row) used(before, after Usage, n int64, written bool) {
	each := func(before, after int64) float64 { return float64(after-before) / float64(max(n, 1)) }
	if after.CPU > 0 {
		r.CPU = new(time.Duration(each(int64(before.CPU), int64(after.CPU))))
	}
	if after.Memory > 0 {
		r.Memory = new(after.Memory)
	}
	if written && after.Written > 0 {
		r.WrittenPerEvent = new(each(before.Written, after.Written))
	}
	if written && after.Kept > before.Kept {
		r.BytesPerEvent = new(each(before.Kept, after.Kept))
	}
}

// caller is a connection with the body that was sent last.
type caller struct {
	Conn
	body []byte
}
