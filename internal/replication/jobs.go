// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// longestName of a job: agents' names have room for 100 characters (MSdistribution_agents.name).
const longestName = 100

// AgentJob is the job of a replication agent by its name, and by the one that releases before gave it.
type AgentJob struct {
	// Now is the name that a new job gets.
	Now string
	// before is the former name, empty when it is the same: another agent's job may have it, too.
	before string
	// agent is what the command line of the agent's job has: whose it is.
	agent tsql.Command
}

// agentJob names a job after its parts, joined by hyphens. Where one of those that people choose freely has a hyphen
// itself, or could be the end of a server's name, the same join may come of other parts: then their hash is in the
// name.
func agentJob(agent tsql.Command, parts []string, chosen ...string) AgentJob {
	joined := strings.Join(parts, "-")
	if !slices.ContainsFunc(chosen, func(p string) bool { return strings.Contains(p, "-") || p == "0" }) {
		return AgentJob{Now: jobName(joined), agent: agent}
	}
	sum := sha256.Sum256([]byte(strings.ToLower(strings.Join(parts, "\x00"))))
	return AgentJob{Now: jobName(joined + "-" + hex.EncodeToString(sum[:8])), before: jobName(joined), agent: agent}
}

func jobName(parts string) string {
	name := "geosql-" + parts
	if len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToValidUTF8(name[:longestName-17], "") + "-" + hex.EncodeToString(sum[:8])
}

// LogReaderAgent is the job of the log reader of a published database.
func LogReaderAgent(publisher, database string) AgentJob {
	return agentJob(
		tsql.NewCommand().With("Publisher", publisher).With("PublisherDB", database),
		[]string{publisher, database, "logreader"},
		database,
	)
}

// SnapshotAgent is the job of the snapshot agent of a publication.
func SnapshotAgent(publisher, database, publication string) AgentJob {
	return agentJob(
		tsql.NewCommand().With("Publisher", publisher).With("PublisherDB", database).With("Publication", publication),
		[]string{publisher, database, publication, "snapshot"},
		database,
		publication,
	)
}

// DistributionAgent is the job of the distribution agent of a subscription.
func DistributionAgent(publisher, publisherDatabase, publication, subscriber, database string) AgentJob {
	return agentJob(
		tsql.NewCommand().
			With("Publisher", publisher).
			With("PublisherDB", publisherDatabase).
			With("Publication", publication).
			With("Subscriber", subscriber).
			With("SubscriberDB", database),
		[]string{publisher, publisherDatabase, publication, subscriber, database},
		publisherDatabase,
		publication,
		database,
	)
}

// LogReaderJob is the name of the log reader's job of a published database.
func LogReaderJob(publisher, database string) string { return LogReaderAgent(publisher, database).Now }

// SnapshotJob is the name of the snapshot agent's job of a publication.
func SnapshotJob(publisher, database, publication string) string {
	return SnapshotAgent(publisher, database, publication).Now
}

// DistributionJob is the name of the distribution agent's job of a subscription.
func DistributionJob(publisher, publisherDatabase, publication, subscriber, database string) string {
	return DistributionAgent(publisher, publisherDatabase, publication, subscriber, database).Now
}

// Read reads the agent's job, nil when there is none. One that a release before has made keeps its name, so that there
// are never two for one agent; its command line proves that it is this agent's.
func (j AgentJob) Read(ctx context.Context, q mssql.Querier) (*mssql.Job, error) {
	job, err := mssql.ReadJob(ctx, q, j.Now)
	if err != nil || job != nil || j.before == "" {
		return job, err
	}
	if job, err = mssql.ReadJob(ctx, q, j.before); err != nil || job == nil || !j.agent.In(job.Command) {
		return nil, err
	}
	return job, nil
}

// ReadAttached reads the job that is attached to an agent, or else the one that is named after it.
func (j AgentJob) ReadAttached(ctx context.Context, q mssql.Querier, agent *mssql.Agent) (*mssql.Job, error) {
	if agent != nil && agent.Job != "" {
		return mssql.ReadJob(ctx, q, agent.Job)
	}
	return j.Read(ctx, q)
}

// ReadBeside reads the job of the agent's name where another one is attached to the agent; nil where none is beside it.
func (j AgentJob) ReadBeside(ctx context.Context, q mssql.Querier, agent *mssql.Agent) (*mssql.Job, error) {
	if agent == nil || agent.Job == "" || j.is(agent.Job) {
		return nil, nil
	}
	return j.Read(ctx, q)
}

// is tells whether a name is the agent's job's.
func (j AgentJob) is(name string) bool {
	return strings.EqualFold(name, j.Now) || j.before != "" && strings.EqualFold(name, j.before)
}

// nameOf is the name of a job that is there, or the one that it will get.
func nameOf(have *mssql.Job, name string) string {
	if have != nil && have.Name != "" {
		return have.Name
	}
	return name
}

// Name is the name of the agent's job: that of one of those that are there, or the one that it will get.
func (j AgentJob) Name(have ...*mssql.Job) string {
	for _, job := range have {
		if name := nameOf(job, ""); name != "" {
			return name
		}
	}
	return j.Now
}
