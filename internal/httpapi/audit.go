package httpapi

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/intake"
)

// What people decide is written down with who asked for it: assignments, escalations, retirements,
// purges, withdrawals, changes of a tenant. Handlers go through the methods here instead of calling
// intake, so that there is no way to change without a line. A request that was refused has changed
// nothing and has none.

// maxAuditReads is how many assignments of one request are looked up for who was there before. A
// list may hold 100,000, and must not take minutes because it is audited.
const maxAuditReads = 1000

// audit writes one line about a change; err is how it ended. device is "" where it is of a tenant.
// What the client says of itself (by) is an attribute like others: it is not who asked. No detail
// may be named as what each line of a log has: time, level, msg.
func (c *call) audit(
	what string, tenant andon.TenantID, device andon.DeviceID, err error, details ...slog.Attr,
) {
	log := c.options.Audit
	outcome, changed := outcomeOf(err)
	if log == nil || !changed {
		return
	}
	line := []slog.Attr{
		slog.String("what", what),
		slog.String("outcome", outcome),
		slog.String("who", c.guard.who()),
		slog.String("remote", c.r.RemoteAddr),
		slog.String("request_id", c.x.id),
		slog.String("tenant", string(tenant)),
	}
	if device != "" {
		line = append(line, slog.String("device", string(device)))
	}
	log.LogAttrs(c.ctx(), slog.LevelInfo, "audit", append(line, details...)...)
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

// who says how the client was let in. There is one token, so nothing more is known of it.
func (g guard) who() string {
	if g.token != nil {
		return "token"
	}
	return "loopback"
}

func before(p andon.PersonID) slog.Attr { return slog.String("before", string(p)) }
func after(p andon.PersonID) slog.Attr  { return slog.String("after", string(p)) }

func at(name string, t andon.Time) slog.Attr { return slog.String(name, t.String()) }

// assign assigns operators.
func (c *call) assign(sent []andon.Assignment) ([]andon.Assignment, error) {
	kept, err := c.intake.Assign(c.ctx(), c.tenant, sent)
	if err != nil {
		for _, a := range sent {
			c.audit("assign", c.tenant, a.Device, err, after(a.Operator))
		}
		return nil, err
	}
	for i, a := range kept {
		if a.Again {
			continue
		}
		details := []slog.Attr{after(a.Operator), at("from", a.From)}
		if i < maxAuditReads && c.options.Audit != nil {
			details = append(c.assignedBefore(a), details...)
		}
		c.audit("assign", c.tenant, a.Device, nil, details...)
	}
	return kept, nil
}

// assignedBefore returns who an assignment took over from. Assignments are a list that only grows,
// so this is exact although it is read afterwards. Where it can't be read nothing is said.
func (c *call) assignedBefore(a andon.Assignment) []slog.Attr {
	q := andon.PageQuery{Order: andon.Desc, After: a.From, Limit: 1}
	for former, err := range c.store.Assignments(c.ctx(), c.tenant, a.Device, q) {
		if err != nil {
			return nil
		}
		return []slog.Attr{before(former.Operator)}
	}
	return []slog.Attr{before("")}
}

// escalate escalates an entry, or withdraws. What is so already is no change.
func (c *call) escalate(sent andon.Escalation) (kept andon.Escalation, added bool, err error) {
	kept, added, err = c.intake.Escalate(c.ctx(), c.tenant, sent)
	if err != nil {
		c.audit("escalate", c.tenant, sent.Device, err, after(sent.To), said(sent.By))
	}
	if err != nil || !added {
		return kept, added, err
	}
	details := append(c.escalatedBefore(kept), after(kept.To), at("entry_time", kept.Time),
		slog.String("state", string(kept.State)), at("at", kept.At), said(kept.By))
	c.audit("escalate", c.tenant, kept.Device, nil, details...)
	return kept, true, nil
}

// said is who the client says escalated.
func said(by andon.PersonID) slog.Attr { return slog.String("by", string(by)) }

// escalatedBefore returns to whom the entry was escalated until then: records are a list, too.
func (c *call) escalatedBefore(e andon.Escalation) []slog.Attr {
	if c.options.Audit == nil {
		return nil
	}
	entry, err := c.store.Entry(c.ctx(), c.tenant, e.Device, e.Time, e.State)
	if err != nil {
		return nil
	}
	for _, record := range entry.Escalations { // newest first
		if record.At < e.At {
			return []slog.Attr{before(record.To)}
		}
	}
	return []slog.Attr{before("")}
}

// appendEvents keeps events, some of which may escalate their entries. Sent again, such an event
// has a line again: it asks for the same once more.
func (c *call) appendEvents(
	ctx context.Context, tenant andon.TenantID, batch ingest.Batch[andon.Event],
) (intake.Result, error) {
	result, err := c.intake.Events(ctx, tenant, batch)
	if c.options.Audit == nil {
		return result, err
	}
	refused := map[int]bool{}
	for _, r := range result.Rejected {
		refused[r.Index] = true
	}
	for i := range batch.Items { // a hundred thousand of them are not copied for the few
		e := &batch.Items[i].Value
		if e.EscalatedTo == "" || refused[batch.Items[i].Index] {
			continue
		}
		c.audit("escalate", tenant, e.Device, err, after(e.EscalatedTo),
			at("entry_time", e.Time), slog.String("state", string(e.State)),
			slog.Bool("by_event", true))
	}
	return result, err
}

// retireDevice retires a device. What it showed is read before and may be a moment old.
func (c *call) retireDevice(device andon.DeviceID) (andon.Time, error) {
	var details []slog.Attr
	if c.options.Audit != nil {
		if d, err := c.store.Device(c.ctx(), c.tenant, device); err == nil {
			shown := []slog.Attr{
				slog.String("state", string(d.State)), at("since", d.Since),
				slog.String("operator", string(d.Operator)),
			}
			details = append(details, slog.Attr{Key: "before", Value: slog.GroupValue(shown...)})
		}
	}
	retired, err := c.intake.Retire(c.ctx(), c.tenant, device)
	if err == nil {
		details = append(details, at("retired", retired))
	}
	c.audit("retire", c.tenant, device, err, details...)
	return retired, err
}

// purgeDevice removes a device with all that it ever sent.
func (c *call) purgeDevice(device andon.DeviceID) error {
	err := c.intake.Purge(c.ctx(), c.tenant, device)
	c.audit("purge", c.tenant, device, err)
	return err
}

// withdraw takes an entry back. Done again it changes nothing and has no line.
func (c *call) withdraw(sent andon.Withdrawal) error {
	kept, added, err := c.intake.Withdraw(c.ctx(), c.tenant, sent)
	if err == nil && !added {
		return nil
	}
	details := []slog.Attr{
		at("entry_time", sent.Time), slog.String("state", string(sent.State)), said(sent.By),
		slog.String("note", sent.Note),
	}
	if err == nil {
		details = append(details, at("at", kept.At))
	}
	c.audit("withdraw", c.tenant, sent.Device, err, details...)
	return err
}

// restoreHistory takes back what was taken out.
func (c *call) restoreHistory(h andon.History) (intake.Result, error) {
	result, err := c.intake.Restore(c.ctx(), c.tenant, h)
	c.audit("restore", c.tenant, "", err, slog.Int("assignments", len(h.Assignments)),
		slog.Int("escalations", len(h.Escalations)), slog.Int("retirements", len(h.Retirements)),
		slog.Int("rejected", len(result.Rejected)))
	return result, err
}

// changeTenant creates a tenant or changes it. The line names what is other than before.
func (c *call) changeTenant(
	id andon.TenantID, change func(*andon.Tenant) error,
) (t andon.Tenant, created bool, err error) {
	var former, tried andon.Tenant
	t, created, err = c.intake.PutTenant(c.ctx(), id, func(record *andon.Tenant) error {
		former = *record
		err := change(record)
		tried = *record
		return err
	})
	what := "change tenant"
	if created {
		what = "create tenant"
	}
	c.audit(what, id, "", err, changes(&former, &tried, created)...)
	return t, created, err
}

// dropTenant deletes a tenant with all that it has.
func (c *call) dropTenant(id andon.TenantID) error {
	err := c.intake.DeleteTenant(c.ctx(), id)
	c.audit("delete tenant", id, "", err)
	return err
}

// changes returns the settings that differ, as they were and as they are. A new tenant has only the
// latter, all of them.
func changes(from, to *andon.Tenant, created bool) []slog.Attr {
	if to.States == nil { // it could not be read
		return nil
	}
	var was, is []any
	old := settings(from)
	for i, s := range settings(to) {
		switch {
		case created:
			is = append(is, s)
		case !s.Equal(old[i]):
			was, is = append(was, old[i]), append(is, s)
		}
	}
	return []slog.Attr{slog.Group("before", was...), slog.Group("after", is...)}
}

func settings(t *andon.Tenant) []slog.Attr {
	states, err := json.Marshal(t.States.Defs())
	if err != nil {
		states = nil // they are texts and numbers
	}
	return []slog.Attr{
		slog.String("events", t.Events.String()),
		slog.String("readings", t.Readings.String()),
		slog.String("max_future", t.MaxFuture.String()),
		slog.String("silent_after", t.SilentAfter.String()),
		slog.String("states", string(states)),
	}
}
