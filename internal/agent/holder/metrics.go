// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/metrics"
)

var (
	electionTerm = &metrics.Family{Name: "geosql_agent_election_term", Type: metrics.Gauge, Labels: []string{"group"},
		Help: "Term that this server holds or claims, 0 for none."}
	electionHeld = &metrics.Family{Name: "geosql_agent_election_held", Type: metrics.Gauge, Labels: []string{"group"},
		Help: "1 while this server holds the group's votes and is PRIMARY."}
	electionVoters = &metrics.Family{Name: "geosql_agent_election_voters", Type: metrics.Gauge, Labels: []string{"group"},
		Help: "How many voters the group has."}
	electionReachable = &metrics.Family{
		Name:   "geosql_agent_election_voter_reachable",
		Type:   metrics.Gauge,
		Labels: []string{"group", "voter"},
		Help:   "1 when the voter's Lease could be read by this server when it last tried, 0 when not. voter is its site.",
	}
	electionQuarantined = &metrics.Family{
		Name:   "geosql_agent_election_quarantined",
		Type:   metrics.Gauge,
		Labels: []string{"group"},
		Help:   "1 while the copies here stay suspended until a person decides what becomes of what they alone have.",
	}
	electionPaused = &metrics.Family{Name: "geosql_agent_election_paused", Type: metrics.Gauge, Labels: []string{"group"},
		Help: "1 while this server may not claim votes by itself."}
	electionBeyond = &metrics.Family{
		Name:   "geosql_agent_election_terms_not_believed",
		Type:   metrics.Gauge,
		Labels: []string{"group"},
		Help: "1 while this server knows of a vote in a term that nobody can have claimed, or was last asked to promise " +
			"such a one.",
	}
	electionSteps = &metrics.Family{
		Name:   "geosql_agent_election_steps_total",
		Type:   metrics.Counter,
		Labels: []string{"group", "result"},
		Help:   "Steps of the election by result: ok or error.",
	}
	electionSeconds = &metrics.Family{
		Name:    "geosql_agent_election_step_seconds",
		Type:    metrics.Histogram,
		Labels:  []string{"group"},
		Help:    "How long a step took, votes and write lease together.",
		Buckets: []float64{.01, .02, .05, .1, .2, .3, .5, 1, 1.5, 2.5, 5, 10},
	}
)

// Families are the metrics of the part.
func Families() []*metrics.Family {
	return []*metrics.Family{
		electionTerm,
		electionHeld,
		electionVoters,
		electionReachable,
		electionQuarantined,
		electionPaused,
		electionBeyond,
		electionSteps,
		electionSeconds,
	}
}

// telling is what the election tells as metrics.
type telling struct {
	term, held, voters, reachable, quarantined, paused, beyond *prometheus.GaugeVec
	steps                                                      *prometheus.CounterVec
	took                                                       *prometheus.HistogramVec
}

func newTelling(registerer prometheus.Registerer) *telling {
	t := &telling{
		term:        electionTerm.Gauges(),
		held:        electionHeld.Gauges(),
		voters:      electionVoters.Gauges(),
		reachable:   electionReachable.Gauges(),
		quarantined: electionQuarantined.Gauges(),
		paused:      electionPaused.Gauges(),
		beyond:      electionBeyond.Gauges(),
		steps:       electionSteps.Counters(),
		took:        electionSeconds.Histograms(),
	}
	if registerer != nil {
		registerer.MustRegister(t.term, t.held, t.voters, t.reachable, t.quarantined, t.paused, t.beyond, t.steps,
			t.took)
	}
	return t
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// observe tells the outcome of a step, and of each voter whether it answered.
func (t *telling) observe(group string, out keeper.Outcome, now GroupStatus, took time.Duration) {
	t.term.WithLabelValues(group).Set(float64(out.Term))
	t.held.WithLabelValues(group).Set(number(out.State == votes.StateHeld && out.Role == ballot.RolePrimary))
	t.quarantined.WithLabelValues(group).Set(number(now.Quarantined))
	t.paused.WithLabelValues(group).Set(number(now.Paused))
	t.beyond.WithLabelValues(group).Set(number(now.Beyond != ""))
	t.voters.WithLabelValues(group).Set(float64(len(now.Votes)))
	t.reachable.DeletePartialMatch(prometheus.Labels{"group": group})
	for voter, vote := range now.Votes {
		t.reachable.WithLabelValues(group, voter).Set(number(vote != ""))
	}
	result := "ok"
	if out.Err != nil {
		result = "error"
	}
	t.steps.WithLabelValues(group, result).Inc()
	t.took.WithLabelValues(group).Observe(took.Seconds())
}

func (t *telling) forget(group string) {
	labels := prometheus.Labels{"group": group}
	for _, g := range []*prometheus.GaugeVec{t.term, t.held, t.voters, t.reachable, t.quarantined, t.paused, t.beyond} {
		g.DeletePartialMatch(labels)
	}
	t.steps.DeletePartialMatch(labels)
	t.took.DeletePartialMatch(labels)
}
