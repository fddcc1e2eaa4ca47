package runner

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bydevice"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/rules"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/sleep"
)

const (
	lookEvery = time.Second // for what is due
	batch     = 1000        // of due records
)

// Run looks for what is due until the context ends: what was not said yet, and metrics that may be
// absent. All processes of a store do: of two that look at one device, one writes its record.
func (r *Runner) Run(ctx context.Context) error {
	if !r.Store.Capabilities().Whole {
		<-ctx.Done()
		return nil
	}
	seen := map[andon.TenantID]map[*rule]bool{}
	for ctx.Err() == nil {
		n, err := r.due(ctx)
		err = errors.Join(err, r.begin(ctx, seen))
		if ctx.Err() == nil {
			r.Failures.Note("", err)
		}
		if n < batch || err != nil {
			_ = sleep.For(ctx, lookEvery)
		}
	}
	return nil
}

// due does what is due now, and returns how many devices that was about.
func (r *Runner) due(ctx context.Context) (int, error) {
	all, err := seq.Collect(r.Store.DueRecords(ctx, kind, r.Now(), batch))
	if err != nil {
		return 0, err
	}
	return len(all), parallel.Each(ctx, len(all), devices, func(ctx context.Context, i int) error {
		// Where another one looks, or metrics are back, there is nothing to do.
		return andon.Ignore(r.look(ctx, &all[i]), andon.Conflict)
	})
}

// Visit looks at a device, again where somebody changes meanwhile how its rules stand.
func (r *Runner) Visit(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID,
) error {
	for {
		record, err := r.Store.Record(ctx, tenant, kind, string(device))
		if err == nil {
			err = r.look(ctx, &record)
		}
		if err = andon.Ignore(err, andon.NotFound); andon.KindOf(err) != andon.Conflict {
			return err
		}
	}
}

// look does what is due about a device.
func (r *Runner) look(ctx context.Context, record *andon.Record) error {
	h, err := decode(record)
	if err != nil {
		return err
	}
	s, err := r.set(ctx, record.Tenant)
	if err != nil || s == nil {
		return err
	}
	w := r.work(s, andon.DeviceID(record.ID))
	if err := w.drop(ctx, h); err != nil {
		return err
	}
	if len(h.Say) > 0 {
		return w.say(ctx, h)
	}
	opened := false
	for _, p := range w.fit {
		before := h.Rules[p.Name]
		if p.When.Absent == 0 || before.At == 0 {
			continue
		}
		is, err := w.gap(ctx, p, before.At)
		if err != nil {
			return err
		}
		if before.Raised && !is.Raised { // told before it is stored: it is told once
			end := &Absence{Rule: p.Name, At: is.At}
			if is.At <= before.At { // that is no reading which ends it
				end.At, end.Why = r.Now(), "the rule waits for longer now"
				if is.At == 0 {
					end.Why = "retirement"
				}
			}
			if err := w.absent(ctx, end); err != nil {
				return err
			}
		}
		h.Rules[p.Name] = is
		opened = opened || is.Raised && !before.Raised
	}
	if err := w.put(ctx, h, opened); err != nil {
		return err
	}
	return w.tell(ctx, h)
}

// gap returns how a rule about absence stands now. A reading that has the metric is known, perhaps
// not the newest one. A device that was retired since is not expected to send anything.
func (w *work) gap(ctx context.Context, p *rule, known andon.Time) (rules.Standing, error) {
	newest, err := w.newest(ctx, p)
	run := rules.Run{Standing: rules.Standing{At: max(newest, known)}}
	if run.Gap(p.Program, w.Now()); err != nil || !run.Standing.Raised {
		return run.Standing, err
	}
	retired, err := w.Store.Retirements(ctx, w.tenant, w.device)
	if n := len(retired); n > 0 && retired[n-1] >= cmp.Or(newest, known) {
		return rules.Standing{}, err
	}
	return run.Standing, err
}

// newest returns the time of the newest reading that has the metric of a rule; 0: there is none.
func (w *work) newest(ctx context.Context, p *rule) (at andon.Time, err error) {
	q := andon.ReadingQuery{Metrics: p.Needs, Limit: 1}
	for r, err := range w.Store.DeviceReadings(ctx, w.tenant, w.device, q) {
		if err != nil {
			return 0, err
		}
		at = r.Time
	}
	return at, nil
}

// tell has absences taken in that began. What begins is told again each time it is looked for, in
// case that a process was killed before.
func (w *work) tell(ctx context.Context, h *held) error {
	for _, p := range w.fit {
		s := h.Rules[p.Name]
		if p.When.Absent == 0 || !s.Raised {
			continue
		}
		err := w.absent(ctx, &Absence{
			Rule: p.Name, Is: true, At: s.At.Add(p.When.Absent), State: p.State, Message: p.Message,
		})
		if err != nil {
			return err
		}
		now, err := w.load(ctx)
		if err != nil {
			return err
		}
		if s := now.Rules[p.Name]; !s.Raised { // the metric is back meanwhile
			if err := w.absent(ctx, &Absence{Rule: p.Name, At: max(s.At, 1)}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *work) absent(ctx context.Context, a *Absence) error {
	if w.Absent == nil {
		return nil
	}
	a.Device = w.device
	return w.Absent(ctx, w.tenant, *a)
}

// there takes in readings that may have the metric whose absence a rule is about. How long it is
// absent counts from when the rule was made at the earliest.
func (w *work) there(
	ctx context.Context, p *rule, was rules.Standing, readings []andon.Reading,
) (rules.Standing, error) {
	at := andon.Time(0)
	for i := range readings {
		if p.Covers(&readings[i]) {
			at = readings[i].Time
		}
	}
	back := at.Add(p.When.Absent) >= w.Now()
	if at == 0 || was.At != 0 && !(was.Raised && back) {
		return was, nil
	}
	is := rules.Standing{At: max(at, p.begun)}
	if !was.Raised {
		return is, nil
	}
	return is, w.absent(ctx, &Absence{Rule: p.Name, At: at})
}

// begin takes in rules that this process does not know yet, and that others are gone: how they
// stand is looked at. The devices of rules about absence are looked for: those whose metric was
// absent before the rule was made are to be found, too.
func (r *Runner) begin(ctx context.Context, seen map[andon.TenantID]map[*rule]bool) error {
	tenants, err := r.Store.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, t := range tenants {
		s, err := r.set(ctx, t.ID)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		now := map[*rule]bool{}
		for _, p := range s.rules {
			now[p] = true
		}
		if was, known := seen[t.ID]; known && maps.Equal(was, now) {
			continue
		}
		if err := r.sweep(ctx, s); err != nil {
			return err
		}
		for _, p := range s.rules {
			if p.When.Absent == 0 || seen[t.ID][p] {
				continue
			}
			if err := r.find(ctx, s, p); err != nil {
				return err
			}
		}
		seen[t.ID] = now
	}
	return nil
}

// sweep looks at the devices of a tenant on which rules stand in a way that does not count any
// more, or does not by the span of an absence that the rule has now.
func (r *Runner) sweep(ctx context.Context, s *set) error {
	q := andon.RecordQuery{Limit: batch}
	for {
		all, err := seq.Collect(r.Store.Records(ctx, s.tenant, kind, q))
		if err == nil {
			err = parallel.Each(ctx, len(all), devices, func(ctx context.Context, i int) error {
				h, err := decode(&all[i])
				device := andon.DeviceID(all[i].ID)
				if err != nil || !r.work(s, device).stale(h, all[i].Due) {
					return err
				}
				return r.Visit(ctx, s.tenant, device)
			})
		}
		if err != nil || len(all) < batch {
			return err
		}
		q.After = all[batch-1].ID
	}
}

// stale reports whether a rule does not stand as it is stored, or is due too late.
func (w *work) stale(h *held, due andon.Time) bool {
	for name, s := range h.Rules {
		if !w.counts(name, s) {
			return true
		}
	}
	for _, p := range w.fit {
		s := h.Rules[p.Name]
		if p.When.Absent == 0 || s.At == 0 {
			continue
		}
		next := s.At.Add(p.When.Absent + 1)
		if s.Raised && next > w.Now() || !s.Raised && andon.Earlier(due, next) != due {
			return true
		}
	}
	return false
}

// find takes in the newest reading of each device that a rule about absence fits.
func (r *Runner) find(ctx context.Context, s *set, p *rule) error {
	fits := func(d andon.DeviceID) bool { return p.Match.Fits(d, s.group) }
	for device, err := range bydevice.Devices(ctx, r.Store, s.tenant, bydevice.Query{Only: fits}) {
		if err != nil {
			return err
		}
		w := r.work(s, device)
		w.only = p
		at, err := w.newest(ctx, p)
		if err != nil {
			return err
		}
		if at != 0 {
			found, err := w.stored(ctx, p.Needs, at, at, 1)
			if err == nil {
				err = w.measured(ctx, found)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
