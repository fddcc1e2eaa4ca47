package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/andonhq/andon"
)

// DeviceReadings returns the readings of a device; only those metrics where some are named. The
// state of the query does not count.
func (c *Client) DeviceReadings(
	ctx context.Context, id andon.DeviceID, q Query, metrics ...andon.MetricName,
) iter.Seq2[andon.Reading, error] {
	q.State = ""
	return list[andon.Reading](ctx, c, struct {
		Query
		Metrics []andon.MetricName `query:"metrics"`
	}{q, metrics}, "devices", string(id), "readings")
}

// LatestReading returns the newest reading of a device by time; an Error of status 404 where there
// is none.
func (c *Client) LatestReading(ctx context.Context, id andon.DeviceID) (andon.Reading, error) {
	return get[andon.Reading](ctx, c, "devices", string(id), "readings", "latest")
}

// LatestReadings returns the newest reading of each device, up to 1,000 devices, and the devices
// that have none.
func (c *Client) LatestReadings(
	ctx context.Context, devices []andon.DeviceID,
) (readings []andon.Reading, missing []andon.DeviceID, err error) {
	var answer struct {
		Items   []andon.Reading  `json:"items"`
		Missing []andon.DeviceID `json:"missing"`
	}
	err = c.do(ctx, request{
		method: http.MethodPost, path: path("readings", "latest"), readOnly: true,
		value: map[string][]andon.DeviceID{"devices": devices},
	}, &answer)
	return answer.Items, answer.Missing, err
}

// MetricReadings returns one metric across devices; of the query only From and To count.
func (c *Client) MetricReadings(
	ctx context.Context, metric andon.MetricName, q Query,
) iter.Seq2[andon.MetricReading, error] {
	q = Query{From: q.From, To: q.To, Page: q.Page}
	return list[andon.MetricReading](ctx, c, q, "metrics", string(metric), "readings")
}
