package bench

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/andonhq/andon"
)

const (
	readingEvery = andon.Duration(10_000_000)  // a device's, while readings are measured
	sparseEvery  = andon.Duration(120_000_000) // of the days that are asked about
	sparseADay   = 720
	latestAsked  = 1000 // devices of one question
)

// fillReadings lets all devices send their first reading, behind a day of readings of a few.
func (r *serverRun) fillReadings(ctx context.Context) ([]Row, error) {
	past := r.readingPost("", sparseADay, 1, func(n, i int) (int, andon.Time) {
		return r.fleet.busy(n), base.Add(andon.Duration(i-sparseADay) * sparseEvery)
	})
	if err := r.prepare(ctx, TakesReadings, past, busyDevices); err != nil {
		return nil, err
	}
	groups := r.Devices / min(r.Batch, r.Devices)
	return nil, r.prepare(ctx, TakesReadings, r.readings(0), groups)
}

// readings are of three metrics, each device's every 10 seconds, from a round of them on.
func (r *serverRun) readings(round int) request {
	size := min(r.Batch, r.Devices)
	groups := r.Devices / size
	name := fmt.Sprintf("readings: %s of 3 metrics", grouped(size))
	return r.readingPost(name, size, batchWriters, func(n, i int) (int, andon.Time) {
		return n%groups*size + i, base.Add(andon.Duration(round+n/groups) * readingEvery)
	})
}

// readingPost is a request that brings so many readings. of says of which device the i-th reading
// of the n-th request is, and when.
func (r *serverRun) readingPost(
	name string, size, callers int, of func(n, i int) (device int, at andon.Time),
) request {
	return request{name: name, callers: callers, events: size,
		make: func(n int64, body []byte) (method, path string, sent []byte) {
			for i := range size {
				reading := r.fleet.reading(of(int(n), i))
				body = append(AppendReading(body, &reading), '\n')
			}
			return "POST", "/api/v1/readings", body
		},
	}
}

// reading is of three metrics: one goes up and down, one counts, and one has noise.
func (f *fleet) reading(device int, at andon.Time) andon.Reading {
	step := int(at/andon.Time(readingEvery)) + device*7
	return andon.Reading{Device: f.devices[device], Time: at, Metrics: andon.Metrics{
		{Name: "parts", Value: float64(step % 1_000_000)},
		{Name: "pressure", Value: 4 + float64(step*2_654_435_761>>16&15)/100},
		{Name: "temperature", Value: float64(600+min(step%400, 400-step%400)) / 10},
	}}
}

// AppendReading appends a reading as JSON. Its texts must be such as need no escaping.
func AppendReading(b []byte, r *andon.Reading) []byte {
	b = append(append(b, `{"device":"`...), r.Device...)
	b = append(b, `","time":"`...)
	b, _ = r.Time.AppendText(b) // it can't fail
	b = append(b, `","metrics":{`...)
	for i, m := range r.Metrics {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), m.Name...), `":`...)
		b = strconv.AppendFloat(b, m.Value, 'g', -1, 64)
	}
	return append(b, "}}"...)
}

// readingQuestions are what people ask about readings.
func (r *serverRun) readingQuestions() []request {
	from := base.Add(-sparseADay * sparseEvery).String()
	to := base.Add(-1).String()
	size := min(r.Batch, r.Devices)
	sent := r.Devices / size * size // devices that sent readings
	many := min(latestAsked, sent)
	return []request{
		{name: "readings: a day of a device", least: sparseADay,
			make: func(n int64, body []byte) (string, string, []byte) {
				return "GET", fmt.Sprintf("/api/v1%s/readings?from=%s&to=%s&limit=1000",
					r.devicePath(r.fleet.busy(int(n)%busyDevices)), from, to), body
			}},
		{name: "readings: the latest of " + devices(many), least: many,
			make: func(n int64, body []byte) (string, string, []byte) {
				body = append(body, `{"devices":[`...)
				first := int(n) * many % (sent - many + 1)
				for _, id := range r.fleet.devices[first : first+many] {
					body = append(append(append(body, '"'), id...), `",`...)
				}
				return "POST", "/api/v1/readings/latest",
					append(bytes.TrimSuffix(body, []byte(",")), "]}"...)
			}},
	}
}
