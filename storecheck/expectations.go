package storecheck

import (
	"context"
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
//	expect events: d1/WARNING1@5m       entries of all devices
//	expect rejected: 1 3                indexes in the last request of send
//	expect entry d1 WARNING1@5m op=Liz  one entry: op, esc, msg, attr, and by, note, at of its
//	                                    withdrawal; what may be instead follows the word or
//	expect shows d1 WARNING1@5m         operator, message and attributes are those of the entry
//	expect no-entry d1 WARNING1@5m      NotFound
//	expect records d1 WARNING1@5m: -@7m Sara@6m
//	expect assignments d1: Liz@5m.. -@1m..5m
//	expect intervals d1: WARNING1@5m.. NORMAL@1m..5m
//	expect readings d1: 5m{a=1,b=2}     with metrics=a,b
//	expect latest d1 d2: d1/5m{a=1}     with from=1m
//	expect metric a: d1/5m=1
//	expect changes: d1:->WARNING1:entry what changed since the feed was looked at last (feed.go);
//	                                    changes in any order: of appends that are not atomic
//	expect arrived: d1/A@5m/Liz/Sara    what arrived since this was expected first (arrivals.go)
//	expect record r1 due=5m             a record of put; no-record r1: NotFound
//	expect stored prefix=r: r1 r2       the ids of the records
//	expect due 9m limit=2: r1 r2        of all tenants
//	expect retired: d1/WARNING1@5m-9m   see names.go: measuring, assigned, operators, supervisors,
//	                                    metrics, escalated d1
func parseExpect(w *words) action {
	ends := func(word string) bool { return strings.HasSuffix(word, ":") }
	if colon := slices.IndexFunc(w.left, ends); colon >= 0 {
		head, want := slices.Clone(w.left[:colon+1]), w.left[colon+1:]
		head[colon] = strings.TrimSuffix(head[colon], ":")
		w.left = nil
		return parseListed(&words{left: head}, want)
	}
	subject := w.next("what is expected")
	if read, ok := deviceFields[subject]; ok {
		return parseDeviceField(subject, read, w)
	}
	parse, ok := map[string]func(*words) action{
		"gone": parseGone, "entry": parseEntry,
		"no-entry": parseNoEntry, "shows": parseShows,
		"record": parseRecord, "no-record": parseNoRecord,
	}[subject]
	demand(ok, "a list needs a colon before what is expected")
	return parse(w)
}

// parseListed expects a list, whose name and options are read.
func parseListed(w *words, want []string) action {
	switch strings.Join(w.left, " ") {
	case "changes":
		return parseChanges(want, slices.Clone)
	case "changes in any order":
		return parseChanges(want, func(all []string) []string {
			return slices.Sorted(slices.Values(all))
		})
	}
	list := parseList(w)
	require(w.end())
	return func(t turn) error { return t.wantList(t, t.id, list, want) }
}

func (e *Env) wantList(ctx context.Context, id andon.TenantID, list lister, want []string) error {
	return e.Eventually(ctx, func() error {
		got, err := list(e.turn(ctx, id))
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
	"time":       func(e *Env, d *andon.Device) string { return e.OffsetOf(d.Time) },
	"since":      func(e *Env, d *andon.Device) string { return e.OffsetOf(d.Since) },
	"received":   func(e *Env, d *andon.Device) string { return e.OffsetOf(d.Received) },
	"operator":   func(_ *Env, d *andon.Device) string { return orDash(d.Operator) },
	"escalated":  func(_ *Env, d *andon.Device) string { return orDash(d.EscalatedTo) },
	"incident":   func(e *Env, d *andon.Device) string { return e.OffsetOf(d.IncidentSince) },
	"message":    func(_ *Env, d *andon.Device) string { return orDash(d.Message) },
	"attributes": func(_ *Env, d *andon.Device) string { return orDash(d.Attributes) },
}

// parseDeviceField expects one field of one device. It also looks at the device in the list, which
// a store may keep apart from the device itself.
func parseDeviceField(
	name string, read func(*Env, *andon.Device) string, w *words,
) action {
	device, want := w.device(), w.next("a value")
	return inTheEnd(func(t turn) error {
		d, err := t.System.Device(t, t.id, device)
		if err == nil && name == "received" && !t.System.Capabilities().Whole {
			err = errUndeclared
		}
		if err != nil {
			return err
		}
		if got := read(t.Env, &d); got != want {
			return fmt.Errorf("it is %s", got)
		}
		// Of the ids that begin with an id, that id itself is the first.
		q := andon.DeviceQuery{Prefix: string(device), Limit: 1}
		for listed, err := range t.System.Devices(t, t.id, q) {
			if err == nil && listed != d {
				err = fmt.Errorf("the list of devices shows %+v, the device %+v", listed, d)
			}
			return err
		}
		return fmt.Errorf("the list of devices lacks %s", device)
	})
}

func parseGone(w *words) action {
	device := w.device()
	return inTheEnd(func(t turn) error {
		return wantKind(andon.NotFound, second(t.System.Device(t, t.id, device)))
	})
}

func (t turn) entry(device andon.DeviceID, ref entryRef) (andon.Entry, error) {
	return t.System.Entry(t, t.id, device, ref.time.time(t.Env), ref.state)
}

// parseEntry expects fields of an entry: those before an or, or those after it.
func parseEntry(w *words) action {
	device, ref := w.device(), w.entry()
	var allowed []fields
	for first := true; first || len(w.left) > 0; first = false {
		allowed = append(allowed, w.until("or").fields(
			"op", "esc", "msg", "attr", "by", "note", "at"))
	}
	return inTheEnd(func(t turn) error {
		entry, err := t.entry(device, ref)
		if err != nil {
			return err
		}
		is := fields{
			"op": orDash(entry.Operator), "esc": orDash(entry.EscalatedTo),
			"msg": orDash(entry.Message), "attr": orDash(entry.Attributes),
		}
		if w := entry.Withdrawn; w != nil {
			is["by"], is["note"], is["at"] = orDash(w.By), orDash(w.Note), t.OffsetOf(w.At)
		}
		for _, want := range allowed {
			if err = want.are(is); err == nil {
				return nil
			}
		}
		return err
	})
}

func parseNoEntry(w *words) action {
	device, ref := w.device(), w.entry()
	return inTheEnd(func(t turn) error {
		return wantKind(andon.NotFound, second(t.entry(device, ref)))
	})
}

// parseShows expects a device that has no assignments to show what its entry says.
func parseShows(w *words) action {
	device, ref := w.device(), w.entry()
	return inTheEnd(func(t turn) error {
		entry, err := t.entry(device, ref)
		if err != nil {
			return err
		}
		d, err := t.System.Device(t, t.id, device)
		if err == nil && (d.Message != entry.Message || d.Attributes != entry.Attributes ||
			d.Operator != entry.Operator) {
			err = fmt.Errorf("the device shows %+v, its entry is %+v", d, entry.Event)
		}
		return err
	})
}
