package shared

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// joinsTest sends requests for one device. Each write waits for begin, and then for how it ends.
type joinsTest struct {
	*testing.T
	joins  Joins[int]
	work   sync.WaitGroup
	begin  chan struct{}
	end    chan error
	writes [][]int // that have begun, with the requests of each
}

func newJoinsTest(t *testing.T) *joinsTest {
	return &joinsTest{T: t, begin: make(chan struct{}), end: make(chan error)}
}

// send sends a request, and waits until it is among those that wait, or is one that does not.
func (j *joinsTest) send(ctx context.Context, r, size int) (answered chan error) {
	answered = make(chan error, 1)
	go func() {
		answered <- j.joins.Do(ctx, &j.work, DeviceKey{"t", "d"}, size, &r, j.write)
	}()
	synctest.Wait()
	return answered
}

func (j *joinsTest) write(ctx context.Context, of *Joined[int]) error {
	<-j.begin
	var all []int
	for _, r := range of.Close() {
		all = append(all, *r)
	}
	j.writes = append(j.writes, all)
	err := <-j.end
	if ctx.Err() != nil {
		j.Error("a write ends with the client of one of its requests")
	}
	return err
}

// next has the next write begin.
func (j *joinsTest) next() {
	j.begin <- struct{}{}
	synctest.Wait()
}

// TestJoinedRequests: while a write is under way, those that come are of the next one. One that is
// given up before is not written, and one that is given up later has the answer of its write.
func TestJoinedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJoinsTest(t)
		ctx, leave := context.WithCancel(t.Context())
		failed := errors.New("it could not be written")
		gone := j.send(ctx, 2, 1)
		first, second := j.send(t.Context(), 1, 1), j.send(t.Context(), 3, 1)
		if n := j.joins.Waiting("t", "d"); n != 3 || j.joins.Waiting("t", "other") != 0 {
			t.Errorf("%d requests wait", n)
		}
		leave()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("the one that was given up: %v", err)
		}
		if err := <-j.send(ctx, 9, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("one that was given up before it was sent: %v", err)
		}
		j.next()
		ctx, leave = context.WithCancel(t.Context())
		late := j.send(ctx, 4, 1)
		j.end <- failed
		if err := errors.Join(<-first, <-second); !errors.Is(err, failed) {
			t.Errorf("those that were written: %v", err)
		}
		j.next()
		leave()
		synctest.Wait()
		if len(late) > 0 {
			t.Error("one that was being written was given up")
		}
		j.end <- nil
		if err := <-late; err != nil {
			t.Errorf("the late one: %v", err)
		}
		if !slices.EqualFunc(j.writes, [][]int{{1, 3}, {4}}, slices.Equal[[]int]) {
			t.Errorf("there were the writes %v", j.writes)
		}
		j.work.Wait()
	})
}

// TestJoinedRequestsAreBounded: more than one write should have are two writes. The second takes
// what comes, also once the first has begun.
func TestJoinedRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJoinsTest(t)
		all := []chan error{
			j.send(t.Context(), 1, MostJoined-1), j.send(t.Context(), 2, 7),
			j.send(t.Context(), 3, 1), j.send(t.Context(), 4, 1),
		}
		j.next() // the one that has waited for longer
		all = append(all, j.send(t.Context(), 5, 1))
		j.next()
		for range j.writes {
			j.end <- nil
		}
		for n, answered := range all {
			if err := <-answered; err != nil {
				t.Errorf("request %d: %v", n+1, err)
			}
		}
		j.work.Wait()
		if !slices.EqualFunc(j.writes, [][]int{{1, 2}, {3, 4, 5}}, slices.Equal[[]int]) {
			t.Errorf("there were the writes %v", j.writes)
		}
	})
}
