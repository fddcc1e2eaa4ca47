package runner

import (
	"context"
	"errors"
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
	failed := make([]error, len(all))
	err = parallel.Do(ctx, len(all), devices, func(ctx context.Context, i int) error {
		failed[i] = r.look(ctx, &all[i])
		return ctx.Err()
	})
	return len(all), errors.Join(err, errors.Join(failed...))
}

// look does what is due about a device.
func (r *Runner) look(ctx context.Context, record *andon.Record) error {
	h, err := decode(record)
	if err != nil {
		return err
	}
	s, err := r.set(ctx, record.Tenant)
	if err != nil {
		return err
	}
	if s == nil {
		s = &set{tenant: record.Tenant}
	}
	device := andon.DeviceID(record.ID)
	w := &work{Runner: r, set: s, device: device, fit: s.fitting(device)}
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
		newest, err := w.newest(ctx, p)
		if err != nil {
			return err
		}
		run := rules.Run{Standing: rules.Standing{At: max(newest, before.At)}}
		run.Gap(p.Program, r.Now())
		if before.Raised && !run.Standing.Raised { // told before it is stored: it is told once
			if err := w.absent(ctx, &Absence{Rule: p.Name, At: newest}); err != nil {
				return err
			}
		}
		h.Rules[p.Name] = run.Standing
		opened = opened || run.Standing.Raised && !before.Raised
	}
	if err := w.put(ctx, h, opened); err != nil {
		return unless(andon.Conflict, err) // another process looks at it, or the metric is back
	}
	return w.tell(ctx, h)
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

// there takes in readings that may have the metric whose absence a rule is about.
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
	is := rules.Standing{At: at}
	if !was.Raised {
		return is, nil
	}
	return is, w.absent(ctx, &Absence{Rule: p.Name, At: at})
}

// begin looks for the devices of rules about absence that this process does not know yet: those
// whose metric was absent before the rule was made are to be found, too.
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
			delete(seen, t.ID)
			continue
		}
		now := map[*rule]bool{}
		for _, p := range s.rules {
			if now[p] = true; p.When.Absent == 0 || seen[t.ID][p] {
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

// find takes in the newest reading of each device that a rule about absence fits.
func (r *Runner) find(ctx context.Context, s *set, p *rule) error {
	fits := func(d andon.DeviceID) bool { return p.Match.Fits(d, s.group) }
	for device, err := range bydevice.Devices(ctx, r.Store, s.tenant, bydevice.Query{Only: fits}) {
		if err != nil {
			return err
		}
		w := &work{Runner: r, set: s, device: device, fit: s.fitting(device), only: p}
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
