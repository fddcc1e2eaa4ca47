package dynamostore

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
)

// The indexes of the guide to time series are optional. Each costs every reading a write unit or
// more, and answers only what may be eventual.
const (
	indexLatest = "DeviceLatestGSI"

	// What an optional index has of an item.
	projectsNone    = "none" // there is no index
	projectsMetrics = "metrics"
	projectsAll     = "all"

	// attrWhole is of a message without metadata: an index that has no metadata has all of it.
	attrWhole = "whole"
)

// ofIndexes are the settings of the optional indexes.
func (e *Engine) ofIndexes() []config.Setting {
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

// readingIndexes are those that are set.
func (o *Options) readingIndexes() (all []index) {
	projected := func(projection string) ([]string, bool) {
		return []string{attrMetrics, attrDelivery, attrWhole}, projection == projectsAll
	}
	if o.LatestIndex != "" && o.LatestIndex != projectsNone {
		x := index{name: indexLatest, key: readingKeys(),
			what: "The readings once more, for newest ones that many ask for."}
		x.projects, x.all = projected(o.LatestIndex)
		all = append(all, x)
	}
	if len(o.MetricIndex) > 0 {
		x := index{name: indexMetric, key: keys{attrMetricType, attrMetricTime},
			what: "Readings that have a listed metric, of all devices by time."}
		x.projects, x.all = projected(o.MetricProjection)
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

// spare deletes optional indexes that are not set, or says that they are there.
func (c *care) spare(ctx context.Context, o Options, remove bool) error {
	name := o.Prefix + tableReadings
	is, err := c.describe(ctx, name)
	if err != nil || is == nil {
		return err
	}
	set := o.readingIndexes()
	for _, spare := range []string{indexLatest, indexMetric} {
		isSpare := func(x index) bool { return x.name == spare }
		if indexOf(is, spare) == nil || slices.ContainsFunc(set, isSpare) {
			continue
		}
		if !remove {
			c.tell("# " + name + " has the index " + spare + ", which is not in the settings, " +
				"and each reading pays for it: --remove-indexes deletes it")
			continue
		}
		in := &dynamodb.UpdateTableInput{TableName: &name,
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{
				Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String(spare)},
			}}}
		err := c.do("dynamodb update-table", name, in, func() error {
			_, err := c.db.UpdateTable(ctx, in)
			return err
		})
		if err == nil {
			err = c.wait(ctx, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
