package storecheck

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
)

// action is what a statement does once its words have been understood.
type action func(turn) error

// turn is one statement as it is done: with a context, in an Env and the tenant that this is in.
type turn struct {
	context.Context
	*Env
	id    andon.TenantID
	limit int  // of the pages in which a list is read; 0: it is read in several
	whole bool // a list is read in the largest pages alone
}

func (e *Env) turn(ctx context.Context, id andon.TenantID) turn {
	return turn{Context: ctx, Env: e, id: id}
}

// inTheEnd makes an action of one that an eventual system may not be ready for yet.
func inTheEnd(do action) action {
	return func(t turn) error { return t.Eventually(t, func() error { return do(t) }) }
}

// parseAction reads any statement but and, and the bounds of a block. It and what it calls use
// require, which parseScenario catches.
func parseAction(w *words) action {
	verb := w.next("a statement")
	parse, ok := map[string]func(*words) action{
		"now": parseNow, "at": parseAt, "send": parseSend, "assign": parseAssign,
		"escalate": parseEscalate, "retire": parseRetire, "withdraw": parseWithdraw,
		"purge": parsePurge, "restore": parseRestore, "measure": parseMeasure,
		"retention": parseRetention, "states": parseStates, "future": parseFuture,
		"expire": parseExpire, "tenant": parseTenant, "delete": parseDelete,
		"create": parseCreate, "profiles": parseProfiles, "rules": parseRules,
		"put": parsePut, "drop": parseDrop, "needs": needsWhole,
		"fails": parseFails, "expect": parseExpect,
	}[verb]
	demand(ok, "there is no statement %q", verb)
	do := parse(w)
	require(w.end())
	return do
}

// batch is the entries of one append, or of one request.
type batch struct {
	events []andon.Event
	at     []*offset // their times
}

func (b *batch) add(w *words) {
	var at *offset
	if word := w.next("a time"); word != "-" {
		at = must(parseOffset(word))
	}
	event := andon.Event{Device: w.device(), State: andon.State(w.next("a state"))}
	f := w.fields("op", "esc", "msg", "attr")
	event.Operator, event.EscalatedTo = f.person("op"), f.person("esc")
	event.Message, event.Attributes = f["msg"], f.json("attr")
	b.events, b.at = append(b.events, event), append(b.at, at)
}

func (b *batch) timed(e *Env) []andon.Event {
	events := slices.Clone(b.events)
	for i, at := range b.at {
		events[i].Time = at.time(e)
	}
	return events
}

// parseAt does what admission does after its checks: order and append.
func parseAt(w *words) action {
	w.batch = &batch{}
	w.batch.add(w)
	return func(t turn) error { return t.append(t, t.id, w.batch.timed(t.Env)...) }
}

func parseSend(w *words) action {
	w.batch = &batch{}
	w.batch.add(w)
	return func(t turn) error {
		rejected, err := t.System.Admit(t, t.id, w.batch.timed(t.Env))
		t.rejected = nil
		for _, r := range rejected {
			t.rejected = append(t.rejected, strconv.Itoa(r.Index))
		}
		return err
	}
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

func parseNow(w *words) action {
	at := w.time()
	return func(t turn) error {
		t.SetNow(at.time(t.Env))
		return nil
	}
}

func parseAssign(w *words) action {
	sent := []andon.Assignment{{Device: w.device(), Operator: w.person()}}
	return func(t turn) error { return second(t.System.Assign(t, t.id, t.Now(), sent)) }
}

func parseEscalate(w *words) action {
	r := andon.Escalation{Device: w.device()}
	var entry entryRef
	if word := w.next("an entry"); word != "-" {
		entry = must(parseEntryRef(word))
	}
	r.State, r.To = entry.state, w.person()
	f := w.fields("by", "note", "at")
	r.By, r.Note = f.person("by"), f["note"]
	at := f.time("at")
	return inTheEnd(func(t turn) error {
		r.Time, r.At = entry.time.time(t.Env), at.time(t.Env)
		if r.At == 0 {
			r.At = t.Now()
		}
		return third(t.System.Escalate(t, t.id, r))
	})
}

func parseRetire(w *words) action {
	device := w.device()
	return inTheEnd(func(t turn) error {
		return second(t.System.Retire(t, t.id, device, t.Now()))
	})
}

func parseWithdraw(w *words) action {
	device, entry, f := w.device(), w.entry(), w.fields("by", "note")
	return inTheEnd(func(t turn) error {
		return declared(t.System.Capabilities().Withdraw, third(
			t.System.Withdraw(t, t.id, andon.Withdrawal{
				Device: device, Time: entry.time.time(t.Env), State: entry.state,
				At: t.Now(), By: f.person("by"), Note: f["note"],
			})))
	})
}

func parsePurge(w *words) action {
	device := w.device()
	return inTheEnd(func(t turn) error {
		return declared(t.System.Capabilities().Purge, t.System.Purge(t, t.id, device))
	})
}

// parseRestore reads what people did elsewhere: assign d1 Liz@5m, retire d1@5m, or escalate d1
// WARNING1@5m Sara@6m by=Liz note=x.
func parseRestore(w *words) action {
	var entry, done entryRef // who or what was named, and when
	var f fields
	verb, device := w.next("what was done"), andon.DeviceID("")
	switch verb {
	case "assign":
		device, done = w.device(), w.entry()
	case "escalate":
		device, entry, done, f = w.device(), w.entry(), w.entry(), w.fields("by", "note")
	case "retire":
		done = w.entry()
	default:
		demand(false, "there is no %q to restore", verb)
	}
	to := person(string(done.state))
	return func(t turn) error {
		var h andon.History
		switch at := done.time.time(t.Env); verb {
		case "assign":
			h.Assignments = []andon.Assignment{{Device: device, Operator: to, From: at}}
		case "escalate":
			h.Escalations = []andon.Escalation{{
				Device: device, Time: entry.time.time(t.Env), State: entry.state, At: at, To: to,
				By: f.person("by"), Note: f["note"],
			}}
		default:
			h.Retirements = []andon.Retirement{{Device: andon.DeviceID(done.state), At: at}}
		}
		return t.System.Restore(t, t.id, h)
	}
}

func parseMeasure(w *words) action {
	at, r := w.time(), andon.Reading{Device: w.device()}
	for _, word := range w.left {
		name, text, _ := strings.Cut(word, "=")
		if name == "meta" {
			r.Metadata = andon.JSON(text)
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		demand(err == nil, "metric %q is not of the form name=number", word)
		r.Metrics = append(r.Metrics, andon.Metric{Name: andon.MetricName(name), Value: value})
	}
	demand(len(w.left) > 0, "a metric is missing")
	w.left = nil
	r.Metrics = must(r.Metrics.Sorted())
	return func(t turn) error {
		r.Time = at.time(t.Env)
		return t.System.AppendReadings(t, t.id, t.Now(), []andon.Reading{r})
	}
}

func changeTenant(change func(*andon.Tenant)) action {
	return func(t turn) error { return t.System.ChangeTenant(t, t.id, change) }
}

func parseFuture(w *words) action {
	most := must(andon.ParseDuration(w.next("a duration")))
	return changeTenant(func(t *andon.Tenant) { t.MaxFuture = most })
}

func parseRetention(w *words) action {
	of := w.next("what is kept")
	var kept andon.Retention
	require(kept.UnmarshalText([]byte(w.next("a duration"))))
	switch of {
	case "events":
		return changeTenant(func(t *andon.Tenant) { t.Events = kept })
	case "readings":
		return changeTenant(func(t *andon.Tenant) { t.Readings = kept })
	}
	demand(false, "retention is of events or readings, not of %q", of)
	return nil
}

func parseStates(w *words) action {
	var defs []andon.StateDef
	for _, word := range w.left {
		name, text, _ := strings.Cut(word, "=")
		severity, err := strconv.ParseUint(text, 10, 8)
		demand(err == nil, "state %q is not of the form NAME=SEVERITY", word)
		defs = append(defs, andon.StateDef{Name: andon.State(name), Severity: uint8(severity)})
	}
	w.left = nil
	set := must(andon.NewStateSet(defs))
	change := changeTenant(func(t *andon.Tenant) { t.States = set })
	return func(t turn) error {
		err := change(t)
		if andon.KindOf(err) == andon.Conflict && !t.System.Capabilities().Reorder {
			return errUndeclared
		}
		return err
	}
}

func parseExpire(*words) action {
	return func(t turn) error { return t.System.Expire(t, t.id) }
}

func parseTenant(w *words) action {
	name := w.next("a tenant")
	return func(t turn) error {
		t.tenant = name
		return nil
	}
}

func parseDelete(*words) action {
	return func(t turn) error {
		if err := t.System.DeleteTenant(t, t.id); err != nil {
			return err
		}
		return wantKind(andon.NotFound, second(t.System.Tenant(t, t.id)))
	}
}

func parseCreate(*words) action {
	return func(t turn) error { return t.System.MakeTenant(t, t.id) }
}

func parseFails(w *words) action {
	kind := must(parseKind(strings.TrimSuffix(w.next("a kind of error"), ":")))
	do := parseAction(w)
	return func(t turn) error {
		t.failing = true // it need not be waited for
		err := do(t)
		t.failing = false
		if isNotAsked(err) {
			return err
		}
		return wantKind(kind, err)
	}
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
