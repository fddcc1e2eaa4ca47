package dynamostore

import (
	"context"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// The indexes of the guide to time series are optional. Each costs every reading a write unit or
// more, and answers only what may be eventual.
const (
	indexLatest = "DeviceLatestGSI"

	// What an optional index has of an item.
	projectsNone    = "none" // there is no index
	projectsMetrics = "metrics"
	projectsAll     = "all"

	// attrWhole marks a message without metadata: an index that has no metadata has all of it.
	attrWhole = "whole"
)

// indexSettings returns the settings of the optional indexes.
func (e *Engine) indexSettings() []config.Setting {
	return []config.Setting{
		{Key: "latest_index",
			Value: config.Choice(&e.LatestIndex, projectsNone, projectsMetrics, projectsAll),
			Help: "what DeviceLatestGSI has of each reading, for newest readings that may be " +
				"eventual; none: there is no such index"},
		{Key: "metric_index", Value: config.List(&e.MetricIndex).That(e.checkMetrics),
			Help: "metrics that MetricGSI finds across devices by time, where the answer may be " +
				"eventual; none named: there is no such index"},
		{Key: "metric_projection",
			Value: config.Choice(&e.MetricProjection, projectsMetrics, projectsAll),
			Help:  "what MetricGSI has of each reading"},
	}
}

// readingIndexes returns those that are set.
func (o *Options) readingIndexes() (all []ddb.Index) {
	projected := func(projection string) ([]string, bool) {
		return []string{attrMetrics, attrDelivery, attrWhole}, projection == projectsAll
	}
	if o.LatestIndex != "" && o.LatestIndex != projectsNone {
		x := ddb.Index{Name: indexLatest, Key: readingKeys(),
			What: "The readings once more, for newest ones that many ask for."}
		x.Projects, x.All = projected(o.LatestIndex)
		all = append(all, x)
	}
	if len(o.MetricIndex) > 0 {
		x := ddb.Index{Name: indexMetric, Key: ddb.Keys{Hash: attrMetricType, Sort: attrMetricTime},
			What: "Readings that have a listed metric, of all devices by time."}
		x.Projects, x.All = projected(o.MetricProjection)
		all = append(all, x)
	}
	return all
}

// latestByIndex returns the newest reading that DeviceLatestGSI has of a device. ok is false where
// the index does not have all of it.
func (s *Store) latestByIndex(
	ctx context.Context, t *tenant, d *device, from andon.Time,
) (r *andon.Reading, ok bool, err error) {
	q := andon.ReadingQuery{Span: andon.Span{From: from}, Limit: 1}
	for found, err := range s.instants(ctx, t, d, q, indexLatest) {
		if err != nil {
			return nil, false, err
		}
		r := joined(found)
		return &r, !slices.ContainsFunc(found, func(m message) bool { return m.partial }), nil
	}
	return nil, true, nil
}

// spareIndexes returns the names of those that are not set.
func (o *Options) spareIndexes() (names []string) {
	set := o.readingIndexes()
	for _, name := range []string{indexLatest, indexMetric} {
		if !slices.ContainsFunc(set, func(x ddb.Index) bool { return x.Name == name }) {
			names = append(names, name)
		}
	}
	return names
}
