package dynamostore

import (
	"context"
	"iter"
	"math"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/shared"
)

// past is the log of a device while it is folded.
type past struct {
	store  *Store
	ctx    context.Context
	tenant *tenant
	device *device
	hidden map[andon.EntryRef]bool // withdrawn; nil: not read yet
}

var _ current.History = (*past)(nil)

func (s *Store) past(ctx context.Context, t *tenant, d *device) *past {
	return &past{store: s, ctx: ctx, tenant: t, device: d}
}

// withdrawn returns the entries that were withdrawn.
func (p *past) withdrawn() (map[andon.EntryRef]bool, error) {
	if p.hidden == nil {
		p.hidden = map[andon.EntryRef]bool{}
		if !p.device.Withdrawn {
			return p.hidden, nil
		}
		q := p.store.record("withdrawal#" + p.device.rows(p.tenant))
		for i, err := range p.store.each(p.ctx, q) {
			if err != nil {
				p.hidden = nil
				return nil, err
			}
			ref, _, err := splitStateDate(i.text(attrSort))
			if err != nil {
				return nil, err
			}
			p.hidden[ref] = true
		}
	}
	return p.hidden, nil
}

// Next is of current.History. The log may have entries that are not folded yet, of this write or
// another one. So it is asked only for those that can be next: of the present run if the entry is
// within it, else of the incident. One of them that is not folded yet is not wrong either.
func (p *past) Next(behind andon.EventKey) (andon.Time, error) {
	hidden, err := p.withdrawn()
	if err != nil {
		return 0, err
	}
	d, states := p.device, p.tenant.Record.States
	first := andon.EventKey{Time: d.Since, Severity: states.Severity(d.State), State: d.State}
	inRun := behind.Compare(first) > 0
	next := d.Time // where the log has expired
	for _, state := range d.States {
		if inRun && state != d.State || !inRun && states.Severity(state) == 0 {
			continue
		}
		q := andon.EventQuery{Span: andon.Span{From: behind.Time}, Order: andon.Asc}
		all := p.store.entriesOf(p.tenant, d, state, q, 4)
		for found, err := range shared.Instants(p.ctx, all, (*event).at, q.Order) {
			if err != nil {
				return 0, err
			}
			if found[0].Time >= next {
				break
			}
			key := found[0].Key(states)
			key.Device = ""
			ref := andon.EntryRef{Time: key.Time, State: key.State}
			if key.Compare(behind) > 0 && !hidden[ref] {
				next = key.Time
				break
			}
		}
	}
	return next, nil
}

// ForgetAside is of current.History: what stands aside are the records of the entries themselves.
func (p *past) ForgetAside() {}

// SetAside is of current.History.
func (p *past) SetAside(current.Escalation) {}

// AsideOf is of current.History.
func (p *past) AsideOf(entry andon.Time, state andon.State) (current.Escalation, error) {
	hidden, err := p.withdrawn()
	if ref := (andon.EntryRef{Time: entry, State: state}); err != nil || hidden[ref] {
		return current.Escalation{}, err
	}
	r, err := p.store.standing(p.ctx, p.tenant, p.device, entry, state)
	return current.Escalation{Entry: entry, State: state, At: r.At, To: r.To}, err
}

// Aside is of current.History.
func (p *past) Aside(from andon.Time) iter.Seq2[current.Escalation, error] {
	return seq.Of(func(yield func(current.Escalation) bool) error {
		hidden, err := p.withdrawn()
		if err != nil {
			return err
		}
		for _, state := range p.device.States {
			span := andon.Span{From: from}
			q := p.store.stateRange(join(p.device.rows(p.tenant), partEscalated), state, span)
			for i, err := range p.store.each(p.ctx, q) {
				var r standing
				if err == nil {
					r, err = readStanding(i)
				}
				if err != nil {
					return err
				}
				e := current.Escalation{Entry: r.Time, State: r.State, At: r.At, To: r.To}
				if !hidden[andon.EntryRef{Time: r.Time, State: r.State}] && !yield(e) {
					return nil
				}
			}
		}
		return nil
	})
}

// refold works the device out again from its log.
func (p *past) refold() error {
	hidden, err := p.withdrawn()
	if err != nil {
		return err
	}
	gone := func(e andon.EntryRef) bool { return hidden[e] }
	return p.device.Refold(p.logged(), p.tenant.Record.States, gone, p)
}

// logged is the log, withdrawn or not, newest first.
func (p *past) logged() iter.Seq2[current.Logged, error] {
	return seq.Of(func(yield func(current.Logged) bool) error {
		escalated := map[andon.EntryRef]current.Escalation{}
		if p.device.HasEscalations {
			for r, err := range p.Aside(0) {
				if err != nil {
					return err
				}
				escalated[andon.EntryRef{Time: r.Entry, State: r.State}] = r
			}
		}
		q := andon.EventQuery{Limit: math.MaxInt}
		for e, err := range p.store.entries(p.ctx, p.tenant, p.device, q) {
			if err != nil {
				return err
			}
			l := current.Logged{Entry: p.entry(&e.Event)}
			l.Escalated = escalated[andon.EntryRef{Time: e.Time, State: e.State}]
			if !yield(l) {
				return nil
			}
		}
		return nil
	})
}

// entry is what folding needs of an event.
func (p *past) entry(e *andon.Event) current.Entry {
	return current.Entry{
		Time: e.Time, Severity: p.tenant.Record.States.Severity(e.State), State: e.State,
		Operator: e.Operator,
	}
}
