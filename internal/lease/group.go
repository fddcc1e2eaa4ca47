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
	// Work works on a part until the context ends, or there is no more work for it.
	Work func(ctx context.Context, part string, l *Lease) error
	// Failed is called with each error of Work, which is tried again, also where its lease could
	// not be renewed in time. For no part it is called with the errors of the store and of Parts,
	// and with nil when there are none. It is called concurrently.
	Failed func(part string, err error)
	// Wake, with a buffer of one, has it look for parts at once; nil: nobody knows of new ones.
	Wake chan struct{}

	watches map[string]*watch // by part
	all     sync.WaitGroup

	mu   sync.Mutex                    // held during each round
	mine map[string]context.CancelFunc // parts that this process works on
}

// process precedes the name of a process in the name of its own lease.
const process = "process "

// Run shares the work until the context ends. When it returns all work has ended, and its leases
// are given back.
func (g *Group) Run(ctx context.Context) {
	g.watches, g.mine = map[string]*watch{}, map[string]context.CancelFunc{}
	if g.Wake == nil {
		g.Wake = make(chan struct{}, 1)
	}
	for ctx.Err() == nil {
		err := g.round(ctx)
		if ctx.Err() == nil {
			g.Failed("", err)
		}
		_, _ = sleep.Until(ctx, g.Wake, g.sixths(renewAfter))
	}
	g.all.Wait()
}

// round gives back what is too much, and takes what is free and lacking.
func (g *Group) round(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	positions, free, processes, before, err := g.look(ctx)
	if err != nil {
		return err
	}
	ready, gone, err := g.Parts(ctx, positions)
	if err != nil {
		return err
	}
	for _, part := range gone {
		if r := free[part]; r.Version > 0 {
			_ = g.Records.DeleteRecord(ctx, r) // or the next round does
		}
	}
	most := len(ready) / processes
	if before < len(ready)%processes {
		most++
	}
	want := map[string]bool{process + g.Owner: true} // which is no part, and always there
	for _, isMine := range []bool{true, false} {
		for _, part := range ready {
			_, taken := positions[part]
			can := isMine || !taken || free[part].Version > 0
			if len(want) <= most && can && (g.mine[part] != nil) == isMine {
				want[part] = true
			}
		}
	}
	for part, quit := range g.mine {
		if !want[part] {
			quit()
		}
	}
	for part := range want {
		if g.mine[part] == nil && err == nil {
			err = g.begin(ctx, part)
		}
	}
	return err
}

// look reads the leases: the positions of all parts, those that can be taken, how many processes
// there are, and how many of them have a name before that of this one. It deletes the leases of
// processes that are gone.
func (g *Group) look(ctx context.Context) (
	positions map[string]andon.JSON, free map[string]andon.Record, processes, before int, err error,
) {
	positions, free, processes = map[string]andon.JSON{}, map[string]andon.Record{}, 1
	q := andon.RecordQuery{Prefix: g.Name + "/", Limit: 1 << 20}
	watches := g.watches
	g.watches = map[string]*watch{}
	for r, err := range g.Records.Records(ctx, "", Kind, q) {
		var is stored
		if err == nil {
			err = r.Decode(&is)
		}
		if err != nil {
			return nil, nil, 0, 0, err
		}
		part := strings.TrimPrefix(r.ID, q.Prefix)
		g.watches[part] = watches[part].note(r.Version)
		isFree := g.isFree(is, g.watches[part])
		name, isProcess := strings.CutPrefix(part, process)
		switch {
		case !isProcess:
			if positions[part] = is.Position; isFree {
				free[part] = r
			}
		case name == g.Owner:
		case isFree:
			_ = g.Records.DeleteRecord(ctx, r) // or the next round does
		default:
			if processes++; name < g.Owner {
				before++
			}
		}
	}
	return positions, free, processes, before, nil
}

// begin takes the lease of a part and begins the work, unless somebody else was faster.
func (g *Group) begin(ctx context.Context, part string) error {
	l, w, err := g.take(ctx, g.Name+"/"+part, g.watches[part])
	if g.watches[part] = w; l == nil {
		return err
	}
	within, quit := context.WithCancel(ctx)
	g.mine[part] = quit
	isProcess := strings.HasPrefix(part, process)
	g.all.Go(func() {
		err := l.during(within, func(ctx context.Context, l *Lease) error {
			if isProcess {
				<-ctx.Done()
				return nil
			}
			return g.Work(ctx, part, l)
		})
		failed := !isProcess && err != nil && within.Err() == nil &&
			(!errors.Is(err, ErrLost) || errors.Is(err, errExpired))
		quit()
		g.mu.Lock()
		delete(g.mine, part)
		g.mu.Unlock()
		if failed {
			g.Failed(part, err)
		} else {
			sleep.Wake(g.Wake) // others may be ready now
		}
	})
	return nil
}
