// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"geosql.dev/operator/internal/tsql"
)

// LastSnapshot is the newest run of a snapshot agent that succeeded.
type LastSnapshot struct {
	// At is when it ended, as text by the distributor's clock; empty when none ever did.
	At string
	// Age is how long ago that was, Began how long ago the run was begun, by the distributor's clock in whole seconds.
	Age, Began time.Duration
}

// KnownPublication is a publication as the distributor knows it.
type KnownPublication struct {
	Name string
	// Publisher is the original publisher.
	Publisher string
}

// Distributed is what a distribution database knows of a published database and one of its publications: who is there.
type Distributed struct {
	// Publications of the database, of all publishers.
	Publications []KnownPublication
	// LogReader and Snapshot are the agents of one of the publishers that were asked for; nil while there are none.
	LogReader, Snapshot *Agent
}

// ReadKnownPublications reads the publications of a database and under which server's name the distributor knows each.
func ReadKnownPublications(ctx context.Context, q Querier, database string) (all []KnownPublication, err error) {
	err = readKnownPublications(database, &all).by(ctx, q)
	return all, err
}

func readKnownPublications(database string, into *[]KnownPublication) read {
	return read{tsql.OriginalPublishers(database), func(r Row) error {
		var p KnownPublication
		err := r.Scan(&p.Name, &p.Publisher)
		*into = append(*into, p)
		return err
	}}
}

// ReadDistributed reads who is there of a published database and one of its publications. ours tells of the name of a
// publisher that its agents are asked for.
func ReadDistributed(
	ctx context.Context,
	q Querier,
	database, publication string,
	ours func(publisher string) bool,
) (d Distributed, err error) {
	var readers, snapshots []Agent
	err = readAll(ctx, q, "read what is distributed of "+database, readKnownPublications(database, &d.Publications),
		readAgents(tsql.LogReaderAgents(database), &readers),
		readAgents(tsql.SnapshotAgents(database, publication), &snapshots))
	if err != nil {
		return d, err
	}
	if d.LogReader = firstOf(readers, ours); d.LogReader != nil {
		if err := d.LogReader.readHistory(ctx, q, tsql.AgentLogReader); err != nil {
			return d, err
		}
	}
	if d.Snapshot = firstOf(snapshots, ours); d.Snapshot != nil {
		err = d.Snapshot.readHistory(ctx, q, tsql.AgentSnapshot)
	}
	return d, err
}

func firstOf(agents []Agent, ours func(publisher string) bool) *Agent {
	for i := range agents {
		if ours(agents[i].Publisher) {
			return &agents[i]
		}
	}
	return nil
}

// DistributionState is how far a distribution database is with a published database and one of its publications.
type DistributionState struct {
	// SetUpLogin is the login with which log readers set subscribers up, nil while there is none.
	SetUpLogin *SetUpLogin
	// RedirectedTo is where agents are sent that look for the original publisher's database, empty when nowhere else.
	RedirectedTo string
	// Fork is the recovery fork of the distribution database, empty when the engine does not tell.
	Fork string
	// Newest is the newest transaction of the database that is there, nil for none, and NewestTime when it was written
	// there.
	Newest     []byte
	NewestTime time.Time
	// Access are the logins on the publication's access list.
	Access []string
	// LastSnapshot of the publication's snapshot agent.
	LastSnapshot LastSnapshot
}

// DistributionOf says of what the state is read: a database under its original publisher's name, a publication, its
// snapshot agent's ID, 0 for none, and the login that is looked for with the password that it is to have.
type DistributionOf struct {
	Original, Database, Publication string
	SnapshotAgent                   int
	Login, Password                 string
}

// ReadPendingSetUps reads how much the log reader of a database, under its original publisher's name, has still to set
// up for subscribers that began without a snapshot.
func ReadPendingSetUps(ctx context.Context, q Querier, original, database string) (n int64, err error) {
	err = q.Query(ctx, tsql.PendingSetUps(original, database), func(r Row) error { return r.Scan(&n) })
	return n, err
}

// ReadDistributionState reads how far a distribution database is.
func ReadDistributionState(ctx context.Context, q Querier, of DistributionOf) (s DistributionState, err error) {
	reads := []read{
		readSetUpLogin(of.Login, of.Password, &s.SetUpLogin),
		readLogEnd(new([]byte), &s.Fork),
		{tsql.NewestReplicated(of.Original, of.Database), func(r Row) error { return r.Scan(&s.Newest, &s.NewestTime) }},
		{tsql.PublicationAccess(of.Original, of.Database, of.Publication), func(r Row) error {
			var login string
			err := r.Scan(&login)
			s.Access = append(s.Access, login)
			return err
		}},
	}
	if of.SnapshotAgent != 0 {
		reads = append(reads, readLastSnapshot(of.SnapshotAgent, &s.LastSnapshot))
	}
	if s.RedirectedTo, err = readRedirected(ctx, q, of.Original, of.Database); err != nil {
		return s, err
	}
	// It comes last: its times are taken when it is answered.
	err = readAll(ctx, q, "read how far "+of.Database+" is distributed", reads...)
	return s, err
}

func readLastSnapshot(agent int, into *LastSnapshot) read {
	return read{tsql.LastSnapshot(agent), func(r Row) error {
		var age, began int64
		err := r.Scan(&into.At, &age, &began)
		into.Age, into.Began = time.Duration(age)*time.Second, time.Duration(began)*time.Second
		return err
	}}
}

// readRedirected asks a procedure, which is asked by itself.
func readRedirected(ctx context.Context, q Querier, original, database string) (string, error) {
	var to sql.NullString
	err := q.Query(ctx, tsql.RedirectedPublisher(original, database), func(r Row) error {
		return scanFirst(r, &to)
	})
	if strings.EqualFold(to.String, original) {
		// Without a redirection the procedure names the publisher itself.
		to.String = ""
	}
	return to.String, err
}
