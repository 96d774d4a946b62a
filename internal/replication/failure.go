// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// Failure is why an agent that runs on does not deliver.
type Failure struct {
	// Status is RunRetrying or RunFailed.
	Status  mssql.RunStatus
	Message string
	// For is how long at least it has not delivered, 0 when nobody knows; Unseen how long at most, mssql.Never for one
	// that was never seen to.
	For, Unseen time.Duration
}

// historyEvery is how often an agent that has nothing to do says so
// (docs/relational-databases/replication/agents/replication-log-reader-agent.md, -MessageInterval).
const historyEvery = time.Minute

// FailureOf is what keeps an agent from delivering, nil when nothing does. The agent's history alone does not say how
// long: an attempt that fails before it reaches the distributor is known by the job only, and a later attempt may
// overwrite the row of an earlier one (-HistoryVerboseLevel 1). So it counts, too, when the agent was last seen to go
// on. With -HistoryVerboseLevel 0 nothing is known while an attempt is under way.
func FailureOf(agent *mssql.Agent, job *mssql.Job, profile *v1alpha1.AgentProfileSpec) *Failure {
	if agent == nil {
		return nil
	}
	between := job != nil && job.Running && job.BetweenRetries
	if agent.Failure == 0 {
		if !between {
			return nil
		}
		return &Failure{Status: mssql.RunRetrying, For: unseenFor(agent), Unseen: agent.Unseen,
			Message: "its last attempt did not come as far as the distributor's history; that of the agent's job says why"}
	}
	silent := profile != nil && profile.HistoryVerboseLevel != nil && *profile.HistoryVerboseLevel == 0
	if silent && job != nil && job.Running && !between {
		return nil
	}
	return &Failure{
		Status:  agent.Failure,
		Message: advised(agent),
		For:     max(agent.FailingFor, unseenFor(agent)),
		Unseen:  agent.Unseen,
	}
}

// unseenFor is how long at least the agent has not been seen to go on, 0 when it never was: that is no duration.
func unseenFor(agent *mssql.Agent) time.Duration {
	if agent.Unseen == mssql.Never {
		return 0
	}
	return max(0, agent.Unseen-historyEvery)
}

// advice says what to do about errors that an agent meets again at each attempt until a person does something: by their
// numbers.
var advice = map[string]string{
	// docs/relational-databases/replication/mssql-eng003724.md
	"3724": "the subscriber's table is itself used for replication: take it out of the publication that it is in " +
		"there; if none has it, run sp_removedbreplication in that database",
	// docs/relational-databases/errors-events/database-engine-events-and-errors-3000-to-3999.md
	"3726": "a foreign key refers to the subscriber's table, which the snapshot replaces: drop that foreign key at the " +
		"subscriber, or publish the table that has it as well",
	"7139": "the subscriber's table is published there as well, and a value is longer than that server's option 'max " +
		"text repl size' allows: EXECUTE sp_configure 'max text repl size', -1; RECONFIGURE",
}

// advised is the failure's message, and what to do about it where the newest error of the failure is one that stays.
func advised(agent *mssql.Agent) string {
	if code := FailsOf(agent, slices.Sorted(maps.Keys(advice))...); code != "" {
		return agent.FailureMessage + " (error " + code + ": " + advice[code] + ")"
	}
	return agent.FailureMessage
}

// FailsOf is the first of some error numbers that the newest error of an agent's failure has; empty when it has none of
// them, or its newest error is of an earlier failure.
func FailsOf(agent *mssql.Agent, numbers ...string) string {
	if agent.ErrorTime.IsZero() || agent.Time.Sub(agent.ErrorTime) > agent.FailingFor+historyEvery {
		return ""
	}
	return agent.Met(numbers...)
}

// passingFor is how long what an agent cannot deliver is taken for an outage that passes: a server that is started
// again, a link that is away. SQL Server Agent waits a minute between two attempts, the operator less.
const passingFor = time.Minute

// Passing tells whether the object still keeps its promise: the failure is young, the agent went on before, and no row
// can be later than the declared latency (0: none is declared).
func (f *Failure) Passing(latency time.Duration) bool {
	return f.Unseen != mssql.Never && f.For < passingFor && (latency == 0 || f.Unseen < latency)
}

// lastingFor is how long an agent that was started again and again, and failed each time, has not gone on when a person
// is asked.
const lastingFor = 10 * time.Minute

// Lasts tells that starting the agent again has not helped for long.
func (f *Failure) Lasts() bool { return f.For >= lastingFor }

// Bear lets an object that is as declared stay Ready while the failure may pass; the message says what is waited for.
func (f *Failure) Bear(o conditions.Outcome, latency time.Duration) conditions.Outcome {
	if o.Ready == metav1.ConditionFalse && f.Passing(latency) {
		o.Ready = metav1.ConditionTrue
	}
	return o
}

// Retrying is the outcome of an object whose agent is tried again by itself.
func (f *Failure) Retrying(agent string, latency time.Duration) conditions.Outcome {
	return f.Bear(conditions.InProgress(v1alpha1.ReasonAgentRetrying, "the "+agent+" tries again: "+f.Message), latency)
}
