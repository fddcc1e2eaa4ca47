package dynamostore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/dynamostore/provision"
	"github.com/andonhq/andon/internal/store/shared"
)

// checkListed refuses to open tables that have another list than this process: its messages would
// be missing from what others find.
func (s *Store) checkListed(ctx context.Context) error {
	set := strings.Join(s.options.MetricIndex, ",")
	i, err := s.db.Get(ctx, items.TableRecords, items.ListedKey())
	if err == nil && i == nil {
		i, err = s.listFirst(ctx, set)
	}
	is := items.ReadListed(i).List
	if err != nil || is == set {
		return err
	}
	return andon.Errorf(andon.Conflict, "the tables index the readings of %s in %s, and "+
		"dynamodb.metric_index is %s: set it as the tables have it, or run `andon store init` "+
		"with what is to be (and --remove-indexes for none) and start all processes with that",
		cmp.Or(is, "no metric"), items.IndexMetric, cmp.Or(set, "empty"))
}

// listFirst writes which metrics are listed where there is no reading yet, as in tables that a
// template made. Of several processes that start at once, one does. It returns what is stored.
func (s *Store) listFirst(ctx context.Context, set string) (ddb.Item, error) {
	found, next, err := s.db.Scan(ctx, items.TableReadings, nil, 1)
	if err != nil || len(found) > 0 || next != nil {
		return nil, err
	}
	i := items.MetricsListed{List: set}.Item()
	err = s.db.Put(ctx, items.TableRecords, i, ddb.Absent(items.AttrKey))
	if errors.Is(err, ddb.ErrRaced) {
		return s.db.Get(ctx, items.TableRecords, items.ListedKey())
	}
	return i, err
}

// metricPlace returns the position in the list of metrics by which the index can answer a query; -1
// where it can't.
func (s *Store) metricPlace(ctx context.Context, q *andon.MetricQuery) (int, error) {
	n := slices.Index(s.options.MetricIndex, string(q.Metric))
	if n < 0 || !ddb.IsEventual(ctx) || q.After != nil && !q.After.ByTime {
		return -1, nil
	}
	i, err := s.db.Get(ctx, items.TableRecords, items.ListedKey())
	is := items.ReadListed(i)
	if err == nil && is.List == strings.Join(s.options.MetricIndex, ",") && q.Span.From >= is.From {
		return n, nil
	}
	return -1, err
}

// metricByTime answers from the index: newest first, whichever device it is.
func (s *Store) metricByTime(
	ctx context.Context, t *tenant, q andon.MetricQuery, place int,
	yield func(andon.MetricReading) bool,
) error {
	// Under the metric and under those that are listed before it.
	asked := items.MetricQueries(t, s.options.MetricIndex[:place+1], &q)
	all := ddb.RowsOf(s.db, asked, items.ReadMessage)
	left := q.Limit
	size := func() int { return min(left, ddb.MaxGets) }
	merged := shared.Merge(ctx, (*message).Place, andon.Desc, all...)
	for found, err := range seq.Pieces(size, merged) {
		if err == nil {
			found, err = s.stillOf(ctx, t, found)
		}
		if err != nil {
			return err
		}
		for _, of := range found {
			r := items.Joined(of)
			value, has := r.Metrics.Get(q.Metric)
			if !has {
				continue
			}
			left--
			if !yield(andon.MetricReading{
				Device: r.Device, Time: r.Time, Value: value, ByTime: true,
			}) || left == 0 {
				return nil
			}
		}
	}
	return nil
}

// stillOf leaves out messages of an earlier incarnation of their device.
func (s *Store) stillOf(
	ctx context.Context, t *tenant, found [][]message,
) (kept [][]message, err error) {
	ids := make([]andon.DeviceID, len(found))
	for i, of := range found {
		ids[i] = of[0].Device
	}
	all, err := s.readDevices(ctx, t, shared.Distinct(ids))
	if err != nil {
		return nil, err
	}
	devices := map[andon.DeviceID]*device{}
	for _, d := range all {
		devices[d.ID] = d
	}
	for _, of := range found {
		of = slices.DeleteFunc(of, func(m message) bool {
			return !devices[m.Device].Owns(m.Partition)
		})
		if len(of) > 0 {
			kept = append(kept, of)
		}
	}
	return kept, nil
}

// list writes which metrics are listed, where that was another list. Where the table was just
// created all readings will have the keys.
func (o Options) list(ctx context.Context, p *provision.Setup, remove bool) error {
	records := o.Prefix + items.TableRecords
	stored, err := p.Get(ctx, records, items.ListedKey())
	is := items.MetricsListed{List: strings.Join(o.MetricIndex, ",")}
	switch {
	case err != nil || is.List == items.ReadListed(stored).List:
		return err
	case is.List == "" && !remove:
		return nil // Spare notes that the index exists
	case !p.Created(o.Prefix + items.TableReadings):
		is.From = o.Now().Add(items.UntilAllWrite)
		p.Note(items.IndexMetric + " is used for readings from " + is.From.String() +
			" on: start all " +
			"processes with dynamodb.metric_index: " + cmp.Or(is.List, `""`) + " before")
	}
	return p.Put(ctx, records, is.Item())
}
