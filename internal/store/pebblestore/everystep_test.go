package pebblestore

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/directory"
)

// The tests here break a job at its first step, then at its second, and so on until it runs to its
// end without one that breaks: the method of SQLite's tests. A step is a call of the file system,
// or a look at the context. After each the store is opened again, and must answer as the reference
// store does, before the job or after it.

// fault is how a job breaks.
type fault int

const (
	jobStops      fault = iota // its context ends
	callFails                  // one call of the file system fails
	diskIsFull                 // writes fail for a while
	powerIsCut                 // only what was synced is left, or all that was written
	blockIsBroken              // a read returns a flipped bit
	faults
)

func (f fault) String() string {
	return [...]string{
		"it is stopped", "a call fails", "the disk is full", "the power is cut", "a bit is flipped",
	}[f]
}

// job is one complete piece of work.
type job struct {
	name string
	// do is the work. Absent, it is changes.
	do func(ctx context.Context, s *Store) error
	// changes is what the work changes of the answers. Absent, they stay.
	changes func(ctx context.Context, s andon.Store) error
	from    andon.Time // what is older may be gone
	table   int        // Options.table
	opens   bool       // the work is to open the store
	ends    bool       // the work ends in a closed store
}

// stepRun is a job that is broken at each of its steps in turn.
type stepRun struct {
	job
	image         *crashable
	before, after []string
}

// attempt is one run of the job that is broken.
type attempt struct {
	*stepRun
	breaker *breaker
	place   string
	mem     *crashable
	store   *Store        // nil while the job has not opened it
	dead    chan struct{} // closed where the process would have ended
}

// broken runs the job and breaks it at its n-th step. It reports whether it has so many.
func (r *stepRun) broken(t *testing.T, f fault, n int64) bool {
	t.Helper()
	a := &attempt{
		stepRun: r, place: fmt.Sprintf("%s, and %s at step %d", r.name, f, n),
		mem: r.image.copied(), dead: make(chan struct{}),
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	b := &breaker{fault: f, n: n, mem: a.mem, stop: stop, starts: r.opens}
	b.opens = r.opens && (f == callFails || f == diskIsFull || f == blockIsBroken)
	a.breaker = b
	err, died := a.run(ctx, t)
	finished := err == nil && !died
	if !died && !r.opens && !r.ends && (f != diskIsFull || a.store.pipe.Failed() == nil) {
		r.answers(t, a.place+", in the same process", a.store, finished && !b.fired.Load())
	}
	if finished && !b.fired.Load() && !r.opens && !r.ends {
		// It ran to its end: what it changed is on the disk, also without an orderly close.
		r.opened(t, a.place+", a power cut after its end", a.mem.crash(vfs.CrashCloneCfg{}), true)
	}
	died = a.leave(t, died, err)
	r.opened(t, a.place, a.mem, err == nil && !died)
	for _, cut := range b.cuts {
		r.opened(t, a.place, cut, false)
	}
	return b.fired.Load()
}

// run runs the job to its end, or to that of the process.
func (a *attempt) run(ctx context.Context, t *testing.T) (err error, died bool) {
	t.Helper()
	b := a.breaker
	o := stepOptions(errorfs.Wrap(flippedFS{a.mem, b}, b))
	o.table = cmp.Or(a.table, o.table)
	o.watch = func(ctx context.Context) context.Context { return watched{ctx, b} }
	var once sync.Once
	o.Fatal = func(error) {
		once.Do(func() { close(a.dead) })
		select {} // the process would end here
	}
	if !a.opens {
		if a.store, err = Open("store", o); err != nil {
			t.Fatalf("%s: open: %v", a.place, err)
		}
	}
	b.armed.Store(!b.opens)
	done := make(chan error, 1)
	go func() {
		if !a.opens {
			done <- a.do(watched{ctx, b}, a.store)
			return
		}
		s, err := OpenContext(watched{ctx, b}, "store", o)
		if err == nil {
			err = s.Close()
		}
		done <- err
	}()
	select {
	case err = <-done:
	case <-a.dead:
		died = true
	}
	b.armed.Store(false)
	b.refuse.Store(0)
	b.flip.Store(false)
	return err, died
}

// leave closes the store, or leaves it as the end of the process does, and reports whether that was
// it.
func (a *attempt) leave(t *testing.T, died bool, err error) bool {
	t.Helper()
	if !died && (a.opens || a.ends && err == nil) {
		awaitRelease(a.mem)
		return false
	}
	if !died {
		closed := make(chan error, 1)
		go func() { closed <- a.store.Close() }()
		select {
		case <-closed:
			return false
		case <-a.dead:
		}
	}
	a.mem = a.mem.crash(vfs.CrashCloneCfg{})
	return true
}

// awaitRelease waits until an opening that was broken off has let the directory go.
func awaitRelease(mem *crashable) {
	for {
		d := directory.New(directory.Config{FS: mem, Path: "store", Owner: "test"})
		if d.Occupy() == nil {
			d.Release()
			return
		}
		runtime.Gosched()
	}
}

// answers compares what a store answers with what it must: as before the job or after it, and only
// the latter once it was acknowledged.
func (r *stepRun) answers(t *testing.T, place string, s andon.Store, acknowledged bool) {
	t.Helper()
	got := stepAnswers(context.Background(), s, r.from)
	if slices.Equal(got, r.after) || !acknowledged && slices.Equal(got, r.before) {
		return
	}
	want := r.after
	if !acknowledged {
		want = r.before
	}
	t.Errorf("%s: acknowledged %v: %s", place, acknowledged, gocmp.Diff(want, got))
}

// opened opens what is left, compares its answers, has the job run again to its end, and verifies.
func (r *stepRun) opened(t *testing.T, place string, mem *crashable, acknowledged bool) {
	t.Helper()
	if found, _ := verifyMem(t, mem); len(found) > 0 {
		t.Errorf("%s: verification: %q", place, found)
	}
	o := stepOptions(mem)
	s, err := Open("store", o)
	if err != nil {
		t.Fatalf("%s: open again: %v", place, err)
	}
	r.answers(t, place, s, acknowledged)
	if r.do != nil {
		if err := r.do(context.Background(), s); andon.KindOf(err) == andon.Internal && err != nil {
			t.Errorf("%s: done again: %v", place, err)
		}
	}
	if r.ends {
		return
	}
	r.answers(t, place+", done again", s, true)
	if err := s.Close(); err != nil {
		t.Errorf("%s: close: %v", place, err)
	}
	if found, _ := verifyMem(t, mem); len(found) > 0 {
		t.Errorf("%s: verification once it was done again: %q", place, found)
	}
}

// TestSerialEveryStep breaks every job at every step, in every way. ANDON_LONG=1 goes through all
// steps; else those after the first few are taken with gaps.
func TestSerialEveryStep(t *testing.T) {
	image := stepImage(t)
	var places, jobs atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d jobs were broken at %d places", jobs.Load(), places.Load())
	})
	for _, j := range stepJobs() {
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			jobs.Add(1)
			r := newStepRun(t, j, image)
			for f := range faults {
				n := int64(1)
				for ; r.broken(t, f, n) && !t.Failed(); n = nextStep(n) {
					places.Add(1)
				}
				t.Logf("%s: to step %d", f, n)
			}
		})
	}
}

// nextStep returns the step to break at after one.
func nextStep(n int64) int64 {
	const first = 4
	if os.Getenv("ANDON_LONG") != "" || n < first {
		return n + 1
	}
	return 2 * n
}

func newStepRun(t *testing.T, j job, image *crashable) *stepRun {
	t.Helper()
	reference := stepReference(t)
	r := &stepRun{job: j, image: image, before: stepAnswers(t.Context(), reference, j.from)}
	r.after = r.before
	if j.changes != nil {
		if err := j.changes(t.Context(), reference); err != nil {
			t.Fatal(err)
		}
		r.after = stepAnswers(t.Context(), reference, j.from)
		if r.do == nil {
			r.do = func(ctx context.Context, s *Store) error { return j.changes(ctx, s) }
		}
	}
	return r
}
