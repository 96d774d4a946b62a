// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// telling is what the sidecar's probes tell as metrics, in a registry of the sidecar's own.
type telling struct {
	registry *prometheus.Registry
	state    *prometheus.GaugeVec
	probes   *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	expires  *prometheus.GaugeVec
	writable *prometheus.GaugeVec
}

func newTelling(measures *measurer, volumes *rooms) *telling {
	t := &telling{registry: prometheus.NewRegistry(), state: engineState.Gauges(), probes: probes.Counters(),
		seconds: probeSeconds.Histograms(), expires: certificateExpiry.Gauges(), writable: stateWritable.Gauges()}
	t.registry.MustRegister(t.state, t.probes, t.seconds, t.expires, t.writable, measures, volumes)
	return t
}

func (t *telling) wrote(s StateStatus) {
	value, volume := 0.0, "data"
	if s.Writable {
		value = 1
	}
	if s.OwnVolume {
		volume = "agent"
	}
	t.writable.WithLabelValues(volume).Set(value)
}

func (t *telling) observe(s Status) {
	for _, state := range states() {
		value := 0.0
		if state == s.Engine {
			value = 1
		}
		t.state.WithLabelValues(string(state)).Set(value)
	}
	t.probes.WithLabelValues(string(s.Engine)).Inc()
	t.seconds.WithLabelValues().Observe(float64(s.ProbeMilliseconds) / 1000)
	if s.CertificateExpires != nil {
		t.expires.WithLabelValues().Set(float64(s.CertificateExpires.Unix()))
	}
}

func (t *telling) handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{})
}

// Registerer takes metrics of further parts.
func (a *Agent) Registerer() prometheus.Registerer { return a.telling.registry }
