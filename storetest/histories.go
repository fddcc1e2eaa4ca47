package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/storecheck"
)

// Options are how random histories are run. The zero value works.
type Options struct {
	// Reopen closes a store and opens it again with what it had. Without it a store is never closed
	// within a history.
	Reopen func(andon.Store) andon.Store
	// Crash cuts the power of a store, and opens what its disk then holds for certain. Without it
	// no power is cut.
	Crash func(andon.Store) andon.Store
	// Close releases a store and all that it holds when its history ends. Without it the store
	// is left as it is, as one that histories share.
	Close func(andon.Store) error
	// Checkpoint has a store write a checkpoint, where it has such a thing.
	Checkpoint func(andon.Store) error
	// Abort has some requests given up while they are under way, and sent again. It is for
	// stores in which a request that is given up leaves nothing.
	Abort bool
	// Parallel has requests that belong together sent at the same time, not one after the other.
	Parallel bool
	// Rounds is how many histories are run; 20 unless set, 5 with -short.
	Rounds int
	// Steps is how long each is; 60 unless set.
	Steps int
	// Asks is for a store that takes long to answer: on the way one in so many questions is asked,
	// drawn anew each time, and at the end of a history all. All of them unless set.
	Asks int
}

func (o Options) withDefaults() Options {
	if o.Rounds == 0 {
		o.Rounds = 20
		if testing.Short() {
			o.Rounds = 5
		}
	}
	if o.Steps == 0 {
		o.Steps = 60
	}
	return o
}

// Histories does the same random steps on a store and on memstore, the reference, and
// compares all of their answers every few steps. It expects that of two deliveries of one
// entry the later is kept.
//
// Where they differ it looks for a shorter history that differs too, and prints that with the seed.
// With ANDON_SEED in the environment it runs the one history of that seed.
func Histories(t *testing.T, open func(t *testing.T) andon.Store, o Options) {
	o = o.withDefaults()
	for _, seed := range seeds(t, o.Rounds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			h := newHistory(seed, o.Steps)
			err := h.run(t, open, o)
			if err == nil {
				return
			}
			short, err := h.shrink(t, open, o, err)
			t.Fatalf("ANDON_SEED=%d: after these %d steps, of %d, the store differs:\n%s\n%v",
				seed, len(short.steps), len(h.steps), short, err)
		})
	}
}

// seeds returns the seeds of the rounds: that of the environment, or new ones.
func seeds(t *testing.T, rounds int) []uint64 {
	if text := os.Getenv("ANDON_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("ANDON_SEED: %v", err)
		}
		return []uint64{seed}
	}
	var all []uint64
	for range rounds {
		all = append(all, uint64(rand.Uint32()))
	}
	return all
}

// history is a row of steps. The steps are values that depend on nothing but the seed, so that some
// can be left out and the rest be run again.
type history struct {
	seed    uint64
	tenants []andon.TenantID
	steps   []step

	// What may be asked about, whether or not the step that brought it was left out.
	devices []andon.DeviceID
	entries map[andon.TenantID][]andon.Event
}

func (h history) with(steps []step) history {
	h.steps = steps
	return h
}

// String returns the steps, one a line.
func (h history) String() string {
	var text strings.Builder
	for _, s := range h.steps {
		text.WriteString("  ")
		if s.wait > 0 {
			text.WriteString("wait " + s.wait.String() + ", ")
		}
		text.WriteString(s.text + "\n")
	}
	return text.String()
}

// subject is one of the two stores, as a server would have it.
type subject struct {
	raw    andon.Store
	store  andon.Store // raw with exact retention
	intake *intake.Intake
	env    *storecheck.Env // of these
}

func newSubject(raw andon.Store, base, now andon.Time) *subject {
	e := storecheck.NewEnv(raw)
	e.Base = base
	e.SetNow(now)
	return &subject{raw, e.Store, e.Intake, e}
}

func (s *subject) whole() storecheck.Whole { return storecheck.Whole{Store: s.store} }

type world struct {
	store, want *subject
	asked       []question
	followers   map[andon.TenantID][]*follower
}

// run does the steps on a new store and a new reference, and reports the first difference.
func (h history) run(
	t *testing.T, open func(t *testing.T) andon.Store, o Options,
) (err error) {
	ctx := t.Context()
	w := &world{followers: map[andon.TenantID][]*follower{}}
	base := beginning()
	w.store, w.want = newSubject(open(t), base, base), newSubject(memstore.New(), base, base)
	defer func() { err = errors.Join(err, w.leave(context.WithoutCancel(ctx), h.tenants, o)) }()
	if err := w.makeTenants(ctx, h.tenants); err != nil {
		return err
	}
	for i, s := range h.steps {
		if err := w.step(ctx, s, o); err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, s.text, err)
		}
		if s.compare || i == len(h.steps)-1 {
			if err := w.compare(ctx, h, i, o); err != nil {
				return fmt.Errorf("after step %d: %w", i+1, err)
			}
		}
	}
	return nil
}

// beginning is when every history begins: shortly before the last midnight, near the
// real time because engines that expire rows by themselves go by that.
func beginning() andon.Time {
	const hour = 60 * 60 * 1_000_000
	return andon.DayStart(andon.TimeOf(time.Now()).Day()) - hour
}

// makeTenants makes the tenants of the history, again where an earlier run left them.
func (w *world) makeTenants(ctx context.Context, tenants []andon.TenantID) error {
	for _, s := range []*subject{w.store, w.want} {
		for _, id := range tenants {
			err := s.store.DeleteTenant(ctx, id)
			if err != nil && andon.KindOf(err) != andon.NotFound {
				return err
			}
			if _, err := s.store.PutTenant(ctx, andon.NewTenant(id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave closes the store, and deletes the tenants before, since it may be a shared one.
func (w *world) leave(ctx context.Context, tenants []andon.TenantID, o Options) error {
	for _, id := range tenants {
		// A history may have deleted it, or broken the store.
		_ = w.store.store.DeleteTenant(ctx, id)
	}
	if o.Close == nil {
		return nil
	}
	return o.Close(w.store.raw)
}

func (w *world) step(ctx context.Context, s step, o Options) error {
	for _, on := range []*subject{w.store, w.want} {
		on.env.SetNow(on.env.Now().Add(s.wait))
	}
	w.restart(s.start, o)
	if s.checkpoint && o.Checkpoint != nil {
		if err := o.Checkpoint(w.store.raw); err != nil {
			return err
		}
	}
	if s.do == nil || s.needs != nil && !s.needs(w.store.store.Capabilities()) {
		return nil
	}
	w.deleted(s.deletes)
	want, wantErr := s.run(ctx, w.want, false)
	got, err := any(nil), context.Canceled
	if s.lookups > 0 && o.Abort {
		got, err = s.run(storecheck.Leaving(ctx, s.lookups), w.store, false)
	}
	if errors.Is(err, context.Canceled) {
		got, err = s.run(ctx, w.store, o.Parallel)
	}
	repeated := w.store.asksAgain(got, err)
	if repeated {
		got, err = w.store.retried(func() (any, error) { return s.run(ctx, w.store, o.Parallel) })
	}
	if s.mayLack && andon.KindOf(wantErr) == andon.NotFound {
		wantErr = nil
	}
	if s.mayLack && andon.KindOf(err) == andon.NotFound {
		err = nil
	}
	if repeated && wantErr == nil && err == nil {
		return nil // part of it was there already; the questions show whether it all is
	}
	if d := diff(outcome(want, wantErr), outcome(got, err)); d != "" {
		return fmt.Errorf("it returns (-want +got):\n%s(error: %v)", d, err)
	}
	return nil
}

// attempts is how often a request is sent again that a store could not serve for now.
const attempts = 20

// retried sends a request, and sends it again while the store asks for that.
func (s *subject) retried(send func() (any, error)) (answer any, err error) {
	for range attempts {
		if answer, err = send(); !s.asksAgain(answer, err) {
			break
		}
	}
	return answer, err
}

// asksAgain reports whether a store asks for a request to be sent again, as one on a network does
// when its machine was held up. One that keeps all of a request or nothing has no such excuse.
func (s *subject) asksAgain(answer any, err error) bool {
	if s.store.Capabilities().AtomicBatch {
		return false
	}
	if err != nil {
		return andon.KindOf(err) == andon.Unavailable
	}
	both, _ := answer.([]any)
	return slices.Contains(both, any(andon.Unavailable.String()))
}

// restart closes the store, or cuts its power, and opens it again.
func (w *world) restart(how start, o Options) {
	again := o.Reopen
	if how == crashed {
		again = o.Crash
	}
	if how == goesOn || again == nil {
		return
	}
	base, now := w.want.env.Base, w.want.env.Now()
	w.store = newSubject(again(w.store.raw), base, now)
	w.want = newSubject(w.want.raw, base, now)
	w.restarted()
}

func outcome(answer any, err error) any {
	if err != nil {
		return andon.KindOf(err).String()
	}
	return answer
}

// compare asks both stores everything, or a part of it on the way. An eventual store may take a
// while to agree.
func (w *world) compare(ctx context.Context, h history, step int, o Options) error {
	deadline := time.Now().Add(20 * time.Second)
	for {
		r := rand.New(rand.NewPCG(h.seed, uint64(step)))
		w.asked = questions(h, w.want.env, r)
		if o.Asks > 1 && step < len(h.steps)-1 {
			w.asked = slices.DeleteFunc(w.asked, func(question) bool { return r.IntN(o.Asks) > 0 })
		}
		err := w.difference(ctx)
		if err == nil {
			err = w.follow(ctx, h, r)
		}
		immediate := w.store.store.Capabilities().Immediate
		if err == nil || immediate || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (w *world) difference(ctx context.Context) error {
	var differ []string
	for _, q := range w.asked {
		got, err := w.store.retried(func() (any, error) { return q.ask(ctx, w.store) })
		if _, is := errors.AsType[storecheck.NotAsked](err); is {
			continue
		}
		if d := diff(outcome(q.ask(ctx, w.want)), outcome(got, err)); d != "" {
			differ = append(differ, fmt.Sprintf("%s (-want +got):\n%s", q.text, d))
		}
	}
	const most = 5
	if len(differ) > most {
		left := len(differ) - most
		differ = append(differ[:most], fmt.Sprintf("and %d answers more differ", left))
	}
	if len(differ) > 0 {
		return fmt.Errorf("%s", strings.Join(differ, "\n"))
	}
	return nil
}

// diff returns where two answers differ. None is none, whether nil or empty.
func diff(want, got any) string {
	states := cmp.Comparer(func(a, b *andon.StateSet) bool { return cmp.Equal(a.Defs(), b.Defs()) })
	return cmp.Diff(want, got, states, cmpopts.EquateEmpty())
}

// without leaves out the steps from at to at+size. The clock still runs as it did.
func without(steps []step, at, size int) []step {
	rest := slices.Clone(steps[at+size:])
	for _, s := range steps[at : at+size] {
		if len(rest) > 0 {
			rest[0].wait += s.wait
		}
	}
	return slices.Concat(steps[:at], rest)
}

// mostAttempts are three times as many as a history of 60 steps mostly takes.
const mostAttempts = 300

// shrink leaves out ever smaller parts of the history as long as it still fails, and compares after
// each step that is left. It gives up after a while, and after mostAttempts.
func (h history) shrink(
	t *testing.T, open func(t *testing.T) andon.Store, o Options, failure error,
) (history, error) {
	deadline, attempts := time.Now().Add(20*time.Second), 0
	o.Asks = 1 // a shorter history draws others
	try := func(steps []step) bool {
		attempts++
		shorter := h.with(steps)
		err := shorter.run(t, open, o)
		if err != nil {
			h, failure = shorter, err
		}
		return err != nil
	}
	each := make([]step, len(h.steps))
	for i, s := range h.steps {
		s.compare = true
		each[i] = s
	}
	try(each)
	for size := len(h.steps) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(h.steps) && attempts < mostAttempts &&
			time.Now().Before(deadline); {
			if !try(without(h.steps, at, size)) {
				at += size
			}
		}
	}
	return h, failure
}
