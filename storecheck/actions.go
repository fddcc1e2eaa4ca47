package storecheck

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
)

// parseAction reads any statement but at, and, and the bounds of a block. It and what it calls use
// require, which parseScenario catches.
func parseAction(words []string) action {
	verbs := map[string]struct {
		parse func([]string) action
		least int // how many words it has at least after the verb
	}{
		"now": {parseNow, 1}, "assign": {parseAssign, 2}, "escalate": {parseEscalate, 3},
		"retire": {parseRetire, 1}, "withdraw": {parseWithdraw, 2}, "purge": {parsePurge, 1},
		"restore":   {parseRestore, 2},
		"measure":   {parseMeasure, 3},
		"retention": {parseRetention, 2}, "states": {parseStates, 1}, "expire": {parseExpire, 0},
		"needs":  {needsWhole, 1},
		"tenant": {parseTenant, 1}, "fails": {parseFails, 2}, "expect": {parseExpect, 1},
		"delete": {parseDelete, 0}, "future": {parseFuture, 1},
		"put": {parsePut, 1}, "drop": {parseDrop, 1},
	}
	verb, ok := verbs[words[0]]
	demand(ok, "there is no statement %q", words[0])
	demand(len(words)-1 >= verb.least, "%s needs %d words more", words[0], verb.least)
	return verb.parse(words[1:])
}

// demand ends the reading of a statement that is not written as it must be.
func demand(right bool, format string, args ...any) {
	if !right {
		require(fmt.Errorf(format, args...))
	}
}

// inTenant makes an action of one that needs the tenant.
func inTenant(do func(context.Context, *Env, andon.TenantID) error) action {
	return func(ctx context.Context, e *Env) error {
		id, err := e.Here(ctx)
		if err != nil {
			return err
		}
		return do(ctx, e, id)
	}
}

// inTheEnd makes an action of one that an eventual system may not be ready for yet.
func inTheEnd(do func(context.Context, *Env, andon.TenantID) error) action {
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		return e.Eventually(ctx, func() error { return do(ctx, e, id) })
	})
}

// batch is the entries of one append, their times as offsets.
type batch struct {
	events []andon.Event
}

// untimed is the offset of an entry without a time.
const untimed = offset(math.MinInt64)

func (b *batch) add(words []string) {
	demand(len(words) >= 3, "an entry needs a time, a device and a state")
	at := untimed
	if words[0] != "-" {
		at = must(parseOffset(words[0]))
	}
	fields := must(parseFields(words[3:], "op", "esc", "msg", "attr"))
	b.events = append(b.events, andon.Event{
		Device:      andon.DeviceID(words[1]),
		Time:        andon.Time(at),
		State:       andon.State(words[2]),
		Operator:    andon.PersonID(fields["op"]),
		EscalatedTo: andon.PersonID(fields["esc"]),
		Message:     fields["msg"],
		Attributes:  andon.JSON(fields["attr"]),
	})
}

// from returns the entries with the times that they have in an Env.
func (b *batch) from(e *Env) []andon.Event {
	events := slices.Clone(b.events)
	for i := range events {
		if at := offset(events[i].Time); at == untimed {
			events[i].Time = 0
		} else {
			events[i].Time = at.from(e)
		}
	}
	return events
}

// append does what admission does after its checks: order and append.
func (b *batch) append(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	return e.append(ctx, id, b.from(e)...)
}

func (b *batch) send(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	rejected, err := e.System.Admit(ctx, id, b.from(e))
	e.rejected = nil
	for _, r := range rejected {
		e.rejected = append(e.rejected, strconv.Itoa(r.Index))
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

func parseNow(words []string) action {
	at := must(parseOffset(words[0]))
	return func(_ context.Context, e *Env) error {
		e.SetNow(at.from(e))
		return nil
	}
}

func parseFuture(words []string) action {
	most := must(andon.ParseDuration(words[0]))
	return changeTenant(func(t *andon.Tenant) { t.MaxFuture = most })
}

func parseAssign(words []string) action {
	assignment := andon.Assignment{Device: andon.DeviceID(words[0]), Operator: person(words[1])}
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		_, err := e.System.Assign(ctx, id, e.Now(), []andon.Assignment{assignment})
		return err
	})
}

func parseEscalate(words []string) action {
	var ref entryRef
	if words[1] != "-" {
		ref = must(parseEntryRef(words[1]))
	}
	fields := must(parseFields(words[3:], "by", "note", "at"))
	at := must(parseBound(fields["at"]))
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		record := andon.Escalation{
			Device: andon.DeviceID(words[0]), State: ref.state, At: e.Now(),
			To: person(words[2]), By: andon.PersonID(fields["by"]), Note: fields["note"],
		}
		if ref.state != "" {
			record.Time = ref.time.from(e)
		}
		if at != nil {
			record.At = at.from(e)
		}
		return e.Eventually(ctx, func() error {
			_, _, err := e.System.Escalate(ctx, id, record)
			return err
		})
	})
}

func parseRetire(words []string) action {
	device := andon.DeviceID(words[0])
	return inTheEnd(func(ctx context.Context, e *Env, id andon.TenantID) error {
		return second(e.System.Retire(ctx, id, device, e.Now()))
	})
}

func parseWithdraw(words []string) action {
	ref := must(parseEntryRef(words[1]))
	fields := must(parseFields(words[2:], "by", "note"))
	return inTheEnd(func(ctx context.Context, e *Env, id andon.TenantID) error {
		_, _, err := e.System.Withdraw(ctx, id, andon.Withdrawal{
			Device: andon.DeviceID(words[0]), Time: ref.time.from(e), State: ref.state,
			At: e.Now(), By: andon.PersonID(fields["by"]), Note: fields["note"],
		})
		return declared(e.System.Capabilities().Withdraw, err)
	})
}

func parsePurge(words []string) action {
	return inTheEnd(func(ctx context.Context, e *Env, id andon.TenantID) error {
		err := e.System.Purge(ctx, id, andon.DeviceID(words[0]))
		return declared(e.System.Capabilities().Purge, err)
	})
}

// parseRestore reads what people did elsewhere: assign d1 Liz@5m, retire d1@5m, or escalate d1
// WARNING1@5m Sara@6m by=Liz note=x.
func parseRestore(words []string) action {
	verb, rest := words[0], words[1:]
	last := rest[min(len(rest)-1, map[string]int{"assign": 1, "escalate": 2}[verb])]
	who, text, _ := strings.Cut(last, "@")
	at := must(parseOffset(text))
	device := andon.DeviceID(rest[0])
	record := andon.Escalation{Device: device, To: person(who)}
	var entry entryRef
	if verb == "escalate" {
		entry = must(parseEntryRef(rest[1]))
		fields := must(parseFields(rest[3:], "by", "note"))
		record.State, record.By = entry.state, andon.PersonID(fields["by"])
		record.Note = fields["note"]
	}
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		var h andon.History
		switch verb {
		case "assign":
			one := andon.Assignment{Device: device, Operator: person(who), From: at.from(e)}
			h.Assignments = []andon.Assignment{one}
		case "escalate":
			record.Time, record.At = entry.time.from(e), at.from(e)
			h.Escalations = []andon.Escalation{record}
		default:
			one := andon.Retirement{Device: andon.DeviceID(who), At: at.from(e)}
			h.Retirements = []andon.Retirement{one}
		}
		return e.System.Restore(ctx, id, h)
	})
}

func parseMeasure(words []string) action {
	at := must(parseOffset(words[0]))
	reading := andon.Reading{Device: andon.DeviceID(words[1])}
	for _, w := range words[2:] {
		addToReading(&reading, w)
	}
	reading.Metrics = must(reading.Metrics.Sorted())
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		timed := reading
		timed.Time = at.from(e)
		return e.System.AppendReadings(ctx, id, e.Now(), []andon.Reading{timed})
	})
}

func addToReading(r *andon.Reading, word string) {
	name, text, ok := strings.Cut(word, "=")
	if ok && name == "meta" {
		r.Metadata = andon.JSON(text)
		return
	}
	value, err := strconv.ParseFloat(text, 64)
	demand(err == nil, "metric %q is not of the form name=number", word)
	r.Metrics = append(r.Metrics, andon.Metric{Name: andon.MetricName(name), Value: value})
}

func parseRetention(words []string) action {
	var kept andon.Retention
	require(kept.UnmarshalText([]byte(words[1])))
	switch words[0] {
	case "events":
		return changeTenant(func(t *andon.Tenant) { t.Events = kept })
	case "readings":
		return changeTenant(func(t *andon.Tenant) { t.Readings = kept })
	}
	demand(false, "retention is of events or readings, not of %q", words[0])
	return nil
}

func parseStates(words []string) action {
	var defs []andon.StateDef
	for _, w := range words {
		name, text, _ := strings.Cut(w, "=")
		severity, err := strconv.ParseUint(text, 10, 8)
		demand(err == nil, "state %q is not of the form NAME=SEVERITY", w)
		defs = append(defs, andon.StateDef{Name: andon.State(name), Severity: uint8(severity)})
	}
	set := must(andon.NewStateSet(defs))
	change := changeTenant(func(t *andon.Tenant) { t.States = set })
	return func(ctx context.Context, e *Env) error {
		err := change(ctx, e)
		if andon.KindOf(err) == andon.Conflict && !e.System.Capabilities().Reorder {
			return errUndeclared
		}
		return err
	}
}

func changeTenant(change func(*andon.Tenant)) action {
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		return e.System.ChangeTenant(ctx, id, change)
	})
}

func parseExpire([]string) action {
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		return e.System.Expire(ctx, id)
	})
}

func parseTenant(words []string) action {
	return func(_ context.Context, e *Env) error {
		e.tenant = words[0]
		return nil
	}
}

// parseDelete reads the end of the tenant, which is made again.
func parseDelete([]string) action {
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		if err := e.System.DeleteTenant(ctx, id); err != nil {
			return err
		}
		if err := wantKind(andon.NotFound, second(e.System.Tenant(ctx, id))); err != nil {
			return err
		}
		return e.System.MakeTenant(ctx, id)
	})
}

func parseFails(words []string) action {
	kind := must(parseKind(strings.TrimSuffix(words[0], ":")))
	do := parseAction(words[1:])
	return func(ctx context.Context, e *Env) error {
		e.failing = true // it need not be waited for
		err := do(ctx, e)
		e.failing = false
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
