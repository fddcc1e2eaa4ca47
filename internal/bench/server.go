package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	Echoes          // /states, with nothing to look for: what remains is what the machine takes
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

// MeasureServers puts the same loads on servers: the long ones on one server behind the other, and
// all others in turn, so that all servers meet the same moods of the machine. The rows that were
// measured before an error are returned with it.
func MeasureServers(ctx context.Context, servers []Server, o Options) (rows []Row, err error) {
	if err := errors.Join(o.Check(), o.CheckLoads(ServerLoads())); err != nil {
		return nil, err
	}
	r := &serverRun{
		run:     run{Options: o, fleet: newFleet(o.Seed, o.Devices, o.Events/o.Devices)},
		servers: servers,
	}
	loads := r.serverLoads()
	for i, l := range loads {
		r.step = Step{Load: l.name, Number: i + 1, Of: len(loads)}
		r.tell(0)
		if err := r.rest(ctx); err != nil {
			return rows, err
		}
		found, err := l.measure(ctx)
		rows = append(rows, found...)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", l.name, err)
		}
		if i+1 == len(loads) || loads[i+1].kind != l.kind {
			r.round, r.most = r.round+r.most, 0
		}
	}
	return rows, nil
}

type serverRun struct {
	run
	servers []Server
	most    int  // rounds of the fleet that a server needed for the present kind of loads
	wrote   bool // since the last rest
}

type serverLoad struct {
	kind, name string
	measure    func(context.Context) ([]Row, error)
}

func (r *serverRun) serverLoads() []serverLoad {
	size := min(r.Batch, r.Devices)
	l := &serverLoads{serverRun: r}
	l.add(kindFill, "fill", r.fillServers)
	l.ask(kindQuestions, Answers, r.questions())
	l.post(kindSingle, 0, r.posting("write: 1 event", 1, r.Writers, r.single, nil))
	l.post(kindBatch, 0, r.posting("write: "+events(size), size, batchWriters, r.batch(size), nil))
	l.post(kindStates, 0, r.posting("states: 1 event, in another state each time", 1, r.Writers,
		r.single, func(n int64, e *andon.Event) {
			e.State = []andon.State{"WARNING2", "WARNING3"}[int(n)/r.Devices%2]
		}))
	l.oneByOne(kindList, Answers, r.listBeside)
	l.oneByOne(kindSoak, 0, r.soak)
	l.add(kindReadings, "readings: a day before", r.fillReadings)
	l.post(kindReadings, TakesReadings, r.readings(1))
	l.ask(kindReadings, AnswersReadings, r.readingQuestions())
	return l.all
}

// serverLoads collects those loads that are wanted.
type serverLoads struct {
	*serverRun
	all []serverLoad
}

func (l *serverLoads) add(kind, name string, measure func(context.Context) ([]Row, error)) {
	if l.wants(kind) {
		l.all = append(l.all, serverLoad{kind, name, measure})
	}
}

func (l *serverLoads) inTurn(kind string, lanes []*lane, q request, jobOf jobOf) {
	l.add(kind, q.name, func(ctx context.Context) ([]Row, error) {
		return l.takeTurns(ctx, lanes, q, spells, jobOf)
	})
}

func (l *serverLoads) ask(kind string, needs Abilities, questions []request) {
	for _, q := range questions {
		for _, q.callers = range []int{1, 16} {
			l.inTurn(kind, l.lanes(needs), q, l.closed)
		}
	}
}

// post adds what servers take at most, each caller sending again once it is answered; then how long
// they take where requests come at their time, at a part of that: one by one, and as a storm, when
// all of a spell come at once.
func (l *serverLoads) post(kind string, needs Abilities, q request) {
	lanes, name := l.lanes(needs), strings.TrimPrefix(q.name, "write: ")
	l.inTurn(kind, lanes, q, l.closed)
	q.callers = max(openCallers/q.events, 16)
	q.name = name + ", at 70 % of that"
	l.inTurn(kind, lanes, q, l.open(1))
	q.name = "storm: " + name + ", at 70 % in waves"
	l.inTurn(kind, lanes, q, l.open(l.Duration/spells))
}

func (l *serverLoads) oneByOne(
	kind string, needs Abilities, measure func(context.Context, *lane) ([]Row, error),
) {
	for _, of := range l.lanes(needs) {
		l.add(kind, kind+" ("+of.Name+")", func(ctx context.Context) ([]Row, error) {
			return measure(ctx, of)
		})
	}
}

// fillServers lets the fleet report for as long as its past is.
func (r *serverRun) fillServers(ctx context.Context) ([]Row, error) {
	busy := r.posting("", busyRounds, 1, func(n int64) slice {
		return slice{device: r.fleet.busy(int(n)), devices: 1, rounds: busyRounds}
	}, nil)
	if err := r.prepare(ctx, 0, busy, busyDevices); err != nil {
		return nil, err
	}
	size := min(r.Batch, r.Devices)
	batches := r.Devices / size
	name := fmt.Sprintf("fill: %s of %s", events(size), devices(size))
	q := r.posting(name, size, batchWriters, func(n int64) slice {
		first, round := int(n)%batches*size, busyRounds+int(n)/batches
		return slice{device: first, devices: size, round: round, rounds: 1}
	}, nil)
	total := (r.fleet.past - busyRounds) * batches
	turns := min(spells, total)
	rows, err := r.takeTurns(ctx, r.lanes(0), q, turns, func(_ *lane, turn int) job {
		r.tell(float64(turn) / float64(turns))
		return job{most: int64(total * (turn + 1) / turns)}
	})
	r.most = r.fleet.past
	return rows, err
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

// batch is one event of so many devices beside each other.
func (r *serverRun) batch(size int) func(n int64) slice {
	return func(n int64) slice {
		groups := r.Devices / size
		first := int(n) % groups * size
		return slice{device: first, devices: size, round: r.round + int(n)/groups, rounds: 1}
	}
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
				r.OfRaw = new(r.of(c))
			case writes && c.Subject == of.Writes, !writes && c.Subject == of.Asks:
				r.CeilingP50, r.CeilingP99 = new(c.P50), new(c.P99)
				if !r.Open {
					r.OfCeiling, r.CeilingRate = new(r.of(c)), c.EventsRate
				}
			}
		}
	}
}
