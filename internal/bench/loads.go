package bench

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/andonhq/andon"
)

// The kinds of loads, by which some can be chosen. The fleet is always filled in first: the others
// continue from there.
const (
	Fill   = "fill"
	Query  = "query"  // of one device, or one person
	States = "states" // lists and counts of devices by state
	Single = "single"
	Batch  = "batch"
)

// batchWriters is how many batches are written concurrently.
const batchWriters = 4

// Filling are the loads in which the fleet reports its past.
func (b *Bench) Filling() []Load {
	if b.mixed != nil {
		fill := b.anyEvents(Fill, batchWriters, b.Batch)
		fill.Name, fill.Ops = "fill: "+events(b.Batch), int64((b.Events+b.Batch-1)/b.Batch)
		fill.Items = b.Events / int(fill.Ops)
		fill.Part = func(n int64) Part { // the last one may be smaller
			first := int(n) * b.Batch
			return Part{Event: first, Events: min(b.Batch, b.Events-first)}
		}
		return []Load{fill}
	}
	size := min(b.Batch, b.Devices)
	batches := (b.Devices + size - 1) / size // of a round; the last one may be smaller
	return []Load{
		{
			Kind: Fill, Callers: 1, Ops: busyDevices, Items: busyRounds,
			Part: func(n int64) Part {
				return Part{Device: b.fleet.busy(int(n)), Devices: 1, Rounds: busyRounds}
			},
		},
		{
			Kind: Fill, Callers: batchWriters, Items: b.Devices / batches,
			Name: fmt.Sprintf("fill: %s of %s", events(size), devices(size)),
			Ops:  int64((b.fleet.past - busyRounds) * batches),
			Part: func(n int64) Part {
				first := int(n) % batches * size
				return Part{Device: first, Devices: min(size, b.Devices-first),
					Round: int(n) / batches, Rounds: 1}
			},
		},
	}
}

// Writes are the loads in which the fleet reports on: events one by one, batches of few devices,
// and batches of many.
func (b *Bench) Writes() []Load {
	if b.mixed != nil {
		return []Load{
			b.anyEvents(Single, b.Writers, 1), b.anyEvents(Batch, batchWriters, b.Batch),
		}
	}
	const rowsOfDevice = 100
	wide := min(b.Batch, b.Devices)
	narrow := min(max(b.Batch/rowsOfDevice, 1), b.Devices)
	single := b.write(Single, b.Writers, 1, 1)
	single.Name = "write: 1 event"
	return []Load{
		single,
		b.write(Batch, batchWriters, narrow, max(b.Batch/narrow, 1)),
		b.write(Batch, batchWriters, wide, 1),
	}
}

// anyEvents is a load with so many events of a mixed fleet in an operation.
func (b *Bench) anyEvents(kind string, callers, count int) Load {
	return Load{
		Kind: kind, Callers: callers, Items: count, Name: "write: " + events(count),
		Part: func(n int64) Part { return Part{Event: int(n) * count, Events: count} },
	}
}

func (b *Bench) write(kind string, callers, count, rounds int) Load {
	groups := b.Devices / count
	return Load{
		Kind: kind, Callers: callers, Items: count * rounds,
		Name: fmt.Sprintf("write: %s of %s", events(count*rounds), devices(count)),
		Part: func(n int64) Part {
			first := int(n) % groups * count
			if count == 1 {
				first = b.fleet.order[first]
			}
			return Part{Device: first, Devices: count, Round: int(n) / groups * rounds,
				Rounds: rounds}
		},
	}
}

// Asking are the queries, each by 1 caller and by 16.
func (b *Bench) Asking() (loads []Load) {
	for _, q := range b.queries() {
		for _, callers := range []int{1, 16} {
			loads = append(loads, Load{
				Kind: q.kind, Name: q.name, Callers: callers, Do: q.do,
				Takes: func(t *Target) bool { return t.Queries },
			})
		}
	}
	return loads
}

// query is something that people ask of a fleet.
type query struct {
	kind, name string
	least      int                // devices that the answer names
	path       func(n int) string // about the n-th device or person
}

// do fails if an answer names fewer devices than have reported.
func (q *query) do(ctx context.Context, c Conn, n int64, _ func()) error {
	path := q.path(int(n))
	body, err := c.(*Client).Do(ctx, "GET", path, nil, nil)
	if found := bytes.Count(body, []byte(`"device":`)); err == nil && found < q.least {
		err = andon.Errorf(andon.Internal, "the server is wrong: the answer to %s names %d "+
			"devices, fewer than %d", path, found, q.least)
	}
	return err
}

// asked is of whom people ask, so that there are answers.
type asked struct {
	device     func(n int) int // a busy one
	any        func(n int) int // one that has reported
	entries    int             // that it has, at least
	supervisor func(n int) andon.PersonID
	hour       uint32 // in which operators have entries
	state      andon.State
	devices    int // that are in it, at least
}

func (b *Bench) asked() asked {
	f := b.fleet
	operator := func(n int) andon.PersonID { return f.operators[n%len(f.operators)] }
	if b.mixed != nil {
		busy := func(n int) int { return f.order[n%max(b.Devices/busiestShare, 1)] }
		return asked{
			device:     busy,
			any:        busy,
			entries:    busiestShare / 4 * b.Events / b.Devices, // a half of what it has on average
			supervisor: mixedSupervisor, hour: base.Add(mixedSpan / 2).Hour(),
			state: f.homes[0].state,
		}
	}
	return asked{
		device:     func(n int) int { return f.busy(n % busyDevices) },
		any:        func(n int) int { return f.order[n%b.Devices] },
		entries:    busyRounds,
		supervisor: func(n int) andon.PersonID { return supervisorOf(operator(n)) },
		hour:       f.timeOf(0, busyRounds).Hour(), state: f.homes[0].state,
		devices: f.homes[0].devices,
	}
}

// queries are the seven that people ask most, and one that reads nothing from a store: what that
// takes, the machine and the server's front take of each.
func (b *Bench) queries() []query {
	f, a := b.fleet, b.asked()
	busy := func(n int) string { return b.path(a.device(n)) }
	between := "&from=" + andon.HourStart(a.hour).String() +
		"&to=" + andon.HourStart(a.hour+1).String()
	return []query{
		{Query, "last 100 of a device", min(100, a.entries), func(n int) string {
			return busy(n) + "/events?limit=100"
		}},
		{Query, "last 100 warnings of a device", 1, func(n int) string {
			return busy(n) + "/events?state=WARNING*&limit=100"
		}},
		{Query, "100 of an operator between two times", 1, func(n int) string {
			return api + "/operators/" + string(f.operators[n%len(f.operators)]) +
				"/events?limit=100" + between
		}},
		{Query, "100 of a supervisor in a state", 0, func(n int) string {
			return api + "/supervisors/" + string(a.supervisor(n)) +
				"/events?state=WARNING1&limit=100"
		}},
		{Query, "current state of a device", 1, func(n int) string {
			return b.path(a.any(n))
		}},
		{States, "100 devices in a state", min(100, a.devices), func(int) string {
			return api + "/devices?state=" + string(a.state) + "&limit=100"
		}},
		{States, "counts of all states", 0, func(int) string { return api + "/states" }},
		{Query, "ceiling: a query that reads nothing", 0, func(int) string { return "/version" }},
	}
}

// Device is the n-th device of the fleet.
func (b *Bench) Device(n int) andon.DeviceID { return b.fleet.devices[n] }

// path is where the n-th device is in the API.
func (b *Bench) path(n int) string {
	return api + "/devices/" + strings.ReplaceAll(string(b.Device(n)), "/", "%2F")
}
