// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"strings"

	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// pullSubscription as the subscriber knows it.
func pullSubscription(d Desired, o Observed) tsql.PullSubscription {
	return tsql.PullSubscription{
		Publisher:         o.At.Original,
		PublisherDatabase: d.publisherDatabase(),
		Publication:       d.publication(),
	}
}

func distributionAgent(d Desired, o Observed) replication.AgentJob {
	return replication.DistributionAgent(o.At.Original, d.publisherDatabase(), d.publication(), d.host(), d.database())
}

// job that runs the distribution agent.
func job(d Desired, o Observed) tsql.Job {
	j := tsql.Job{
		Name:        distributionAgent(d, o).Name(o.Jobs[d.Subscriber], o.Jobs[d.System.Server]),
		Description: replication.Description(d.Subscription.Namespace, d.name()), Subsystem: tsql.SubsystemDistribution,
		Publisher: o.At.Original, Database: d.database(), Continuous: true,
		Command: d.System.DistributionCommand(o.At.Original, d.publisherDatabase(), d.subscription(), d.Profile),
	}
	if d.agentServer() == d.System.Server {
		j.Database = d.System.Database
	}
	return j
}

// snapshotFolder is where the snapshot agent writes below "unc"
// (docs/relational-databases/replication/snapshot-options.md): publisher, database and publication.
func snapshotFolder(d Desired, o Observed) string {
	return folderOf(o.At.Original, d.publisherDatabase(), d.publication())
}

func folderOf(publisher, database, publication string) string {
	return strings.ReplaceAll(publisher, "\\", "$") + "_" + database + "_" + publication
}
