// Package metrics counts what the HTTP API serves: requests by route, waits, refusals, and the
// entries that were sent.
//
// Every label has a bounded set of values: a route is its path in the contract, never that of a
// request, and a status its class. The package knows no route and no store.
package metrics

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
	"github.com/andonhq/andon/internal/intake"
)

// Metrics are what /metrics shows of the HTTP API. Its methods may be called concurrently.
type Metrics struct {
	InFlight prometheus.Gauge // requests
	Events   Entries
	Readings Entries

	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	waits    map[string]prometheus.Observer // by the name of a share
	refusals *prometheus.CounterVec
}

// Entries count the entries of one kind that were sent. What was refused for lack of memory,
// or since the store failed, is not rejected: the client is to send it again.
type Entries struct {
	accepted prometheus.Counter
	// unreadable: a body as a whole, of which no entry could be read: it is empty, cut off or
	// damaged, too large, of another type, or nothing in it is JSON. It counts once, since no one
	// knows how many entries it held.
	unreadable prometheus.Counter
	// malformed: an entry that its own text forbids, whenever it is sent: it is not JSON, not an
	// object, or a field is missing or wrong.
	malformed prometheus.Counter
	// inadmissible: an entry that is well formed and was refused for when it came: its time is too
	// far ahead, or older than what is kept.
	inadmissible prometheus.Counter
}

// New registers the metrics. streams returns how many streams are open.
func New(
	registry *prometheus.Registry, shares *intake.Shares, streams func() int,
) *Metrics {
	auto := promauto.With(registry)
	m := &Metrics{
		waits: map[string]prometheus.Observer{},
		requests: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "andon_http_requests_total",
			Help: "Requests by method, route and class of status (499: the client was gone).",
		}, []string{"method", "route", "status"}),
		duration: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "andon_http_request_duration_seconds",
			Help: "Time from the request's header to the end of its answer.",
			Buckets: []float64{
				.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30,
			},
		}, []string{"method", "route"}),
		InFlight: auto.NewGauge(prometheus.GaugeOpts{
			Name: "andon_http_requests_in_flight",
			Help: "Requests being served now.",
		}),
		refusals: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "andon_refused_total",
			Help: "Requests that were refused with 429, by what there was too little of: turns " +
				"of writes, imports or reads within limits.wait, or memory.",
		}, []string{"lack"}),
		Events:   newEntries(auto, "events"),
		Readings: newEntries(auto, "readings"),
	}
	waits := auto.NewHistogramVec(prometheus.HistogramOpts{
		Name: "andon_slot_wait_seconds",
		Help: "How long requests waited for their turn to be worked at, by the share of the " +
			"work that they belong to: writes, imports (writes of more than 64 KiB), reads.",
		Buckets: []float64{.001, .005, .025, .1, .25, .5, .75, 1, 1.5},
	}, []string{"share"})
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "andon_streams", Help: "Streams of changes that are open now.",
	}, func() float64 { return float64(streams()) })
	for _, s := range []*intake.Share{shares.Writes, shares.Imports, shares.Reads} {
		m.waits[s.Name] = waits.WithLabelValues(s.Name)
	}
	return m
}

func newEntries(auto promauto.Factory, noun string) Entries {
	rejected := auto.NewCounterVec(prometheus.CounterOpts{
		Name: "andon_" + noun + "_rejected_total",
		Help: "Sent " + noun + " that were not kept: malformed (not JSON, no object, or a field " +
			"is missing or wrong), inadmissible (too old or too far ahead), or unreadable (a " +
			"whole body of which nothing was kept, such as a broken array; it counts once).",
	}, []string{"reason"})
	return Entries{
		accepted: auto.NewCounter(prometheus.CounterOpts{
			Name: "andon_" + noun + "_accepted_total",
			Help: "Sent " + noun + " that are durable.",
		}),
		unreadable:   rejected.WithLabelValues("unreadable"),
		malformed:    rejected.WithLabelValues("malformed"),
		inadmissible: rejected.WithLabelValues("inadmissible"),
	}
}

// Count counts the entries of a body.
func (c Entries) Count(accepted, malformed, inadmissible int) {
	c.accepted.Add(float64(accepted))
	c.malformed.Add(float64(malformed))
	c.inadmissible.Add(float64(inadmissible))
}

// Unread counts a body that could not be taken in. Busy is no fault of the body.
func (c Entries) Unread(err error) {
	if andon.KindOf(err) != andon.Busy {
		c.unreadable.Inc()
	}
}

// Undecoded counts a body that was refused as a whole: an object alone is one entry.
func (c Entries) Undecoded(text string, format jsonfeed.Format, err error) {
	if format == jsonfeed.JSON && strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		c.malformed.Inc()
		return
	}
	c.Unread(err)
}

// Unadmitted counts an object alone that was refused; other errors say nothing of the entries.
func (c Entries) Unadmitted(single bool, err error) {
	if single && andon.KindOf(err) == andon.Invalid {
		c.inadmissible.Inc()
	}
}

// Waited counts a request that waited for its slot, and got it or not.
func (m *Metrics) Waited(share string, took time.Duration, err error) {
	m.waits[share].Observe(took.Seconds())
	if err != nil && andon.KindOf(err) == andon.Busy {
		m.Refused(share)
	}
}

// Refused counts a request that was refused for lack of memory, or of a slot in a share.
func (m *Metrics) Refused(lack string) { m.refusals.WithLabelValues(lack).Inc() }

// StatusClientGone is counted and logged where the client did not wait for its answer. No one ever
// gets it. nginx uses the same number.
const StatusClientGone = 499

// Observe counts a request. Its status is 0 where nothing was sent. A stream lasts as long as its
// client wants, so it counts without its duration.
func (m *Metrics) Observe(method, route string, status int, took time.Duration, stream bool) {
	method = knownMethod(method)
	m.requests.WithLabelValues(method, route, classOf(status)).Inc()
	if !stream {
		m.duration.WithLabelValues(method, route).Observe(took.Seconds())
	}
}

func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete:
		return method
	}
	return "other"
}

// classOf returns the class of a status; "none" where nothing was sent, or nothing that this API
// sends.
func classOf(status int) string {
	switch {
	case status == StatusClientGone:
		return "499"
	case status < 200 || status > 599:
		return "none"
	}
	return strconv.Itoa(status/100) + "xx"
}
