package rules

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"github.com/andonhq/andon"
)

// Program is a rule that can be evaluated.
type Program struct {
	*Rule
	Needs []andon.MetricName // a reading without all of them says nothing
	when  test
	clear test
}

// sample is what a condition looks at: a reading, and the value of the metric within the span
// before it, for a change.
type sample struct {
	metrics andon.Metrics
	first   float64
}

// test reports whether a condition holds.
type test func(*sample) (bool, error)

// Program compiles a rule, and reports what is wrong with it.
func (r *Rule) Program() (*Program, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	p := &Program{Rule: r}
	var err error
	if p.when, err = p.condition("body.when", &r.When); err != nil {
		return nil, err
	}
	switch {
	case r.Clear != nil && (r.Clear.Absent > 0 || r.Clear.Over > 0):
		return nil, andon.AtField("body.clear", "it compares a metric, or is an expression")
	case r.Clear != nil:
		p.clear, err = p.condition("body.clear", r.Clear)
	case r.ClearValue != nil:
		w := r.When
		w.Value = r.ClearValue
		p.clear, err = p.condition("body.clear_value", &w)
		p.clear = not(p.clear)
	default:
		p.clear = not(p.when)
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(p.Needs)
	p.Needs = slices.Compact(p.Needs)
	return p, nil
}

func not(t test) test {
	return func(s *sample) (bool, error) {
		is, err := t(s)
		return !is, err
	}
}

// condition compiles a condition.
func (p *Program) condition(place string, c *Condition) (test, error) {
	if c.Expr != "" {
		if c.Metric != "" || c.Op != "" || c.Value != nil || c.Over > 0 || c.Absent > 0 {
			return nil, andon.AtField(place+".expr", "an expression stands alone")
		}
		t, names, err := expression(place+".expr", c.Expr)
		p.Needs = append(p.Needs, names...)
		return t, err
	}
	if err := c.Metric.Validate(); err != nil {
		return nil, andon.AtField(place+".metric", "%s", err)
	}
	p.Needs = append(p.Needs, c.Metric)
	if c.Absent > 0 {
		switch {
		case c.Op != "" || c.Value != nil || c.Over > 0:
			return nil, andon.AtField(place+".absent_for", "an absence compares nothing")
		case c.Absent < minAbsent:
			return nil, andon.AtField(place+".absent_for", "%s is less than %s", c.Absent,
				minAbsent)
		}
		return nil, nil // Run looks at the times of readings
	}
	if c.Value == nil {
		return nil, andon.AtField(place+".value", "there is no value to compare with: want "+
			"metric, op and value, or absent_for, or expr")
	}
	compare, there := comparisons()[c.Op]
	if !there {
		return nil, andon.AtField(place+".op", "%q is none of > >= < <= == !=", c.Op)
	}
	metric, value, over := c.Metric, *c.Value, c.Over > 0
	return func(s *sample) (bool, error) {
		is, _ := s.metrics.Get(metric)
		if over {
			is -= s.first
		}
		return compare(is, value), nil
	}, nil
}

func comparisons() map[string]func(a, b float64) bool {
	return map[string]func(a, b float64) bool{
		">":  func(a, b float64) bool { return a > b },
		">=": func(a, b float64) bool { return a >= b },
		"<":  func(a, b float64) bool { return a < b },
		"<=": func(a, b float64) bool { return a <= b },
		"==": func(a, b float64) bool { return a == b },
		"!=": func(a, b float64) bool { return a != b },
	}
}

// Standing is how a rule stands on a device.
type Standing struct {
	Raised bool `json:"raised,omitempty"`
	Absent bool `json:"absent,omitempty"` // it was raised because a metric is absent
	// Since is when what would change that began to hold; 0: it does not hold.
	Since andon.Time `json:"since,omitempty"`
	// At is the time of the reading that changed it last. Those up to it are known or late. Of an
	// absence it is the newest reading with the metric, as far as was looked, or when the rule was
	// made, if that was later.
	At      andon.Time `json:"at,omitempty"`
	Message string     `json:"message,omitempty"` // as it was when it was raised
	Begun   andon.Time `json:"begun,omitempty"`   // that of the rule which stands so
}

// Turn is a moment at which a rule is raised or cleared.
type Turn struct {
	At      andon.Time
	Program *Program
	Raised  bool
	Message string
}

// Run is what became of readings.
type Run struct {
	Standing Standing
	Turns    []Turn
	Worked   bool  // a reading was evaluated
	Failures int   // in a row, at the end
	Failed   int   // in all
	Err      error // of the last one
}

// Run evaluates readings of a device, oldest first, from a time on; a change is measured against
// those before as well. A reading that fails changes nothing.
func (p *Program) Run(s Standing, readings []andon.Reading, from andon.Time) (r Run) {
	r.Standing = s
	for i := range readings {
		at := readings[i].Time
		if at < from || at <= r.Standing.At || !p.Covers(&readings[i]) {
			continue
		}
		if p.When.Absent > 0 {
			r.there(p, at)
			continue
		}
		x := sample{metrics: readings[i].Metrics}
		if p.When.Over > 0 && !p.first(&x, readings[:i], at) {
			continue
		}
		test := p.when
		if r.Standing.Raised {
			test = p.clear
		}
		holds, err := test(&x)
		if err != nil {
			r.Failures, r.Failed, r.Err = r.Failures+1, r.Failed+1, err
			continue
		}
		r.Worked, r.Failures = true, 0
		if r.step(p, holds, at) {
			r.Standing.Message = ""
			if r.Standing.Raised {
				r.Standing.Message = p.message(x.metrics)
			}
			r.Turns = append(r.Turns, Turn{at, p, r.Standing.Raised, r.Standing.Message})
		}
	}
	return r
}

// Covers reports whether a reading has all that is needed.
func (p *Program) Covers(r *andon.Reading) bool {
	for _, name := range p.Needs {
		if _, has := r.Metrics.Get(name); !has {
			return false
		}
	}
	return true
}

// first finds the oldest value of the metric within the span before a time, and reports whether
// there is one.
func (p *Program) first(x *sample, before []andon.Reading, at andon.Time) (there bool) {
	from := at - andon.Time(p.When.Over)
	i, _ := slices.BinarySearchFunc(before, from, func(r andon.Reading, t andon.Time) int {
		return cmp.Compare(r.Time, t)
	})
	for ; i < len(before) && !there; i++ {
		x.first, there = before[i].Metrics.Get(p.When.Metric)
	}
	return there
}

// step takes in whether what would turn a rule holds, and reports whether it turns.
func (r *Run) step(p *Program, holds bool, at andon.Time) bool {
	s, hold := &r.Standing, p.For
	if s.Raised {
		hold = p.ClearFor
	}
	switch {
	case !holds:
		if s.Since != 0 {
			s.Since, s.At = 0, at
		}
		return false
	case s.Since == 0:
		s.Since, s.At = at, at
	}
	if at.Sub(s.Since) < hold {
		return false
	}
	s.Raised, s.Since, s.At = !s.Raised, 0, at
	return true
}

var placeholder = regexp.MustCompile(`\{[^{}]+\}`)

// message writes the message of a rule with the values of a reading.
func (p *Program) message(m andon.Metrics) string {
	return placeholder.ReplaceAllStringFunc(p.Message, func(name string) string {
		value, there := m.Get(andon.MetricName(name[1 : len(name)-1]))
		if !there {
			return name
		}
		return strconv.FormatFloat(value, 'g', 6, 64)
	})
}

// Gap takes in that a metric was not there between its newest reading and a time. Where that is too
// long, the rule is raised.
func (r *Run) Gap(p *Program, to andon.Time) {
	s := &r.Standing
	if due := s.At.Add(p.When.Absent); s.At != 0 && !s.Raised && due < to {
		s.Raised, s.Absent = true, true
		r.Turns = append(r.Turns, Turn{due, p, true, p.Message})
	}
}

// there takes in a reading that has the metric whose absence matters.
func (r *Run) there(p *Program, at andon.Time) {
	r.Gap(p, at)
	if r.Standing.Raised {
		r.Turns = append(r.Turns, Turn{at, p, false, ""})
	}
	r.Standing = Standing{At: at}
}

// Said is an entry that rules say of a device.
type Said struct {
	Time    andon.Time  `json:"time"`
	State   andon.State `json:"state"`
	Rule    string      `json:"rule"`
	Message string      `json:"message,omitempty"`
	After   andon.State `json:"after,omitempty"` // what rules had said before
}

// Device is how the rules of a device stand: of those that are raised the severest is said.
type Device struct {
	Rules map[string]Standing `json:"rules"`
	// By is the rule whose state was said last, State what was said, and SaidAt when. Without By
	// that rule is forgotten; without State no rule is raised.
	By     string      `json:"by,omitempty"`
	State  andon.State `json:"state,omitempty"`
	SaidAt andon.Time  `json:"said_at,omitempty"`
	Say    []Said      `json:"say,omitempty"` // decided, and not known to be said
}

// Forget forgets how rules stand that do not count any more. What they have said is not taken back,
// but the end of others that are raised is still to be said.
func (d *Device) Forget(counts func(name string, s Standing) bool) {
	raised := false
	for name, s := range d.Rules {
		if !counts(name, s) {
			delete(d.Rules, name)
		} else if s.Raised && !s.Absent {
			raised = true
		}
	}
	if _, there := d.Rules[d.By]; !there {
		d.By = ""
	}
	if !raised {
		d.State = ""
	}
}

// Take takes in turns of rules, and adds what is to be said to Say. The standings are those before
// them; all are the rules that fit the device.
func (d *Device) Take(all []*Program, turns []Turn, states *andon.StateSet) {
	slices.SortStableFunc(turns, func(a, b Turn) int { return cmp.Compare(a.At, b.At) })
	now := map[string]Standing{}
	for _, p := range all {
		now[p.Name] = d.Rules[p.Name]
	}
	for i, t := range turns {
		now[t.Program.Name] = Standing{Raised: t.Raised, Message: t.Message}
		if i+1 == len(turns) || turns[i+1].At != t.At {
			d.say(all, now, t, states)
		}
	}
}

// say adds what is said after a turn, unless that was said.
func (d *Device) say(
	all []*Program, now map[string]Standing, t Turn, states *andon.StateSet,
) {
	var by *Program
	for _, p := range all {
		if now[p.Name].Raised && p.When.Absent == 0 && (by == nil ||
			states.Severity(p.State) > states.Severity(by.State)) {
			by = p
		}
	}
	is := Said{Time: max(t.At, d.SaidAt+1), After: d.State}
	switch {
	case by != nil && by.Name != d.By:
		is.State, is.Rule, is.Message = by.State, by.Name, now[by.Name].Message
		d.By, d.State = by.Name, by.State
	case by == nil && d.State != "":
		is.State, is.Rule = cmp.Or(t.Program.ClearState, states.Defs()[0].Name), t.Program.Name
		d.By, d.State = "", ""
	default:
		return
	}
	d.SaidAt = is.Time
	d.Say = append(d.Say, is)
}
