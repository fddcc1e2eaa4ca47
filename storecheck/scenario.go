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
//	measure 5m d1 temp=21.5       append a reading; meta='{"fw":1}'
//	retention events 7d           change a setting: events or readings
//	future 10m                    how far ahead of the clock the time of an entry may be
//	states CALM=0 ODD=50          change the state set
//	expire                        update the floor and let the store give space back
//	put r1 as=v1                  put a record over the version that was seen last; due=5m
//	                              data={"a":2} kind=other; over=v1: over the one of that name
//	drop r1                       delete a record; over=v1
//	tenant other                  continue in another tenant
//	delete                        delete the tenant, and make it again
//	needs whole                   leave out what follows where the store is not whole
//	in any order                  run the scenario once for each order of the statements
//	end                           ... that are between these two lines
//	fails conflict: STATEMENT     the statement must fail with an error of that kind
//	expect ...                    see expectations.go
type scenario struct {
	before, anyOrder, after []step
}

// step is one statement, or several that belong together.
type step struct {
	line int
	text string
	do   action
}

// action is what a statement does once its words have been understood.
type action func(context.Context, *Env) error

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
	n := -1
	for order := range permutations(s.anyOrder) {
		if n++; n%s.stride(e) != 0 {
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
// tenants, which are slow to make and to delete on a network. The stride has no factor in common
// with the number of orders, so each statement comes in each place.
func (s *scenario) stride(e *Env) int {
	if len(s.anyOrder) <= 4 || e.System.Capabilities().AtomicBatch {
		return 1
	}
	return 7
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
	err := st.do(ctx, e)
	for range repeats {
		atomic := e.System.Capabilities().AtomicBatch // a local one has no such excuse
		if atomic || err == nil || andon.KindOf(err) != andon.Unavailable {
			break
		}
		err = st.do(ctx, e)
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

type parser struct {
	scenario scenario
	into     *[]step // where the next step goes
	batch    *batch  // that an and would add to
}

// parseScenario understands every line before any is run. An error names its line, the first of
// which is counted as given.
func parseScenario(text string, first int) (*scenario, error) {
	p := &parser{}
	p.into = &p.scenario.before
	for i, line := range strings.Split(text, "\n") {
		err := caught(func() error {
			words, err := splitWords(line)
			if err == nil && len(words) > 0 {
				err = p.statement(first+i, strings.TrimSpace(line), words)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", first+i, strings.TrimSpace(line), err)
		}
	}
	if p.into == &p.scenario.anyOrder {
		return nil, fmt.Errorf("line %d: end is missing", first+strings.Count(text, "\n"))
	}
	return &p.scenario, nil
}

func (p *parser) statement(line int, text string, words []string) error {
	if text == "in any order" || text == "end" {
		p.batch = nil
		return p.bound(text == "end")
	}
	if words[0] == "and" {
		demand(p.batch != nil, "and must follow at")
		(*p.into)[len(*p.into)-1].text += ", " + text
		p.batch.add(words[1:])
		return nil
	}
	p.batch = nil
	var do action
	switch words[0] {
	case "at", "send":
		p.batch = &batch{}
		p.batch.add(words[1:])
		do = p.batch.append
		if words[0] == "send" {
			do = p.batch.send
		}
	default:
		do = parseAction(words)
	}
	*p.into = append(*p.into, step{line, text, do})
	return nil
}

// bound begins or ends the block of steps in any order.
func (p *parser) bound(end bool) error {
	switch {
	case end && p.into == &p.scenario.anyOrder:
		p.into = &p.scenario.after
	case end:
		return errors.New("there is no block to end")
	case p.into != &p.scenario.before:
		return errors.New("there is one block in any order already")
	default:
		p.into = &p.scenario.anyOrder
	}
	return nil
}

func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quoted, begun bool
	for _, c := range line {
		switch {
		case c == '\'':
			quoted, begun = !quoted, true
		case c == '#' && !begun:
			return words, nil
		case (c == ' ' || c == '\t') && !quoted:
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quoted {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// offset is a time of a scenario: a distance from Env.Base.
type offset int64

func parseOffset(word string) (offset, error) {
	digits, before := strings.CutPrefix(word, "-")
	d, err := andon.ParseDuration(digits)
	if before {
		d = -d
	}
	return offset(d), err
}

// from returns the time that the offset means in an Env.
func (o offset) from(e *Env) andon.Time { return e.Base + andon.Time(o) }

// offsetOf returns a time as a scenario writes it; a dash where it is absent.
func (e *Env) offsetOf(t andon.Time) string {
	switch {
	case t == 0:
		return "-"
	case t < e.Base:
		return "-" + e.Base.Sub(t).String()
	}
	return t.Sub(e.Base).String()
}

// entryRef is an entry as a scenario writes it: STATE@TIME.
type entryRef struct {
	state andon.State
	time  offset
}

func parseEntryRef(word string) (entryRef, error) {
	state, at, ok := strings.Cut(word, "@")
	if !ok {
		return entryRef{}, fmt.Errorf("entry %q is not of the form STATE@TIME", word)
	}
	t, err := parseOffset(at)
	return entryRef{andon.State(state), t}, err
}

// person returns the person that a word names; a dash means no one.
func person(word string) andon.PersonID {
	if word == "-" {
		return ""
	}
	return andon.PersonID(word)
}

// orDash is the opposite of person.
func orDash[T ~string](id T) string {
	if id == "" {
		return "-"
	}
	return string(id)
}

// parseKind reads the kind of an error with dashes for its spaces.
func parseKind(word string) (andon.Kind, error) {
	for k := andon.Internal; k <= andon.Damaged; k++ {
		if strings.ReplaceAll(k.String(), " ", "-") == word {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%q is no kind of error", word)
}

func parseFields(words []string, known ...string) (map[string]string, error) {
	fields := map[string]string{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || (len(known) > 0 && !slices.Contains(known, name)) {
			return nil, fmt.Errorf("%q is none of %s", w, strings.Join(known, "=, ")+"=")
		}
		fields[name] = value
	}
	return fields, nil
}
