package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/storecheck"
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

const (
	stepDevices = 70 // more than the rows between two looks of an iterator at its context
	stepDay     = 100
)

// stepAt returns the n-th minute of the first day.
func stepAt(n int) andon.Time { return andon.DayStart(stepDay) + andon.Time(n)*60_000_000 }

func stepDevice(n int) andon.DeviceID { return andon.DeviceID(fmt.Sprintf("d%02d", n)) }

const stepTenant andon.TenantID = "other"

// stepBatch is what all devices send in a round: some of it again, some of it late.
func stepBatch(n int) ([]andon.Event, []andon.Reading) {
	var events []andon.Event
	var readings []andon.Reading
	for d := range stepDevices {
		e := andon.Event{
			Device: stepDevice(d), Time: stepAt(10*n + d%3), State: "NORMAL",
			Message: fmt.Sprint("message ", n),
		}
		if (n+d)%3 == 0 {
			e.State, e.Operator = "WARNING1", "Liz"
		}
		events = append(events, e)
		switch {
		case d%5 == 0: // on another day
			e.Time += 3 * 86_400_000_000
			events = append(events, e)
		case d%5 == 1 && n == 6: // sent again
			e.Time, e.State, e.Message = stepAt(d%3), "ODD", "again"
			events = append(events, e)
		case d%5 == 2 && n > 2: // late
			e.Time = stepAt(10*n - 25)
			events = append(events, e)
		}
		if d%7 == 0 {
			readings = append(readings, andon.Reading{
				Device: stepDevice(d), Time: stepAt(10 * n),
				Metrics: andon.Metrics{{Name: "t", Value: float64(n)}},
			})
		}
	}
	return andon.SortBatch(events), readings
}

// stepRounds is how many rounds there were: fewer than merge by themselves.
const stepRounds = 9

// stepHistory makes the history that each job meets.
func stepHistory(
	ctx context.Context, store func() andon.Store, round func(n int) error,
) error {
	const id = andon.DefaultTenant
	if _, err := store().PutTenant(ctx, andon.NewTenant(stepTenant)); err != nil {
		return err
	}
	for n := range stepRounds + 1 { // the last one stays in rows
		s := store()
		events, readings := stepBatch(n)
		err := errors.Join(s.Append(ctx, id, 1, events), s.AppendReadings(ctx, id, 1, readings),
			s.Append(ctx, stepTenant, 1, events[:4]))
		if n == 3 {
			err = errors.Join(err, stepPeople(ctx, s))
		}
		if n < stepRounds {
			err = errors.Join(err, round(n))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stepPeople is what people do.
func stepPeople(ctx context.Context, s andon.Store) error {
	const id = andon.DefaultTenant
	_, err := s.Assign(ctx, id, stepAt(35), []andon.Assignment{
		{Device: stepDevice(0), Operator: "Tom"}, {Device: stepDevice(1), Operator: "Tom"},
	})
	for d := range 3 {
		_, _, again := s.Escalate(ctx, id, andon.Escalation{
			Device: stepDevice(d), Time: stepAt(30 + d%3), State: stepBatchState(3, d),
			At: stepAt(36), To: "Sara", By: "Tom", Note: "come",
		})
		err = errors.Join(err, again)
	}
	_, _, gone := s.Withdraw(ctx, id, andon.Withdrawal{
		Device: stepDevice(4), Time: stepAt(31), State: stepBatchState(3, 4), At: stepAt(37),
	})
	_, retired := s.Retire(ctx, id, stepDevice(8), stepAt(38))
	_, noted := s.PutRecord(ctx, andon.Record{
		Tenant: id, Kind: "note", ID: "n", Data: `{"a":1}`, Due: stepAt(1),
	})
	return errors.Join(err, gone, retired, noted)
}

func stepBatchState(n, d int) andon.State {
	if (n+d)%3 == 0 {
		return "WARNING1"
	}
	return "NORMAL"
}

// stepOptions are those of a store with many steps: small tables, and a small log.
func stepOptions(fs vfs.FS) Options {
	d := newDamages(slog.New(slog.DiscardHandler))
	d.pause = time.Millisecond
	return Options{
		FS: fs, damages: d, table: 1 << 12, memTable: 256 << 10, Cache: 1 << 20, lag: 1 << 40,
		unread: 1,
	}
}

// stepImage returns the disk that each job begins with.
func stepImage(t *testing.T) *crashable {
	t.Helper()
	fs := newCrashable()
	var s *Store
	reopen := func() (err error) {
		if s != nil {
			err = s.Close()
		}
		if err == nil {
			s, err = Open("store", stepOptions(fs))
		}
		return err
	}
	if err := reopen(); err != nil {
		t.Fatal(err)
	}
	err := stepHistory(t.Context(), func() andon.Store { return s }, func(n int) error {
		err := errors.Join(s.checkpoint(), s.settleReadings())
		if n == 4 { // else the blocks of readings would be merged already
			err = errors.Join(err, reopen())
		}
		return err
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return fs
}

// stepReference returns the reference store behind the same history.
func stepReference(t *testing.T) andon.Store {
	t.Helper()
	s := memstore.New()
	err := stepHistory(t.Context(), func() andon.Store { return s },
		func(int) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stepAnswers returns what a store answers to every query, from a time on.
func stepAnswers(ctx context.Context, s andon.Store, from andon.Time) (all []string) {
	for _, id := range []andon.TenantID{andon.DefaultTenant, stepTenant} {
		a := stepAsker{ctx: ctx, store: storecheck.Whole{Store: s}, tenant: id, from: from}
		for _, d := range []int{0, 1, 2, 3, 4, 7, 8, 69, 70, 71} {
			a.device(stepDevice(d))
		}
		a.lists()
		all = append(all, a.answers...)
	}
	records, err := storecheck.Collect(s.DueRecords(ctx, "note", stepAt(99), 10))
	for i := range records {
		records[i].Version = 0
	}
	return append(all, fmt.Sprint("due ", records, andon.KindOf(err), err == nil))
}

type stepAsker struct {
	ctx     context.Context
	store   storecheck.Whole
	tenant  andon.TenantID
	from    andon.Time
	answers []string
}

func addAnswer[T any](a *stepAsker, what string, answer T, err error) {
	text := fmt.Sprintf("%s %s: %+v", a.tenant, what, answer)
	if err != nil {
		text = fmt.Sprintf("%s %s: %v", a.tenant, what, andon.KindOf(err))
		if andon.KindOf(err) == andon.Internal {
			text += ": " + err.Error()
		}
	}
	a.answers = append(a.answers, text)
}

func (a *stepAsker) device(d andon.DeviceID) {
	shown, err := a.store.Device(a.ctx, a.tenant, d)
	addAnswer(a, "device "+string(d), shown, err)
	span := andon.Span{From: a.from}
	for _, order := range []andon.Order{andon.Asc, andon.Desc} {
		q := andon.EventQuery{Span: span, Order: order, Limit: 7}
		events, err := storecheck.Collect(a.store.DeviceEvents(a.ctx, a.tenant, d, q))
		addAnswer(a, "entries of "+string(d), events, err)
	}
	q := andon.EventQuery{Span: span, Limit: 100}
	entries, err := storecheck.Collect(a.store.EscalatedEntries(a.ctx, a.tenant, d, q))
	for i := range entries {
		entries[i].Withdrawn = nil // a pointer
	}
	addAnswer(a, "escalated entries of "+string(d), entries, err)
	intervals, err := storecheck.Collect(a.store.Intervals(a.ctx, a.tenant, d,
		andon.IntervalQuery{Span: span, Order: andon.Asc, Limit: 5}))
	addAnswer(a, "intervals of "+string(d), intervals, err)
	assignments, err := storecheck.Collect(a.store.Assignments(a.ctx, a.tenant, d,
		andon.PageQuery{Limit: 5}))
	addAnswer(a, "assignments of "+string(d), assignments, err)
	retired, err := a.store.Retirements(a.ctx, a.tenant, d)
	addAnswer(a, "retirements of "+string(d), retired, err)
	readings, err := storecheck.Collect(a.store.DeviceReadings(a.ctx, a.tenant, d,
		andon.ReadingQuery{Span: span, Limit: 5}))
	addAnswer(a, "readings of "+string(d), readings, err)
}

func (a *stepAsker) lists() {
	q := andon.EventQuery{Span: andon.Span{From: a.from}, Limit: 200}
	events, err := storecheck.Collect(a.store.TenantEvents(a.ctx, a.tenant, q))
	addAnswer(a, "entries", events, err)
	for _, person := range []andon.PersonID{"Liz", "Tom"} {
		events, err = storecheck.Collect(a.store.OperatorEvents(a.ctx, a.tenant, person, q))
		addAnswer(a, "entries of "+string(person), events, err)
	}
	events, err = storecheck.Collect(a.store.SupervisorEvents(a.ctx, a.tenant, "Sara", q))
	addAnswer(a, "entries of Sara", events, err)
	devices, err := storecheck.Collect(a.store.Devices(a.ctx, a.tenant,
		andon.DeviceQuery{Limit: 50}))
	addAnswer(a, "devices", devices, err)
	counts, err := a.store.Counts(a.ctx, a.tenant, 2)
	slices.SortFunc(counts, func(x, y andon.StateCount) int {
		return strings.Compare(string(x.State), string(y.State))
	})
	addAnswer(a, "counts", counts, err)
	record, err := a.store.Tenant(a.ctx, a.tenant)
	if record.Version = 0; err == nil {
		addAnswer(a, "tenant", fmt.Sprint(record.Events, record.Floor, record.States.Defs()), nil)
	} else {
		addAnswer(a, "tenant", 0, err)
	}
}

// breaker breaks a job at its n-th step.
type breaker struct {
	fault fault
	n     int64
	mem   *crashable
	stop  context.CancelFunc // of the caller's context
	// opens says that the job is to open the store, and its steps are those behind the engine's:
	// where Pebble itself fails to open, a goroutine of it that is left reads from a closed cache.
	opens  bool
	starts bool // the job is to open the store

	armed   atomic.Bool
	steps   atomic.Int64
	fired   atomic.Bool
	stopped atomic.Bool
	flip    atomic.Bool  // the next read of a table returns a flipped bit
	refuse  atomic.Int64 // writes that fail from now on

	mu   sync.Mutex
	cuts []*crashable // what power cuts left
}

// step counts a step, and reports whether it is the one to break at.
func (b *breaker) step() bool {
	if !b.armed.Load() || b.fired.Load() {
		return false
	}
	return b.steps.Add(1) == b.n && b.fired.CompareAndSwap(false, true)
}

// watched is a context that counts the looks at it.
type watched struct {
	context.Context
	b *breaker
}

func (l watched) Err() error {
	l.look()
	if l.b.stopped.Load() {
		return context.Canceled
	}
	return l.Context.Err()
}

func (l watched) Done() <-chan struct{} {
	l.look()
	return l.Context.Done()
}

func (l watched) look() {
	if l.b.fault == jobStops && l.b.step() {
		l.b.end()
	}
}

// MaybeError is of errorfs.Injector: it is called before each call of the file system.
func (b *breaker) MaybeError(op errorfs.Op) error {
	write := op.Kind.ReadOrWrite() == errorfs.OpIsWrite
	if strings.HasSuffix(op.Path, snapshotDir) && b.opens {
		b.armed.Store(true)
	}
	switch b.fault {
	case jobStops:
		if b.step() {
			b.end()
		}
	case callFails:
		// Where the directory can't be synced for a new log, Pebble panics with a mutex unlocked
		// that it unlocks again, which no test survives. The process would end here.
		if op.Path != "store" && b.step() {
			return errorfs.ErrInjected
		}
	case diskIsFull:
		const calls = 12
		if write && op.Path != "store" && op.Kind != errorfs.OpRemove {
			if b.step() {
				b.refuse.Store(calls)
			}
			if b.refuse.Add(-1) >= 0 {
				return syscall.ENOSPC
			}
		}
	case powerIsCut:
		if write && b.step() {
			b.cut()
		}
	case blockIsBroken:
		if op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst") && b.step() {
			b.flip.Store(true)
		}
	}
	return nil
}

// String is of errorfs.Injector.
func (b *breaker) String() string { return b.fault.String() }

// end ends the contexts of the job.
func (b *breaker) end() {
	b.stopped.Store(true)
	b.stop()
}

func (b *breaker) cut() {
	rng := rand.New(rand.NewPCG(uint64(b.n), 7))
	b.mu.Lock()
	defer b.mu.Unlock()
	percents := []int{0, 50, 100}
	if b.fault == powerIsCut && b.starts {
		percents = []int{0, 100} // Pebble takes it that files come into a directory in their order
	}
	for _, percent := range percents {
		b.cuts = append(b.cuts, b.mem.crash(vfs.CrashCloneCfg{
			UnsyncedDataPercent: percent, RNG: rng,
		}))
	}
}

// flippedFS has a read return a flipped bit.
type flippedFS struct {
	vfs.FS
	b *breaker
}

func (f flippedFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, o...)
	if err != nil || !strings.HasSuffix(name, ".sst") {
		return file, err
	}
	return flippedFile{file, f.b}, nil
}

type flippedFile struct {
	vfs.File
	b *breaker
}

func (f flippedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if n > 0 && f.b.flip.CompareAndSwap(true, false) {
		p[n/2] ^= 1
	}
	return n, err
}

// copied returns a copy with all that was written.
func (c *crashable) copied() *crashable {
	return c.crash(vfs.CrashCloneCfg{
		UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1)),
	})
}

// crashable is a file system in memory that can be copied as a power cut leaves it while it is
// used. Pebble's own copy and its Link wait for each other.
type crashable struct {
	*vfs.MemFS
	linking sync.RWMutex
}

func newCrashable() *crashable { return &crashable{MemFS: vfs.NewCrashableMem()} }

func (c *crashable) Link(from, to string) error {
	c.linking.RLock()
	defer c.linking.RUnlock()
	return c.MemFS.Link(from, to)
}

func (c *crashable) crash(cfg vfs.CrashCloneCfg) *crashable {
	c.linking.Lock()
	defer c.linking.Unlock()
	return &crashable{MemFS: c.CrashClone(cfg)}
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
	if !died && !r.opens && !r.ends && (f != diskIsFull || a.store.failed() == nil) {
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
		release, err := occupy(mem, "store", "test")
		if err == nil {
			release()
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
	if told, _ := verifyMem(t, mem); len(told) > 0 {
		t.Errorf("%s: verification: %q", place, told)
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
	if told, _ := verifyMem(t, mem); len(told) > 0 {
		t.Errorf("%s: verification once it was done again: %q", place, told)
	}
}

func locked(lock sync.Locker, do func() error) error {
	lock.Lock()
	defer lock.Unlock()
	return do()
}

// stepJobs are all jobs of a store.
func stepJobs() []job {
	return slices.Concat(backgroundJobs(), removingJobs(), sendingJobs(), peoplesJobs())
}

// backgroundJobs change no answer.
func backgroundJobs() []job {
	const id = andon.DefaultTenant
	return []job{
		{name: "flush entries", do: func(_ context.Context, s *Store) error {
			return s.checkpoint()
		}},
		{name: "flush entries through the log", table: defaultTable,
			do: func(_ context.Context, s *Store) error { return s.checkpoint() }},
		{name: "flush readings", do: func(_ context.Context, s *Store) error {
			return s.settleReadings()
		}},
		{name: "merge entries", do: func(_ context.Context, s *Store) error {
			return s.mergeAll()
		}},
		{name: "merge entries through the log", table: defaultTable,
			do: func(_ context.Context, s *Store) error { return s.mergeAll() }},
		{name: "merge readings", do: func(ctx context.Context, s *Store) error {
			return locked(&s.measure.running, func() error {
				for _, day := range []uint32{stepDay, stepDay + 3} {
					s.measure.loose[tenantDay{s.tenants[id].number, day}] = true
				}
				return s.mergeReadings(ctx)
			})
		}},
		{name: "checkpoint", do: func(ctx context.Context, s *Store) error {
			return locked(&s.checkpoints.running, func() error { return s.round(ctx, true) })
		}},
		{name: "open", opens: true},
		{name: "stop", ends: true, do: func(ctx context.Context, s *Store) error {
			if err := s.Finish(ctx); err != nil {
				return err
			}
			return s.Close()
		}},
		{name: "back up", do: stepBackup},
	}
}

// removingJobs remove something.
func removingJobs() []job {
	const id = andon.DefaultTenant
	horizon := andon.DayStart(stepDay + 1)
	return []job{
		{name: "expire", from: horizon, changes: func(ctx context.Context, s andon.Store) error {
			record, err := s.Tenant(ctx, id)
			if err != nil {
				return err
			}
			record.Floor = andon.Horizon{Events: horizon, Readings: horizon}
			if _, err := s.PutTenant(ctx, record); err != nil {
				return err
			}
			return s.Expire(ctx, id, record.Floor)
		}},
		{name: "purge", changes: func(ctx context.Context, s andon.Store) error {
			return s.Purge(ctx, id, stepDevice(0))
		}},
		{name: "delete a tenant", changes: func(ctx context.Context, s andon.Store) error {
			return s.DeleteTenant(ctx, stepTenant)
		}},
		{name: "withdraw", changes: func(ctx context.Context, s andon.Store) error {
			_, _, err := s.Withdraw(ctx, id, andon.Withdrawal{
				Device: stepDevice(1), Time: stepAt(31), State: stepBatchState(3, 1),
				At: stepAt(99),
			})
			return err
		}},
	}
}

// sendingJobs write what devices send, and records.
func sendingJobs() []job {
	const id = andon.DefaultTenant
	events, readings := stepBatch(stepRounds + 1)
	events = append(events, andon.Event{
		Device: stepDevice(stepDevices), Time: stepAt(1), State: "ODD",
	})
	return []job{
		{name: "append", changes: func(ctx context.Context, s andon.Store) error {
			return s.Append(ctx, id, 1, andon.SortBatch(slices.Clone(events)))
		}},
		{name: "append readings", changes: func(ctx context.Context, s andon.Store) error {
			return s.AppendReadings(ctx, id, 1, readings)
		}},
		{name: "put a record", changes: func(ctx context.Context, s andon.Store) error {
			_, err := s.PutRecord(ctx, andon.Record{
				Tenant: id, Kind: "note", ID: "m", Data: `{"b":2}`, Due: stepAt(2),
			})
			return err
		}},
	}
}

// peoplesJobs write what people do.
func peoplesJobs() []job {
	const id = andon.DefaultTenant
	return []job{
		{name: "assign", changes: func(ctx context.Context, s andon.Store) error {
			_, err := s.Assign(ctx, id, stepAt(200), []andon.Assignment{
				{Device: stepDevice(2), Operator: "Tom"}, {Device: stepDevice(71), Operator: "Liz"},
			})
			return err
		}},
		{name: "escalate", changes: func(ctx context.Context, s andon.Store) error {
			_, _, err := s.Escalate(ctx, id, andon.Escalation{
				Device: stepDevice(3), Time: stepAt(30), State: stepBatchState(3, 3),
				At: stepAt(120), To: "Sara", Note: "help",
			})
			return err
		}},
		{name: "retire", changes: func(ctx context.Context, s andon.Store) error {
			_, err := s.Retire(ctx, id, stepDevice(7), stepAt(150))
			return err
		}},
		{name: "change severities", changes: func(ctx context.Context, s andon.Store) error {
			record, err := s.Tenant(ctx, id)
			if err != nil {
				return err
			}
			record.States, err = andon.NewStateSet(slices.Concat(record.States.Defs(),
				[]andon.StateDef{{Name: "ODD", Severity: 4}}))
			if err != nil {
				return err
			}
			if _, err = s.PutTenant(ctx, record); err != nil {
				return err
			}
			_, err = s.Reorder(ctx, id)
			return err
		}},
		{name: "restore what people did", changes: func(ctx context.Context, s andon.Store) error {
			return s.Restore(ctx, id, andon.History{
				Assignments: []andon.Assignment{{
					Device: stepDevice(69), Operator: "Liz", From: stepAt(2),
				}},
				Escalations: []andon.Escalation{{
					Device: stepDevice(69), Time: stepAt(30), State: stepBatchState(3, 69),
					At: stepAt(121), To: "Sara",
				}},
			})
		}},
	}
}

// stepBackup takes a backup, which must have the same answers.
func stepBackup(ctx context.Context, s *Store) error {
	to := vfs.NewMem()
	err := s.Snapshot(ctx, func(dir string, _ []string) error {
		_, err := vfs.Clone(s.options.FS, to, dir, "store")
		return err
	})
	if err != nil {
		return err
	}
	copied, err := Open("store", stepOptions(to))
	if err != nil {
		return fmt.Errorf("%w: the backup: %w", errUseless, err)
	}
	defer copied.Close()
	want := stepAnswers(context.Background(), s, 0)
	got := stepAnswers(context.Background(), copied, 0)
	if !slices.Equal(want, got) {
		return fmt.Errorf("%w: %s", errUseless, gocmp.Diff(want, got))
	}
	return nil
}

var errUseless = errors.New("the backup is no copy")

// TestSerialEveryStep breaks every job at every step, in every way. ANDON_LONG=1 goes through all
// steps; else those behind the first few are taken with gaps.
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

// nextStep returns the step to break at behind one.
func nextStep(n int64) int64 {
	const first = 10
	if os.Getenv("ANDON_LONG") != "" || n < first {
		return n + 1
	}
	return n + 1 + n/3
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

// TestSerialDamageIsTold flips a bit of the tables, here and there. Each query has the whole answer
// or none, also where a day has several runs. What runs in the background then deletes nothing:
// once the bit is flipped back, everything is there.
func TestSerialDamageIsTold(t *testing.T) {
	image := stepImage(t)
	want := stepAnswers(t.Context(), stepReference(t), 0)
	names, err := image.List("store")
	if err != nil {
		t.Fatal(err)
	}
	var told, places atomic.Int64
	t.Run("places", func(t *testing.T) {
		for i, name := range names {
			if !strings.HasSuffix(name, ".sst") {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				path := image.PathJoin("store", name)
				info, err := image.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				for _, offset := range []int64{30 + int64(i%7), info.Size() / 3} {
					places.Add(1)
					told.Add(damageAt(t, image, path, offset, want))
				}
			})
		}
	})
	t.Logf("%d queries were refused, at %d places", told.Load(), places.Load())
	if told.Load() == 0 {
		t.Error("no query met damage")
	}
}

// damageAt flips a bit of a table, and returns how many queries were refused.
func damageAt(
	t *testing.T, image *crashable, path string, offset int64, want []string,
) (refused int64) {
	t.Helper()
	mem := image.copied()
	flip := func() {
		f, err := mem.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			return // it was merged away, so what was read of it was whole
		}
		b := make([]byte, 1)
		_, err = f.ReadAt(b, offset)
		b[0] ^= 4
		_, err2 := f.WriteAt(b, offset)
		if err := errors.Join(err, err2, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	flip()
	s, err := Open("store", stepOptions(mem))
	if err == nil {
		for i, got := range stepAnswers(t.Context(), s, 0) {
			switch {
			case strings.HasSuffix(got, ": "+andon.Damaged.String()):
				refused++
			case got != want[i]:
				t.Errorf("%s damaged at %d: %s", path, offset, gocmp.Diff(want[i], got))
			}
		}
		_, _ = s.mergeAll(), s.checkpoint()
		_ = s.settleReadings()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	} else if andon.KindOf(err) != andon.Damaged {
		t.Errorf("%s damaged at %d: open: %v", path, offset, err)
	}
	flip()
	if s, err = Open("store", stepOptions(mem)); err != nil {
		t.Fatal(err)
	}
	if got := stepAnswers(t.Context(), s, 0); !slices.Equal(got, want) {
		t.Errorf("%s was damaged at %d: %s", path, offset, gocmp.Diff(want, got))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return refused
}
