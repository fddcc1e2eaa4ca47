package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/plan"
)

// live is what was measured on a running server.
type live struct {
	URL      string  `json:"url"`
	Seconds  float64 `json:"seconds"`
	Events   float64 `json:"events_per_second"`
	Readings float64 `json:"readings_per_second"`
	Devices  int     `json:"devices"`
	// Entries are how many of the newest entries were looked at for sizes and changes of state.
	Entries int `json:"entries"`
	// Taken are the settings that were measured; the others are as they were given.
	Taken []string `json:"taken"`

	asked map[string]float64 // questions a second, by name
}

// counters are the counters of /metrics that the traffic is measured by.
type counters map[string]float64

// measure measures the traffic of a running server. What was given stays as it is.
func (r *planner) measure(ctx context.Context, given []config.Origin) (*live, error) {
	if r.listen < time.Second {
		return nil, andon.Errorf(andon.Invalid, "--measure %s is less than 1s", r.listen)
	}
	r.target.Attempts, r.target.URL = command.AttemptsWaiting, command.WithScheme(r.target.URL)
	m := &live{URL: r.target.URL}
	if err := r.watch(ctx, m); err != nil {
		return nil, command.UnlessInterrupted(ctx, err)
	}
	err := r.target.Ask(ctx, func(c *client.Client) error {
		states, total, err := c.States(ctx)
		if err != nil {
			return err
		}
		m.Devices = total
		return r.learn(ctx, c, m, states, given)
	})
	return m, err
}

// watch reads the counters twice.
func (r *planner) watch(ctx context.Context, m *live) error {
	before, err := r.counters(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	fmt.Fprintf(r.Stderr, "Measuring %s for %s …\n", m.URL, r.listen)
	select {
	case <-time.After(r.listen):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := r.counters(ctx)
	if err != nil {
		return err
	}
	m.Seconds = time.Since(began).Seconds()
	rate := func(name string) float64 { return (after[name] - before[name]) / m.Seconds }
	m.Events = rate("andon_events_accepted_total")
	m.Readings = rate("andon_readings_accepted_total")
	m.asked = map[string]float64{}
	for name, route := range map[string]string{
		plan.AskDevice: "/devices/{device}", plan.AskLog: "/devices/{device}/events",
		plan.AskList: "/devices", plan.AskOperator: "/operators/{operator}/events",
		plan.AskReading: "/devices/{device}/readings/latest",
	} {
		m.asked[name] = rate("GET " + route)
	}
	if m.Events <= 0 {
		return andon.Errorf(andon.Invalid, "no event came to %s within %s: measure for longer "+
			"(--measure 5m), or say the traffic by flags", m.URL, r.listen)
	}
	return nil
}

// counters reads /metrics: single counters by their names, and requests by "GET " and their route.
func (r *planner) counters(ctx context.Context) (counters, error) {
	token, err := command.ReadTokenFile(r.target.TokenFile)
	if err != nil {
		return nil, err
	}
	to := strings.TrimSuffix(r.target.URL, "/") + "/metrics"
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "--from-live: %w", err)
	}
	if token != "" {
		ask.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := command.Impatient().Do(ask)
	if err != nil {
		return nil, fmt.Errorf("read the counters: %w\nIs a server running there? andon serve "+
			"starts one", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err != nil {
		return nil, fmt.Errorf("read the counters: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, andon.Errorf(andon.Unavailable, "%s answers %s", to, answer.Status)
	}
	return readCounters(string(text)), nil
}

// readCounters reads the text form of Prometheus.
func readCounters(text string) counters {
	all := counters{}
	for line := range strings.SplitSeq(text, "\n") {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			continue
		}
		name, labels, _ := strings.Cut(line[:at], "{")
		switch {
		case name != "andon_http_requests_total":
			all[name] += value
		case strings.Contains(labels, `method="GET"`):
			_, route, _ := strings.Cut(labels, `route="`)
			route, _, _ = strings.Cut(route, `"`)
			all["GET "+strings.TrimPrefix(route, "/api/v1")] += value
		}
	}
	return all
}

// learn fills in what was not given: from the counters, the states, the tenant and its newest
// entries.
func (r *planner) learn(
	ctx context.Context, c *client.Client, m *live, states []client.StateCount,
	given []config.Origin,
) error {
	if m.Devices == 0 {
		return andon.Errorf(andon.Invalid, "tenant %q of %s has no devices", r.target.Tenant, m.URL)
	}
	free := func(key string) bool {
		return slices.ContainsFunc(given, func(o config.Origin) bool {
			return o.Key == key && o.IsDefault()
		})
	}
	t := &r.fleet.traffic
	take := func(key string, do func()) {
		if free(key) {
			do()
			m.Taken = append(m.Taken, key)
		}
	}
	take("devices", func() { t.Devices = m.Devices })
	take("interval", func() { t.Interval = every(m.Devices, m.Events) })
	if m.Readings > 0 {
		take("readings_interval", func() { t.ReadingsEvery = every(m.Devices, m.Readings) })
	}
	for _, name := range slices.Sorted(maps.Keys(m.asked)) {
		take("ask_"+name, func() { t.Questions[name] = m.asked[name] })
	}
	take("largest_state", func() { t.LargestState = largest(states, m.Devices) })
	tenant, err := c.Tenant(ctx, andon.TenantID(r.target.Tenant))
	if err != nil {
		return err
	}
	if tenant.Retention.Events != andon.Forever {
		take("retention", func() { t.Retention = andon.Duration(tenant.Retention.Events).Std() })
	}
	if tenant.Retention.Readings != andon.Forever {
		take("readings_retention", func() {
			t.ReadingsRetention = andon.Duration(tenant.Retention.Readings).Std()
		})
	}
	size, changes, err := entries(ctx, c, m)
	if err != nil || m.Entries == 0 {
		return err
	}
	take("event_bytes", func() { t.EventBytes = max(size, plan.LeastEventBytes) })
	take("changes", func() { t.Changes = changes })
	return nil
}

func every(devices int, rate float64) time.Duration {
	return time.Duration(float64(devices) / rate * float64(time.Second)).Round(time.Millisecond)
}

func largest(states []client.StateCount, devices int) float64 {
	most := 0
	for _, s := range states {
		most = max(most, s.Count)
	}
	return float64(most) / float64(devices)
}

// entries looks at the newest entries of some devices: how large they are, and how many changed the
// state.
func entries(
	ctx context.Context, c *client.Client, m *live,
) (size int, changes float64, err error) {
	const devices, entriesOf = 20, 20
	bytes, changed, pairs, seen := 0, 0, 0, 0
	for d, err := range c.Devices(ctx, client.DeviceQuery{Page: devices}) {
		if err != nil {
			return 0, 0, err
		}
		var last andon.State
		n := 0
		for e, err := range c.DeviceEvents(ctx, d.Device, client.Query{Page: entriesOf}) {
			if err != nil {
				return 0, 0, err
			}
			text, err := json.Marshal(e)
			if err != nil {
				return 0, 0, err
			}
			m.Entries, bytes = m.Entries+1, bytes+len(text)
			if last != "" {
				pairs++
				if e.State != last {
					changed++
				}
			}
			last = e.State
			if n++; n == entriesOf {
				break
			}
		}
		if seen++; seen == devices {
			break
		}
	}
	return bytes / max(m.Entries, 1), float64(changed) / float64(max(pairs, 1)), nil
}
