package keeper_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/keeper"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
	"github.com/andonhq/andon/internal/wallclock"
)

// TestPersonIsFaster: whoever takes the incident, or is assigned to the device, between a decision
// of a policy and its assignment stays the operator.
func TestPersonIsFaster(t *testing.T) {
	for taken, want := range map[bool]string{
		true:  "opened, policy started, assigned, taken",
		false: "opened, policy started, assigned, failed, notified, escalated",
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, memstore.New(), clock)
				h.silentAfter("24h")
				h.assigns = func() {
					h.assigns = nil
					if taken {
						a := people.Action{Do: people.Take, By: "Max"}
						_, err := h.incidents.Act(t.Context(), h.tenant, h.only().ID, a)
						if err != nil {
							t.Error(err)
						}
						return
					}
					sent := []andon.Assignment{{Device: "d1", Operator: "Max"}}
					if _, err := h.store.Assign(t.Context(), h.tenant, clock(), sent); err != nil {
						t.Error(err)
					}
				}
				defer h.keep("a")()
				settle(5 * time.Second)
				h.is("WARNING1")
				settle(time.Hour)
				var log []string
				in := h.only()
				for _, s := range in.Steps {
					log = append(log, s.What)
				}
				if got := strings.Join(log, ", "); got != want || in.Operator != "Max" ||
					taken != (in.TakenBy == "Max") {
					t.Errorf("%s is the operator, taken by %q; the log has %s", in.Operator,
						in.TakenBy, got)
				}
				d, err := h.store.Device(t.Context(), h.tenant, "d1")
				if err != nil || d.Operator != "Max" {
					t.Errorf("%q is the operator, %v", d.Operator, err)
				}
			})
		})
	}
}

// unable can neither assign nor escalate.
type unable struct{ keeper.Doer }

func (unable) Assign(
	context.Context, andon.TenantID, []andon.Assignment,
) ([]andon.Assignment, error) {
	return nil, andon.Errorf(andon.Unavailable, "no store")
}

// TestEffectThatFailsForADay: then it is given up, and the log of the incident says so.
func TestEffectThatFailsForADay(t *testing.T) {
	h := newHouse(t, memstore.New(), clock)
	defer h.store.Close()
	began := clock()
	now, ahead := began, andon.Duration(0)
	k := &keeper.Keeper{
		Store: h.store, Doer: unable{}, Notifier: h, Log: slog.New(slog.DiscardHandler),
		Now: func() andon.Time { return now }, Incidents: records.NewIncidents(h.store, clock),
	}
	k.Clock = wallclock.New(k.Now, func() time.Duration { return (now.Sub(began) - ahead).Std() },
		andon.ClockMark{}, nil)
	at := records.Place("d1", people.StateKind)
	ctx := t.Context()
	held, err := k.Incidents.Decide(ctx, "default", at, func(h *records.Held) (bool, error) {
		h.Incident = &people.Incident{
			ID: records.IDOf(now, at), Device: "d1", Kind: people.StateKind, Opened: now,
			Doing: []people.Effect{
				{Key: "1", Do: people.Assign, To: "Liz", Why: "assigned", Time: now},
				{Key: "2", Do: people.Notify, To: "Bob", Why: "step 1", Time: now},
			},
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const hour = 60 * 60 * 1_000_000
	for _, ahead = range []andon.Duration{0, 9 * hour} { // a clock that has jumped, too
		now = began.Add(23*hour + ahead)
		err := k.Effects(t.Context(), "default", held)
		if andon.KindOf(err) != andon.Unavailable {
			t.Errorf("after 23 hours: %v", err)
		}
	}
	now, ahead = began.Add(23*hour), 0
	k.Clock.Sure()
	now = began.Add(24 * hour)
	if err := k.Effects(t.Context(), "default", held); err != nil {
		t.Errorf("after a day: %v", err)
	}
	h.incidents = k.Incidents
	in, log := h.only(), ""
	for _, s := range in.Steps {
		log += fmt.Sprintf("%s %s: %s\n", s.What, s.To, s.Note)
	}
	want := "failed Liz: assigned: no store\n" +
		"failed Bob: step 1: it is more than a day old, so nobody is told any more\n"
	if log != want || len(in.Doing) != 0 {
		t.Errorf("the log is %s; left to do: %+v", log, in.Doing)
	}
}

// TestPolicyOfAnotherProcess: a policy that another process has acknowledged counts for an incident
// that opens after that, also if this process has just read all policies.
func TestPolicyOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		h := newHouse(t, store, clock)
		h.silentAfter("24h")
		h.documents = records.NewDocuments(store, clock)
		defer h.keep("a")()
		settle(5 * time.Second)
		h.is("WARNING1")
		h.is("NORMAL")
		if _, err := h.documents.Known(t.Context(), h.tenant); err != nil {
			t.Fatal(err)
		}
		there := records.NewDocuments(store, clock)
		for _, put := range []records.Change{
			{Kind: people.Persons, Document: records.Document{Name: "Liz", Data: `{}`}},
			{Kind: people.Policies, Document: records.Document{Name: "all",
				Data: `{"match": {}, "steps": [{"after": "0s", "to": "person Liz"}]}`}},
		} {
			_, err := there.Put(t.Context(), h.tenant, put.Kind, put.Document, nil)
			if err != nil {
				t.Fatal(err)
			}
		}
		h.start = clock()
		h.is("WARNING1")
		if got := strings.Join(h.told, ", "); strings.TrimSpace(got) != "Liz d1" {
			t.Errorf("told: %q; want Liz", got)
		}
	})
}

// deaf can't take notices while it is told so.
type deaf struct {
	*house
	is atomic.Bool
}

func (d *deaf) Notify(ctx context.Context, t andon.TenantID, all []notify.Notice) error {
	if d.is.Load() {
		return andon.Errorf(andon.Busy, "the store is busy")
	}
	return d.house.Notify(ctx, t, all)
}

// TestEffectsOfTheFormer: who could not be told of an incident is told, although the next one of
// the device has opened in its place meanwhile.
func TestEffectsOfTheFormer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, memstore.New(), clock)
		h.silentAfter("24h")
		h.known = &people.Known{Policies: []people.Policy{{Name: "p", Steps: []people.PolicyStep{
			{After: 5 * 60_000_000, To: "person Liz"},
		}}}}
		to := &deaf{house: h}
		h.notifier = to
		defer h.keep("a")()
		settle(5 * time.Second)
		h.is("WARNING1")
		to.is.Store(true)
		settle(6 * time.Minute)
		h.is("NORMAL")
		h.is("WARNING1")
		to.is.Store(false)
		settle(4 * time.Minute)
		if got := strings.Join(h.told, ", "); !strings.HasSuffix(got, " Liz d1") {
			t.Errorf("told: %q; want Liz", got)
		}
		if in := h.only(); len(in.Doing) > 0 || len(in.Steps) != 2 {
			t.Errorf("it is %+v", in)
		}
	})
}

// TestFormerAssignsNobody: an incident whose policy could not assign or escalate in time leaves
// that to the policy of the next one.
func TestFormerAssignsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var faults wrap.Faults
		h := newHouse(t, wrap.Around(memstore.New(), faults.Hook), clock)
		h.silentAfter("24h")
		h.known = &people.Known{Policies: []people.Policy{
			{Name: "b", Match: people.Match{MinSeverity: 80}, Assign: "person Tom"},
			{Name: "a", Assign: "person Liz", Steps: []people.PolicyStep{
				{After: 5 * 60_000_000, To: "supervisor Sara"},
			}},
		}}
		defer h.keep("a")()
		settle(5 * time.Second)
		busy := wrap.Fail(andon.Errorf(andon.Busy, "later"))
		faults.Set(busy, "Assign", "Escalate")
		h.is("WARNING1")
		settle(6 * time.Minute)
		h.is("NORMAL")
		h.is("WARNING4")
		faults.Set(nil, "Assign", "Escalate")
		settle(10 * time.Minute)
		d, err := h.store.Device(t.Context(), "default", "d1")
		if err != nil || d.Operator != "Tom" || d.EscalatedTo != "" {
			t.Errorf("%q looks after it, escalated to %q, %v", d.Operator, d.EscalatedTo, err)
		}
		for _, s := range h.only().Steps {
			if s.What == "failed" {
				t.Errorf("a step failed: %+v", s)
			}
		}
	})
}
