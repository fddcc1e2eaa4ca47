// Package fleet takes a snapshot of a fleet: what all devices of a tenant show, briefly, and the
// position at which the feed of changes goes on from it without a gap.
//
// The devices are listed part by part, while others change. So the position is taken first, and
// what the feed has by the end of the list replaces what was listed.
//
// The package knows no request. It writes the snapshot as JSON, row by row, since a fleet may have
// a million devices.
package fleet

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
)

// Snapshot is a snapshot of a fleet.
type Snapshot struct {
	tenant andon.Tenant
	states []andon.StateDef
	index  map[andon.State]int // into states
	rows   []row
	at     andon.Position
	before andon.Time // silent are the devices of which nothing arrived since
}

type row struct {
	id     andon.DeviceID
	since  int64 // seconds
	state  int32 // index into states
	silent bool
}

// Take takes a snapshot at a time, of the devices that only reports.
func Take(
	ctx context.Context, store andon.Store, tenant andon.Tenant, now andon.Time,
	only func(andon.DeviceID) bool,
) (*Snapshot, error) {
	p := &Snapshot{
		tenant: tenant, states: tenant.States.Defs(), index: map[andon.State]int{},
		before: andon.SilentBefore(now, tenant.SilentAfter),
	}
	for i, s := range p.states {
		p.index[s.Name] = i
	}
	return p, p.read(ctx, store, only)
}

// read reads the list part by part, and what changed meanwhile from the feed.
func (p *Snapshot) read(
	ctx context.Context, store andon.Store, only func(andon.DeviceID) bool,
) error {
	_, at, err := store.ChangesKept(ctx, p.tenant.ID)
	if err != nil {
		return err
	}
	const part = 4096
	q := andon.DeviceQuery{Limit: part, Brief: true, Only: only}
	for more := true; more; {
		found := 0
		for d, err := range store.Devices(ctx, p.tenant.ID, q) {
			if err != nil {
				return err
			}
			p.rows = append(p.rows, p.row(&d))
			q.After, found = new(d.Position()), found+1
		}
		more = found == part
	}
	changed := map[andon.DeviceID]*row{} // nil: nothing is shown any more
	for change, err := range store.Changes(ctx, p.tenant.ID, at) {
		switch {
		case err != nil:
			return err
		case change.Kind == andon.OfTenant || !only(change.Device):
		case change.After == nil:
			changed[change.Device] = nil
		default:
			changed[change.Device] = new(p.row(change.After))
		}
		at = change.Position
	}
	p.at = at
	p.rows = slices.DeleteFunc(p.rows, func(r row) bool {
		_, listed := changed[r.id]
		return listed
	})
	for _, r := range changed {
		if r != nil {
			p.rows = append(p.rows, *r)
		}
	}
	return nil
}

func (p *Snapshot) row(d *andon.Device) row {
	state, ok := p.index[d.State]
	if !ok {
		state = len(p.states)
		p.states = append(p.states, p.tenant.States.Look(d.State))
		p.index[d.State] = state
	}
	return row{
		id: d.ID, state: int32(state), since: d.Since.Std().Unix(), silent: d.Received < p.before,
	}
}

// Write writes the snapshot, and returns how many devices it has.
func (p *Snapshot) Write(to io.Writer) (count int, err error) {
	states, err := json.Marshal(p.states)
	if err != nil {
		return 0, err
	}
	text := append([]byte(`{"position":"`), p.at.String()...)
	text = append(append(text, `","states":`...), states...)
	text = append(text, `,"devices":[`...)
	silent := []byte(`],"silent":[`)
	for i := range p.rows {
		r := &p.rows[i]
		if i > 0 {
			text = append(text, ',')
		}
		if r.silent {
			if silent[len(silent)-1] != '[' {
				silent = append(silent, ',')
			}
			silent = strconv.AppendInt(silent, int64(i), 10)
		}
		text = r.append(text)
		if _, err := to.Write(text); err != nil {
			return i, err
		}
		text = text[:0]
	}
	_, err = to.Write(slices.Concat(text, silent, []byte("]}\n")))
	return len(p.rows), err
}

func (r *row) append(b []byte) []byte {
	b = append(b, '[')
	if id := string(r.id); strings.ContainsAny(id, `"\`) {
		quoted, _ := json.Marshal(id) // valid UTF-8 without control characters
		b = append(b, quoted...)
	} else {
		b = append(append(append(b, '"'), id...), '"')
	}
	b = strconv.AppendInt(append(b, ','), int64(r.state), 10)
	b = strconv.AppendInt(append(b, ','), r.since, 10)
	return append(b, ']')
}
