// Package rules decides what rules on readings say: a condition on the metrics of a device, how
// long it must hold, and a state. Its decisions are pure: readings go in, states come out. It knows
// no store and no clock. The package runner below it evaluates what arrives.
package rules

import (
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// Rule is the document of a rule. Its name is that of the document.
type Rule struct {
	Name  string    `json:"name,omitempty"`
	Match Selector  `json:"match,omitzero"`
	When  Condition `json:"when"`
	// ClearValue is the value of When that ends it: a reading that is not beyond it does. Clear is
	// another condition in its stead. Without both it ends when When no longer holds.
	ClearValue *float64   `json:"clear_value,omitempty"`
	Clear      *Condition `json:"clear,omitempty"`
	// For and ClearFor are how long When and the end of it must hold, by the times of readings.
	For      andon.Duration `json:"for,omitempty"`
	ClearFor andon.Duration `json:"clear_for,omitempty"`
	State    andon.State    `json:"state" doc:"one of the tenant's"`
	// ClearState is said at the end; absent: the first state of severity 0.
	ClearState andon.State `json:"clear_state,omitempty"`
	Message    string      `json:"message,omitempty" doc:"{METRIC} is its value"`
	Disabled   string      `json:"disabled,omitempty" doc:"why the rule is not evaluated"`
}

// Selector selects devices. What is absent selects all; all that is there must fit.
type Selector struct {
	Group   andon.Group      `json:"group,omitempty" doc:"and all below"`
	Prefix  string           `json:"prefix,omitempty"`
	Devices []andon.DeviceID `json:"devices,omitempty"`
}

// Condition is one of: a comparison of a metric, or of its change Over a span; the absence of a
// metric for a span; an expression.
type Condition struct {
	Metric andon.MetricName `json:"metric,omitempty"`
	Op     string           `json:"op,omitempty" doc:"one of > >= < <= == !="`
	Value  *float64         `json:"value,omitempty"`
	Over   andon.Duration   `json:"over,omitempty" doc:"the change within that span is compared"`
	Absent andon.Duration   `json:"absent_for,omitempty"`
	Expr   string           `json:"expr,omitempty"`
}

// Bounds of a rule.
const (
	maxSpan    = andon.Duration(30 * 24 * 3600e6)
	minAbsent  = andon.Duration(10e6) // what is due is looked for each second
	maxDevices = 1000
)

// Validate reports what is wrong with a rule by itself, or nil.
func (r *Rule) Validate() error {
	_, err := r.Program()
	return err
}

func (r *Rule) check() error {
	spans := []struct {
		place string
		is    andon.Duration
	}{
		{"for", r.For}, {"clear_for", r.ClearFor}, {"when.over", r.When.Over},
		{"when.absent_for", r.When.Absent},
	}
	for _, s := range spans {
		if s.is > maxSpan {
			return andon.AtField("body."+s.place, "%s is more than %s", s.is, maxSpan)
		}
	}
	if err := r.State.Validate(); err != nil {
		return andon.AtField("body.state", "%s", err)
	}
	if r.ClearState != "" {
		if err := r.ClearState.Validate(); err != nil {
			return andon.AtField("body.clear_state", "%s", err)
		}
	}
	for place, text := range map[string]string{"message": r.Message, "disabled": r.Disabled} {
		if len(text) > andon.MaxMessageBytes {
			return andon.AtField("body."+place, "it is longer than %d bytes", andon.MaxMessageBytes)
		}
	}
	if err := r.checkEnd(); err != nil {
		return err
	}
	return r.Match.check()
}

// checkEnd reports what is wrong with how a rule ends.
func (r *Rule) checkEnd() error {
	w, v := &r.When, r.ClearValue
	switch {
	case w.Absent > 0 && (v != nil || r.Clear != nil || r.ClearState != "" || r.For+r.ClearFor > 0):
		return andon.AtField("body.when.absent_for", "an absence ends with the next reading that "+
			"has the metric: for, clear, clear_value, clear_for and clear_state say nothing")
	case v == nil:
		return nil
	case r.Clear != nil:
		return andon.AtField("body.clear", "there is a clear_value already")
	case w.Value == nil || w.Op == "==" || w.Op == "!=":
		return andon.AtField("body.clear_value", "it belongs to one of > >= < <=: say clear")
	case strings.HasPrefix(w.Op, ">") && *v > *w.Value,
		strings.HasPrefix(w.Op, "<") && *v < *w.Value:
		return andon.AtField("body.clear_value", "%g is beyond the value of when, %g: it would "+
			"end at once", *v, *w.Value)
	}
	return nil
}

func (s *Selector) check() error {
	if s.Group != "" {
		if err := s.Group.Validate(); err != nil {
			return andon.AtField("body.match.group", "%s", err)
		}
	}
	if len(s.Devices) > maxDevices {
		return andon.AtField("body.match.devices", "%d devices are more than %d", len(s.Devices),
			maxDevices)
	}
	for _, d := range s.Devices {
		if err := d.Validate(); err != nil {
			return andon.AtField("body.match.devices", "%s", err)
		}
	}
	return nil
}

// Fits reports whether a device, which is in a group, is selected.
func (s *Selector) Fits(device andon.DeviceID, group func(andon.DeviceID) andon.Group) bool {
	return strings.HasPrefix(string(device), s.Prefix) &&
		(len(s.Devices) == 0 || slices.Contains(s.Devices, device)) &&
		(s.Group == "" || group(device).Within(s.Group))
}

// CheckStates reports a state of a rule that a tenant does not have, or that is no incident.
func (r *Rule) CheckStates(all *andon.StateSet) error {
	says := map[string]andon.State{"state": r.State, "clear_state": r.ClearState}
	for place, state := range says {
		if state != "" && !all.Contains(state) {
			return andon.AtField("body."+place, "the tenant has no state %q", state)
		}
	}
	if r.When.Absent > 0 && all.Severity(r.State) == 0 {
		return andon.AtField("body.state", "an absence is an incident, and %q has severity 0",
			r.State)
	}
	return nil
}
