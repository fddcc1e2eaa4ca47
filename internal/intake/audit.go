package intake

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

// What people decide is written down with who asked for it: assignments, escalations, retirements,
// purges, withdrawals, changes of a tenant and of documents. But for those of documents, which
// Document takes note of, the methods here are the only way to make such a change, whatever
// transport it comes by, so that there is none without a record. A request that was refused has
// changed nothing and has none. What machines send is no decision of a person: an event that
// escalates its entry has no record but the escalation itself.

// Change is something that was done, or may have been, and for which a person answers.
type Change struct {
	What    string // "assign"
	Outcome string // "done"; "unknown" where it was broken off
	By      Caller
	Tenant  andon.TenantID // absent where it is of no tenant: signing in and out
	Device  andon.DeviceID // absent where it is of a tenant
	Details []Detail       // none is called as a field of Change, nor time, level or msg
}

// Detail is a name with a string, a number, a bool, or details of its own.
type Detail struct {
	Name  string
	Value any
}

// Caller is who asked. What a client says of itself (the by of an escalation) is a Detail.
type Caller struct {
	// Who is how the client was let in: "token", "session 1f2e3d4c", "loopback"; or "incidents" and
	// "andon" for what the program decides.
	Who       string
	Remote    string // its address
	RequestID string
}

// CallerKey is under which the context of a change holds its Caller.
type CallerKey struct{}

func (in *Intake) audits() bool { return in.options.Audit != nil }

// audit reports a change; err is how it ended.
func (in *Intake) audit(
	ctx context.Context, what string, tenant andon.TenantID, device andon.DeviceID, err error,
	details ...Detail,
) {
	outcome, changed := outcomeOf(err)
	if !in.audits() || !changed {
		return
	}
	by, _ := ctx.Value(CallerKey{}).(Caller)
	by.Who = cmp.Or(by.Who, "andon")
	in.options.Audit(ctx, Change{
		What: what, Outcome: outcome, By: by, Tenant: tenant, Device: device, Details: details,
	})
}

// Document takes note of how a change of a document of people ended, by its versions; 0: there is
// none.
func (in *Intake) Document(
	ctx context.Context, tenant andon.TenantID, kind, name string, before, after uint64, err error,
) {
	what := "change document"
	switch {
	case before == 0:
		what = "create document"
	case after == 0:
		what = "delete document"
	}
	in.audit(ctx, what, tenant, "", err, Detail{"kind", kind}, Detail{"name", name},
		Detail{"version", cmp.Or(after, before)})
}

// outcomeOf reports whether a change that ended with err may have been made. One that was broken
// off may have: a line too many is better than one too few.
func outcomeOf(err error) (outcome string, changed bool) {
	if err == nil {
		return "done", true
	}
	kind := andon.KindOf(err)
	return "unknown", kind == andon.Internal || kind == andon.Unavailable
}

func after(p andon.PersonID) Detail { return Detail{"after", string(p)} }

// said is who the client says asked.
func said(by andon.PersonID) Detail { return Detail{"by", string(by)} }

func stateOf(state andon.State) Detail { return Detail{"state", string(state)} }

func at(name string, t andon.Time) Detail { return Detail{name, t.String()} }

// Assign assigns operators to devices from now on. The error names the one that is wrong.
func (in *Intake) Assign(
	ctx context.Context, tenant andon.TenantID, sent []andon.Assignment,
) ([]andon.Assignment, error) {
	for i := range sent {
		if err := CheckAssignment(&sent[i]); err != nil {
			return nil, err
		}
	}
	kept, err := in.store.Assign(ctx, tenant, in.options.Now(), sent)
	if err != nil {
		for _, a := range sent {
			in.audit(ctx, "assign", tenant, a.Device, err, after(a.Operator))
		}
		return nil, err
	}
	for _, a := range kept {
		if !a.Again {
			in.audit(ctx, "assign", tenant, a.Device, nil, after(a.Operator), at("from", a.From))
		}
	}
	return kept, nil
}

// Escalate escalates an entry, or with To absent withdraws. Without Time and State the entry is the
// one that the device shows now; to withdraw, it is the one whose escalation the device shows,
// since reports may have repeated after it. added is false where that is so already, which is no
// change.
func (in *Intake) Escalate(
	ctx context.Context, tenant andon.TenantID, sent andon.Escalation,
) (kept andon.Escalation, added bool, err error) {
	if err := checkEscalation(&sent); err != nil {
		return kept, false, err
	}
	if sent.Time == 0 && sent.State == "" {
		d, err := in.store.Device(ctx, tenant, sent.Device)
		if err != nil {
			return kept, false, err
		}
		sent.Time, sent.State = d.Time, d.State
		if sent.To == "" && d.EscalatedTo != "" {
			sent.Time, sent.State = d.EscalatedEntry.Time, d.EscalatedEntry.State
		}
	}
	sent.At = in.options.Now()
	kept, added, err = in.store.Escalate(ctx, tenant, sent)
	if err != nil {
		in.audit(ctx, "escalate", tenant, sent.Device, err, after(sent.To), said(sent.By))
	}
	if added {
		in.audit(ctx, "escalate", tenant, kept.Device, nil, after(kept.To),
			at("entry_time", kept.Time), stateOf(kept.State), at("at", kept.At), said(kept.By))
	}
	return kept, added, err
}

// Retire retires a device and returns when that takes effect.
func (in *Intake) Retire(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID,
) (andon.Time, error) {
	if err := wrongAt("path.device", device.Validate()); err != nil {
		return 0, err
	}
	retired, err := in.store.Retire(ctx, tenant, device, in.options.Now())
	_, err = in.forget(ctx, tenant, device, err)
	var details []Detail
	if err == nil {
		details = append(details, at("retired", retired))
	}
	in.audit(ctx, "retire", tenant, device, err, details...)
	return retired, err
}

// Purge removes a device with all that it ever sent.
func (in *Intake) Purge(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID,
) error {
	if err := wrongAt("path.device", device.Validate()); err != nil {
		return err
	}
	forgot, err := in.forget(ctx, tenant, device, in.store.Purge(ctx, tenant, device))
	if forgot && andon.KindOf(err) == andon.NotFound {
		err = nil // its profile was all that was kept
	}
	if gone := err == nil || andon.KindOf(err) == andon.NotFound; gone && in.options.Purged != nil {
		if failed := in.options.Purged(context.WithoutCancel(ctx), tenant, device); failed != nil {
			err = failed
		}
	}
	in.audit(ctx, "purge", tenant, device, err)
	return err
}

// Withdraw withdraws an entry, now. added is false where it was withdrawn already, which is no
// change.
func (in *Intake) Withdraw(
	ctx context.Context, tenant andon.TenantID, sent andon.Withdrawal,
) (kept andon.Withdrawal, added bool, err error) {
	if err := checkWithdrawal(&sent); err != nil {
		return sent, false, err
	}
	sent.At = in.options.Now()
	kept, added, err = in.store.Withdraw(ctx, tenant, sent)
	if err == nil { // whether or not somebody still waits: the entry is withdrawn
		err = in.Groups.Withdrawn(context.WithoutCancel(ctx), tenant, &sent)
	}
	if err == nil && !added {
		return kept, false, nil
	}
	details := []Detail{
		at("entry_time", sent.Time), stateOf(sent.State), said(sent.By), {"note", sent.Note},
	}
	if err == nil {
		details = append(details, at("at", kept.At))
	}
	in.audit(ctx, "withdraw", tenant, sent.Device, err, details...)
	return kept, added, err
}

// Restore takes back what people did elsewhere, with the times that it had there. What can't be
// right is rejected, by its place among assignments, escalations and retirements in that order; an
// escalation whose entry is not there is.
func (in *Intake) Restore(
	ctx context.Context, tenant andon.TenantID, h andon.History,
) (Result, error) {
	result, err := in.restore(ctx, tenant, h)
	in.audit(ctx, "restore", tenant, "", err, Detail{"assignments", len(h.Assignments)},
		Detail{"escalations", len(h.Escalations)}, Detail{"retirements", len(h.Retirements)},
		Detail{"rejected", len(result.Rejected)})
	return result, err
}

// PutTenant creates a tenant or changes the one there is. change is given the present record,
// with its floor up to date, and may be called again when another writer was faster. What is
// written down names what is other than before.
func (in *Intake) PutTenant(
	ctx context.Context, id andon.TenantID, change func(*andon.Tenant) error,
) (t andon.Tenant, created bool, err error) {
	var former, tried andon.Tenant
	t, created, err = in.changeTenant(ctx, id, func(record *andon.Tenant) error {
		former = *record
		err := change(record)
		tried = *record
		return err
	})
	what := "change tenant"
	if created {
		what = "create tenant"
		sleep.Wake(in.options.Made)
	}
	in.audit(ctx, what, id, "", err, changes(&former, &tried, created)...)
	return t, created, err
}

// SignedIn writes down that a browser signed in: the caller is its session from now on.
func (in *Intake) SignedIn(ctx context.Context) { in.audit(ctx, "sign in", "", "", nil) }

// SignedOut writes down that the session of the caller was signed out.
func (in *Intake) SignedOut(ctx context.Context) { in.audit(ctx, "sign out", "", "", nil) }

// DeleteTenant removes a tenant with all that it has.
func (in *Intake) DeleteTenant(ctx context.Context, id andon.TenantID) error {
	err := in.store.DeleteTenant(ctx, id)
	in.audit(ctx, "delete tenant", id, "", err)
	return err
}

// changes returns the settings that differ, as they were and as they are. A new tenant has only the
// latter, all of them.
func changes(from, to *andon.Tenant, created bool) []Detail {
	if to.States == nil { // it could not be read
		return nil
	}
	var was, is []Detail
	old := settings(from)
	for i, s := range settings(to) {
		switch {
		case created:
			is = append(is, s)
		case s != old[i]:
			was, is = append(was, old[i]), append(is, s)
		}
	}
	return []Detail{{"before", was}, {"after", is}}
}

func settings(t *andon.Tenant) []Detail {
	states, err := json.Marshal(t.States.Defs())
	if err != nil {
		states = nil // they are texts and numbers
	}
	return []Detail{
		{"events", t.Events.String()},
		{"readings", t.Readings.String()},
		{"max_future", t.MaxFuture.String()},
		{"silent_after", t.SilentAfter.String()},
		{"longest_shelf", cmp.Or(t.LongestShelf, andon.DefaultShelf).String()},
		{"unknown_states", t.Unknown.String()},
		{"states", string(states)},
	}
}
