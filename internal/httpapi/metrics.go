package httpapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are what /metrics shows of this package. Every label has a bounded set of values: a route
// is its pattern, never a path, and a status its class.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	events   entryCounters
	readings entryCounters
}

// entryCounters count the entries of one kind that were sent.
type entryCounters struct {
	accepted     prometheus.Counter
	malformed    prometheus.Counter // could not be read
	inadmissible prometheus.Counter // could be read and was refused
}

func newMetrics(registry *prometheus.Registry) *metrics {
	auto := promauto.With(registry)
	return &metrics{
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
		events:   newEntryCounters(auto, "events"),
		readings: newEntryCounters(auto, "readings"),
	}
}

func newEntryCounters(auto promauto.Factory, noun string) entryCounters {
	rejected := auto.NewCounterVec(prometheus.CounterOpts{
		Name: "andon_" + noun + "_rejected_total",
		Help: "Sent " + noun + " that were not kept: malformed (unreadable) or inadmissible.",
	}, []string{"reason"})
	return entryCounters{
		accepted: auto.NewCounter(prometheus.CounterOpts{
			Name: "andon_" + noun + "_accepted_total",
			Help: "Sent " + noun + " that are durable.",
		}),
		malformed:    rejected.WithLabelValues("malformed"),
		inadmissible: rejected.WithLabelValues("inadmissible"),
	}
}

// count counts the entries of one request.
func (c entryCounters) count(accepted, malformed, inadmissible int) {
	c.accepted.Add(float64(accepted))
	c.malformed.Add(float64(malformed))
	c.inadmissible.Add(float64(inadmissible))
}

// observe counts one request.
func (m *metrics) observe(x *exchange, r *http.Request) {
	_, route, matched := strings.Cut(r.Pattern, " ")
	if !matched {
		route = "unmatched"
	}
	method := knownMethod(r.Method)
	m.requests.WithLabelValues(method, route, statusClass(x.status)).Inc()
	m.duration.WithLabelValues(method, route).Observe(time.Since(x.begun).Seconds())
}

func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete:
		return method
	}
	return "other"
}

func statusClass(status int) string {
	switch {
	case status == statusClientGone:
		return "499"
	case status < 200 || status > 599: // nothing was sent, or nothing that this package sends
		return "none"
	}
	return string(rune('0'+status/100)) + "xx"
}
