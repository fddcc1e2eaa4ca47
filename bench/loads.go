package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/jsonout"
)

const (
	openCallers = 256 // of single events at a fixed rate
	openShare   = 0.7 // of the rate that a target reached before
)

// loads are those of "andon bench", and some that only this program has.
func loads(b *bench.Bench, soak int) []bench.Load {
	all := append(b.Filling(), b.Asking()...)
	writes := b.Writes()
	single, batch := writes[0], writes[len(writes)-1]
	all = append(all, single, atShare(single, openCallers), batch, atShare(batch, 16))
	changes := single
	changes.Kind, changes.Name = "changes", "write: 1 event that changes the state"
	changes.Part = func(n int64) bench.Part {
		p := single.Part(n)
		p.Alternate = true
		return p
	}
	if !b.Mixed {
		all = append(all, changes)
	}
	all = append(all, readings(b)...)
	for i := range 10 {
		l := batch
		l.Kind, l.Name, l.Once = "soak", fmt.Sprintf("soak: tenth %d", i+1), true
		l.Ops = int64(soak / 10 / l.Items)
		l.Takes = func(t *bench.Target) bool { return t.Name == subject }
		l.With = singles(fmt.Sprintf("soak: single events next to tenth %d", i+1))
		if l.Ops > 0 {
			all = append(all, l)
		}
	}
	return all
}

func atShare(l bench.Load, callers int) bench.Load {
	l.Name, l.Callers, l.Share = l.Name+", at 70 % of that rate", callers, openShare
	return l
}

// singles are single events of devices of their own, at a fixed rate.
func singles(name string) *bench.Load {
	const devices, every = 1000, andon.Duration(1_000_000)
	base := andon.TimeOf(time.Now().Add(-48 * time.Hour).Truncate(time.Second))
	return &bench.Load{
		Kind: "soak", Name: name, Callers: 64, Items: 1, Rate: 200,
		Do: func(ctx context.Context, c bench.Conn, n int64, begin func()) error {
			return c.Append(ctx, []andon.Event{{
				Device: andon.DeviceID(fmt.Sprint("single-", n%devices)), State: "NORMAL",
				Time: base.Add(andon.Duration(n) * every),
			}}, begin)
		},
	}
}

// readingsEvery is the time between two readings of a device.
const readingsEvery = andon.Duration(10_000_000)

// Some devices have readings of a whole day, as many as one answer may have.
const (
	dayDevices  = 100
	dayReadings = 960
	dayEvery    = andon.Duration(24*3600/dayReadings) * 1_000_000
)

// readings are loads of readings of three metrics: of all devices, many in a request and one by
// one; then a day of few devices. What is asked for is such a day, and the newest of many devices.
func readings(b *bench.Bench) []bench.Load {
	now := andon.TimeOf(time.Now().Truncate(time.Second))
	ago := func(hours andon.Duration) andon.Time { return now.Add(-hours * 3_600_000_000) }
	size := min(b.Batch, b.Devices)
	days := min(dayDevices, b.Devices)
	all := []bench.Load{
		sending(b, b.Devices, size, ago(48), readingsEvery),
		sending(b, b.Devices, 1, ago(36), readingsEvery),
		sending(b, days, days, ago(24), dayEvery),
	}
	single, day := &all[1], &all[2]
	single.Callers = b.Writers
	day.Name, day.Ops = "readings: fill a day of 100 devices", int64(dayReadings)
	latest := latestOf(b, size)
	return append(all, asking("readings: a day of a device",
		func(ctx context.Context, c *bench.Client, n int64) ([]byte, error) {
			path := fmt.Sprintf("/api/v1/devices/%s/readings?limit=1000&from=%s&to=%s",
				url.PathEscape(string(b.Device(int(n)%days))), ago(24), now)
			return c.Do(ctx, "GET", path, nil, nil)
		}, dayReadings), asking(fmt.Sprintf("readings: the latest of %d devices", size),
		func(ctx context.Context, c *bench.Client, n int64) ([]byte, error) {
			return c.Do(ctx, "POST", "/api/v1/readings/latest", latest(int(n)), nil)
		}, size))
}

// sending is a load in which devices send readings, size of them in a request, from a time on.
func sending(
	b *bench.Bench, devices, size int, from andon.Time, every andon.Duration,
) bench.Load {
	groups := devices / size
	return bench.Load{
		Kind: "readings", Callers: 4, Items: size,
		Name:  fmt.Sprintf("readings: %d of 3 metrics", size),
		Takes: func(t *bench.Target) bool { return t.Name != raw },
		Do: func(ctx context.Context, c bench.Conn, n int64, begin func()) error {
			at := from.Add(andon.Duration(int(n)/groups) * every)
			var body []byte
			for i := range size {
				r := reading(b.Device(int(n)%groups*size+i), i, at)
				body, _ = jsonout.Append(body, &r) // it has no metadata
				body = append(body, '\n')
			}
			_, err := c.(*bench.Client).Do(ctx, "POST", "/api/v1/readings", body, begin)
			return err
		},
	}
}

// asking is a query of readings, whose answer has at least so many.
func asking(
	name string, ask func(ctx context.Context, c *bench.Client, n int64) ([]byte, error), least int,
) bench.Load {
	return bench.Load{
		Kind: "readings", Callers: 16, Name: name,
		Takes: func(t *bench.Target) bool { return t.Queries },
		Do: func(ctx context.Context, c bench.Conn, n int64, _ func()) error {
			body, err := ask(ctx, c.(*bench.Client), n)
			if found := bytes.Count(body, []byte(`"device":`)); err == nil && found < least {
				err = andon.Errorf(andon.Internal,
					"the server is wrong: %s has %d readings, fewer than %d", name, found, least)
			}
			return err
		},
	}
}

// latestOf returns the n-th body that asks for the newest readings of so many devices.
func latestOf(b *bench.Bench, size int) func(n int) []byte {
	groups := b.Devices / size
	return func(n int) []byte {
		ids := make([]andon.DeviceID, size)
		for i := range ids {
			ids[i] = b.Device(n%groups*size + i)
		}
		body, _ := json.Marshal(map[string]any{"devices": ids})
		return body
	}
}

// reading has three metrics: one counts, one has noise, and one goes up and down.
func reading(device andon.DeviceID, phase int, at andon.Time) andon.Reading {
	step := int(at/andon.Time(readingsEvery)) + phase*7
	return andon.Reading{Device: device, Time: at, Metrics: andon.Metrics{
		{Name: "parts", Value: float64(step % 1_000_000)},
		{Name: "pressure", Value: 4 + float64(step*2_654_435_761>>16&15)/100},
		{Name: "temperature", Value: float64(600+min(step%400, 400-step%400)) / 10},
	}}
}
