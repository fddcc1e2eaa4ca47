package intake

import (
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
)

// readingOutcomes counts readings that are about to be appended, in the order given. Readings of
// one device and time join, so each is compared with what the ones before it have made.
func (in *Intake) readingOutcomes(
	ctx context.Context, tenant andon.TenantID, readings []andon.Reading,
) (*Outcomes, error) {
	return countOutcomes(ctx, readings, func(r *andon.Reading) andon.DeviceID { return r.Device },
		func(ctx context.Context, sent []andon.Reading) (Outcomes, error) {
			return in.measuredOutcomes(ctx, tenant, sent)
		})
}

// measuredOutcomes counts the readings of one device.
func (in *Intake) measuredOutcomes(
	ctx context.Context, tenant andon.TenantID, sent []andon.Reading,
) (o Outcomes, err error) {
	device := sent[0].Device
	latest, err := in.store.LatestReadings(ctx, tenant, []andon.DeviceID{device}, 0)
	if err != nil {
		return o, err
	}
	newest := andon.Time(0)
	for i := range latest {
		newest = latest[i].Time
	}
	kept := make(map[andon.Time]andon.Reading, len(sent))
	older := slices.Clone(sent)
	slices.SortStableFunc(older, func(a, b andon.Reading) int { return int(a.Time - b.Time) })
	for len(older) > 0 && older[len(older)-1].Time > newest {
		older = older[:len(older)-1]
	}
	q := andon.ReadingQuery{Order: andon.Asc}
	err = eachKept(older, func(r *andon.Reading) andon.Time { return r.Time },
		func(span andon.Span, limit int) iter.Seq2[andon.Reading, error] {
			q.Span, q.Limit = span, limit
			return in.store.DeviceReadings(ctx, tenant, device, q)
		}, func(r andon.Reading) { kept[r.Time], q.After = r, r.Time })
	if err != nil {
		return o, err
	}
	for i := range sent {
		before, there := kept[sent[i].Time]
		after := joined(before, sent[i])
		o.count(there, slices.Equal(before.Metrics, after.Metrics) &&
			before.Metadata == after.Metadata)
		kept[sent[i].Time] = after
	}
	return o, nil
}

// joined is what two messages of one device and time make.
func joined(before, later andon.Reading) andon.Reading {
	before.Metrics = before.Metrics.Join(later.Metrics)
	if later.Metadata != "" {
		before.Metadata = later.Metadata
	}
	return before
}
