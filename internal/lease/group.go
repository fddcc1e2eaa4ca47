package lease

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

// Group shares work that has parts between all processes of a store: each has as many parts as any
// other one, or one more. A process has a lease that says that it is there. Once another process
// comes, those that have too many parts give some back, so nobody takes a part from a process that
// works.
type Group struct {
	*Holder
	Name string // of the leases, with a slash and the part after it
	// Parts returns which parts there is work for, and which are gone, so that their leases are
	// deleted. It is told the positions of all that have a lease.
	Parts func(context.Context, map[string]andon.JSON) (ready, gone []string, err error)
	// Work works on a part until the context ends, or the part is no longer ready.
	Work func(ctx context.Context, part string, l *Lease) error
	// Failed is called with each error of the store, of Parts and of Work, which are tried again,
	// and with nil where there was none. It is called concurrently.
	Failed func(part string, err error)

	watches map[string]*watch // by part
	wake    chan struct{}

	mu   sync.Mutex
	mine map[string]context.CancelFunc // parts that this process works on
}

// process precedes the name of a process in the name of its own lease.
const process = "process "

// Run shares the work until the context ends. When it returns all work has ended, and its leases
// are given back.
func (g *Group) Run(ctx context.Context) {
	g.watches, g.mine = map[string]*watch{}, map[string]context.CancelFunc{}
	g.wake = make(chan struct{}, 1)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { g.enrol(ctx) })
	for ctx.Err() == nil {
		g.fail(ctx, "", g.round(ctx, &all))
		_, _ = sleep.Until(ctx, g.wake, g.sixths(renewAfter))
	}
}

// enrol holds the lease that says that this process is there.
func (g *Group) enrol(ctx context.Context) {
	for ctx.Err() == nil {
		name := g.Name + "/" + process + g.Owner
		err := g.Hold(ctx, name, func(ctx context.Context, _ *Lease) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		g.fail(ctx, process, err)
		_ = sleep.For(ctx, g.sixths(renewAfter))
	}
}

// fail passes on what failed, apart from what was only ended.
func (g *Group) fail(ctx context.Context, part string, err error) {
	if ctx.Err() != nil || errors.Is(err, ErrLost) {
		err = nil
	}
	g.Failed(part, err)
}

// others is what a round finds in the records.
type others struct {
	positions map[string]andon.JSON
	free      map[string]bool // whether the lease of a part can be taken
	records   map[string]andon.Record
	processes int // with this one
	before    int // processes whose names come before that of this one
}

// round gives back what is too much, and takes what is free and lacking.
func (g *Group) round(ctx context.Context, all *sync.WaitGroup) error {
	o, err := g.look(ctx)
	if err != nil {
		return err
	}
	ready, gone, err := g.Parts(ctx, o.positions)
	if err != nil {
		return err
	}
	for _, part := range gone {
		if o.free[part] {
			_ = g.Records.DeleteRecord(ctx, o.records[part]) // or the next round does
		}
	}
	most := len(ready) / o.processes
	if o.before < len(ready)%o.processes {
		most++
	}
	lacking := g.keep(ready, most)
	for _, part := range ready {
		if is, has := o.free[part]; lacking == 0 || has && !is || g.has(part) {
			continue
		}
		taken, err := g.begin(ctx, part, all)
		if err != nil {
			return err
		}
		if taken {
			lacking--
		}
	}
	return nil
}

// look reads the records of the group, and deletes those of processes that are gone.
func (g *Group) look(ctx context.Context) (o others, err error) {
	o = others{map[string]andon.JSON{}, map[string]bool{}, map[string]andon.Record{}, 1, 0}
	watches := map[string]*watch{}
	q := andon.RecordQuery{Prefix: g.Name + "/", Limit: 1 << 20}
	for r, err := range g.Records.Records(ctx, "", Kind, q) {
		if err != nil {
			return o, err
		}
		is, err := decode(r)
		if err != nil {
			return o, err
		}
		part := strings.TrimPrefix(r.ID, q.Prefix)
		w := g.watches[part]
		if w == nil {
			w = &watch{}
		}
		w.note(r.Version)
		watches[part] = w
		free := g.isFree(is, w)
		name, isProcess := strings.CutPrefix(part, process)
		switch {
		case !isProcess:
			o.positions[part], o.free[part], o.records[part] = is.Position, free, r
		case name == g.Owner:
		case free:
			_ = g.Records.DeleteRecord(ctx, r)
		default:
			o.processes++
			if name < g.Owner {
				o.before++
			}
		}
	}
	g.watches = watches
	return o, nil
}

// keep ends the work on all but so many of the parts that are ready, and returns how many more this
// process may have.
func (g *Group) keep(ready []string, most int) (lacking int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	keep := map[string]bool{}
	for _, part := range ready {
		if g.mine[part] != nil && len(keep) < most {
			keep[part] = true
		}
	}
	for part, quit := range g.mine {
		if !keep[part] {
			quit()
		}
	}
	return max(0, most-len(g.mine))
}

func (g *Group) has(part string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mine[part] != nil
}

// begin takes the lease of a part, and begins the work.
func (g *Group) begin(ctx context.Context, part string, all *sync.WaitGroup) (bool, error) {
	if g.watches[part] == nil {
		g.watches[part] = &watch{}
	}
	l, err := g.take(ctx, g.Name+"/"+part, g.watches[part])
	if l == nil || err != nil {
		return false, err
	}
	within, quit := context.WithCancel(ctx)
	g.mu.Lock()
	g.mine[part] = quit
	g.mu.Unlock()
	all.Go(func() {
		err := l.during(within, func(ctx context.Context, l *Lease) error {
			return g.Work(ctx, part, l)
		})
		g.fail(within, part, err)
		quit()
		g.mu.Lock()
		delete(g.mine, part)
		g.mu.Unlock()
		if err == nil { // the part is done, and others may be ready by that
			sleep.Wake(g.wake)
		}
	})
	return true, nil
}
