// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"fmt"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// OnlineDatabase is a server's database as its end needs it: nil when the server answered and does not list it, and not
// read while the server does not answer or the database is not ONLINE. What a database holds that starts or recovers is
// not known, and not nothing.
func OnlineDatabase(name v1alpha1.ServerName, s Server, database string) reconcile.Reading[*mssql.ReplicationDatabase] {
	host := credentials.HostName(name)
	switch {
	case s.Err != nil:
		return reconcile.NotRead[*mssql.ReplicationDatabase](s.Err)
	case s.State == nil:
		return reconcile.NotRead[*mssql.ReplicationDatabase](fmt.Errorf("server %s has not been asked", host))
	}
	have := s.State.Database(database)
	if have != nil && have.State != "ONLINE" {
		return reconcile.NotRead[*mssql.ReplicationDatabase](fmt.Errorf(
			"what database %s on %s has is not known: it is %s. If it does not become online, restore or drop it there",
			database, host, strings.ToLower(have.State)))
	}
	return reconcile.Read(have)
}

// NoDistribution says, as a clause, that a distributor has no distribution database, and so nothing of a publisher any
// more, or yet; empty when it has one. An error says that this is not known: it does not answer, the database is not
// ONLINE, or the publisher's is another one.
func NoDistribution(s System, servers map[v1alpha1.ServerName]Server, publisher Party) (string, error) {
	have, err := OnlineDatabase(s.Server, servers[s.Server], s.Database).Get()
	if err != nil || have != nil {
		return "", err
	}
	for _, p := range servers[s.Server].State.Publishers {
		if publisher.Has(p.Name) && !strings.EqualFold(p.Database, s.Database) {
			return "", fmt.Errorf("distributor %s has no database %s, and %s publishes through its database %s: name that "+
				"one in spec.database of Distributor %s", s.Host(), s.Database, p.Name, p.Database, s.Name)
		}
	}
	return "it has no database " + s.Database, nil
}

// ofAReplica are the errors of a database whose availability group has another primary: 976, a secondary replica that
// takes no readers; 983, a replica whose role is not settled
// (docs/relational-databases/errors-events/database-engine-events-and-errors-0-to-999.md).
var ofAReplica = []int32{976, 983}

// What to do where a replica is named in place of its group.
const (
	NameTheGroup = "name the group in publisher.availabilityGroup, or a database of the server's own"
	NoSubscriber = "name a database of the server's own: a group is no subscriber"
)

// Unanswered is what is so when a question to a database had no answer. A server that refuses because the database is a
// replica's has answered: waiting for it helps nothing as long as another one is primary. What to do instead is empty
// where the group itself is named, and this server was taken for its primary: then the next look asks another one.
func Unanswered(err error, instead string) conditions.Outcome {
	switch {
	case !mssql.HasNumber(err, ofAReplica...):
		return conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, err.Error())
	case instead == "":
		return conditions.InProgress(v1alpha1.ReasonSecondary,
			"the server that was asked is not the primary of the database's availability group: "+err.Error())
	}
	return Secondary(instead, err.Error())
}

// Secondary asks a person about a server that is named in place of its group, and is not its primary now: one that
// takes readers answers every question, and refuses all that is to be changed (3906). The detail says which database.
func Secondary(instead, detail string) conditions.Outcome {
	return conditions.Stalled(v1alpha1.ReasonSecondary,
		"the database is in an availability group, of which this server is not the primary: "+instead+": "+detail)
}

// Instead says what to do where the publisher is a server that turns out to be a replica, empty where it is a group.
func (p Party) Instead() string {
	if p.Group != "" {
		return ""
	}
	return NameTheGroup
}
