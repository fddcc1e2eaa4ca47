package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
)

func (a *API) readingRoutes() []*route {
	metrics := param{
		name: "metrics", example: "temperature,humidity",
		detail: "Only these, joined by commas; readings with none of them are left out",
	}
	return []*route{
		{
			method: http.MethodPost, path: "/readings", name: "postReadings", tag: "readings",
			summary: "Append readings: one object, an array, or NDJSON",
			detail: "Messages of one device and time join metric by metric, a later value " +
				"replaces. Answers as for events.",
			query: []param{precisionParam}, statuses: []int{http.StatusOK},
			body:   &content{feed: true, schema: readingSchema(), example: exampleReading()},
			answer: accountContent(),
			errors: []int{413, 415, 429, 507},
			serve: func(c *call) error {
				return serveFeed(c, jsonfeed.Readings, a.intake.Readings, a.metrics.readings)
			},
		},
		listing(route{
			method: http.MethodGet, path: "/devices/{device}/readings",
			name: "listReadings", tag: "readings",
			summary: "Readings of a device, newest first",
			query:   []param{metrics, fromParam, toParam, orderParam, limitParam, cursorParam},
		}, exampleReading(), a.readings),
		answering(route{
			method: http.MethodGet, path: "/devices/{device}/readings/latest",
			name: "getLatestReading",
			tag:  "readings", summary: "The newest reading of a device by time; 404 without one",
			errors: []int{404},
		}, exampleReading(), a.latestReading),
		taking(route{
			method: http.MethodPost, path: "/readings/latest",
			name: "latestReadings", tag: "readings",
			summary: "The newest reading of each of up to 1,000 devices",
		}, exampleLatestBody(), exampleLatest(), a.latestReadings),
		listing(route{
			method: http.MethodGet, path: "/metrics/{metric}/readings", name: "listMetricReadings",
			tag: "readings", summary: "One metric across devices",
			detail: "Within a device newest first; the order across devices is the store's own " +
				"and stable for its cursor.",
			query:  []param{fromParam, toParam, limitParam, cursorParam},
			errors: []int{501},
		}, exampleMetric(), a.metricReadings),
	}
}

func (a *API) readings(c *call) (list[andon.Reading], error) {
	device, limit := c.device(), c.limit()
	q := andon.ReadingQuery{
		Metrics: c.metricNames(), Span: c.span(), Order: c.order(), Limit: limit + 1,
	}
	c.cursor(&q.After)
	if err := c.fault(); err != nil {
		return list[andon.Reading]{}, err
	}
	kept := a.store.DeviceReadings(c.ctx(), c.tenant, device, q)
	return readPage(c, limit, kept, same, func(r *andon.Reading) any { return r.Time })
}

func (c *call) metricNames() []andon.MetricName {
	text := c.text("metrics")
	if text == "" {
		return nil
	}
	var names []andon.MetricName
	for name := range strings.SplitSeq(text, ",") {
		names = append(names, andon.MetricName(name))
		c.check("query.metrics", names[len(names)-1].Validate())
	}
	if len(names) > andon.MaxMetrics {
		c.mark("query.metrics", "%d metrics, more than %d", len(names), andon.MaxMetrics)
	}
	return names
}

func (a *API) latestReading(c *call) (andon.Reading, error) {
	device := c.device()
	if err := c.fault(); err != nil {
		return andon.Reading{}, err
	}
	found, err := a.store.LatestReadings(c.ctx(), c.tenant, []andon.DeviceID{device}, 0)
	if err != nil {
		return andon.Reading{}, err
	}
	if len(found) == 0 {
		return andon.Reading{}, andon.Errorf(andon.NotFound, "device %q has no reading", device)
	}
	return found[0], nil
}

// maxLatest is of how many devices the newest reading can be asked for at once.
const maxLatest = 1_000

type latestBody struct {
	Devices []andon.DeviceID `json:"devices" maxItems:"1000"`
}

// latestJSON is the newest reading of each device that has one, and the devices that have none.
type latestJSON struct {
	Items   []andon.Reading  `json:"items"`
	Missing []andon.DeviceID `json:"missing" doc:"devices without a reading"`
}

func (a *API) latestReadings(c *call, sent latestBody) (latestJSON, error) {
	if len(sent.Devices) > maxLatest {
		c.mark("body.devices", "%d devices, more than %d", len(sent.Devices), maxLatest)
	}
	for i, device := range sent.Devices {
		c.check(fmt.Sprintf("body.devices[%d]", i), device.Validate())
	}
	if err := c.fault(); err != nil {
		return latestJSON{}, err
	}
	found, err := a.store.LatestReadings(c.ctx(), c.tenant, sent.Devices, 0)
	if err != nil {
		return latestJSON{}, err
	}
	answer := latestJSON{Items: []andon.Reading{}, Missing: []andon.DeviceID{}}
	answer.Items = append(answer.Items, found...)
	c.x.answers = len(found)
	seen := make(map[andon.DeviceID]bool, len(sent.Devices))
	for _, r := range found {
		seen[r.Device] = true
	}
	for _, device := range sent.Devices {
		if !seen[device] {
			seen[device] = true
			answer.Missing = append(answer.Missing, device)
		}
	}
	return answer, nil
}

func (a *API) metricReadings(c *call) (list[andon.MetricReading], error) {
	limit := c.limit()
	q := andon.MetricQuery{
		Metric: pathID[andon.MetricName](c, "metric"), Span: c.span(), Limit: limit + 1,
	}
	if after := (andon.MetricPosition{}); c.cursor(&after) {
		q.After = &after
	}
	if err := c.fault(); err != nil {
		return list[andon.MetricReading]{}, err
	}
	kept := a.store.MetricReadings(c.ctx(), c.tenant, q)
	return readPage(c, limit, kept, same, func(r *andon.MetricReading) any {
		return andon.MetricPosition{Device: r.Device, Time: r.Time}
	})
}
