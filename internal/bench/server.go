package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
)

// Server is a server that is measured over its API: Andon, or a peer that takes the same requests.
type Server struct {
	Name string
	// Dial opens a connection for one caller.
	Dial func(ctx context.Context) (Conn, error)
	// Usage returns what the server has used until now; nil: it does not say.
	Usage func(ctx context.Context) (Usage, error)
	Able  Abilities
}

// Abilities are what a server does beyond taking events.
type Abilities uint8

// The abilities of a server.
const (
	Answers Abilities = 1 << iota // questions about events
	TakesReadings
	AnswersReadings // questions about them
)

// Conn is a connection to a server.
type Conn interface {
	// Do sends a request and returns the body of its answer, which holds until the next one. An
	// answer that is no success is an error.
	Do(ctx context.Context, method, path string, body []byte) ([]byte, error)
	Close() error
}

// Keeper is a Conn that keeps events as they are: what it leads to has neither HTTP nor JSON.
type Keeper interface {
	Keep(ctx context.Context, events []andon.Event) error
}

// Usage is what a server has used since it was started. What it does not say is 0.
type Usage struct {
	CPU     time.Duration
	Memory  int64 // resident, now
	Written int64 // bytes, into all files
	Kept    int64 // bytes of all files, now
}

// request is what is asked of all servers alike. It may be made concurrently.
type request struct {
	name    string
	callers int
	events  int                         // that one request brings; 0 of a question
	rounds  int                         // each so many is its own; 0: each
	brings  func(n int64) []andon.Event // nil where it brings none
	make    func(n int64, body []byte) (method, path string, sent []byte)
	least   int // devices that the answer names
}

const (
	openCallers = 256 // of single events, where they begin at their time
	openShare   = 0.7 // of what a server takes at most
)

// MeasureServers puts the same loads on servers, each load on one server behind the other. The rows
// that were measured before an error are returned with it.
func MeasureServers(ctx context.Context, servers []Server, o Options) (rows []Row, err error) {
	if err := errors.Join(o.Check(), o.CheckLoads(ServerLoads())); err != nil {
		return nil, err
	}
	r := &serverRun{run: run{Options: o, fleet: newFleet(o.Seed, o.Devices, o.Events/o.Devices)}}
	loads := r.serverLoads()
	for i, l := range loads {
		for _, s := range servers {
			r.step = Step{Load: l.name + " (" + s.Name + ")", Number: i + 1, Of: len(loads)}
			r.tell(0)
			if !l.suits(s) {
				continue
			}
			if err := r.rest(ctx, servers); err != nil {
				return rows, err
			}
			found, err := l.measure(ctx, s)
			for j := range found {
				found[j].Subject = s.Name
			}
			rows = append(rows, found...)
			if err != nil {
				return rows, fmt.Errorf("%s: %s: %w", s.Name, l.name, err)
			}
		}
		r.round, r.most = r.round+r.most, 0
	}
	return rows, nil
}

type serverRun struct {
	run
	most  int  // rounds of the fleet that a server needed for the present load
	wrote bool // since the last rest
}

type serverMeasure struct {
	name    string
	needs   Abilities
	measure func(context.Context, Server) ([]Row, error)
}

// suits says whether a server can be measured with the load.
func (m *serverMeasure) suits(s Server) bool { return s.Able&m.needs == m.needs }

func (r *serverRun) serverLoads() (loads []serverMeasure) {
	add := func(
		kind, name string, needs Abilities, do func(context.Context, Server) ([]Row, error),
	) {
		if r.wants(kind) {
			loads = append(loads, serverMeasure{name, needs, do})
		}
	}
	ask := func(kind string, needs Abilities, q request) {
		for _, callers := range []int{1, 16} {
			asked := q
			asked.callers = callers
			add(kind, q.name, needs, func(ctx context.Context, s Server) ([]Row, error) {
				row, err := r.put(ctx, s, asked, job{length: r.Duration})
				return []Row{row}, err
			})
		}
	}
	add(kindFill, "fill", 0, r.fillServer)
	for _, q := range r.questions() {
		ask(kindQuestions, Answers, q)
	}
	for _, w := range r.posts() {
		add(w.kind, w.name, 0, func(ctx context.Context, s Server) ([]Row, error) {
			return r.closedAndOpen(ctx, s, w.request)
		})
	}
	add(kindList, "list", Answers, r.listBeside)
	add(kindSoak, "soak", 0, r.soak)
	add(kindReadings, "readings", TakesReadings, r.readings)
	for _, q := range r.readingQuestions() {
		ask(kindReadings, AnswersReadings, q)
	}
	return loads
}

func (r *serverRun) put(ctx context.Context, s Server, q request, j job) (row Row, err error) {
	row = Row{Load: q.name, Open: j.due != nil}
	conns, end, err := connect(ctx, s, q.callers)
	if err != nil {
		return row, err
	}
	defer end()
	before, err := s.usage(ctx)
	if err != nil {
		return row, err
	}
	j.callers = q.callers
	if j.next == nil {
		j.next = new(atomic.Int64)
	}
	j.do = func(ctx context.Context, n int64, w *stopwatch) error {
		c := <-conns
		defer func() { conns <- c }()
		ready := w.start
		if j.due != nil { // what it takes counts from when it was due
			ready = func() {}
		}
		return c.send(ctx, q, n, ready)
	}
	went, err := r.drive(ctx, j)
	if err != nil {
		return row, err
	}
	row.note(q.callers, []*spell{went})
	after, err := s.usage(ctx)
	if q.events > 0 {
		row.EventsRate = new(row.OpsRate * float64(q.events))
		r.used(q, j.next.Load())
	}
	if err == nil && s.Usage != nil {
		row.used(before, after, row.Ops*int64(max(q.events, 1)), q.events > 0)
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

// connect opens connections; end closes those that are not in use.
func connect(ctx context.Context, s Server, n int) (conns chan *caller, end func(), err error) {
	conns = make(chan *caller, n)
	end = func() {
		for len(conns) > 0 {
			_ = (<-conns).Close()
		}
	}
	for range n {
		c, err := s.Dial(ctx)
		if err != nil {
			end()
			return nil, nil, err
		}
		conns <- &caller{Conn: c}
	}
	return conns, end, nil
}

// fillServer lets the fleet report for as long as its past is.
func (r *serverRun) fillServer(ctx context.Context, s Server) ([]Row, error) {
	size := min(r.Batch, r.Devices)
	batches := r.Devices / size
	busy := r.posting("", busyRounds, 1, func(n int64) slice {
		return slice{device: r.fleet.busy(int(n)), devices: 1, rounds: busyRounds}
	}, nil)
	if _, err := r.put(ctx, s, busy, job{most: busyDevices}); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("fill: %s of %s", events(size), devices(size))
	q := r.posting(name, size, batchWriters, func(n int64) slice {
		first, round := int(n)%batches*size, busyRounds+int(n)/batches
		return slice{device: first, devices: size, round: round, rounds: 1}
	}, nil)
	row, err := r.put(ctx, s, q, job{most: int64((r.fleet.past - busyRounds) * batches)})
	r.most = r.fleet.past
	return []Row{row}, err
}

// posting is a request that brings the events of a slice, of whose warnings some are escalated.
// change, unless it is nil, is made to each.
func (r *serverRun) posting(
	name string, size, callers int, of func(n int64) slice, change func(n int64, e *andon.Event),
) request {
	brings := func(n int64) []andon.Event {
		events := r.fleet.events(of(n))
		for i := range events {
			e := &events[i]
			if e.State == "WARNING1" && e.Device[len(e.Device)-1]%4 == 0 {
				e.EscalatedTo = supervisorOf(e.Operator)
			}
			if change != nil {
				change(n, e)
			}
		}
		return events
	}
	return request{name: name, callers: callers, events: size, brings: brings,
		make: func(n int64, body []byte) (method, path string, sent []byte) {
			for _, e := range brings(n) {
				body = append(AppendEvent(body, &e), '\n')
			}
			return "POST", "/api/v1/events", body
		},
	}
}

// AppendEvent appends an event as JSON. Its texts must be such as need no escaping.
func AppendEvent(b []byte, e *andon.Event) []byte {
	b = append(append(b, `{"device":"`...), e.Device...)
	b = append(b, `","time":"`...)
	b, _ = e.Time.AppendText(b) // it can't fail
	b = append(append(b, `","state":"`...), e.State...)
	for _, member := range []struct{ name, text string }{
		{"operator", string(e.Operator)}, {"escalated_to", string(e.EscalatedTo)},
		{"message", e.Message},
	} {
		if member.text != "" {
			b = append(append(b, `","`...), member.name...)
			b = append(append(b, `":"`...), member.text...)
		}
	}
	b = append(b, '"')
	if e.Attributes != "" {
		b = append(append(b, `,"attributes":`...), e.Attributes...)
	}
	return append(b, '}')
}

// supervisorOf is to whom the warnings of an operator's devices are escalated.
func supervisorOf(operator andon.PersonID) andon.PersonID {
	return "supervisor-" + operator[len(operator)-1:]
}

// single is one event of each device in turn.
func (r *serverRun) single(n int64) slice {
	at := r.fleet.turns.at(int(n) % r.Devices)
	return slice{device: at, devices: 1, round: r.round + int(n)/r.Devices, rounds: 1}
}

type post struct {
	kind string
	request
}

// posts are the ways in which the fleet reports on.
func (r *serverRun) posts() []post {
	size := min(r.Batch, r.Devices)
	states := func(n int64, e *andon.Event) {
		e.State = []andon.State{"WARNING2", "WARNING3"}[int(n)/r.Devices%2]
	}
	return []post{
		{kindSingle, r.posting("write: 1 event", 1, r.Writers, r.single, nil)},
		{kindBatch, r.posting("write: "+events(size), size, batchWriters, r.batch(size), nil)},
		{kindStates, r.posting(
			"states: 1 event, in another state each time", 1, r.Writers, r.single, states)},
	}
}

// batch is one event of so many devices beside each other.
func (r *serverRun) batch(size int) func(n int64) slice {
	return func(n int64) slice {
		groups := r.Devices / size
		first := int(n) % groups * size
		return slice{device: first, devices: size, round: r.round + int(n)/groups, rounds: 1}
	}
}

// closedAndOpen measures what a server takes at most, each caller sending again once it is
// answered; then how long it takes where requests come at their time, at a part of that: one by
// one, and as a storm, when all of a while come at once.
func (r *serverRun) closedAndOpen(ctx context.Context, s Server, q request) ([]Row, error) {
	next := new(atomic.Int64)
	row, err := r.put(ctx, s, q, job{next: next, length: r.Duration})
	rows := []Row{row}
	gap := time.Duration(float64(time.Second) / (row.OpsRate * openShare))
	for _, open := range []struct {
		name string
		wave time.Duration
	}{{"%s, at 70 %% of that", 1}, {"storm: %s, at 70 %% in waves", r.Duration / 4}} {
		if err != nil {
			return rows[:len(rows)-1], err
		}
		calm := q
		calm.name = fmt.Sprintf(open.name, strings.TrimPrefix(q.name, "write: "))
		calm.callers = max(openCallers/q.events, 16)
		from := next.Load()
		row, err = r.put(ctx, s, calm, job{
			next: next, length: r.Duration,
			due: func(n int64) time.Duration {
				at := time.Duration(n-from) * gap
				return at - at%open.wave
			},
		})
		rows = append(rows, row)
	}
	return rows, err
}

// devicePath is where a device is in the API.
func (r *serverRun) devicePath(n int) string {
	return "/devices/" + strings.ReplaceAll(string(r.fleet.devices[n]), "/", "%2F")
}

// questions are the seven that people ask most.
func (r *serverRun) questions() []request {
	ask := func(name string, least int, path func(n int) string) request {
		return request{name: name, least: least,
			make: func(n int64, body []byte) (string, string, []byte) {
				return "GET", "/api/v1" + path(int(n)), body
			},
		}
	}
	busy := func(n int) string { return r.devicePath(r.fleet.busy(n % busyDevices)) }
	operator := func(n int) andon.PersonID { return r.fleet.operators[n%len(r.fleet.operators)] }
	hour := r.fleet.timeOf(0, busyRounds).Hour()
	between := "&from=" + andon.HourStart(hour).String() + "&to=" + andon.HourStart(hour+1).String()
	home := r.fleet.homes[0]
	return []request{
		ask("last 100 of a device", 100, func(n int) string {
			return busy(n) + "/events?limit=100"
		}),
		ask("last 100 warnings of a device", 1, func(n int) string {
			return busy(n) + "/events?state=WARNING*&limit=100"
		}),
		ask("100 of an operator between two times", 1, func(n int) string {
			return "/operators/" + string(operator(n)) + "/events?limit=100" + between
		}),
		ask("100 of a supervisor in a state", 0, func(n int) string {
			return "/supervisors/" + string(supervisorOf(operator(n))) +
				"/events?state=WARNING1&limit=100"
		}),
		ask("what a device shows", 1, func(n int) string {
			return r.devicePath(r.fleet.turns.at(n % r.Devices))
		}),
		ask("100 devices in a state", min(100, home.devices), func(int) string {
			return "/devices?state=" + string(home.state) + "&limit=100"
		}),
		ask("counts of all states", 0, func(int) string { return "/states" }),
	}
}

// Ceilings are the subjects that another one is compared with.
type Ceilings struct {
	Raw    string // of its writing, without a server around it
	Writes string // of its writing
	Asks   string // of its answers
}

// Beside notes in the rows of a subject what its ceilings came to under the same loads.
func Beside(rows []Row, subject string, of Ceilings) {
	for i := range rows {
		r := &rows[i]
		for j := range rows {
			c := &rows[j]
			if r.Subject != subject || c.Load != r.Load || c.InFlight != r.InFlight {
				continue
			}
			switch writes := r.EventsRate != nil; {
			case writes && c.Subject == of.Raw && !r.Open:
				r.OfRaw = new(r.OpsRate / c.OpsRate)
			case writes && c.Subject == of.Writes, !writes && c.Subject == of.Asks:
				r.beside(c)
			}
		}
	}
}

func (r *Row) beside(c *Row) {
	if !r.Open {
		r.OfCeiling, r.CeilingRate = new(r.OpsRate/c.OpsRate), c.EventsRate
	}
	r.CeilingP50, r.CeilingP99 = new(c.P50), new(c.P99)
}
