// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"geosql.dev/operator/internal/election"
)

type metrics struct {
	term  *prometheus.GaugeVec
	held  *prometheus.GaugeVec
	steps *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	m := &metrics{
		term: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "geosql_agent_election_term", Help: "Term that this server holds or claims, 0 for none.",
		}, []string{"group"}),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "geosql_agent_election_held", Help: "1 while this server holds the group's votes and is PRIMARY.",
		}, []string{"group"}),
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "geosql_agent_election_steps_total", Help: "Steps of the election by result.",
		}, []string{"group", "result"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "geosql_agent_election_step_seconds", Help: "How long a step took, votes and write lease together.",
			Buckets: []float64{.01, .02, .05, .1, .2, .3, .5, 1, 1.5, 2.5, 5, 10},
		}, []string{"group"}),
	}
	if registerer != nil {
		registerer.MustRegister(m.term, m.held, m.steps, m.took)
	}
	return m
}

func (m *metrics) observe(group string, out election.Outcome, took time.Duration) {
	m.term.WithLabelValues(group).Set(float64(out.Term))
	held := 0.0
	if out.State == election.StateHeld && out.Role == election.RolePrimary {
		held = 1
	}
	m.held.WithLabelValues(group).Set(held)
	result := "ok"
	if out.Err != nil {
		result = "error"
	}
	m.steps.WithLabelValues(group, result).Inc()
	m.took.WithLabelValues(group).Observe(took.Seconds())
}

func (m *metrics) forget(group string) {
	labels := prometheus.Labels{"group": group}
	m.term.DeletePartialMatch(labels)
	m.held.DeletePartialMatch(labels)
	m.steps.DeletePartialMatch(labels)
	m.took.DeletePartialMatch(labels)
}
