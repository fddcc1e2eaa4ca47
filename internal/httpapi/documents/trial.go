package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/rules"
	"github.com/andonhq/andon/internal/rules/runner"
)

// Try says what a policy would do about an incident that is made up.
func Try(
	ctx context.Context, kept *records.Documents, tenant *andon.Tenant, policy string,
	t client.PolicyTrial, now andon.Time,
) (shown client.PolicyTimeline, err error) {
	if err := check(&t); err != nil {
		return shown, err
	}
	switch {
	case t.Severity != 0:
	case t.Kind == string(people.SilentKind):
		t.Severity = andon.UnknownSeverity
	case t.State != "":
		t.Severity = tenant.States.Severity(t.State)
	}
	d, err := kept.Get(ctx, tenant.ID, people.Policies, policy)
	if err != nil {
		return shown, err
	}
	p, err := Content[people.Policy](&d)
	if err != nil {
		return shown, err
	}
	known, err := kept.Known(ctx, tenant.ID)
	if err != nil {
		return shown, err
	}
	in, followed := known.Timeline(&p, &people.Trial{
		At: cmp.Or(t.At, now), Device: t.Device, Group: t.Group, State: t.State,
		Kind: people.Kind(cmp.Or(t.Kind, string(people.StateKind))), Severity: t.Severity,
		Operator: t.Operator,
	})
	shown = client.PolicyTimeline{
		Policy: policy, Followed: followed, Steps: []client.IncidentStep{},
		More: in.Policy.Next != 0 || in.Maintenance != "",
	}
	for _, s := range in.Steps {
		step := client.IncidentStep(s)
		step.Note += silence(known.People[s.To], &s, t.Severity)
		shown.Steps = append(shown.Steps, step)
	}
	return shown, nil
}

// check reports what is wrong with a trial. What is absent is right.
func check(t *client.PolicyTrial) error {
	for place, is := range map[string]interface{ Validate() error }{
		"group": t.Group, "device": t.Device, "state": t.State, "operator": t.Operator,
	} {
		if fmt.Sprint(is) == "" {
			continue
		}
		if err := is.Validate(); err != nil {
			return andon.AtField("body."+place, "%s", err)
		}
	}
	return people.Kind(t.Kind).Check("body")
}

// silence says why a person who is to be told of something is not, or not yet.
func silence(p *people.Person, s *people.Step, severity uint8) string {
	if s.What != "notified" && s.What != "escalated" {
		return ""
	}
	switch {
	case p == nil:
		return "; not sent: there is no document of this person"
	case len(p.Contacts) == 0:
		return "; not sent: this person has no contact"
	case severity < p.MinSeverity:
		return fmt.Sprintf("; not sent: too slight, this person is told from %d on", p.MinSeverity)
	}
	if _, quiet := p.QuietUntil(severity, s.At); quiet {
		return "; sent at the end of quiet hours"
	}
	return ""
}

// TryRule says what a rule would have said by the readings that are stored.
func TryRule(
	ctx context.Context, by *runner.Runner, tenant andon.TenantID, sent client.RuleTrial,
	now andon.Time,
) (shown client.RuleTimeline, err error) {
	var is struct{ Name string }
	_ = json.Unmarshal([]byte(sent.Rule), &is) // Decode says what is wrong with it
	content, err := people.Decode(people.Rules, cmp.Or(is.Name, "rule"), sent.Rule)
	if err != nil {
		return shown, moved(err, func(place string) string {
			return "body.rule" + strings.TrimPrefix(place, "body")
		})
	}
	p, err := (*rules.Rule)(content.(*people.Rule)).Program()
	if err != nil {
		return shown, err
	}
	span := andon.Span{From: sent.From, To: min(cmp.Or(sent.To, now), now)}
	if span.From == 0 {
		span.From = span.To - andon.Time(day)
	}
	if span.From > span.To {
		return shown, andon.AtField("body.from", "from is after to")
	}
	return by.Replay(ctx, tenant, p, span, andon.MaxLimit)
}

// day is the span that is replayed where none is asked for.
const day = andon.Duration(24 * 3600e6)
