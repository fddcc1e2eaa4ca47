package storecheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
)

// The expectations of a scenario. A list is compared in its order and read whole, in pages of one
// and in pages of two. Options narrow it: state=WARNING* from=1m to=9m order=asc, and for devices
// operator=Liz escalated=Sara silent=true prefix=d sort=since.
//
//	expect WARNING2: d1 d2              devices in a state, a list of states or a prefix; * is all
//	expect counts: NORMAL=1 WARNING2=2  devices in each state; NORMAL=3/1 where 1 is silent
//	expect since d1 5m                  what a device shows: state, time, since, received,
//	                                    operator, escalated, incident, message, attributes
//	expect gone d1                      never seen, or retired
//	expect log d1: WARNING1@5m          entries of a device, newest first
//	expect operator-log Liz: d1/WARNING1@5m
//	expect supervisor-log Sara: d1/WARNING1@5m
//	expect entry d1 WARNING1@5m op=Liz  one entry: op, esc, msg, attr
//	expect no-entry d1 WARNING1@5m      NotFound
//	expect withdrawn d1 WARNING1@5m by=Tom note=wrong at=6m
//	expect records d1 WARNING1@5m: -@7m Sara@6m
//	expect assignments d1: Liz@5m.. -@1m..5m
//	expect intervals d1: WARNING1@5m.. NORMAL@1m..5m
//	expect readings d1: 5m{a=1,b=2}     with metrics=a,b
//	expect latest d1 d2: d1/5m{a=1}     with from=1m
//	expect metric a: d1/5m=1
//	expect changes: d1:->WARNING1:entry what changed since the feed was looked at last (feed.go)
//	expect arrived: d1/A@5m/Liz/Sara    what arrived since this was expected first (arrivals.go)
//	expect record r1 due=5m             a record of put; no-record r1: NotFound
//	expect stored prefix=r: r1 r2       the ids of the records
//	expect due 9m limit=2: r1 r2        of all tenants
//	expect retired: d1/WARNING1@5m-9m   see names.go: measuring, assigned, operators, supervisors,
//	                                    metrics, escalated d1
func parseExpect(words []string) action {
	subject := strings.TrimSuffix(words[0], ":")
	if read, ok := deviceFields[subject]; ok && !strings.HasSuffix(words[len(words)-1], ":") &&
		!slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(w, ":") }) {
		return parseDeviceField(subject, read, words[1:])
	}
	switch subject {
	case "changes":
		return parseChanges(words[1:])
	case "gone":
		return parseGone(words[1:])
	case "entry", "withdrawn":
		return parseEntry(words[1:], subject == "withdrawn")
	case "no-entry":
		return parseNoEntry(words[1:])
	case "record":
		return parseRecord(words[1:])
	case "no-record":
		return parseNoRecord(words[1:])
	}
	colon := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, ":") })
	demand(colon >= 0, "a list needs a colon before what is expected")
	head, want := slices.Clone(words[:colon+1]), words[colon+1:]
	head[colon] = strings.TrimSuffix(head[colon], ":")
	list := parseList(head)
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		return e.wantList(ctx, id, list, want)
	})
}

func (e *Env) wantList(ctx context.Context, id andon.TenantID, list lister, want []string) error {
	return e.Eventually(ctx, func() error {
		got, err := list(ctx, e, id)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("it is %s", show(got))
		}
		return err
	})
}

// deviceFields are what a device shows, as a scenario writes it.
var deviceFields = map[string]func(*Env, *andon.Device) string{
	"state":      func(_ *Env, d *andon.Device) string { return orDash(d.State) },
	"severity":   func(_ *Env, d *andon.Device) string { return strconv.Itoa(int(d.Severity)) },
	"time":       func(e *Env, d *andon.Device) string { return e.offsetOf(d.Time) },
	"since":      func(e *Env, d *andon.Device) string { return e.offsetOf(d.Since) },
	"received":   func(e *Env, d *andon.Device) string { return e.offsetOf(d.Received) },
	"operator":   func(_ *Env, d *andon.Device) string { return orDash(d.Operator) },
	"escalated":  func(_ *Env, d *andon.Device) string { return orDash(d.EscalatedTo) },
	"incident":   func(e *Env, d *andon.Device) string { return e.offsetOf(d.IncidentSince) },
	"message":    func(_ *Env, d *andon.Device) string { return orDash(d.Message) },
	"attributes": func(_ *Env, d *andon.Device) string { return orDash(d.Attributes) },
}

// parseDeviceField expects one field of one device. It also looks at the device in the list, which
// a store may keep apart from the device itself.
func parseDeviceField(
	name string, read func(*Env, *andon.Device) string, words []string,
) action {
	demand(len(words) == 2, "expect %s needs a device and a value", name)
	device, want := andon.DeviceID(words[0]), words[1]
	return inTheEnd(func(ctx context.Context, e *Env, id andon.TenantID) error {
		d, err := e.System.Device(ctx, id, device)
		if err == nil && name == "received" && !e.System.Capabilities().Whole {
			err = errUndeclared
		}
		if err != nil {
			return err
		}
		if got := read(e, &d); got != want {
			return fmt.Errorf("it is %s", got)
		}
		listed, err := e.listed(ctx, id, device)
		if err == nil && listed != d {
			return fmt.Errorf("the list of devices shows %+v, the device %+v", listed, d)
		}
		return err
	})
}

// listed returns a device as the list of devices shows it.
func (e *Env) listed(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (andon.Device, error) {
	// Of the ids that begin with an id, that id itself is the first.
	q := andon.DeviceQuery{Prefix: string(device), Limit: 1}
	for d, err := range e.System.Devices(ctx, id, q) {
		if err != nil || d.ID == device {
			return d, err
		}
	}
	return andon.Device{}, fmt.Errorf("the list of devices lacks %s", device)
}

func parseGone(words []string) action {
	demand(len(words) == 1, "expect gone needs a device")
	return inTheEnd(func(ctx context.Context, e *Env, id andon.TenantID) error {
		return wantKind(andon.NotFound, second(e.System.Device(ctx, id, andon.DeviceID(words[0]))))
	})
}

// parseEntry expects fields of an entry, or of the record that it was withdrawn.
func parseEntry(words []string, withdrawn bool) action {
	demand(len(words) >= 2, "what is expected needs a device and an entry")
	ref := must(parseEntryRef(words[1]))
	known := []string{"op", "esc", "msg", "attr"}
	if withdrawn {
		known = []string{"by", "note", "at"}
	}
	want := must(parseFields(words[2:], known...))
	return inTheEnd(func(ctx context.Context, e *Env, id andon.TenantID) error {
		entry, err := e.entry(ctx, id, andon.DeviceID(words[0]), ref)
		if err == nil && withdrawn && entry.Withdrawn == nil {
			err = errors.New("it is not withdrawn")
		}
		if err != nil {
			return err
		}
		return e.wantFields(&entry, want)
	})
}

func (e *Env) wantFields(got *andon.Entry, want map[string]string) error {
	have := map[string]string{
		"op": orDash(got.Operator), "esc": orDash(got.EscalatedTo),
		"msg": orDash(got.Message), "attr": orDash(got.Attributes),
	}
	if w := got.Withdrawn; w != nil {
		have["by"], have["note"], have["at"] = orDash(w.By), orDash(w.Note), e.offsetOf(w.At)
	}
	for name, value := range want {
		if have[name] != value {
			return fmt.Errorf("%s is %s", name, have[name])
		}
	}
	return nil
}

func (e *Env) entry(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, ref entryRef,
) (andon.Entry, error) {
	return e.System.Entry(ctx, id, device, ref.time.from(e), ref.state)
}

func parseNoEntry(words []string) action {
	demand(len(words) == 2, "expect no-entry needs a device and an entry")
	ref := must(parseEntryRef(words[1]))
	return inTheEnd(func(ctx context.Context, e *Env, id andon.TenantID) error {
		_, err := e.entry(ctx, id, andon.DeviceID(words[0]), ref)
		return wantKind(andon.NotFound, err)
	})
}
