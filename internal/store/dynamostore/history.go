package dynamostore

import (
	"context"
	"iter"
	"math"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// history is the log of a device while it is folded. It serves package current.
type history struct {
	store  *Store
	ctx    context.Context
	device *device
	hidden map[andon.EntryRef]bool // withdrawn or not, of the entries that were asked about
}

var _ current.History = (*history)(nil)

func (s *Store) history(ctx context.Context, d *device) *history {
	return &history{store: s, ctx: ctx, device: d, hidden: map[andon.EntryRef]bool{}}
}

func (p *history) states() *andon.StateSet { return p.device.Tenant.Record.States }

func (p *history) learn(refs ...andon.EntryRef) error {
	var marks []mark
	for _, ref := range refs {
		if _, known := p.hidden[ref]; !known && p.device.Withdrawn.Covers(ref.Time) {
			marks = append(marks, items.Withdrawal(p.device, ref))
			p.hidden[ref] = false
		}
	}
	found, err := p.store.readMarked(p.ctx, marks)
	for m := range found {
		p.hidden[m.EntryRef] = true
	}
	return err
}

func (p *history) withdrawn(ref andon.EntryRef) (bool, error) {
	err := p.learn(ref)
	return p.hidden[ref], err
}

// Next implements current.History. The log may have entries that are not folded yet, of this write
// or another one. So only those are read that can be next: of the current run if the entry is in
// it, else of the incident. One of them that is not folded yet is a right answer, too.
func (p *history) Next(after andon.EventKey) (andon.Time, error) {
	d, states := p.device, p.states()
	first := andon.EventKey{Time: d.Since, Severity: states.Severity(d.State), State: d.State}
	inRun := after.Compare(first) > 0
	next := d.Time // where the log has expired
	for _, state := range d.States {
		if inRun && state != d.State || !inRun && states.Severity(state) == 0 {
			continue
		}
		const few = 3
		q := andon.EventQuery{Span: andon.Span{From: after.Time}, Order: andon.Asc, Limit: few}
		all := entriesOf(d, state, q.Span)
		for e, err := range items.Found(p.ctx, p.store.db, d.Tenant, q, all, items.ReadEvent) {
			if err != nil {
				return 0, err
			}
			if e.Time >= next {
				break
			}
			key := e.Key(states)
			key.Device = ""
			if key.Compare(after) <= 0 {
				continue
			}
			hidden, err := p.withdrawn(e.Ref())
			if err != nil {
				return 0, err
			}
			if !hidden {
				next = key.Time
				break
			}
		}
	}
	return next, nil
}

// ForgetAside implements current.History. What package current sets aside is read from the records
// of the entries, so there is nothing to keep.
func (p *history) ForgetAside() {}

// SetAside implements current.History.
func (p *history) SetAside(current.Escalation) {}

// AsideOf implements current.History.
func (p *history) AsideOf(entry andon.Time, state andon.State) (current.Escalation, error) {
	ref := andon.EntryRef{Time: entry, State: state}
	hidden, err := p.withdrawn(ref)
	if err != nil || hidden {
		return current.Escalation{}, err
	}
	r, err := p.store.latestRecord(p.ctx, p.device, ref)
	return current.Escalation{Entry: entry, State: state, At: r.At, To: r.To}, err
}

// Aside implements current.History.
func (p *history) Aside(from andon.Time) iter.Seq2[current.Escalation, error] {
	return seq.Of(func(yield func(current.Escalation) bool) error {
		for _, state := range p.device.States {
			span := andon.Span{From: from}
			q := items.StateRange(items.Join(p.device.Rows(), items.PartEscalated), state, span)
			found, err := ddb.Collect(p.ctx, p.store.db, q, items.ReadEscalation)
			var refs []andon.EntryRef
			for _, r := range found {
				refs = append(refs, andon.EntryRef{Time: r.Time, State: r.State})
			}
			if err == nil {
				err = p.learn(refs...)
			}
			if err != nil {
				return err
			}
			for i, r := range found {
				is := items.LatestRecord{Escalation: r}
				if !p.hidden[refs[i]] && !yield(is.Current()) {
					return nil
				}
			}
		}
		return nil
	})
}

func (p *history) refold() error {
	var failed error
	gone := func(ref andon.EntryRef) bool {
		hidden, err := p.withdrawn(ref)
		if failed == nil {
			failed = err
		}
		return hidden
	}
	if err := p.device.Refold(p.logged(), p.states(), gone, p); err != nil {
		return err
	}
	return failed
}

// refolded is how many entries refold reads together.
const refolded = 100

// logged returns the log, withdrawn or not, newest first.
func (p *history) logged() iter.Seq2[current.Logged, error] {
	return seq.Of(func(yield func(current.Logged) bool) error {
		q := andon.EventQuery{Limit: math.MaxInt}
		log := p.store.entries(p.ctx, p.device, q)
		for piece, err := range seq.Pieces(func() int { return refolded }, log) {
			if err != nil {
				return err
			}
			refs := make([]andon.EntryRef, len(piece))
			var marks []mark
			for i := range piece {
				refs[i] = piece[i].Ref()
				if p.device.EverEscalated.Covers(refs[i].Time) {
					marks = append(marks, items.Latest(p.device, refs[i]))
				}
			}
			if err := p.learn(refs...); err != nil {
				return err
			}
			escalated, err := p.store.latestMarked(p.ctx, marks)
			if err != nil {
				return err
			}
			for i := range piece {
				l := current.Logged{Entry: p.entry(&piece[i].Event)}
				r, was := escalated[items.Latest(p.device, refs[i])]
				if was && !p.hidden[refs[i]] {
					l.Escalated = r.Current()
				}
				if !yield(l) {
					return nil
				}
			}
		}
		return nil
	})
}

func (p *history) entry(e *andon.Event) current.Entry {
	return current.Entry{
		Time: e.Time, Severity: p.states().Severity(e.State), State: e.State,
		Operator: e.Operator,
	}
}
