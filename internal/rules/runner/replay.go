package runner

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/bydevice"
	"github.com/andonhq/andon/internal/rules"
)

// pageSize is how many readings of a device are replayed at once, at least.
const pageSize = 4096

// Replay says what a rule would have said by the stored readings of a span, where it was not raised
// before, and stores nothing. Of what it would have said it returns at most limit.
func (r *Runner) Replay(
	ctx context.Context, tenant andon.TenantID, p *rules.Program, span andon.Span, limit int,
) (t client.RuleTimeline, err error) {
	t = client.RuleTimeline{From: span.From, To: span.To, Items: []client.RuleSaid{}}
	of, err := r.Store.Tenant(ctx, tenant)
	if err != nil {
		return t, err
	}
	group, err := r.Group(ctx, tenant)
	if err != nil {
		return t, err
	}
	span.From = max(t.From-andon.Time(p.When.Over), 0)
	only := func(d andon.DeviceID) bool { return p.Match.Fits(d, group) }
	var one *replay
	var page []andon.Reading
	full := pageSize
	end := func() {
		if one != nil {
			one.readings(page)
			one.end(of.States)
		}
	}
	for reading, err := range bydevice.Readings(ctx, r.Store, tenant, bydevice.Query{
		Span: span, Only: only,
	}) {
		if err != nil {
			return t, err
		}
		if one == nil || one.device != reading.Device {
			if end(); len(t.Items) > limit {
				one = nil
				break
			}
			one, page = &replay{device: reading.Device, program: p, from: t.From, to: &t}, nil
			full = pageSize
		}
		if page = append(page, reading); len(page) >= full {
			page = one.readings(page)
			full = pageSize + 2*len(page)
		}
	}
	end()
	if t.More = len(t.Items) > limit; t.More {
		t.Items = t.Items[:limit]
	}
	return t, nil
}

// replay evaluates a rule on the readings of one device from a time on, as if no other rule were
// there.
type replay struct {
	device   andon.DeviceID
	program  *rules.Program
	from     andon.Time
	standing rules.Standing
	turns    []rules.Turn
	to       *client.RuleTimeline // it adds to
}

// readings evaluates readings, oldest first. It returns those that what follows is measured
// against, which come before the next ones.
func (r *replay) readings(page []andon.Reading) (rest []andon.Reading) {
	if len(page) == 0 {
		return nil
	}
	run := r.program.Run(r.standing, page, r.from)
	r.standing, r.turns = run.Standing, append(r.turns, run.Turns...)
	if r.to.Failures += run.Failed; run.Err != nil {
		r.to.Error = run.Err.Error()
	}
	last := page[len(page)-1].Time
	for i := range page {
		if page[i].Time >= r.from {
			r.to.Readings++
		}
		if over := r.program.When.Over; over > 0 && last.Sub(page[i].Time) <= over {
			rest = append(rest, page[i])
		}
	}
	r.from = last + 1
	return rest
}

// end adds what the rule would have said of the device. Of an absence the state is that of its
// incident.
func (r *replay) end(states *andon.StateSet) {
	r.to.Devices++
	if r.program.When.Absent > 0 {
		run := rules.Run{Standing: r.standing, Turns: r.turns}
		run.Gap(r.program, r.to.To)
		for _, turn := range run.Turns {
			r.say(turn.At, turn.Raised, r.program.State, turn.Message)
		}
		return
	}
	d := rules.Device{}
	d.Take([]*rules.Program{r.program}, r.turns, states)
	for _, s := range d.Say {
		r.say(s.Time, s.After == "", s.State, s.Message)
	}
}

func (r *replay) say(at andon.Time, raised bool, state andon.State, message string) {
	what := "cleared"
	if raised {
		what = "raised"
	}
	r.to.Items = append(r.to.Items, client.RuleSaid{
		Device: r.device, Time: at, What: what, State: state, Message: message,
	})
}
