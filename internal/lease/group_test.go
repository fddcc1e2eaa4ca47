package lease_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// team is several processes that share parts.
type team struct {
	t       *testing.T
	s       andon.Store
	ready   []string
	gone    []string
	all     sync.WaitGroup
	mu      sync.Mutex
	working map[string]string // who works on a part
	wake    chan struct{}
}

// join starts a process, and returns what ends it.
func (m *team) join(owner string) (stop func()) {
	ctx, cancel := context.WithCancel(m.t.Context())
	ended := make(chan struct{})
	g := &lease.Group{
		Holder: &lease.Holder{Records: m.s, Owner: owner, For: 12 * time.Second}, Name: "g",
		Wake: m.wake,
		Parts: func(context.Context, map[string]andon.JSON) ([]string, []string, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return slices.Clone(m.ready), m.gone, nil
		},
		Failed: func(_ string, err error) {
			if err != nil {
				m.t.Error(owner, err)
			}
		},
		Work: func(ctx context.Context, part string, _ *lease.Lease) error {
			m.set(part, "", owner)
			defer m.set(part, owner, "")
			<-ctx.Done()
			return nil
		},
	}
	m.all.Go(func() {
		g.Run(ctx)
		close(ended)
	})
	return func() { cancel(); <-ended }
}

func (m *team) set(part, from, to string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.working[part] != from {
		m.t.Errorf("%s begins or ends %s, on which %s works", from+to, part, m.working[part])
	}
	m.working[part] = to
}

// shares returns how many parts each process has.
func (m *team) shares(owners ...string) (n []int) {
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, owner := range owners {
		count := 0
		for _, part := range m.ready {
			if m.working[part] == owner {
				count++
			}
		}
		n = append(n, count)
	}
	return n
}

func (m *team) expect(want []int, owners ...string) {
	m.t.Helper()
	if got := m.shares(owners...); !slices.Equal(got, want) {
		m.t.Errorf("%v have %v parts, want %v", owners, got, want)
	}
}

// TestShares: processes that come and go have the same number of parts within the time of a lease,
// and no two ever work on one part.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &team{t: t, s: memstore.New(), working: map[string]string{}}
		for i := range 7 {
			m.ready = append(m.ready, strconv.Itoa(i))
		}
		stopA := m.join("a")
		m.expect([]int{7}, "a")
		stopB := m.join("b")
		time.Sleep(12 * time.Second)
		m.expect([]int{4, 3}, "a", "b")
		stopC := m.join("c")
		time.Sleep(12 * time.Second)
		m.expect([]int{3, 2, 2}, "a", "b", "c")
		stopA()
		time.Sleep(4 * time.Second)
		m.expect([]int{4, 3}, "b", "c")
		stopB()
		m.mu.Lock()
		m.ready, m.gone = m.ready[:3], m.ready[3:]
		m.mu.Unlock()
		time.Sleep(12 * time.Second)
		m.expect([]int{3}, "c")
		stopC()
		m.all.Wait()
		var left []string
		for r, err := range m.s.Records(t.Context(), "", lease.Kind, andon.RecordQuery{Limit: 99}) {
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, r.ID)
		}
		if want := []string{"g/0", "g/1", "g/2", "g/process c"}; !slices.Equal(left, want) {
			t.Errorf("the records %v are left, want %v", left, want)
		}
	})
}

// TestExpired: work whose lease could not be renewed in time has failed, and is begun again. Where
// another process has taken the lease, nothing has failed.
func TestExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var faults wrap.Faults
		s := wrap.Around(memstore.New(), faults.Hook)
		var began int
		var failures []string
		g := &lease.Group{
			Holder: &lease.Holder{Records: s, Owner: "a", For: 12 * time.Second}, Name: "g",
			Parts: func(context.Context, map[string]andon.JSON) ([]string, []string, error) {
				return []string{"one"}, nil, nil
			},
			Failed: func(part string, err error) {
				if err != nil && part != "" {
					failures = append(failures, fmt.Sprintf("%s: %v", part, err))
				}
			},
			Work: func(ctx context.Context, _ string, _ *lease.Lease) error {
				began++
				<-ctx.Done()
				return nil
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { g.Run(ctx) })
		settle := func() {
			<-time.After(20 * time.Second)
			synctest.Wait()
		}
		settle()
		faults.Set(wrap.Fail(andon.Errorf(andon.Unavailable, "cut off")), "PutRecord")
		settle()
		faults.Set(nil, "PutRecord")
		settle()
		want := "one: the store is too slow, or fails, and did not renew it in time: " +
			"this process has lost the lease"
		if began < 2 || len(failures) == 0 || failures[0] != want {
			t.Errorf("it began %d times, and failed as %q", began, failures)
		}
		began, failures = 0, nil
		r, err := s.Record(ctx, "", lease.Kind, "g/one")
		if err == nil {
			r.Data = `{"owner":"b"}`
			_, err = s.PutRecord(ctx, r)
		}
		if settle(); err != nil || len(failures) > 0 || began != 1 {
			t.Errorf("it began %d times after another process, and failed as %q, %v",
				began, failures, err)
		}
		cancel()
		all.Wait()
	})
}

// TestWoken: a new part is worked on at once, where it is known that there is one.
func TestWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &team{
			t: t, s: memstore.New(), working: map[string]string{}, wake: make(chan struct{}, 1),
		}
		defer m.join("a")()
		m.expect([]int{0}, "a")
		m.mu.Lock()
		m.ready = []string{"1"}
		m.mu.Unlock()
		sleep.Wake(m.wake)
		m.expect([]int{1}, "a")
	})
}

// TestReplaced: a process that died is replaced in time, and at once where it is known that it has
// ended: nobody else has the store open, or it ran on this machine.
func TestReplaced(t *testing.T) {
	other := exec.Command(os.Args[0], "-test.run=^$")
	if err := other.Run(); err != nil {
		t.Fatal(err)
	}
	owner := lease.NewOwner()
	here, _, known := strings.Cut(owner, "-")
	for name, c := range map[string]struct {
		died          string
		alone, atOnce bool
	}{
		"somewhere":      {died: "dead"},
		"alone":          {died: "dead", alone: true, atOnce: true},
		"here":           {died: fmt.Sprint(here, "-", other.Process.Pid, "-x"), atOnce: known},
		"it runs":        {died: fmt.Sprint(here, "-", os.Getpid(), "-x")},
		"other machine":  {died: fmt.Sprint("x", here, "-", other.Process.Pid, "-x")},
		"without number": {died: here + "-x"},
	} {
		h := &lease.Holder{Owner: owner, For: 12 * time.Second, Alone: c.alone}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { replace(t, h, c.died, c.atOnce) })
		})
	}
}

func replace(t *testing.T, h *lease.Holder, died string, atOnce bool) {
	t.Helper()
	s, dead := memstore.New(), andon.JSON(fmt.Sprintf(`{"owner":%q,"position":5}`, died))
	h.Records = s
	for _, id := range []string{"g/x", "g/process " + died} {
		r := andon.Record{Kind: lease.Kind, ID: id, Data: dead}
		if _, err := s.PutRecord(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	g := &lease.Group{Holder: h, Name: "g", Failed: func(string, error) {}}
	g.Parts = func(context.Context, map[string]andon.JSON) (ready, gone []string, err error) {
		return []string{"x"}, nil, nil
	}
	g.Work = func(_ context.Context, _ string, l *lease.Lease) error {
		took := time.Since(began)
		if atOnce != (took == 0) || took > 12*time.Second || l.Position() != "5" {
			t.Errorf("it began after %s at %s", took, l.Position())
		}
		cancel()
		return nil
	}
	g.Run(ctx)
	if ctx.Err() == nil {
		t.Error("it never began")
	}
}
