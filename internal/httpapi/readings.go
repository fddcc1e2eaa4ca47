package httpapi

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/buffer"
	"github.com/andonhq/andon/internal/httpapi/grouping"
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
)

func (a *API) readingRoutes() []*route {
	metrics := param{
		Name: "metrics", Example: "temperature,humidity",
	}
	return []*route{
		feeding("POST /readings", "postReadings",
			content{Name: "NewReading", Schema: openapi.Reading()}, func(c *call) error {
				return serveFeed(c, jsonfeed.Readings, a.intake.Readings, a.metrics.Readings)
			}),
		listing[andon.Reading](route{
			pattern: "GET /devices/{device}/readings", name: "listReadings",
			query: []param{metrics, fromParam, toParam, orderParam, limitParam, cursorParam},
		}, a.readings),
		answering(route{
			pattern: "GET /devices/{device}/readings/latest", name: "getLatestReading",
			errors: []int{404},
		}, a.latestReading),
		{
			pattern: "POST /readings/latest", name: "latestReadings",
			body:     &content{Kind: reflect.TypeFor[latestBody]()},
			answer:   &content{Kind: reflect.TypeFor[latestJSON]()},
			readOnly: true, serve: a.latestReadings,
		},
		listing[andon.MetricReading](route{
			pattern: "GET /metrics/{metric}/readings", name: "listMetricReadings",
			fixedOrder: "stores keep the readings of a metric device by device, newest first, " +
				"and can't merge all devices for a page",
			query:  grouping.Selecting(fromParam, toParam, limitParam, cursorParam),
			errors: []int{501},
		}, a.metricReadings),
	}
}

func (a *API) readings(c *call) error {
	device := c.Device()
	q := andon.ReadingQuery{Metrics: c.metricNames(), Span: c.Span(), Order: c.Order()}
	read := func(after andon.Time, n int) iter.Seq2[andon.Reading, error] {
		q.After, q.Limit = after, n
		return a.store.DeviceReadings(c.ctx(), c.tenant, device, q)
	}
	position := func(r *andon.Reading) andon.Time { return r.Time }
	return sendPage(c, oneStep, nil, read, same, position)
}

func (c *call) metricNames() []andon.MetricName {
	text := c.Text("metrics")
	if text == "" {
		return nil
	}
	var names []andon.MetricName
	for name := range strings.SplitSeq(text, ",") {
		names = append(names, andon.MetricName(name))
		c.Check("query.metrics", names[len(names)-1].Validate())
	}
	if len(names) > andon.MaxMetrics {
		c.Mark("query.metrics", "%d metrics, more than %d", len(names), andon.MaxMetrics)
	}
	return names
}

func (a *API) latestReading(c *call) (andon.Reading, error) {
	device := c.Device()
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

func (a *API) latestReadings(c *call) error {
	sent, err := readBody[latestBody](c)
	if err != nil {
		return err
	}
	if len(sent.Devices) > maxLatest {
		c.Mark("body.devices", "%d devices, more than %d", len(sent.Devices), maxLatest)
	}
	for i, device := range sent.Devices {
		if err := device.Validate(); err != nil {
			c.Check(fmt.Sprintf("body.devices[%d]", i), err)
		}
	}
	if err := c.Fault(); err != nil {
		return err
	}
	return a.sendLatest(c, once(sent.Devices))
}

// once returns devices without those that are there a second time.
func once(devices []andon.DeviceID) []andon.DeviceID {
	seen := make(map[andon.DeviceID]bool, len(devices))
	return slices.DeleteFunc(slices.Clone(devices), func(d andon.DeviceID) bool {
		twice := seen[d]
		seen[d] = true
		return twice
	})
}

// latestBytes is how long the answer may be. It has no next page, and half an answer would look
// like devices without a reading: so it may be as long as a request, and is refused beyond that.
const latestBytes = andon.MaxRequestBytes

// sendLatest writes the answer as it is read, some devices at a time.
func (a *API) sendLatest(c *call, devices []andon.DeviceID) error {
	l := buffer.Array{Buffer: c.newBuffer()}
	l.Text(`{"items":[`)
	missing := []andon.DeviceID{}
	for some := range slices.Chunk(devices, stepItems) {
		var err error
		if missing, err = a.addLatest(c, &l, some, len(devices), missing); err != nil {
			return err
		}
	}
	l.Text(`],"missing":`)
	l.JSON(&missing)
	l.Text("}\n")
	c.x.Answers = l.Count
	return c.sendBuffer(l.Buffer)
}

// addLatest writes the newest readings of some devices, of many, and appends those that have none
// to missing.
func (a *API) addLatest(
	c *call, l *buffer.Array, some []andon.DeviceID, many int, missing []andon.DeviceID,
) ([]andon.DeviceID, error) {
	found, err := a.store.LatestReadings(c.ctx(), c.tenant, some, 0)
	if err != nil {
		return missing, err
	}
	for i := range found { // in the order in which the devices were named
		n := slices.Index(some, found[i].Device)
		if l.Add(&found[i], many, latestBytes); l.Size() > latestBytes {
			return missing, andon.Errorf(andon.TooLarge, "the newest readings of %d devices are "+
				"more than %d MB: ask for fewer devices at once", many, latestBytes>>20)
		}
		missing, some = append(missing, some[:n]...), some[n+1:]
	}
	return append(missing, some...), l.Err()
}

func (a *API) metricReadings(c *call) error {
	q := andon.MetricQuery{Metric: andon.MetricName(c.Segment("metric")), Span: c.Span()}
	read := func(after *andon.MetricPosition, n int) iter.Seq2[andon.MetricReading, error] {
		q.After, q.Limit = after, n
		return a.store.MetricReadings(c.ctx(), c.tenant, q)
	}
	position := func(r *andon.MetricReading) *andon.MetricPosition { return new(r.Position()) }
	keep := keepOf(c, func(r *andon.MetricReading) andon.DeviceID { return r.Device })
	return sendPage(c, andon.MaxLimit, keep, read, same, position)
}
