package pebblestore

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
)

// TestPanicEndsTheProcess: what came of a panic in the ordered section is not known, so the process
// ends. Where it does not, as here, no other write gets through or waits, and the store says no.
func TestPanicEndsTheProcess(t *testing.T) {
	var fatal error
	s, err := Open("store", Options{FS: vfs.NewMem(), Fatal: func(err error) { fatal = err }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.ordered(t.Context(), func() error { panic("a defect") })
	if err == nil || fatal == nil || !strings.Contains(fatal.Error(), "a defect") {
		t.Fatalf("the write got %v, and the process was ended by %v", err, fatal)
	}
	if !strings.Contains(fatal.Error(), "TestPanicEndsTheProcess") {
		t.Errorf("it does not say where: %v", fatal)
	}
	if err := s.Ready(t.Context()); andon.KindOf(err) != andon.Unavailable {
		t.Errorf("ready: %v", err)
	}
	err = s.Append(t.Context(), andon.DefaultTenant, 1, warnings(1))
	if andon.KindOf(err) != andon.Unavailable {
		t.Errorf("a write after it: %v", err)
	}
}

// TestStuckWriteIsNoticed: a store whose ordered section one write does not leave is not ready.
func TestStuckWriteIsNoticed(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	ctx, leave := context.WithCancel(t.Context())
	err := s.ordered(t.Context(), func() error {
		if err := s.Ready(ctx); err != nil {
			t.Errorf("not ready a moment after a write began: %v", err)
		}
		s.pipe.Stuck = 0
		if err := s.Ready(ctx); andon.KindOf(err) != andon.Unavailable {
			t.Errorf("ready while one write keeps all others waiting: %v", err)
		}
		waiting := make(chan error)
		go func() { waiting <- s.Append(ctx, andon.DefaultTenant, 1, warnings(1)) }()
		leave()
		if err := <-waiting; !errors.Is(err, context.Canceled) {
			t.Errorf("a write whose client left while it waited: %v", err)
		}
		return nil
	})
	if err == nil {
		err = s.Ready(t.Context())
	}
	if err != nil {
		t.Errorf("ready after it: %v", err)
	}
}

// TestOrderedIsMeasured: each write reports how long it waited and how long it took.
func TestOrderedIsMeasured(t *testing.T) {
	reported := 0
	s, err := Open("store", Options{FS: vfs.NewMem(), Ordered: func(waited, took time.Duration) {
		if waited < 0 || took <= 0 {
			t.Errorf("a write waited for %s and took %s", waited, took)
		}
		reported++
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := reported
	if err := s.Append(t.Context(), andon.DefaultTenant, 1, warnings(1)); err != nil {
		t.Fatal(err)
	}
	if reported != before+1 {
		t.Errorf("reported %d times of one write", reported-before)
	}
}

// TestLogFailureEndsTheProcess: a log that can't be begun, written or synced ends the
// process by Options.Fatal, whatever Pebble itself makes of it. It runs in a process of its own.
func TestLogFailureEndsTheProcess(t *testing.T) {
	const variable, exit = "ANDON_TEST_LOG_FAILS", 4
	if kind := os.Getenv(variable); kind != "" {
		failLog(t, kind, func(error) { os.Exit(exit) })
		return
	}
	for _, kind := range []string{"create", "write", "sync"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLogFailureEndsTheProcess$")
		cmd.Env = append(os.Environ(), variable+"="+kind)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != exit {
			t.Errorf("%s: exit code %d, want %d (%v)\n%s", kind, code, exit, err, out)
		}
	}
}

// failLog writes until the log of a store fails, and more than fits into one log.
func failLog(t *testing.T, kind string, fatal func(error)) {
	failing := errorfs.OpFileWrite
	switch kind {
	case "create":
		failing = errorfs.OpCreate
	case "sync":
		failing = errorfs.OpFileSyncData
	}
	on := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == failing && strings.HasSuffix(op.Path, ".log") {
			return errorfs.ErrInjected
		}
		return nil
	})}
	fs := errorfs.Wrap(vfs.NewMem(), &on)
	s, err := Open("store", Options{FS: fs, Fatal: fatal})
	if err != nil {
		t.Fatal(err)
	}
	on.On()
	large := rand.Text() // which can't be packed, so that logs become full
	for len(large) < 64<<10 {
		large += rand.Text()
	}
	for n := range 2000 {
		events := warnings(1)
		events[0].Time += andon.Time(n)
		events[0].Message = large
		if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStagedBeforeTheNextOneStages: a write is in the queue of those to be shown before another one
// stages. Else that one would be shown first, and this one acknowledged but not shown.
func TestStagedBeforeTheNextOneStages(t *testing.T) {
	left, goOn := make(chan struct{}), make(chan struct{})
	var holds atomic.Bool
	s, err := Open("store", Options{FS: vfs.NewMem(), Ordered: func(_, _ time.Duration) {
		if holds.CompareAndSwap(true, false) {
			close(left)
			<-goOn
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	events := warnings(2)
	holds.Store(true)
	first := make(chan error)
	go func() { first <- s.Append(t.Context(), andon.DefaultTenant, 1, events[:1]) }()
	<-left // it has left the ordered section
	if err := s.Append(t.Context(), andon.DefaultTenant, 1, events[1:]); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if _, err := s.Device(t.Context(), andon.DefaultTenant, e.Device); err != nil {
			t.Errorf("acknowledged, and not shown: %v", err)
		}
	}
}

// waiting is a context that says when it is waited on.
type waiting struct {
	context.Context
	waits chan struct{}
	once  sync.Once
}

func (w *waiting) Done() <-chan struct{} {
	w.once.Do(func() { close(w.waits) })
	return w.Context.Done()
}

// TestLongWorkIsOvertakenAFewTimes: a write that takes long to work a device out, and is overtaken
// again and again, does so in the ordered section in the end.
func TestLongWorkIsOvertakenAFewTimes(t *testing.T) {
	const id, outside = andon.DefaultTenant, 4 // at first, and three times again
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	send := func(n int) error {
		return s.Append(t.Context(), id, 1, []andon.Event{
			{Device: "long", Time: andon.MinTime + andon.Time(n), State: "S"},
		})
	}
	if err := send(0); err != nil {
		t.Fatal(err)
	}
	calls, last := 0, make(chan error, 1)
	devices := []andon.DeviceID{"long"}
	err := s.change(t.Context(), s.tenants[id], andon.ByWithdrawal, devices, 10,
		func(w *writing) {
			w.fold = func(int, *current.Device) error {
				const expensive = 1000 // looks into the log
				w.past.folded.reads = expensive
				calls++
				n, sent := calls, make(chan error) // by another goroutine: this one holds locks
				if n > outside {
					go func() { last <- send(n) }()
					return nil
				}
				go func() { sent <- send(n) }()
				return <-sent
			}
		})
	if err != nil || calls != outside+1 {
		t.Fatalf("it was worked out %d times, %v, want %d", calls, err, outside+1)
	}
	if err := <-last; err != nil {
		t.Error(err)
	}
}

// TestFreeSpaceIsCheckedInTurn: a disk that fills up while writes wait for their turn takes none of
// them into the reserve.
func TestFreeSpaceIsCheckedInTurn(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs)
	defer s.Close()
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 40})
	client := &waiting{Context: t.Context(), waits: make(chan struct{})}
	written := make(chan error, 1)
	err := s.ordered(t.Context(), func() error {
		go func() { written <- s.Append(client, andon.DefaultTenant, 1, warnings(1)) }()
		<-client.waits
		fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 100 << 20, TotalBytes: 1 << 40})
		s.dir.Disk.Refresh() // look again now
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-written; andon.KindOf(err) != andon.Full {
		t.Errorf("a write that the disk filled up before: %v", err)
	}
}

// TestWaitingEndsWithItsContext: a write that waits for a purge of its tenant ends with its client;
// so does a purge that waits for a write. Other tenants do not wait.
func TestWaitingEndsWithItsContext(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	_, err := s.PutTenant(t.Context(), andon.NewTenant("other"))
	must(t, err)
	here := s.tenants[andon.DefaultTenant]
	left, leave := context.WithCancel(t.Context())
	writes := map[string]func(context.Context, andon.TenantID) error{
		"append": func(ctx context.Context, id andon.TenantID) error {
			return s.Append(ctx, id, 1, warnings(1))
		},
		"assign": func(ctx context.Context, id andon.TenantID) error {
			_, err := s.Assign(ctx, id, 1, []andon.Assignment{{Device: "d", Operator: "Liz"}})
			return err
		},
		"measure": func(ctx context.Context, id andon.TenantID) error {
			return s.AppendReadings(ctx, id, 1, []andon.Reading{{Device: "d", Time: 1}})
		},
	}
	must(t, here.writes.Lock(t.Context())) // as a purge
	ended := make(chan error)
	for what, write := range writes {
		go func() { ended <- write(t.Context(), "other") }() // this goroutine holds a lock
		if err := <-ended; err != nil {
			t.Errorf("%s of another tenant: %v", what, err)
		}
		client := &waiting{Context: left, waits: make(chan struct{})}
		go func() { ended <- write(client, andon.DefaultTenant) }()
		<-client.waits
	}
	leave()
	for range writes {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a write that waits for a purge: %v", err)
		}
	}
	here.writes.Unlock()

	must(t, s.Append(t.Context(), andon.DefaultTenant, 1, warnings(1)))
	must(t, here.writes.RLock(t.Context())) // as a write
	left, leave = context.WithCancel(t.Context())
	client := &waiting{Context: left, waits: make(chan struct{})}
	go func() { ended <- s.Purge(client, andon.DefaultTenant, warnings(1)[0].Device) }()
	<-client.waits
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a purge that waits for a write: %v", err)
	}
	go func() { ended <- s.Append(t.Context(), andon.DefaultTenant, 1, warnings(1)) }()
	must(t, <-ended)
	here.writes.RUnlock()
}
