package storecheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// concurrentChecks: every method may be called concurrently.
func concurrentChecks() []Check {
	whole := func(c andon.Capabilities) bool { return c.Whole }
	return []Check{
		check("2.4", "concurrent appends end as sequential ones do",
			appendConcurrently).ofServers().concurrent(),
		check("limits", "concurrent appends can't exceed the limit of states",
			statesConcurrently).needing(whole).concurrent(),
		check("2.6", "one assignment comes of several that ask for the same",
			assignConcurrently).concurrent(),
		check("2.6", "of assignments over one that several saw, one counts",
			assignOver).concurrent(),
		check("2.6", "an entry sent while assignments change has the operator of its time",
			appendWhileAssigning).concurrent(),
		check("2.7", "one record comes of several that ask for the same",
			escalateConcurrently).needing(whole).concurrent(),
	}
}

// appendConcurrently sends the entries of three devices from several goroutines, dealt out so that
// each device's come from all of them, and every fourth of them is late.
func appendConcurrently(ctx context.Context, e *Env, id andon.TenantID) error {
	const goroutines, each = 4, 15
	require(concurrently(goroutines, func(g int) error {
		for i := range each {
			require(e.append(ctx, id, e.dealt(g, i)...))
		}
		return nil
	}))
	for _, device := range []string{"d0", "d1", "d2"} {
		if err := e.checkDealt(ctx, id, device, goroutines*each); err != nil {
			return fmt.Errorf("%s: %w", device, err)
		}
	}
	return e.wantList(ctx, id, counts, []string{"WARNING1=3"})
}

// dealt is one append of one goroutine: an entry of each device, at a second that is its own. Those
// of goroutine 0 are sent newest first. Second 30 is the only normal one.
func (e *Env) dealt(goroutine, i int) []andon.Event {
	if goroutine == 0 {
		i = 14 - i
	}
	second := i*4 + goroutine
	state := andon.State("WARNING1")
	if second == 30 {
		state = "NORMAL"
	}
	var events []andon.Event
	for _, device := range []andon.DeviceID{"d0", "d1", "d2"} {
		events = append(events, andon.Event{
			Device: device, Time: e.Base + andon.Time(second)*1_000_000, State: state,
			Operator: "Liz",
		})
	}
	return events
}

func (e *Env) checkDealt(ctx context.Context, id andon.TenantID, device string, n int) error {
	return e.Eventually(ctx, func() error {
		log, err := logOf(device, options{})(e.turn(ctx, id))
		if err != nil {
			return err
		}
		d, err := e.System.Device(ctx, id, andon.DeviceID(device))
		if err != nil {
			return err
		}
		since, incident := e.OffsetOf(d.Since), e.OffsetOf(d.IncidentSince)
		if len(log) != n || since != "31s" || incident != "31s" || e.OffsetOf(d.Time) != "59s" {
			return fmt.Errorf("%d entries; it shows %+v, since %s, incident %s",
				len(log), d, since, incident)
		}
		return nil
	})
}

// concurrently runs do in several goroutines and joins their errors.
func concurrently(goroutines int, do func(g int) error) error {
	failed := make([]error, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() { failed[g] = caught(func() error { return do(g) }) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// doneOnce does something in several goroutines, each of which says whether it is the one that has
// done it: exactly one must say so.
func doneOnce(goroutines int, do func(g int) (done bool, err error)) error {
	var n atomic.Int32
	err := concurrently(goroutines, func(g int) error {
		done, err := do(g)
		if done {
			n.Add(1)
		}
		return err
	})
	if err == nil && n.Load() != 1 {
		err = fmt.Errorf("%d of them say that they have done it", n.Load())
	}
	return err
}

// statesConcurrently asks for states outside the set from several goroutines, more than there may
// be.
func statesConcurrently(ctx context.Context, e *Env, id andon.TenantID) error {
	const goroutines, each, most = 6, 5, 8
	var admitted [goroutines][]andon.State
	require(concurrently(goroutines, func(g int) error {
		for i := range each {
			state := andon.State(fmt.Sprintf("made up %d-%d", g, i))
			both := []andon.State{"NORMAL", state}
			refused := must(e.Store.AdmitStates(ctx, id, both, most))
			if len(refused) == 0 {
				admitted[g] = append(admitted[g], state)
			} else if len(refused) > 1 || refused[0] != state {
				return fmt.Errorf("of NORMAL and %s, %v were refused", state, refused)
			}
		}
		return nil
	}))
	all := slices.Concat(admitted[:]...)
	if len(all) != most {
		return fmt.Errorf("%d states were admitted, want %d: %v", len(all), most, all)
	}
	return e.statesCount(ctx, id, all)
}

// statesCount checks that states with entries are admitted again at their limit, that no other is,
// and that one which joins the set counts no more.
func (e *Env) statesCount(ctx context.Context, id andon.TenantID, all []andon.State) error {
	for i, state := range all {
		require(e.append(ctx, id, andon.Event{
			Device: "d1", Time: e.Base + andon.Time(i), State: state,
		}))
	}
	one := []andon.State{"one more"}
	for _, asked := range [][]andon.State{all, one} {
		refused, err := e.Store.AdmitStates(ctx, id, asked, len(all))
		if err != nil || (len(refused) == 1) != (len(asked) == 1) {
			return fmt.Errorf("of %v, %v were refused: %w", asked, refused, err)
		}
	}
	t := must(e.Store.Tenant(ctx, id))
	defs := append(slices.Clone(t.States.Defs()),
		andon.StateDef{Name: all[0], Severity: andon.UnknownSeverity})
	t.States = must(andon.NewStateSet(defs))
	must(e.Store.PutTenant(ctx, t))
	if refused := must(e.Store.AdmitStates(ctx, id, one, len(all))); len(refused) > 0 {
		return fmt.Errorf("%v was refused although a state joined the set", refused)
	}
	return nil
}

// assignConcurrently assigns one operator from several goroutines, each by a clock of its own.
func assignConcurrently(ctx context.Context, e *Env, id andon.TenantID) error {
	require(doneOnce(8, func(g int) (added bool, err error) {
		sent := []andon.Assignment{{Device: "d1", Operator: "Liz"}}
		kept, err := e.Store.Assign(ctx, id, e.Now()+andon.Time(g), sent)
		return err == nil && !kept[0].Again, err
	}))
	if list := must(assignmentsOf("d1", options{})(e.turn(ctx, id))); len(list) != 1 {
		return fmt.Errorf("the device has %s", show(list))
	}
	return nil
}

// assignOver assigns an operator each from several goroutines that all saw the same one.
func assignOver(ctx context.Context, e *Env, id andon.TenantID) error {
	const goroutines = 8
	operator := func(round, g int) andon.PersonID {
		return andon.PersonID(fmt.Sprint("operator ", round, "-", g))
	}
	var seen andon.PersonID // nobody at first
	for round := range 3 {
		var next atomic.Int32 // one more than the goroutine that has assigned
		require(concurrently(goroutines, func(g int) error {
			a := andon.Assignment{Device: "d1", Operator: operator(round, g), Over: new(seen)}
			for again := range 2 { // the answer may be lost
				switch kept, err := e.Store.Assign(ctx, id, e.Now(), []andon.Assignment{a}); {
				case andon.KindOf(err) == andon.Conflict && err != nil && again == 0:
					return nil
				case err != nil:
					return err
				case kept[0].Again != (again == 1):
					return fmt.Errorf("asked for again %d times: %+v", again, kept[0])
				case again == 0 && !next.CompareAndSwap(0, int32(g)+1):
					return errors.New("two of them have assigned")
				}
			}
			return nil
		}))
		if next.Load() == 0 {
			return errors.New("none of them has assigned")
		}
		seen = operator(round, int(next.Load())-1)
	}
	list := must(assignmentsOf("d1", options{})(e.turn(ctx, id)))
	if len(list) != 3 {
		return fmt.Errorf("the device has %s", show(list))
	}
	never := andon.Assignment{Device: "d2", Over: new(seen)} // assigned to somebody
	_, err := e.Store.Assign(ctx, id, e.Now(), []andon.Assignment{never})
	if err == nil || andon.KindOf(err) != andon.Conflict {
		return fmt.Errorf("over somebody, where nobody was ever assigned: %v, want a Conflict", err)
	}
	return nil
}

// appendWhileAssigning assigns two operators in turn while entries arrive that name none, some
// of them late.
func appendWhileAssigning(ctx context.Context, e *Env, id andon.TenantID) error {
	const goroutines, each = 4, 12
	event := func(g, i int) andon.Event {
		at := e.Base + andon.Time(i*goroutines+g)
		return andon.Event{Device: "d1", Time: at, State: "NORMAL"}
	}
	require(concurrently(goroutines, func(g int) error {
		for i := range each {
			require(e.append(ctx, id, event(g, i)))
			if g == 0 {
				operator := []andon.PersonID{"Liz", "Tom"}[i%2]
				next := andon.Assignment{Device: "d1", Operator: operator}
				must(e.Store.Assign(ctx, id, e.Base, []andon.Assignment{next}))
			}
		}
		return nil
	}))
	require(e.operatorsOfTheirTime(ctx, id, goroutines*each))
	for g := range goroutines {
		for i := range each {
			require(e.append(ctx, id, event(g, i)))
		}
	}
	if err := e.operatorsOfTheirTime(ctx, id, goroutines*each); err != nil {
		return fmt.Errorf("sent again: %w", err)
	}
	return nil
}

// operatorsOfTheirTime compares the operators of the entries of d1 with its assignments.
func (e *Env) operatorsOfTheirTime(ctx context.Context, id andon.TenantID, n int) error {
	all := andon.PageQuery{Order: andon.Asc, Limit: n}
	assigned, err := seq.Collect(e.Store.Assignments(ctx, id, "d1", all))
	if err != nil {
		return err
	}
	return e.Eventually(ctx, func() error {
		q := andon.EventQuery{Order: andon.Asc, Limit: n + 1}
		events, err := seq.Collect(e.Store.DeviceEvents(ctx, id, "d1", q))
		if err == nil && len(events) != n {
			err = fmt.Errorf("%d entries of %d", len(events), n)
		}
		for _, event := range events {
			var want andon.PersonID
			for _, a := range assigned {
				if a.From <= event.Time {
					want = a.Operator
				}
			}
			if err == nil && event.Operator != want {
				err = fmt.Errorf("the entry at %s has operator %q; assigned was %q",
					e.OffsetOf(event.Time), event.Operator, want)
			}
		}
		return err
	})
}

func escalateConcurrently(ctx context.Context, e *Env, id andon.TenantID) error {
	event := andon.Event{Device: "d1", Time: e.Base, State: "WARNING1"}
	require(e.append(ctx, id, event))
	require(doneOnce(8, func(g int) (added bool, err error) {
		_, added, err = e.Store.Escalate(ctx, id, andon.Escalation{
			Device: "d1", Time: e.Base, State: "WARNING1", To: "Sara",
			At: e.Base + 1 + andon.Time(g), Note: "come",
		})
		return added, err
	}))
	entry := must(e.Store.Entry(ctx, id, "d1", e.Base, "WARNING1"))
	if len(entry.Escalations) != 1 {
		return fmt.Errorf("the entry has %+v", entry.Escalations)
	}
	return nil
}
