package runner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/store/memstore"
)

func (p *process) without(rule string) {
	p.Helper()
	err := p.documents.Delete(p.Context(), andon.DefaultTenant, people.Rules, rule,
		nil)
	if err != nil {
		p.Fatal(err)
	}
	settle(time.Microsecond)
}

// moves moves the devices into another group, and back; each sends a reading in between.
func (p *process) moves(device andon.DeviceID) {
	p.Helper()
	was := p.Group
	p.Group = func(context.Context, andon.TenantID) (func(andon.DeviceID) andon.Group, error) {
		return func(andon.DeviceID) andon.Group { return "elsewhere" }, nil
	}
	if err := p.measure(device, 1, "t", 1); err != nil {
		p.Fatal(err)
	}
	p.Group = was
}

// TestBeginsAnew: a rule that is made or switched on again, and one that fits a device again, knows
// nothing of what was before. One that is changed goes on.
func TestBeginsAnew(t *testing.T) {
	const (
		above    = `{"when": {"metric": "t", "op": ">", "value": 80}, "state": "WARNING2"`
		held     = above + `, "for": "2s"}`
		again    = "0 WARNING2 81, 5 WARNING2 81"
		disabled = `, "disabled": "why"}`
	)
	for name, c := range map[string]struct {
		rule   string
		change func(*process)
		want   string
	}{
		"made again": {hot, func(p *process) { p.without("hot"); p.rule("hot", hot) }, again},
		"another one": {hot, func(p *process) {
			p.without("hot")
			p.rule("hot", `{"when": {"metric": "t", "op": ">", "value": 1}, "state": "WARNING3"}`)
		}, "0 WARNING2 81, 5 WARNING3"},
		"held": {held, func(p *process) { p.without("hot"); p.rule("hot", held) }, ""},
		"switched on again": {above + "}", func(p *process) {
			p.rule("hot", above+disabled)
			settle(time.Microsecond)
			p.rule("hot", above+"}")
		}, "0 WARNING2, 5 WARNING2"},
		"in the group again": {hot, func(p *process) { p.moves("p") }, again},
		"changed": {hot, func(p *process) {
			p.rule("hot", `{"when": {"metric": "t", "op": ">", "value": 90}, "state": "WARNING2"}`)
		}, "0 WARNING2 81, 5 NORMAL"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProcess(t, memstore.New())
				p.rule("hot", c.rule)
				p.measures("p", "t", 81)
				c.change(p)
				if err := p.measure("p", 5, "t", 81); err != nil {
					t.Fatal(err)
				}
				p.expect("p", c.want)
			})
		})
	}
}

// TestOthersEnd: the end of a rule is said although one that is severer, and was said, is gone.
func TestOthersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const above = `{"when": {"metric": "t", "op": ">", "value": 80}, "state": "WARNING`
		p := newProcess(t, memstore.New())
		p.rule("a", above+`1"}`)
		p.rule("b", above+`2"}`)
		p.measures("p", "t", 81)
		p.without("b")
		p.measures("p", "t", 81, 1)
		p.rule("b", above+`2"}`)
		p.measures("p", "t", 1, 1, 81)
		p.expect("p", "0 WARNING2, 1 NORMAL, 2 WARNING2")
	})
}

// runs has a process look for what is due, until the function is called that it returns.
func (p *process) runs() (stop func()) {
	ctx, cancel := context.WithCancel(p.Context())
	done := make(chan error)
	go func() { done <- p.Runner.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			p.Error(err)
		}
	}
}

// endsBecause reports whether the last that was told is an end, for that reason.
func (p *process) endsBecause(why string) bool {
	n := len(p.absences)
	return n > 0 && !p.absences[n-1].Is && strings.Contains(p.absences[n-1].Why, why)
}

// isAbsent reports whether the last that was told is that a metric is absent.
func (p *process) isAbsent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.absences) > 0 && p.absences[len(p.absences)-1].Is
}

// TestAbsenceChanges: it is noticed at once that a rule about absence is gone, or has another span,
// also by a process that was not there when it was changed.
func TestAbsenceChanges(t *testing.T) {
	const hour, moment = time.Hour + time.Minute, 3 * time.Second
	rule := func(span string) func(*process) {
		text := `{"when": {"metric": "t", "absent_for": "` + span + `"}, "state": "WARNING2"}`
		return func(p *process) { p.rule("gone", text) }
	}
	for name, c := range map[string]struct {
		before, change func(*process)
		after          time.Duration // the metric was sent
		is             bool
		why            string // it ends
	}{
		"gone": {rule("1h"), func(p *process) { p.without("gone") }, hour, false, "no longer"},
		"disabled": {rule("1h"), func(p *process) {
			p.rule("gone", `{"when": {"metric": "t", "absent_for": "1h"}, "state": "WARNING2",
				"disabled": "why"}`)
		}, hour, false, "no longer"},
		"shorter": {rule("1h"), rule("10s"), time.Minute, true, ""},
		"longer":  {rule("10m"), rule("10h"), hour, false, "longer now"},
	} {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", started again: ", again), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newProcess(t, memstore.New())
					c.before(p)
					stop := p.runs()
					p.measures("d", "t", 1)
					settle(c.after)
					if p.isAbsent() == c.is {
						t.Errorf("%v before the change", p.absences)
					}
					if again {
						stop()
					}
					c.change(p)
					if again {
						before := p
						p = newProcess(t, p.Store)
						p.absences = before.absences
						stop = p.runs()
					}
					settle(moment)
					if stop(); p.isAbsent() != c.is || !c.is && !p.endsBecause(c.why) {
						t.Errorf("%+v after it", p.absences)
					}
				})
			})
		}
	}
}

// TestRetired: no metric of a device is absent that was retired, also by a rule that is made later,
// until it sends it again.
func TestRetired(t *testing.T) {
	const gone = `{"when": {"metric": "t", "absent_for": "30s"}, "state": "WARNING1"}`
	for _, before := range []time.Duration{0, time.Minute} { // in between it is absent
		synctest.Test(t, func(t *testing.T) {
			p := newProcess(t, memstore.New())
			p.rule("gone", gone)
			defer p.runs()()
			p.measures("d", "t", 1)
			all := []andon.Event{{Device: "d", Time: p.begin, State: "NORMAL"}}
			err := p.Store.Append(t.Context(), andon.DefaultTenant, now(), all)
			if settle(before); p.isAbsent() != (before > 0) {
				t.Errorf("%v before it is retired", p.absences)
			}
			if err == nil {
				_, err = p.Store.Retire(t.Context(), andon.DefaultTenant, "d", now())
			}
			if err == nil {
				err = p.Visit(t.Context(), andon.DefaultTenant, "d")
			}
			if err != nil || p.isAbsent() || before > 0 && !p.endsBecause("retirement") {
				t.Errorf("%+v as it is retired, %v", p.absences, err)
			}
			if settle(2 * time.Minute); p.isAbsent() {
				t.Errorf("%v once it is retired", p.absences)
			}
			p.without("gone")
			p.rule("gone", gone)
			if settle(2 * time.Minute); p.isAbsent() {
				t.Errorf("%v by a new rule", p.absences)
			}
			if err := p.measure("d", int(before.Seconds())+240, "t", 1); err != nil {
				t.Fatal(err)
			}
			if settle(time.Minute); !p.isAbsent() {
				t.Errorf("%v after another reading", p.absences)
			}
		})
	}
}
