// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// AtDistributor is what the distributor knows of a publication.
type AtDistributor struct {
	// Original is the publisher under whose name the database is known; agents keep it whatever it is redirected to.
	// Empty before anything of the database is known.
	Original string
	// Known tells that the publication is, Others that other publications of the database are.
	Known, Others bool
	// Access are the logins on its access list.
	Access []string
	// LogReader and Snapshot are the agents, nil while there are none.
	LogReader, Snapshot *mssql.Agent
	// LastSnapshot is when the snapshot agent last succeeded, as text, and SnapshotAge how long ago by the distributor's
	// clock; empty when never.
	LastSnapshot string
	SnapshotAge  time.Duration
	// SnapshotBegan is when that snapshot was begun, by this process's clock, to a second; zero when none ever was.
	SnapshotBegan time.Time
	// Newest is the newest transaction of the database that the distributor has, nil when it has none, and NewestTime when
	// that was written there, by its clock.
	Newest     []byte
	NewestTime time.Time
	// SetUpLogin is the login with which it can, nil while there is none.
	SetUpLogin *mssql.SetUpLogin
	// Fork is the recovery fork of the distribution database, empty when the engine does not tell.
	Fork string
	// RedirectedTo is where agents are sent, empty when nowhere.
	RedirectedTo string
}

// ReadAtDistributor asks the distributor about a publication of a party.
func (e Engines) ReadAtDistributor(
	ctx context.Context,
	s System,
	p Party,
	database, publication string,
) (AtDistributor, error) {
	var at AtDistributor
	err := e.Read(
		ctx,
		s.Server,
		s.Database,
		func(ctx context.Context, db *mssql.DB) error { return at.read(ctx, db, s, p, database, publication) },
	)
	return at, err
}

// ReadPublishers asks the distributor which server has a publication of a name in a database of its own, for a
// publisher of which no object tells. None where several have, or one that is not the operator's: which is meant is not
// known.
func (e Engines) ReadPublishers(
	ctx context.Context,
	s System,
	database, publication string,
) (servers []v1alpha1.ServerName, err error) {
	err = e.Read(ctx, s.Server, s.Database, func(ctx context.Context, db *mssql.DB) error {
		known, err := mssql.ReadKnownPublications(ctx, db, database)
		servers = publisherOf(known, publication)
		return err
	})
	return servers, err
}

// publisherOf is the only server that has a publication of the name; none where there are several.
func publisherOf(known []mssql.KnownPublication, publication string) []v1alpha1.ServerName {
	var names []v1alpha1.ServerName
	for _, k := range known {
		if !strings.EqualFold(k.Name, publication) {
			continue
		}
		server, ours := ServerOf(k.Publisher)
		if !ours {
			return nil
		}
		names = append(names, server)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 1 {
		return nil
	}
	return names
}

func (at *AtDistributor) read(
	ctx context.Context,
	q mssql.Querier,
	s System,
	p Party,
	database, publication string,
) error {
	there, err := mssql.ReadDistributed(ctx, q, database, publication, p.Has)
	if err != nil {
		return err
	}
	for _, k := range there.Publications {
		if name := p.nameOf(k.Publisher); name != "" {
			at.Original = name
			same := strings.EqualFold(k.Name, publication)
			at.Known, at.Others = at.Known || same, at.Others || !same
		}
	}
	if at.LogReader = there.LogReader; at.LogReader != nil && at.Original == "" {
		at.Original = p.nameOf(at.LogReader.Publisher)
	}
	if at.Original == "" {
		return nil
	}
	of := mssql.DistributionOf{
		Original: at.Original, Database: database, Publication: publication,
		Login: s.SetUpLogin, Password: s.SetUpPassword,
	}
	if at.Known && there.Snapshot != nil {
		at.Snapshot, of.SnapshotAgent = there.Snapshot, there.Snapshot.ID
	}
	state, err := mssql.ReadDistributionState(ctx, q, of)
	if err != nil {
		return err
	}
	at.SetUpLogin, at.RedirectedTo = state.SetUpLogin, state.RedirectedTo
	if !at.Known {
		return nil
	}
	at.Fork, at.Newest, at.NewestTime, at.Access = state.Fork, state.Newest, state.NewestTime, state.Access
	last := state.LastSnapshot
	if at.LastSnapshot, at.SnapshotAge = last.At, last.Age; last.At != "" {
		// The clock is read after the answer: a run must not seem to have been begun before it was due.
		at.SnapshotBegan = time.Now().Add(-last.Began)
	}
	return nil
}

// ReadLogReaderJob reads the job that reads the log of a published database: the one that is attached, or else the one
// that is named after it.
func (at AtDistributor) ReadLogReaderJob(ctx context.Context, q mssql.Querier, database string) (*mssql.Job, error) {
	return LogReaderAgent(at.Original, database).ReadAttached(ctx, q, at.LogReader)
}

// Has tells whether a server of the party has the name, compared without case.
func (p Party) Has(name string) bool { return p.nameOf(name) != "" }

// nameOf is the name of the party's server that has a name, compared without case; empty when none has. Engines have
// some names in capitals: jobs and command lines are made from the server's own, and stay as they are.
func (p Party) nameOf(name string) string {
	for _, server := range p.Servers {
		if host := credentials.HostName(server); strings.EqualFold(host, name) {
			return host
		}
	}
	return ""
}

// Transaction is a transaction for status: its number, when it was written, and when it was read. Nil without a number.
func Transaction(number []byte, written, seen time.Time) *v1alpha1.ReplicatedTransaction {
	if len(number) == 0 {
		return nil
	}
	t := &v1alpha1.ReplicatedTransaction{Transaction: "0x" + strings.ToUpper(hex.EncodeToString(number))}
	for _, one := range []struct {
		at   time.Time
		into **metav1.Time
	}{{written, &t.Time}, {seen, &t.Seen}} {
		if !one.at.IsZero() {
			at := metav1.NewTime(one.at).Rfc3339Copy()
			*one.into = &at
		}
	}
	return t
}
