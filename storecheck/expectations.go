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
func expect(t turn) error {
	ends := func(word string) bool { return strings.HasSuffix(word, ":") }
	if colon := slices.IndexFunc(t.left, ends); colon >= 0 {
		head, want := slices.Clone(t.left[:colon+1]), t.left[colon+1:]
		head[colon] = strings.TrimSuffix(head[colon], ":")
		t.left = head
		return t.expectList(want)
	}
	subject := t.next("what is expected")
	if read, ok := deviceFields[subject]; ok {
		return expectField(t, subject, read)
	}
	expected, ok := map[string]func(turn) error{
		"gone": expectGone, "entry": expectEntry,
		"no-entry": expectNoEntry, "shows": expectShows,
		"record": expectRecord, "no-record": expectNoRecord,
	}[subject]
	demand(ok, "a list needs a colon before what is expected")
	return expected(t)
}

// expectList reads the name and the options of a list.
func (t turn) expectList(want []string) error {
	arrange := func(all []string) []string { return all }
	name, anyOrder := strings.CutSuffix(strings.Join(t.left, " "), " in any order")
	if anyOrder {
		arrange = func(all []string) []string { return slices.Sorted(slices.Values(all)) }
	}
	if name == "changes" {
		t.left = nil
		return t.expectChanges(want, arrange)
	}
	return t.wantList(t, t.id, t.list(), want)
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

// expectField expects one field of one device. It also looks at the device in the list, which a
// store may keep apart from the device itself.
func expectField(t turn, name string, read func(*Env, *andon.Device) string) error {
	device, want := t.device(), t.next("a value")
	return t.Eventually(t, func() error {
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

func expectGone(t turn) error {
	device := t.device()
	return t.Eventually(t, func() error {
		return wantKind(andon.NotFound, second(t.System.Device(t, t.id, device)))
	})
}

func (t turn) readEntry(device andon.DeviceID, of andon.EntryRef) (andon.Entry, error) {
	return t.System.Entry(t, t.id, device, of.Time, of.State)
}

// expectEntry expects fields of an entry: those before an or, or those after it.
func expectEntry(t turn) error {
	device, ref := t.device(), t.entry()
	var allowed []fields
	for first := true; first || len(t.left) > 0; first = false {
		allowed = append(allowed, t.until("or").fields(
			"op", "esc", "msg", "attr", "by", "note", "at"))
	}
	return t.Eventually(t, func() error {
		entry, err := t.readEntry(device, ref)
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

func expectNoEntry(t turn) error {
	device, ref := t.device(), t.entry()
	return t.Eventually(t, func() error {
		return wantKind(andon.NotFound, second(t.readEntry(device, ref)))
	})
}

// expectShows expects a device that has no assignments to show what its entry says.
func expectShows(t turn) error {
	device, ref := t.device(), t.entry()
	return t.Eventually(t, func() error {
		entry, err := t.readEntry(device, ref)
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
