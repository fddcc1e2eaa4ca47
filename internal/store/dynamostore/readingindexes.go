package dynamostore

import (
	"context"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

func (e *Engine) indexSettings() []config.Setting {
	return []config.Setting{
		{Key: "latest_index",
			Value: config.Choice(&e.LatestIndex, items.ProjectsNone, items.ProjectsMetrics,
				items.ProjectsAll),
			Help: "what DeviceLatestGSI has of each reading, for newest readings that may be " +
				"eventual; none: there is no such index"},
		{Key: "metric_index", Value: config.List(&e.MetricIndex).That(e.CheckMetrics),
			Help: "metrics that MetricGSI finds across devices by time, where the answer may be " +
				"eventual; none named: there is no such index"},
		{Key: "metric_projection",
			Value: config.Choice(&e.MetricProjection, items.ProjectsMetrics, items.ProjectsAll),
			Help:  "what MetricGSI has of each reading"},
	}
}

// latestByIndex returns the newest reading that DeviceLatestGSI has of a device. ok is false where
// the index does not have all of it.
func (s *Store) latestByIndex(
	ctx context.Context, d *device, from andon.Time,
) (r *andon.Reading, ok bool, err error) {
	q := andon.ReadingQuery{Span: andon.Span{From: from}, Limit: 1}
	for found, err := range s.instants(ctx, d, q, items.IndexLatest) {
		if err != nil {
			return nil, false, err
		}
		r := items.Joined(found)
		return &r, !slices.ContainsFunc(found, func(m message) bool { return m.Partial }), nil
	}
	return nil, true, nil
}
