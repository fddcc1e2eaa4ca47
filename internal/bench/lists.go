package bench

import (
	"context"
	"sync"
	"time"
)

const (
	listCallers = 16
	listGap     = 10 * time.Millisecond // from one look at the fleet to the next
	listShare   = 0.5                   // of the batches that a server takes at most
	// mostParts is how often batches come as fast as they can, of which the last time counts: at
	// first a server puts off what it will have to do for each event some time.
	mostParts = 5
)

// listBeside measures what people wait for who look at the devices in a state and at the counts of
// all states, while the fleet reports: batches come at half of the rate that the server takes at
// most, and both questions at once, as a board asks them, at a fixed rate beside them, open loop.
// Batches have come at that rate for as long before: what the server has left to do of the filling
// is not measured. A server that only echoes is asked, too: what it takes, the machine takes.
func (r *serverRun) listBeside(ctx context.Context, l *lane) (rows []Row, err error) {
	size := min(r.Batch, r.Devices)
	batches := r.posting("list: "+events(size), size, batchWriters, r.batch(size), nil)
	most, err := r.mostOf(ctx, l, batches)
	if err != nil {
		return nil, err
	}
	half := batches
	half.name += ", at half of that"
	half.callers = listCallers
	gap := time.Duration(float64(time.Second) / (most.OpsRate * listShare))
	atHalf := func() (Row, error) {
		return r.put(ctx, l, half, job{length: r.Duration, due: l.every(gap, 1)})
	}
	if _, err := atHalf(); err != nil {
		return nil, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	over := make(chan struct{})
	questions := r.besideList(l)
	rows = make([]Row, 1+len(questions))
	var beside sync.WaitGroup
	for i, q := range questions {
		beside.Go(func() {
			row, err := r.put(ctx, q.lane, q.request, job{over: over, due: q.every(listGap, 1)})
			if rows[1+i] = row; err != nil {
				fail(err)
			}
		})
	}
	row, err := atHalf()
	if rows[0] = row; err != nil {
		fail(err)
	}
	close(over)
	beside.Wait()
	return append([]Row{most}, rows...), context.Cause(ctx)
}

// mostOf is what a server takes at most, and can go on taking.
func (r *serverRun) mostOf(ctx context.Context, l *lane, q request) (row Row, err error) {
	for part := range mostParts {
		r.tell(float64(part) / (mostParts + 2)) // two loads of that length follow
		if row, err = r.put(ctx, l, q, job{length: r.Duration}); err != nil {
			return row, err
		}
	}
	return row, nil
}

// asked is a question that is put to a server.
type asked struct {
	*lane
	request
}

// besideList is what is asked beside batches that a server takes.
func (r *serverRun) besideList(l *lane) (all []asked) {
	questions := r.listQuestions()
	for _, q := range questions {
		all = append(all, asked{l.unmeasured(), q})
	}
	for _, echo := range r.lanes(Echoes) {
		all = append(all, asked{echo.unmeasured(), questions[len(questions)-1]})
	}
	return all
}

// listQuestions are asked beside batches. Some of the devices have left their home then.
func (r *serverRun) listQuestions() []request {
	ask := func(name string, least int, path string) request {
		return request{name: name, callers: listCallers, least: least,
			make: func(_ int64, body []byte) (string, string, []byte) {
				return "GET", "/api/v1" + path, body
			},
		}
	}
	home := r.fleet.homes[0]
	return []request{
		ask("list: 100 devices in a state beside that", min(100, home.devices)/2,
			"/devices?state="+string(home.state)+"&limit=100"),
		ask("list: counts beside that", 0, "/states"),
	}
}
