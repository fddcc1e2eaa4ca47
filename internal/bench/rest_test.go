package bench

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestRest waits for the last server that does anything, by its processor time or what it writes,
// and not longer than it is told to.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		works := func(until time.Duration) Server {
			return Server{Usage: func(context.Context) (Usage, error) {
				d := min(time.Since(begun), until)
				return Usage{CPU: d / 2, Written: int64(d / 100)}, nil
			}}
		}
		r := &serverRun{run: run{Options: Options{Now: time.Now, Rest: time.Minute}}, wrote: true}
		r.servers = []Server{works(2 * time.Second), works(3 * time.Second), {}}
		if err := r.rest(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 3500*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		begun, r.wrote, r.servers = time.Now(), true, []Server{works(time.Hour)}
		if err := r.rest(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("it took %s of at most a minute", took)
		}
	})
}
