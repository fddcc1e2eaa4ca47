package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/rules"
	"github.com/andonhq/andon/internal/seq"
)

// kind is that of the records of devices: their id is the device, their data rules.Device. They are
// due when something is to be said, or a metric may be absent.
const kind andon.RecordKind = "rule_state"

// retry is when what is to be said is said by whoever is there.
const retry = andon.Duration(5_000_000)

// most is how many readings of a device are read again at once.
const most = 10_000

// work is the evaluation of one device.
type work struct {
	*Runner
	*set
	device andon.DeviceID
	fit    []*rule
	only   *rule // the one that is evaluated; nil: all
}

func (r *Runner) work(s *set, device andon.DeviceID) *work {
	return &work{Runner: r, set: s, device: device, fit: s.fitting(device)}
}

// held is how the rules of a device stand, as it is stored.
type held struct {
	rules.Device
	version uint64
	dropped bool // what does not count was left out since it was stored
}

func (w *work) load(ctx context.Context) (*held, error) {
	r, err := w.Store.Record(ctx, w.tenant, kind, string(w.device))
	if err != nil {
		return &held{Device: rules.Device{Rules: map[string]rules.Standing{}}},
			andon.Ignore(err, andon.NotFound)
	}
	h, err := decode(&r)
	if err != nil {
		return nil, err
	}
	return h, w.drop(ctx, h)
}

// drop forgets how rules stand that do not count any more, and ends the absences that they are
// raised about. That is told before it is stored.
func (w *work) drop(ctx context.Context, h *held) error {
	for name, s := range h.Rules {
		if w.counts(name, s) {
			continue
		}
		h.dropped = true
		if s.Absent {
			err := w.absent(ctx, &Absence{
				Rule: name, At: w.Now(), Why: "the rule is no longer about this device",
			})
			if err != nil {
				return err
			}
		}
	}
	h.Forget(w.counts)
	return nil
}

// counts reports whether it still counts how a rule stands: it fits, has not begun anew since, and
// is about absence if it is raised by that.
func (w *work) counts(name string, s rules.Standing) bool {
	return slices.ContainsFunc(w.fit, func(p *rule) bool {
		return p.Name == name && p.begun == s.Begun &&
			(!s.Raised || s.Absent == (p.When.Absent > 0))
	})
}

func decode(r *andon.Record) (*held, error) {
	h := &held{version: r.Version}
	if err := r.Decode(&h.Device); err != nil {
		return nil, err
	}
	if h.Rules == nil {
		h.Rules = map[string]rules.Standing{}
	}
	return h, nil
}

// put stores how the rules stand that fit. soon says that something is left to do.
func (w *work) put(ctx context.Context, h *held, soon bool) error {
	due := andon.Time(0)
	if soon || len(h.Say) > 0 {
		due = w.Now().Add(retry)
	}
	for _, p := range w.fit {
		s, stands := h.Rules[p.Name]
		if s.Begun = p.begun; stands {
			h.Rules[p.Name] = s
		}
		if s.At != 0 && p.When.Absent > 0 {
			from := s.At
			if s.Raised { // it is looked whether the rule is still there
				from = w.Now()
			}
			due = andon.Earlier(due, from.Add(p.When.Absent+1))
		}
	}
	text, err := json.Marshal(h.Device)
	if err != nil {
		return err
	}
	r, err := w.Store.PutRecord(ctx, andon.Record{
		Tenant: w.tenant, Kind: kind, ID: string(w.device), Version: h.version, Due: due,
		Data: andon.JSON(text),
	})
	h.version, h.dropped = r.Version, false
	return err
}

// measured evaluates readings of the device, which are stored, and has said what follows.
func (w *work) measured(ctx context.Context, readings []andon.Reading) error {
	for len(readings) > 0 {
		h, err := w.load(ctx)
		if err == nil && len(h.Say) > 0 { // a process was killed before it said it
			err = w.say(ctx, h)
		}
		if err != nil {
			return err
		}
		changed, err := w.evaluate(ctx, h, readings)
		if err != nil || len(changed) == 0 && !h.dropped {
			return err
		}
		if err := w.put(ctx, h, false); err != nil {
			if andon.KindOf(err) == andon.Conflict {
				continue
			}
			return err
		}
		if err := w.say(ctx, h); err != nil || len(changed) == 0 {
			return err
		}
		// Newer ones may have been evaluated meanwhile, by what was before.
		last := readings[len(readings)-1].Time
		if readings, err = w.stored(ctx, changed, last+1, andon.MaxTime, most); err != nil {
			return err
		}
	}
	return nil
}

// stored returns stored readings of the device that have some metrics, oldest first.
func (w *work) stored(
	ctx context.Context, metrics []andon.MetricName, from, to andon.Time, limit int,
) ([]andon.Reading, error) {
	return seq.Collect(w.Store.DeviceReadings(ctx, w.tenant, w.device, andon.ReadingQuery{
		Metrics: metrics, Span: andon.Span{From: from, To: to}, Order: andon.Asc, Limit: limit,
	}))
}

// evaluate evaluates readings, and returns the metrics of the rules of which that changes how they
// stand.
func (w *work) evaluate(
	ctx context.Context, h *held, readings []andon.Reading,
) (changed []andon.MetricName, err error) {
	first, last := readings[0].Time, readings[len(readings)-1].Time
	next, turns := map[string]rules.Standing{}, []rules.Turn(nil)
	for _, p := range w.fit {
		was := h.Rules[p.Name]
		if w.only != nil && p != w.only {
			continue
		}
		if p.When.Absent > 0 {
			is, err := w.there(ctx, p, was, readings)
			if err != nil {
				return nil, err
			}
			if next[p.Name] = is; is != was {
				changed = append(changed, p.Needs...)
			}
			continue
		}
		of, err := w.complete(ctx, p, readings)
		if err != nil {
			return nil, err
		}
		run := p.Run(was, of, first)
		w.count(ctx, w.tenant, p, &run)
		if run.Standing == was {
			continue
		}
		if newer, err := w.stored(ctx, p.Needs, last+1, andon.MaxTime, 1); err != nil {
			return nil, err
		} else if len(newer) > 0 { // these are late: whoever has stored the newer ones decides
			continue
		}
		next[p.Name], changed = run.Standing, append(changed, p.Needs...)
		turns = append(turns, run.Turns...)
	}
	if len(turns) > 0 {
		t, err := w.Store.Tenant(ctx, w.tenant)
		if err != nil {
			return nil, err
		}
		h.Take(w.programs(), turns, t.States)
	}
	maps.Copy(h.Rules, next)
	return changed, nil
}

// complete returns readings with what a rule needs besides: metrics that have come in another
// message of the same time, and the oldest reading within the span in which a change counts.
func (w *work) complete(
	ctx context.Context, p *rule, readings []andon.Reading,
) ([]andon.Reading, error) {
	over := andon.Time(p.When.Over)
	if over == 0 && len(p.Needs) == 1 {
		return readings, nil
	}
	all := slices.Clone(readings)
	for i := range readings {
		at := readings[i].Time
		from, to := max(at-over, 0), at-1
		if over == 0 {
			from, to = at, at
		}
		if over == 0 && p.Covers(&readings[i]) {
			continue
		}
		found, err := w.stored(ctx, p.Needs, from, to, 1)
		if err != nil {
			return nil, err
		}
		if over == 0 && len(found) > 0 {
			all[i] = found[0]
		} else {
			all = append(all, found...)
		}
	}
	return inOrder(all), nil
}

func (w *work) programs() (all []*rules.Program) {
	for _, p := range w.fit {
		all = append(all, p.Program)
	}
	return all
}

// say says what is to be said. A rule never makes look better what somebody else has said of the
// device: then it says nothing.
func (w *work) say(ctx context.Context, h *held) error {
	if len(h.Say) == 0 {
		return nil
	}
	t, err := w.Store.Tenant(ctx, w.tenant)
	if err != nil {
		return err
	}
	shown, err := w.Store.Device(ctx, w.tenant, w.device)
	if err = andon.Ignore(err, andon.NotFound); err != nil {
		return err
	}
	var events []andon.Event
	var by []string
	kept := t.Horizon(w.Now()).Events
	for _, s := range h.Say {
		if s.Time < kept { // it would be refused, which is no fault of the rule
			continue
		}
		is := t.States.Severity(s.State)
		if shown.State != "" && shown.State != s.After && t.States.Severity(shown.State) > is {
			continue
		}
		name, _ := json.Marshal(s.Rule) // a text can always be written
		events = append(events, andon.Event{
			Device: w.device, Time: s.Time, State: s.State, Message: s.Message,
			Attributes: andon.JSON(fmt.Sprintf(`{"rule":%s}`, name)),
		})
		by, shown.State = append(by, s.Rule), s.State
	}
	if len(events) > 0 {
		refused, err := w.Append(ctx, w.tenant, events)
		if err != nil {
			return err
		}
		w.refused(ctx, by, refused)
		w.Entries.Add(int64(len(events) - len(refused)))
	}
	h.Say = nil
	return andon.Ignore(w.put(ctx, h, false), andon.Conflict) // another process has said it, too
}

// refused counts what was refused as failures of the rules that have said it. Where nothing was, no
// failure counts any more.
func (w *work) refused(ctx context.Context, by []string, refused []andon.Rejection) {
	if len(refused) == 0 {
		for _, p := range w.fit {
			if slices.Contains(by, p.Name) {
				p.refusals.Store(0)
			}
		}
	}
	for _, rejection := range refused {
		for _, p := range w.fit {
			if p.Name == by[rejection.Index] {
				w.failed(ctx, w.tenant, p, p.refusals.Add(1),
					fmt.Errorf("%w: %s", errRefused, rejection.Error))
			}
		}
	}
}
