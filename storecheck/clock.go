package storecheck

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
)

// A scenario sets the clock of a store. The clock of a server runs by itself. There, a time that
// the server gives (of an arrival, an assignment, an escalation, a retirement) is shown as the time
// that the scenario set last. This is right if none of the scenario's own times lies between the
// times that it sets, or shortly after them: then each comes before or after every other as it does
// by a clock that is set. Otherwise the scenario is not asked.

const (
	// longestRun is how long a scenario may take by the clock of a server.
	longestRun = offset(60_000_000)
	// longestWait is how far apart the times may be that a scenario sets. No device is silent that
	// soon, and nothing expires.
	longestWait = offset(10 * 60_000_000)
)

// spell is a time of a server's clock, and as what it and those after it are shown.
type spell struct {
	from andon.Time
	as   andon.Time
}

func (e *Env) begin(ctx context.Context, at offset) error {
	if e.server == nil {
		return nil
	}
	now, err := e.server.Now(ctx)
	e.Base = now - andon.Time(at)
	e.SetNow(now)
	e.spells = []spell{{now, now}}
	return err
}

func (e *Env) goTo(ctx context.Context, at offset) error {
	before := e.Now()
	e.SetNow(at.from(e))
	if e.server == nil || e.Now() == before {
		return nil
	}
	now, err := e.server.Now(ctx)
	e.spells = append(e.spells, spell{now, e.Now()})
	return err
}

// shown returns a time as a scenario knows it.
func (e *Env) shown(t andon.Time) andon.Time {
	for _, s := range slices.Backward(e.spells) {
		if t >= s.from && t < e.spells[0].from+andon.Time(longestRun) {
			return s.as
		}
	}
	return t
}

// late returns an error when a scenario has taken so long that its times may have been mixed up.
func (e *Env) late(begun time.Time) error {
	if took := time.Since(begun); e.server != nil && took > andon.Duration(longestRun).Std()*9/10 {
		return NotAsked{fmt.Sprintf("it took %s: the server is too slow", took.Round(time.Second))}
	}
	return nil
}

type times struct {
	begins offset   // where its first statement sets the clock
	set    []offset // by now
	own    []offset // of other statements; of an expectation, unless it was set
}

var durations = regexp.MustCompile(`\b\d+(?:us|ms|s|m|h|d)(?:\d+(?:us|ms|s|m|h|d))*`)

// read notes the times of a statement. Their signs do not count: what is shortly before the first
// time may expire by a clock that runs.
func (t *times) read(text string, words []string) {
	switch verb := words[0]; {
	case verb == "now":
		at, _ := parseOffset(words[len(words)-1]) // the statement itself says what is wrong
		t.set = append(t.set, at)
		return
	case verb == "retention", verb == "states", verb == "future":
		return
	}
	for _, word := range durations.FindAllString(text, -1) {
		at, err := parseOffset(word)
		if err == nil && (words[0] != "expect" || !slices.Contains(t.set, at)) {
			t.own = append(t.own, at)
		}
	}
}

// settable returns why a clock that can't be set is not enough for a scenario, or nil.
func (t *times) settable() error {
	last := t.begins
	for _, at := range t.set {
		if at < last || at > t.begins+longestWait {
			return NotAsked{"it needs a clock that can be set"}
		}
		last = at
	}
	for _, at := range t.own {
		if at > t.begins && at < last+longestRun {
			return NotAsked{"it needs a clock that does not run"}
		}
	}
	return nil
}

// begun notes whether the first statement of a scenario sets the clock.
func (s *scenario) begun() {
	if len(s.before) > 0 && strings.HasPrefix(s.before[0].text, "now ") {
		s.times.begins = s.times.set[0]
	}
}
