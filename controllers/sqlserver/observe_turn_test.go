// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// An engine calls a replica NOT_HEALTHY for good that has joined no database of the group, or fewer than it has. Pods
// are restarted by what the copies' own rows say, and commits never wait for it.
func TestWhatSpeaksAgainstARestart(t *testing.T) {
	const database = "Content"
	row := func(server, state string) mssql.GroupDatabaseState {
		return mssql.GroupDatabaseState{Server: server, Database: database, State: state}
	}
	// whole is a group with one database, as its primary tukpub knows it.
	whole := func() *mssql.Group {
		replica := func(server, mode, role string) mssql.GroupReplica {
			return mssql.GroupReplica{Server: server, Mode: mode, Role: role, Connected: "CONNECTED", Health: "HEALTHY"}
		}
		return &mssql.Group{
			Role: "PRIMARY", Databases: []string{database},
			Replicas: []mssql.GroupReplica{
				replica("tukpub-0", "SYNCHRONOUS_COMMIT", "PRIMARY"), replica("quisec-0", "SYNCHRONOUS_COMMIT", "SECONDARY"),
				replica("dubsec-0", "SYNCHRONOUS_COMMIT", "SECONDARY"), replica("farsec-0", "ASYNCHRONOUS_COMMIT", "SECONDARY"),
			},
			States: []mssql.GroupDatabaseState{
				row("tukpub-0", "SYNCHRONIZED"), row("quisec-0", "SYNCHRONIZED"), row("dubsec-0", "SYNCHRONIZED"),
				row("farsec-0", "SYNCHRONIZING"),
			},
			RequiredSynchronizedSecondaries: 1,
		}
	}
	declared := []v1alpha1.Replica{
		{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit},
		{Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit},
		{Server: "dubsec", AvailabilityMode: v1alpha1.SynchronousCommit},
		{Server: "farsec", AvailabilityMode: v1alpha1.AsynchronousCommit},
	}
	unseeded := func(server string, at int) func(*mssql.Group) {
		return func(g *mssql.Group) {
			g.Replicas[at].Health = "NOT_HEALTHY"
			g.Unjoined = []mssql.Copy{{Server: server, Database: database}}
			g.States[at].State = "NOT SYNCHRONIZING"
		}
	}
	for name, c := range map[string]struct {
		change func(*mssql.Group)
		self   v1alpha1.ServerName
		want   []string
	}{
		"all are well": {change: func(*mssql.Group) {}, self: "quisec"},
		"the group is empty": {change: func(g *mssql.Group) {
			g.Databases, g.States = nil, nil
			for i := range g.Replicas {
				g.Replicas[i].Health = "NOT_HEALTHY"
			}
		}, self: "quisec"},
		"a database was never seeded to the asynchronous one": {change: unseeded("farsec-0", 3), self: "quisec"},
		"nor to one that commits do not need": {change: func(g *mssql.Group) {
			unseeded("dubsec-0", 2)(g)
			g.RequiredSynchronizedSecondaries = 0
		}, self: "quisec"},
		"commits would wait": {change: unseeded("dubsec-0", 2), self: "quisec",
			want: []string{"database Content is not on every replica yet, and its commits would wait without quisec-0"}},
		"the one that lacks it may be restarted": {change: unseeded("dubsec-0", 2), self: "dubsec"},
		"a copy is being seeded": {change: func(g *mssql.Group) {
			unseeded("farsec-0", 3)(g)
			g.Seeding = []string{"farsec-0"}
		}, self: "quisec", want: []string{"farsec-0 is not synchronized: Content (being seeded)"}},
		"a copy is behind": {change: func(g *mssql.Group) { g.States[2].State = "SYNCHRONIZING" }, self: "quisec",
			want: []string{"dubsec-0 is not synchronized: Content (synchronizing)"}},
		"a copy is suspended": {change: func(g *mssql.Group) { g.States[3].Suspended = true }, self: "quisec",
			want: []string{"farsec-0 is not synchronized: Content (suspended)"}},
		"nothing is known of a copy": {change: func(g *mssql.Group) { g.States = g.States[:3] }, self: "quisec",
			want: []string{"farsec-0 is not synchronized: Content (not known)"}},
		"one is away": {change: func(g *mssql.Group) { g.Replicas[2].Connected = "DISCONNECTED" }, self: "quisec",
			want: []string{"dubsec-0 is not connected"}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := whole()
			c.change(seen)
			NewWithT(t).Expect(against(seen, declared, c.self, "tukpub")).To(Equal(c.want))
		})
	}
}
