package storecheck

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// A scenario is a check as text, one statement a line. Words are separated by spaces; what is
// between single quotes is one word, or part of one. A word that begins with # ends the line.
// Times are durations after Env.Base (5m, 1h30m, 5m1us) or, with a minus, before it. An entry is
// written STATE@TIME. A dash means no one.
//
//	now 10m                       set the clock
//	at 5m d1 WARNING1             append an entry; op=Liz esc=Sara msg='too hot' attr='{"a":1}'
//	send 5m d1 WARNING1           send an entry to admission, which may reject it; - is no time
//	and 6m d1 WARNING1            one more entry in the same append, or request
//	assign d1 Liz                 assign from now on
//	escalate d1 WARNING1@5m Sara  escalate now, - to withdraw; by=Liz note='please' at=9m; a dash
//	                              for the entry that the device shows
//	retire d1                     retire now
//	withdraw d1 WARNING1@5m       take an entry back; by=Liz note=wrong
//	purge d1                      remove a device with all that it sent
//	restore assign d1 Liz@5m      keep what was done elsewhere at that time; also retire d1@5m and
//	                              escalate d1 WARNING1@5m Sara@6m by=Liz note='please'
//	measure 5m d1 temp=21.5       append a reading; meta='{"fw":1}'
//	retention events 7d           change a setting: events or readings
//	future 10m                    how far ahead of the clock the time of an entry may be
//	states CALM=0 ODD=50          change the state set
//	expire                        update the floor and let the store give space back
//	put r1 as=v1                  put a record over the version that was seen last; due=5m
//	                              data={"a":2} kind=other; over=v1: over the one of that name
//	drop r1                       delete a record; over=v1
//	profiles, rules               what people say of devices: see groups.go
//	tenant other                  continue in another tenant
//	delete                        delete the tenant
//	create                        make it again
//	needs whole                   leave out what follows where the store is not whole
//	in any order                  run the scenario once for each order of the statements
//	end                           ... that are between these two lines
//	fails conflict: STATEMENT     the statement must fail with an error of that kind
//	expect ...                    see expectations.go
//
// A new statement is a function in the table of turn.statement, which reads its words one by one,
// and then does it. A new expectation is one in the table of expect, or in lists. What is wrong
// with the words, or is left of them, is an error with the line.
type scenario struct {
	before, anyOrder, after []step
}

// step is one statement, or several that belong together.
type step struct {
	line  int
	text  string
	words []string
}

// runText runs a scenario in new tenants. Its first line is counted as given.
func runText(ctx context.Context, e *Env, text string, line int) error {
	s, err := parseScenario(text, line)
	if err != nil {
		return err
	}
	return s.run(ctx, e)
}

// repeats is how often a statement is sent again that a store could not serve for now, as one on a
// network says when its machine was held up. All that a statement does may be done twice.
const repeats = 5

// run runs the scenario, in each order that it allows for, each time in new tenants. Where a
// statement could not be asked, the others were, and the error is that of the first such statement.
func (s *scenario) run(ctx context.Context, e *Env) error {
	var notAsked error
	n, stride := -1, s.stride(e)
	for order := range permutations(s.anyOrder) {
		if n++; n%stride != 0 {
			continue
		}
		err := s.runIn(ctx, e, order)
		switch {
		case isNotAsked(err):
			notAsked = err
		case err != nil:
			return fmt.Errorf("%w%s", err, inOrder(order))
		}
	}
	return notAsked
}

// stride returns how many orders of many statements there are to one that is run. Each takes new
// tenants, which are slow to make and to delete on a network. Of any two statements either still
// comes before the other. Of five each comes in each place, of four each comes first and last.
func (s *scenario) stride(e *Env) int {
	if e.System.Capabilities().AtomicBatch {
		return 1
	}
	different := map[string]bool{}
	for _, st := range s.anyOrder {
		different[st.text] = true
	}
	return max(1, map[int]int{4: 5, 5: 11}[len(different)])
}

func (s *scenario) runIn(ctx context.Context, e *Env, order []step) error {
	if err := e.Renew(ctx); err != nil {
		return err
	}
	var notAsked error
	for _, st := range slices.Concat(s.before, order, s.after) {
		err := st.repeat(ctx, e)
		if err != nil {
			err = fmt.Errorf("line %d: %s: %w", st.line, st.text, err)
		}
		switch {
		case isNotAsked(err):
			notAsked = err
			if !strings.HasPrefix(st.text, "expect") {
				return notAsked // what follows would show nothing
			}
		case err != nil:
			return err
		}
	}
	return notAsked
}

// repeat does a statement, and does it again where a store on a network was not there for it.
func (st *step) repeat(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	for range 1 + repeats {
		err = caught(e.turn(ctx, id, st.words...).statement)
		atomic := e.System.Capabilities().AtomicBatch // a local one has no such excuse
		if atomic || err == nil || andon.KindOf(err) != andon.Unavailable {
			break
		}
	}
	return err
}

func inOrder(order []step) string {
	if len(order) == 0 {
		return ""
	}
	lines := make([]string, len(order))
	for i, st := range order {
		lines[i] = fmt.Sprint(st.line)
	}
	return " (in the order of lines " + strings.Join(lines, ", ") + ")"
}

// permutations yields every order of steps, those that say the same in one order only; of no steps,
// one empty order. An order is good until the next one is asked for.
func permutations(steps []step) iter.Seq[[]step] {
	return func(yield func([]step) bool) { permute(slices.Clone(steps), 0, yield) }
}

func permute(steps []step, fixed int, yield func([]step) bool) bool {
	if fixed == len(steps) {
		return yield(steps)
	}
	for i := fixed; i < len(steps); i++ {
		same := func(st step) bool { return st.text == steps[i].text }
		if slices.ContainsFunc(steps[fixed:i], same) {
			continue // it stood here before
		}
		steps[fixed], steps[i] = steps[i], steps[fixed]
		if !permute(steps, fixed+1, yield) {
			return false
		}
		steps[fixed], steps[i] = steps[i], steps[fixed]
	}
	return true
}

// parseScenario reads the statements of a scenario, and where its block begins and ends. An error
// names its line, the first of which is counted as given.
func parseScenario(text string, first int) (*scenario, error) {
	s := &scenario{}
	into := &s.before // where the next step goes
	line := first
	for rest := range strings.SplitSeq(text, "\n") {
		text := strings.TrimSpace(rest)
		all, err := splitWords(text)
		switch last := len(*into) - 1; {
		case err != nil:
		case text == "in any order" && into == &s.before:
			into = &s.anyOrder
		case text == "in any order":
			err = errors.New("there is one block in any order already")
		case text == "end" && into == &s.anyOrder:
			into = &s.after
		case text == "end":
			err = errors.New("there is no block to end")
		case len(all) == 0:
		case all[0] == "and" && last >= 0:
			begun := &(*into)[last]
			begun.text, begun.words = begun.text+", "+text, append(begun.words, all...)
		default:
			*into = append(*into, step{line, text, all})
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", line, text, err)
		}
		line++
	}
	if into == &s.anyOrder {
		return nil, fmt.Errorf("line %d: end is missing", line-1)
	}
	return s, nil
}
