package test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/parallel"
)

// TestSerialContend has 64 clients act on one incident at once; so do the tests that kill either of
// two processes.
func TestSerialContend(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *server) { contend(t, newClient(t, s)) })
}

// unlessBusy does something again while a server says that it has enough to do: on a slow engine it
// may say so more often than a client tries.
func unlessBusy(do func() error) error {
	for {
		err := do()
		e, is := errors.AsType[*client.Error](err)
		if !is || e.Status != http.StatusTooManyRequests {
			return err
		}
	}
}

// contend has 64 clients of any of the processes act on one incident at once, and then change the
// state of its device: of each action one wins, and the device never has two open incidents.
func contend(t *testing.T, processes ...*client.Client) {
	t.Helper()
	const clients, device = 64, "press-7"
	send := func(ctx context.Context, i int, state andon.State) error {
		return unlessBusy(func() error {
			_, err := processes[i%len(processes)].AppendEvents(ctx,
				[]andon.Event{{Device: device, State: state}})
			return err
		})
	}
	open := func(ctx context.Context, i int) (ids []string, err error) {
		c := processes[i%len(processes)]
		for in, err := range c.DeviceIncidents(ctx, device, client.Query{}) {
			if err != nil {
				return nil, err
			}
			if in.Ended == 0 && !in.Late {
				ids = append(ids, in.ID)
			}
		}
		return ids, nil
	}
	if err := send(t.Context(), 0, "WARNING1"); err != nil {
		t.Fatal(err)
	}
	var id string
	eventually(t, patience, "an incident opens", func() error {
		ids, err := open(t.Context(), 0)
		if err == nil && len(ids) != 1 {
			err = fmt.Errorf("%v are open", ids)
		}
		if err == nil {
			id = ids[0]
		}
		return err
	})
	for _, do := range []string{"acknowledge", "take", "shelve", "out-of-service"} {
		if won := winners(t, processes, clients, id, do); won != 1 {
			t.Errorf("%d clients %s", won, do)
		}
	}
	states := []andon.State{"WARNING1", "NORMAL", "WARNING3", "NORMAL"}
	err := parallel.Do(t.Context(), clients, clients, func(ctx context.Context, i int) error {
		for n := range 4 {
			if err := send(ctx, i, states[(n+i)%4]); err != nil {
				return err
			}
			var ids []string
			err := unlessBusy(func() (err error) {
				ids, err = open(ctx, i)
				return err
			})
			if err != nil || len(ids) > 1 {
				return fmt.Errorf("%v are open, %w", ids, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// winners has many clients do one thing about an incident, and returns how many of them did it. The
// others were told that somebody else was first.
func winners(
	t *testing.T, processes []*client.Client, clients int, id, do string,
) (won int) {
	t.Helper()
	var mu sync.Mutex
	err := parallel.Do(t.Context(), clients, clients, func(ctx context.Context, i int) error {
		a := client.IncidentAction{Do: do, By: andon.PersonID(fmt.Sprint("p", i))}
		if do == "shelve" {
			a.For, a.Reason = andon.DurationOf(time.Hour), "r"
		}
		_, err := processes[i%len(processes)].Act(ctx, id, a)
		var e *client.Error
		if errors.As(err, &e) && e.Status == http.StatusConflict {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		won++
		return err
	})
	if err != nil {
		t.Errorf("%s: %v", do, err)
	}
	return won
}
