package storecheck

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
)

// turn is one statement as it is done: its words, in a context, an Env and the tenant that this is
// in.
type turn struct {
	context.Context
	*Env
	*words
	id    andon.TenantID
	limit int  // of the pages in which a list is read; 0: it is read in several
	whole bool // a list is read in the largest pages alone
}

func (e *Env) turn(ctx context.Context, id andon.TenantID, all ...string) turn {
	return turn{Context: ctx, Env: e, words: &words{all}, id: id}
}

// statement does what the words say, but for and, and the bounds of a block. It and what it calls
// use require.
func (t turn) statement() error {
	verb := t.next("a statement")
	do, ok := map[string]func(turn) error{
		"now": setNow, "at": appendAt, "send": send, "assign": assign,
		"escalate": escalate, "retire": retire, "withdraw": withdraw,
		"purge": purge, "restore": restore, "measure": measure,
		"retention": setRetention, "states": setStates, "future": setFuture,
		"expire": expire, "tenant": inTenant, "delete": deleteTenant,
		"create": createTenant, "profiles": changeProfiles, "rules": putRules,
		"put": put, "drop": drop, "needs": needsWhole,
		"fails": fails, "expect": expect,
	}[verb]
	demand(ok, "there is no statement %q", verb)
	err := do(t)
	if err == nil {
		t.end()
	}
	return err
}

// events reads the entries of one append, or of one request: an and begins each but the first.
func (t turn) events() (events []andon.Event) {
	for first := true; first || len(t.left) > 0; first = false {
		w := t.until("and")
		e := andon.Event{
			Time: w.time(), Device: w.device(), State: andon.State(w.next("a state")),
		}
		f := w.fields("op", "esc", "msg", "attr")
		e.Operator, e.EscalatedTo = f.person("op"), f.person("esc")
		e.Message, e.Attributes = f["msg"], f.json("attr")
		events = append(events, e)
	}
	return events
}

// appendAt does what admission does after its checks: order and append.
func appendAt(t turn) error { return t.append(t, t.id, t.events()...) }

func send(t turn) error {
	rejected, err := t.System.Admit(t, t.id, t.events())
	t.rejected = nil
	for _, r := range rejected {
		t.rejected = append(t.rejected, strconv.Itoa(r.Index))
	}
	return err
}

// append keeps entries that arrive now.
func (e *Env) append(ctx context.Context, id andon.TenantID, events ...andon.Event) error {
	events = andon.SortBatch(events)
	sent := slices.Clone(events)
	err := e.System.Append(ctx, id, e.Now(), events)
	if err == nil && !slices.Equal(events, sent) {
		err = fmt.Errorf("the store changed the events of its caller: %+v, was %+v", events, sent)
	}
	return err
}

func setNow(t turn) error {
	t.SetNow(t.time())
	return nil
}

func assign(t turn) error {
	sent := []andon.Assignment{{Device: t.device(), Operator: t.person()}}
	return second(t.System.Assign(t, t.id, t.Now(), sent))
}

func escalate(t turn) error {
	device, entry, to, f := t.device(), t.entry(), t.person(), t.fields("by", "note", "at")
	r := andon.Escalation{
		Device: device, Time: entry.Time, State: entry.State,
		At: cmp.Or(t.timeAt(f["at"]), t.Now()), To: to, By: f.person("by"), Note: f["note"],
	}
	return t.Eventually(t, func() error { return third(t.System.Escalate(t, t.id, r)) })
}

func retire(t turn) error {
	device := t.device()
	return t.Eventually(t, func() error {
		return second(t.System.Retire(t, t.id, device, t.Now()))
	})
}

func withdraw(t turn) error {
	device, entry, f := t.device(), t.entry(), t.fields("by", "note")
	return t.Eventually(t, func() error {
		return declared(t.System.Capabilities().Withdraw, third(
			t.System.Withdraw(t, t.id, andon.Withdrawal{
				Device: device, Time: entry.Time, State: entry.State,
				At: t.Now(), By: f.person("by"), Note: f["note"],
			})))
	})
}

func purge(t turn) error {
	device := t.device()
	return t.Eventually(t, func() error {
		return declared(t.System.Capabilities().Purge, t.System.Purge(t, t.id, device))
	})
}

// restore keeps what people did elsewhere: assign d1 Liz@5m, retire d1@5m, or escalate d1
// WARNING1@5m Sara@6m by=Liz note=x.
func restore(t turn) error {
	var h andon.History
	switch verb := t.next("what was done"); verb {
	case "assign":
		device, done := t.device(), t.entry()
		h.Assignments = []andon.Assignment{{
			Device: device, Operator: person(string(done.State)), From: done.Time,
		}}
	case "escalate":
		device, entry, done, f := t.device(), t.entry(), t.entry(), t.fields("by", "note")
		h.Escalations = []andon.Escalation{{
			Device: device, Time: entry.Time, State: entry.State,
			At: done.Time, To: person(string(done.State)), By: f.person("by"), Note: f["note"],
		}}
	case "retire":
		done := t.entry()
		h.Retirements = []andon.Retirement{{Device: andon.DeviceID(done.State), At: done.Time}}
	default:
		demand(false, "there is no %q to restore", verb)
	}
	return t.System.Restore(t, t.id, h)
}

func measure(t turn) error {
	r := andon.Reading{Time: t.time(), Device: t.device()}
	demand(len(t.left) > 0, "a metric is missing")
	for len(t.left) > 0 {
		word := t.next("a metric")
		name, text, _ := strings.Cut(word, "=")
		if name == "meta" {
			r.Metadata = andon.JSON(text)
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		demand(err == nil, "metric %q is not of the form name=number", word)
		r.Metrics = append(r.Metrics, andon.Metric{Name: andon.MetricName(name), Value: value})
	}
	r.Metrics = must(r.Metrics.Sorted())
	return t.System.AppendReadings(t, t.id, t.Now(), []andon.Reading{r})
}

func setFuture(t turn) error {
	most := must(andon.ParseDuration(t.next("a duration")))
	return t.System.ChangeTenant(t, t.id, func(t *andon.Tenant) { t.MaxFuture = most })
}

func setRetention(t turn) error {
	of := t.next("what is kept")
	demand(of == "events" || of == "readings", "retention is of events or readings, not of %q", of)
	var kept andon.Retention
	require(kept.UnmarshalText([]byte(t.next("a duration"))))
	return t.System.ChangeTenant(t, t.id, func(t *andon.Tenant) {
		if of == "events" {
			t.Events = kept
		} else {
			t.Readings = kept
		}
	})
}

func setStates(t turn) error {
	var defs []andon.StateDef
	for len(t.left) > 0 {
		word := t.next("a state")
		name, text, _ := strings.Cut(word, "=")
		severity, err := strconv.ParseUint(text, 10, 8)
		demand(err == nil, "state %q is not of the form NAME=SEVERITY", word)
		defs = append(defs, andon.StateDef{Name: andon.State(name), Severity: uint8(severity)})
	}
	set := must(andon.NewStateSet(defs))
	err := t.System.ChangeTenant(t, t.id, func(t *andon.Tenant) { t.States = set })
	if andon.KindOf(err) == andon.Conflict && !t.System.Capabilities().Reorder {
		return errUndeclared
	}
	return err
}

func expire(t turn) error { return t.System.Expire(t, t.id) }

func inTenant(t turn) error {
	t.tenant = t.next("a tenant")
	return nil
}

func deleteTenant(t turn) error {
	if err := t.System.DeleteTenant(t, t.id); err != nil {
		return err
	}
	return wantKind(andon.NotFound, second(t.System.Tenant(t, t.id)))
}

func createTenant(t turn) error { return t.System.MakeTenant(t, t.id) }

func fails(t turn) error {
	kind := kindOf(strings.TrimSuffix(t.next("a kind of error"), ":"))
	t.failing = true // it need not be waited for
	defer func() { t.failing = false }()
	err := t.statement()
	if isNotAsked(err) {
		return err
	}
	return wantKind(kind, err)
}

// wantKind reports anything but an error of that kind.
func wantKind(kind andon.Kind, err error) error {
	switch {
	case err == nil:
		return fmt.Errorf("it was done; an error of kind %q was expected", kind)
	case andon.KindOf(err) != kind:
		is := andon.KindOf(err)
		return fmt.Errorf("an error of kind %q, not %q, was expected: %w", kind, is, err)
	}
	return nil
}

func second[A any](_ A, err error) error        { return err }
func third[A, B any](_ A, _ B, err error) error { return err }
