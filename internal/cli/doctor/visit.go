package doctor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// What the doctor does with a running server: a handful of things from end to end, each looked at
// over HTTP as a user would. The order matters, because each goes on from what is there.

// step is one of them.
type step struct {
	name string
	run  func(*visit, context.Context) error
}

func steps() []step {
	return []step{
		{"write events and read them back", (*visit).writeAndRead},
		{"an event sent again is one entry", (*visit).sendAgain},
		{"current state and counts", (*visit).currentState},
		{"a late event is not the current one", (*visit).lateEvent},
		{"assign an operator", (*visit).assign},
		{"escalate and withdraw", (*visit).escalateAndWithdraw},
		{"runs of one state", (*visit).intervals},
		{"readings", (*visit).readings},
		{"one metric across devices", (*visit).metric},
		{"retire a device", (*visit).retire},
		{"what is wrong is refused", (*visit).refuse},
	}
}

// useServer does all of it in a tenant of its own, which is deleted however that ends.
func (d *doctor) useServer(ctx context.Context, v *visit) {
	const source = "HTTP, in a throwaway tenant"
	if _, err := v.PutTenant(ctx, v.tenant, client.TenantChange{}); err != nil {
		d.report.add(finding{
			Status: failed, Area: "checks", What: "make a tenant",
			Found: err.Error(), Source: source,
			Advice: "Nothing can be checked without one. The log of the server has more.",
		})
		d.deleteTenant(ctx, v) // the answer may be what was lost
		return
	}
	defer d.deleteTenant(ctx, v)
	for _, s := range steps() {
		err := s.run(v, ctx)
		if ctx.Err() != nil {
			return
		}
		f := finding{well, "checks", s.name, "as it should be", source, ""}
		switch {
		case command.IsUnsupported(err):
			f.Found = "this store can't serve it"
		case err != nil:
			f.Status, f.Found = failed, err.Error()
			f.Advice = "The log of the server may say more; andon doctor on its store, while it " +
				"is stopped, tells whether the store or the way to it is at fault."
		}
		d.report.add(f)
	}
}

// deleteTenant goes on although the doctor is interrupted: nothing is to be left behind.
func (d *doctor) deleteTenant(ctx context.Context, v *visit) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	err := v.DeleteTenant(ctx, v.tenant)
	if err != nil && !command.IsStatus(err, http.StatusNotFound) {
		d.report.add(finding{
			Status: failed, Area: "checks", What: "delete the throwaway tenant", Found: err.Error(),
			Advice: "Delete it yourself: andon tenant delete " + string(v.tenant),
		})
	}
}

// soon asks until the answer is right: some stores show what they acknowledged in a moment. One
// that does so at once is asked once.
func (v *visit) soon(ctx context.Context, right func() error) error {
	const pause = 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, v.patience)
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		err := right()
		if err == nil || command.IsUnsupported(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// The devices and people of the checks, and the states that every tenant begins with.
const (
	press andon.DeviceID = "press#1/äß"
	oven  andon.DeviceID = "oven-2"

	liz  andon.PersonID = "Liz"
	sara andon.PersonID = "Sara"

	normal   andon.State = "NORMAL"
	warning1 andon.State = "WARNING1"
	warning2 andon.State = "WARNING2"
)

// at is some minutes behind the base.
func (v *visit) at(minutes int) andon.Time {
	return v.base.Add(andon.DurationOf(time.Duration(minutes) * time.Minute))
}

// send appends events, all of which must be accepted.
func (v *visit) send(ctx context.Context, events ...andon.Event) error {
	result, err := v.AppendEvents(ctx, events)
	if err == nil && (result.Accepted != len(events) || len(result.Rejected) != 0) {
		return fmt.Errorf("of %d events %d were accepted; rejected: %v",
			len(events), result.Accepted, result.Rejected)
	}
	return err
}

func (v *visit) event(d andon.DeviceID, minutes int, s andon.State) andon.Event {
	return andon.Event{Device: d, Time: v.at(minutes), State: s}
}

// differ says what came and what should have.
func differ(what string, got, want any) error {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		return fmt.Errorf("%s: got %s, want %s", what, g, w)
	}
	return nil
}

// lines are what entries are known by.
func (v *visit) lines(events iter.Seq2[andon.Event, error]) ([]string, error) {
	lines := []string{}
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		minutes := e.Time.Sub(v.base).Std() / time.Minute
		lines = append(lines, fmt.Sprintf("%s+%d %s", e.Device, minutes, e.State))
	}
	return lines, nil
}

// history compares the entries of the press, newest first.
func (v *visit) history(ctx context.Context, want ...string) error {
	return v.soon(ctx, func() error {
		got, err := v.lines(v.DeviceEvents(ctx, press, client.Query{}))
		return errors.Join(err, differ("its events", got, want))
	})
}

func (v *visit) writeAndRead(ctx context.Context) error {
	first := v.event(press, 1, normal)
	first.Message, first.Attributes = "begin", `{"line":"L3"}`
	err := v.send(ctx, first, v.event(press, 3, warning1), v.event(oven, 2, normal))
	if err != nil {
		return err
	}
	if err := v.history(ctx, string(press)+"+3 WARNING1", string(press)+"+1 NORMAL"); err != nil {
		return err
	}
	entry, err := v.Entry(ctx, press, first.Time, normal)
	if err != nil {
		return err
	}
	return errors.Join(differ("its message", entry.Message, "begin"),
		differ("its attributes", entry.Attributes, `{"line":"L3"}`))
}

func (v *visit) sendAgain(ctx context.Context) error {
	if err := v.send(ctx, v.event(press, 3, warning1)); err != nil {
		return err
	}
	return v.history(ctx, string(press)+"+3 WARNING1", string(press)+"+1 NORMAL")
}

// shows compares what the press shows now.
func (v *visit) shows(ctx context.Context, want string, of func(client.Device) any) error {
	return v.soon(ctx, func() error {
		shown, err := v.Device(ctx, press)
		if err != nil {
			return err
		}
		return differ("what it shows", of(shown), want)
	})
}

func stateSince(v *visit) func(client.Device) any {
	return func(d client.Device) any {
		return fmt.Sprintf("%s since +%d", d.State, d.Since.Sub(v.base).Std()/time.Minute)
	}
}

func (v *visit) currentState(ctx context.Context) error {
	if err := v.shows(ctx, "WARNING1 since +3", stateSince(v)); err != nil {
		return err
	}
	return v.soon(ctx, func() error {
		counts, total, err := v.States(ctx)
		if err != nil {
			return err
		}
		in := map[andon.State]int{}
		for _, c := range counts {
			in[c.State] = c.Count
		}
		return errors.Join(differ("devices", total, 2), differ("in NORMAL", in[normal], 1),
			differ("in WARNING1", in[warning1], 1), v.inState(ctx, "WARNING*", press))
	})
}

// inState compares the devices that are in a state now.
func (v *visit) inState(ctx context.Context, state string, want ...andon.DeviceID) error {
	got := []andon.DeviceID{}
	for d, err := range v.Devices(ctx, client.DeviceQuery{State: state}) {
		if err != nil {
			return err
		}
		got = append(got, d.Device)
	}
	return differ("devices in "+state, got, want)
}

func (v *visit) lateEvent(ctx context.Context) error {
	if err := v.send(ctx, v.event(press, 2, warning2)); err != nil {
		return err
	}
	err := v.history(ctx, string(press)+"+3 WARNING1", string(press)+"+2 WARNING2",
		string(press)+"+1 NORMAL")
	return errors.Join(err, v.shows(ctx, "WARNING1 since +3", stateSince(v)))
}

func (v *visit) assign(ctx context.Context) error {
	kept, err := v.Assign(ctx, press, liz)
	if err != nil {
		return err
	}
	err = v.shows(ctx, string(liz), func(d client.Device) any { return d.Operator })
	if err != nil {
		return err
	}
	if err := differ("who is assigned", kept.Operator, liz); err != nil {
		return err
	}
	// An entry after it is hers. The assignment begins at the server's now, so a moment later will
	// do.
	next := andon.Event{Device: press, Time: kept.From.Add(1), State: warning1}
	if err := v.send(ctx, next); err != nil {
		return err
	}
	return v.soon(ctx, func() error {
		for e, err := range v.OperatorEvents(ctx, liz, client.Query{}) {
			if err != nil {
				return err
			}
			return differ("her newest event", e.Time, next.Time)
		}
		return errors.New("she has no events")
	})
}

func (v *visit) escalateAndWithdraw(ctx context.Context) error {
	e := client.Escalation{Device: press, Record: client.Record{To: sara, By: liz, Note: "please"}}
	if _, err := v.Escalate(ctx, e); err != nil {
		return err
	}
	err := v.shows(ctx, string(sara), func(d client.Device) any { return d.EscalatedTo })
	if err = errors.Join(err, v.escalated(ctx, 1)); err != nil {
		return err
	}
	e.To = ""
	if _, err := v.Escalate(ctx, e); err != nil {
		return err
	}
	err = v.shows(ctx, "", func(d client.Device) any { return d.EscalatedTo })
	return errors.Join(err, v.escalated(ctx, 0))
}

// escalated compares how many entries the supervisor has.
func (v *visit) escalated(ctx context.Context, want int) error {
	return v.soon(ctx, func() error {
		got, err := v.lines(v.SupervisorEvents(ctx, sara, client.Query{}))
		return errors.Join(err, differ("the supervisor's events", len(got), want))
	})
}

func (v *visit) intervals(ctx context.Context) error {
	return v.soon(ctx, func() error {
		var got []andon.State
		for run, err := range v.Intervals(ctx, press, client.Query{}) {
			if err != nil {
				return err
			}
			got = append(got, run.State)
		}
		return differ("its runs", got, []andon.State{warning1, warning2, normal})
	})
}

func (v *visit) readings(ctx context.Context) error {
	heat := andon.Metrics{{Name: "temperature", Value: 21.5}}
	wet := andon.Metrics{{Name: "humidity", Value: 40}}
	sent := []andon.Reading{
		{Device: oven, Time: v.at(1), Metrics: heat}, {Device: oven, Time: v.at(2), Metrics: wet},
		{Device: oven, Time: v.at(2), Metrics: heat}, // joins the one before
	}
	result, err := v.AppendReadings(ctx, sent)
	if err == nil {
		err = differ("accepted readings", result.Accepted, len(sent))
	}
	if err != nil {
		return err
	}
	return v.soon(ctx, func() error {
		latest, err := v.LatestReading(ctx, oven)
		if err != nil {
			return err
		}
		all, missing, err := v.LatestReadings(ctx, []andon.DeviceID{oven, press})
		return errors.Join(err, differ("the newest", latest.Time, v.at(2)),
			differ("its metrics", len(latest.Metrics), 2), differ("the newest of two", len(all), 1),
			differ("without one", missing, []andon.DeviceID{press}))
	})
}

func (v *visit) metric(ctx context.Context) error {
	return v.soon(ctx, func() error {
		n := 0
		for _, err := range v.MetricReadings(ctx, "temperature", client.Query{}) {
			if err != nil {
				return err
			}
			n++
		}
		return differ("readings of the metric", n, 2)
	})
}

func (v *visit) retire(ctx context.Context) error {
	if _, err := v.Retire(ctx, press); err != nil {
		return err
	}
	return v.soon(ctx, func() error {
		_, err := v.Device(ctx, press)
		if !command.IsStatus(err, http.StatusNotFound) {
			return fmt.Errorf("the retired device: got %v, want 404", err)
		}
		got, err := v.lines(v.DeviceEvents(ctx, press, client.Query{}))
		return errors.Join(err, differ("entries of its history", len(got), 4))
	})
}

// refuse sends what must not be taken, beside what must.
func (v *visit) refuse(ctx context.Context) error {
	ahead := v.event(oven, 3, warning1)
	ahead.Time = v.base.Add(andon.DurationOf(25 * time.Hour))
	result, err := v.AppendEvents(ctx, []andon.Event{ahead, v.event(oven, 4, warning1)})
	if err != nil {
		return err
	}
	rejected := slices.Collect(func(yield func(int) bool) {
		for _, r := range result.Rejected {
			if !yield(r.Index) {
				return
			}
		}
	})
	return errors.Join(differ("accepted", result.Accepted, 1), differ("rejected", rejected,
		[]int{0}))
}
