package bench

import (
	"context"
	"time"

	"github.com/andonhq/andon/internal/sleep"
)

const (
	restLook    = 500 * time.Millisecond
	restCPU     = restLook / 10 // more within a look is work; reading what was used takes some
	restWritten = 1 << 20       // bytes, likewise
)

// rest waits until no server does anything, so that a short load is not measured together with what
// an earlier one has left, on this server or on another one. What a load leaves, a soak has paid
// for: it is as long as that takes.
func (r *serverRun) rest(ctx context.Context) error {
	if !r.wrote {
		return nil
	}
	r.wrote = false
	var before []Usage
	for begun := r.Now(); r.Now().Sub(begun) < r.Rest; {
		now, err := usages(ctx, r.servers)
		if err != nil || before != nil && !busy(before, now) {
			return err
		}
		before = now
		if err := sleep.For(ctx, restLook); err != nil {
			return err
		}
	}
	return nil
}

func usages(ctx context.Context, servers []Server) ([]Usage, error) {
	all := make([]Usage, len(servers))
	for i := range servers {
		var err error
		if all[i], err = servers[i].usage(ctx); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// busy reports whether one of several servers has worked between two looks.
func busy(before, after []Usage) bool {
	for i := range before {
		cpu, written := after[i].CPU-before[i].CPU, after[i].Written-before[i].Written
		if cpu > restCPU || written > restWritten {
			return true
		}
	}
	return false
}
