// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"strings"

	"geosql.dev/operator/internal/agent/orders"
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

// mirrorOrder is what the subscriber's sidecar is told, readerOrder the distributor's.
func mirrorOrder(d Desired, o Observed) orders.Mirror {
	return orders.Mirror{
		Subscription: d.name(), Source: d.Source, Host: d.System.Host(), CA: d.CA, Token: d.Token,
		Folder: snapshotFolder(d, o), Generation: o.At.LastSnapshot, Transfers: d.Receives,
	}
}

func readerOrder(d Desired, o Observed) orders.Reader {
	return orders.Reader{Subscription: d.name(), Folder: snapshotFolder(d, o), Token: d.Token, Transfers: d.Sends}
}

// snapshotFolder is where the snapshot agent writes below "unc"
// (docs/relational-databases/replication/snapshot-options.md): publisher, database and publication.
func snapshotFolder(d Desired, o Observed) string {
	return folderOf(o.At.Original, d.publisherDatabase(), d.publication())
}

func folderOf(publisher, database, publication string) string {
	return strings.ReplaceAll(publisher, "\\", "$") + "_" + database + "_" + publication
}
