// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics of the sidecar, in a registry of its own.
type metrics struct {
	registry *prometheus.Registry
	state    *prometheus.GaugeVec
	probes   *prometheus.CounterVec
	seconds  prometheus.Histogram
	expires  prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		state: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "geosql_agent_engine_state", Help: "1 for the state that the engine is in, 0 for the others.",
		}, []string{"state"}),
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "geosql_agent_probes_total", Help: "Probes of the engine by what they found.",
		}, []string{"state"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "geosql_agent_probe_seconds", Help: "How long a probe of the engine took.",
			Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5},
		}),
		expires: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "geosql_agent_certificate_expiry_timestamp_seconds", Help: "When the server's certificate ends, in Unix time.",
		}),
	}
	m.registry.MustRegister(m.state, m.probes, m.seconds, m.expires)
	return m
}

func (m *metrics) observe(s Status) {
	for _, state := range states() {
		value := 0.0
		if state == s.Engine {
			value = 1
		}
		m.state.WithLabelValues(string(state)).Set(value)
	}
	m.probes.WithLabelValues(string(s.Engine)).Inc()
	m.seconds.Observe(float64(s.ProbeMilliseconds) / 1000)
	if s.CertificateExpires != nil {
		m.expires.Set(float64(s.CertificateExpires.Unix()))
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Registerer takes metrics of further parts.
func (a *Agent) Registerer() prometheus.Registerer { return a.metrics.registry }
