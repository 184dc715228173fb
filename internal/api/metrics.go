package api

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rowlock/rowlock/internal/inventory"
)

// statusClasses are 1xx to 5xx.
const statusClasses = 5

// metrics counts requests. Every label comes from a table, so the set of series is bounded.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	refusals map[inventory.RefusalCode]prometheus.Counter
	page     http.Handler
}

func newMetrics(registry *prometheus.Registry, inFlight func() float64) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rowlock_http_requests_total", Help: "Requests answered, by route and class of status.",
		}, []string{"route", "class"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rowlock_http_request_duration_seconds", Help: "Time to answer a request, by route.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route"}),
		refusals: make(map[inventory.RefusalCode]prometheus.Counter),
		page:     promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
	}
	refusals := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rowlock_http_refusals_total", Help: "Requests refused, by code.",
	}, []string{"code"})
	for code := range problemTable {
		m.refusals[code] = refusals.WithLabelValues(string(code))
	}
	registry.MustRegister(m.requests, m.duration, refusals, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "rowlock_http_in_flight", Help: "Requests being answered.",
	}, inFlight))
	return m
}

// series are the counters of one route, looked up once and not at every request.
type series struct {
	classes  [statusClasses]prometheus.Counter
	duration prometheus.Observer
}

func (m *metrics) series(rt *route) *series {
	label := rt.label()
	s := &series{duration: m.duration.WithLabelValues(label)}
	for i, class := range [statusClasses]string{"1xx", "2xx", "3xx", "4xx", "5xx"} {
		s.classes[i] = m.requests.WithLabelValues(label, class)
	}
	return s
}

func (s *series) observe(status int, took time.Duration) {
	s.classes[min(max(status/100, 1), statusClasses)-1].Inc()
	s.duration.Observe(took.Seconds())
}

func (m *metrics) refused(code inventory.RefusalCode) {
	if c, ok := m.refusals[code]; ok {
		c.Inc()
	}
}
