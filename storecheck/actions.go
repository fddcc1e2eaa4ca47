package storecheck

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
)

// parseAction reads any statement but at, and, and the bounds of a block.
func parseAction(words []string) (action, error) {
	verbs := map[string]struct {
		parse func([]string) (action, error)
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
	if !ok {
		return nil, fmt.Errorf("there is no statement %q", words[0])
	}
	if len(words)-1 < verb.least {
		return nil, fmt.Errorf("%s needs %d words more", words[0], verb.least)
	}
	return verb.parse(words[1:])
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

func (b *batch) add(words []string) error {
	if len(words) < 3 {
		return fmt.Errorf("an entry needs a time, a device and a state")
	}
	at, err := untimed, error(nil)
	if words[0] != "-" {
		at, err = parseOffset(words[0])
	}
	if err != nil {
		return err
	}
	fields, err := parseFields(words[3:], "op", "esc", "msg", "attr")
	if err != nil {
		return err
	}
	b.events = append(b.events, andon.Event{
		Device:      andon.DeviceID(words[1]),
		Time:        andon.Time(at),
		State:       andon.State(words[2]),
		Operator:    andon.PersonID(fields["op"]),
		EscalatedTo: andon.PersonID(fields["esc"]),
		Message:     fields["msg"],
		Attributes:  andon.JSON(fields["attr"]),
	})
	return nil
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

func parseNow(words []string) (action, error) {
	at, err := parseOffset(words[0])
	return func(ctx context.Context, e *Env) error { return e.goTo(ctx, at) }, err
}

func parseFuture(words []string) (action, error) {
	most, err := andon.ParseDuration(words[0])
	return changeTenant(func(t *andon.Tenant) { t.MaxFuture = most }), err
}

func parseAssign(words []string) (action, error) {
	assignment := andon.Assignment{Device: andon.DeviceID(words[0]), Operator: person(words[1])}
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		_, err := e.System.Assign(ctx, id, e.Now(), []andon.Assignment{assignment})
		return err
	}), nil
}

func parseEscalate(words []string) (action, error) {
	var ref entryRef
	var err error
	if words[1] != "-" {
		ref, err = parseEntryRef(words[1])
	}
	if err != nil {
		return nil, err
	}
	fields, err := parseFields(words[3:], "by", "note", "at")
	if err != nil {
		return nil, err
	}
	at, err := parseBound(fields["at"])
	if err != nil {
		return nil, err
	}
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		record := andon.Escalation{
			Device: andon.DeviceID(words[0]), State: ref.state, At: e.Now(),
			To: person(words[2]), By: andon.PersonID(fields["by"]), Note: fields["note"],
		}
		if ref.state != "" {
			record.Time = ref.time.from(e)
		}
		if at != nil && e.server != nil {
			return NotAsked{"a server gives an escalation its time"}
		} else if at != nil {
			record.At = at.from(e)
		}
		return e.Eventually(ctx, func() error {
			_, _, err := e.System.Escalate(ctx, id, record)
			return err
		})
	}), nil
}

func parseRetire(words []string) (action, error) {
	device := andon.DeviceID(words[0])
	return inTheEnd(func(ctx context.Context, e *Env, id andon.TenantID) error {
		return second(e.System.Retire(ctx, id, device, e.Now()))
	}), nil
}

func parseWithdraw(words []string) (action, error) {
	ref, err := parseEntryRef(words[1])
	if err != nil {
		return nil, err
	}
	fields, err := parseFields(words[2:], "by", "note")
	return inTheEnd(func(ctx context.Context, e *Env, id andon.TenantID) error {
		_, _, err := e.System.Withdraw(ctx, id, andon.Withdrawal{
			Device: andon.DeviceID(words[0]), Time: ref.time.from(e), State: ref.state,
			At: e.Now(), By: andon.PersonID(fields["by"]), Note: fields["note"],
		})
		return declared(e.System.Capabilities().Withdraw, err)
	}), err
}

func parsePurge(words []string) (action, error) {
	return inTheEnd(func(ctx context.Context, e *Env, id andon.TenantID) error {
		err := e.System.Purge(ctx, id, andon.DeviceID(words[0]))
		return declared(e.System.Capabilities().Purge, err)
	}), nil
}

// parseRestore reads what people did elsewhere: assign d1 Liz@5m, retire d1@5m, or escalate d1
// WARNING1@5m Sara@6m by=Liz note=x.
func parseRestore(words []string) (action, error) {
	verb, rest := words[0], words[1:]
	last := rest[min(len(rest)-1, map[string]int{"assign": 1, "escalate": 2}[verb])]
	who, text, _ := strings.Cut(last, "@")
	at, err := parseOffset(text)
	if err != nil {
		return nil, err
	}
	device := andon.DeviceID(rest[0])
	record := andon.Escalation{Device: device, To: person(who)}
	var entry entryRef
	if verb == "escalate" {
		fields, wrong := parseFields(rest[3:], "by", "note")
		if entry, err = parseEntryRef(rest[1]); err != nil || wrong != nil {
			return nil, errors.Join(err, wrong)
		}
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
	}), nil
}

func parseMeasure(words []string) (action, error) {
	at, err := parseOffset(words[0])
	if err != nil {
		return nil, err
	}
	reading := andon.Reading{Device: andon.DeviceID(words[1])}
	for _, w := range words[2:] {
		if err := addToReading(&reading, w); err != nil {
			return nil, err
		}
	}
	if reading.Metrics, err = reading.Metrics.Sorted(); err != nil {
		return nil, err
	}
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		timed := reading
		timed.Time = at.from(e)
		return e.System.AppendReadings(ctx, id, e.Now(), []andon.Reading{timed})
	}), nil
}

func addToReading(r *andon.Reading, word string) error {
	name, text, ok := strings.Cut(word, "=")
	if ok && name == "meta" {
		r.Metadata = andon.JSON(text)
		return nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("metric %q is not of the form name=number", word)
	}
	r.Metrics = append(r.Metrics, andon.Metric{Name: andon.MetricName(name), Value: value})
	return nil
}

func parseRetention(words []string) (action, error) {
	var kept andon.Retention
	if err := kept.UnmarshalText([]byte(words[1])); err != nil {
		return nil, err
	}
	switch words[0] {
	case "events":
		return changeTenant(func(t *andon.Tenant) { t.Events = kept }), nil
	case "readings":
		return changeTenant(func(t *andon.Tenant) { t.Readings = kept }), nil
	}
	return nil, fmt.Errorf("retention is of events or readings, not of %q", words[0])
}

func parseStates(words []string) (action, error) {
	var defs []andon.StateDef
	for _, w := range words {
		name, text, _ := strings.Cut(w, "=")
		severity, err := strconv.ParseUint(text, 10, 8)
		if err != nil {
			return nil, fmt.Errorf("state %q is not of the form NAME=SEVERITY", w)
		}
		defs = append(defs, andon.StateDef{Name: andon.State(name), Severity: uint8(severity)})
	}
	set, err := andon.NewStateSet(defs)
	change := changeTenant(func(t *andon.Tenant) { t.States = set })
	return func(ctx context.Context, e *Env) error {
		err := change(ctx, e)
		if andon.KindOf(err) == andon.Conflict && !e.System.Capabilities().Reorder {
			return errUndeclared
		}
		return err
	}, err
}

func changeTenant(change func(*andon.Tenant)) action {
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		return e.System.ChangeTenant(ctx, id, change)
	})
}

func parseExpire([]string) (action, error) {
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		return e.System.Expire(ctx, id)
	}), nil
}

func parseTenant(words []string) (action, error) {
	return func(_ context.Context, e *Env) error {
		e.tenant = words[0]
		return nil
	}, nil
}

// parseDelete reads the end of the tenant, which is made again.
func parseDelete([]string) (action, error) {
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		if err := e.System.DeleteTenant(ctx, id); err != nil {
			return err
		}
		if err := wantKind(andon.NotFound, second(e.System.Tenant(ctx, id))); err != nil {
			return err
		}
		return e.System.MakeTenant(ctx, id)
	}), nil
}

func parseFails(words []string) (action, error) {
	kind, err := parseKind(strings.TrimSuffix(words[0], ":"))
	if err != nil {
		return nil, err
	}
	do, err := parseAction(words[1:])
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, e *Env) error {
		e.failing = true // it need not be waited for
		err := do(ctx, e)
		e.failing = false
		if isNotAsked(err) {
			return err
		}
		return wantKind(kind, err)
	}, nil
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
