package httpapi

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
	"github.com/andonhq/andon/internal/intake"
)

// metrics are what /metrics shows of this package. Every label has a bounded set of values: a route
// is its pattern, never a path, and a status its class.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	waits    map[string]prometheus.Observer // by the name of a share
	refusals *prometheus.CounterVec
	events   entryCounters
	readings entryCounters
}

// entryCounters count the entries of one kind that were sent. What was refused for lack of memory,
// or since the store failed, is not rejected: the client is to send it again.
type entryCounters struct {
	accepted prometheus.Counter
	// unreadable: a body as a whole, of which not one entry could be told: it is empty, cut off or
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

func newMetrics(registry *prometheus.Registry, shares *intake.Shares) *metrics {
	auto := promauto.With(registry)
	m := &metrics{
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
		inFlight: auto.NewGauge(prometheus.GaugeOpts{
			Name: "andon_http_requests_in_flight",
			Help: "Requests being served now.",
		}),
		refusals: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "andon_refused_total",
			Help: "Requests that were refused with 429, by what there was too little of: turns " +
				"of writes, imports or reads within limits.wait, or memory.",
		}, []string{"lack"}),
		events:   newEntryCounters(auto, "events"),
		readings: newEntryCounters(auto, "readings"),
	}
	waits := auto.NewHistogramVec(prometheus.HistogramOpts{
		Name: "andon_turn_wait_seconds",
		Help: "How long requests waited for their turn to be worked at, by the share of the " +
			"work that they belong to: writes, imports (writes of more than 64 KiB), reads.",
		Buckets: []float64{.001, .005, .025, .1, .25, .5, .75, 1, 1.5},
	}, []string{"share"})
	for _, s := range []*intake.Share{shares.Writes, shares.Imports, shares.Reads} {
		m.waits[s.Name] = waits.WithLabelValues(s.Name)
	}
	return m
}

func newEntryCounters(auto promauto.Factory, noun string) entryCounters {
	rejected := auto.NewCounterVec(prometheus.CounterOpts{
		Name: "andon_" + noun + "_rejected_total",
		Help: "Sent " + noun + " that were not kept: malformed (not JSON, no object, or a field " +
			"is missing or wrong), inadmissible (too old or too far ahead), or unreadable (a " +
			"whole body of which nothing was kept, such as a broken array; it counts once).",
	}, []string{"reason"})
	return entryCounters{
		accepted: auto.NewCounter(prometheus.CounterOpts{
			Name: "andon_" + noun + "_accepted_total",
			Help: "Sent " + noun + " that are durable.",
		}),
		unreadable:   rejected.WithLabelValues("unreadable"),
		malformed:    rejected.WithLabelValues("malformed"),
		inadmissible: rejected.WithLabelValues("inadmissible"),
	}
}

func (c entryCounters) count(accepted, malformed, inadmissible int) {
	c.accepted.Add(float64(accepted))
	c.malformed.Add(float64(malformed))
	c.inadmissible.Add(float64(inadmissible))
}

// unread counts a body that could not be taken in. Busy is no fault of the body.
func (c entryCounters) unread(err error) {
	if andon.KindOf(err) != andon.Busy {
		c.unreadable.Inc()
	}
}

// undecoded counts a body that was refused as a whole: an object alone is one entry.
func (c entryCounters) undecoded(text string, format jsonfeed.Format, err error) {
	text = strings.TrimLeft(strings.TrimPrefix(text, "\uFEFF"), " \t\r\n")
	if format == jsonfeed.JSON && strings.HasPrefix(text, "{") {
		c.malformed.Inc()
		return
	}
	c.unread(err)
}

// unadmitted counts an object alone that was refused; other errors say nothing of the entries.
func (c entryCounters) unadmitted(single bool, err error) {
	if single && andon.KindOf(err) == andon.Invalid {
		c.inadmissible.Inc()
	}
}

func (m *metrics) streams(registry *prometheus.Registry, open func() int) {
	promauto.With(registry).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "andon_streams", Help: "Streams of changes that are open now.",
	}, func() float64 { return float64(open()) })
}

// waited counts a request that waited for its turn, and got it or not.
func (m *metrics) waited(share string, took time.Duration, err error) {
	m.waits[share].Observe(took.Seconds())
	if err != nil && andon.KindOf(err) == andon.Busy {
		m.refused(share)
	}
}

func (m *metrics) refused(lack string) { m.refusals.WithLabelValues(lack).Inc() }

// counted are the series of a route with its own method, by class of status. To look them up by
// their labels takes longer than to count.
type counted [len(classes)]atomic.Pointer[series]

// series count the requests that have the same labels.
type series struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

func (m *metrics) observe(x *exchange, r *http.Request, now time.Time) {
	class := classOf(x.status)
	own := x.route != nil && r.Method == x.route.method()
	var s *series
	if own {
		s = x.counted[class].Load()
	}
	if s == nil {
		s = m.series(x.route, r.Method, classes[class])
	}
	if own {
		x.counted[class].Store(s)
	}
	s.requests.Inc()
	if x.eachWrite == 0 { // a stream lasts as long as its client wants
		s.duration.Observe(now.Sub(x.begun).Seconds())
	}
}

func (m *metrics) series(to *route, method, class string) *series {
	path := "unmatched"
	if to != nil {
		path = to.path()
	}
	method = knownMethod(method)
	return &series{
		m.requests.WithLabelValues(method, path, class), m.duration.WithLabelValues(method, path),
	}
}

func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete:
		return method
	}
	return "other"
}

// classes are the classes of status; the first is of a request that nothing was sent for, or
// nothing that this package sends.
var classes = [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx", "499"}

func classOf(status int) int {
	switch {
	case status == statusClientGone:
		return len(classes) - 1
	case status < 200 || status > 599:
		return 0
	}
	return status / 100
}
