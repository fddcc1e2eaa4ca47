package runner

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bydevice"
	"github.com/andonhq/andon/internal/rules"
)

// pageSize is how many readings of a device are replayed at once, at least.
const pageSize = 4096

// Replay says what a rule would have said by the stored readings of a span, where it was not raised
// before, and stores nothing. Of what it would have said it returns at most limit.
func (r *Runner) Replay(
	ctx context.Context, tenant andon.TenantID, p *rules.Program, span andon.Span, limit int,
) (t rules.Tried, err error) {
	of, err := r.Store.Tenant(ctx, tenant)
	if err != nil {
		return t, err
	}
	group, err := r.Group(ctx, tenant)
	if err != nil {
		return t, err
	}
	from := span.From
	span.From = max(from-andon.Time(p.When.Over), 0)
	only := func(d andon.DeviceID) bool { return p.Match.Fits(d, group) }
	var one *rules.Replay
	var page []andon.Reading
	full := pageSize
	end := func() {
		if one != nil {
			one.Readings(page, &t)
			one.End(span.To, of.States, &t)
		}
	}
	for reading, err := range bydevice.Readings(ctx, r.Store, tenant, bydevice.Query{
		Span: span, Only: only,
	}) {
		if err != nil {
			return t, err
		}
		if one == nil || one.Device != reading.Device {
			if end(); len(t.Said) > limit {
				one = nil
				break
			}
			one, page = &rules.Replay{Device: reading.Device, Program: p, From: from}, nil
			full = pageSize
		}
		if page = append(page, reading); len(page) >= full {
			page = one.Readings(page, &t)
			full = pageSize + 2*len(page)
		}
	}
	end()
	if t.More = len(t.Said) > limit; t.More {
		t.Said = t.Said[:limit]
	}
	return t, nil
}
