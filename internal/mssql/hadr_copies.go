// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"fmt"
	"slices"
	"strings"

	mssqldriver "github.com/microsoft/go-mssqldb"
)

// Copy is a replica's copy of a database.
type Copy struct{ Server, Database string }

func (g *Group) scanUnjoined(r Row) error {
	var c Copy
	err := r.Scan(&c.Server, &c.Database)
	g.Unjoined = append(g.Unjoined, c)
	return err
}

func (g *Group) scanReplicaID(r Row) error {
	var server string
	var id mssqldriver.UniqueIdentifier
	err := r.Scan(&server, &id)
	if g.ReplicaIDs == nil {
		g.ReplicaIDs = map[string]string{}
	}
	g.ReplicaIDs[strings.ToLower(server)] = id.String()
	return err
}

// joined says that a server's copy of a database has joined the group, or that the instance does not say that it has
// not.
func (g *Group) joined(server, database string) bool {
	return !slices.ContainsFunc(g.Unjoined, func(c Copy) bool {
		return strings.EqualFold(c.Server, server) && strings.EqualFold(c.Database, database)
	})
}

func (g *Group) state(server, database string) *GroupDatabaseState {
	for i := range g.States {
		if s := &g.States[i]; strings.EqualFold(s.Server, server) && strings.EqualFold(s.Database, database) {
			return s
		}
	}
	return nil
}

// Lagging says of a replica with data, as the primary g knows it, which copies that have joined are not as its mode
// asks, and which has not joined while one is being seeded; empty of a replica without any copy otherwise.
//
// It goes by the copies' own rows. A replica's synchronization_health is NOT_HEALTHY for good where it has joined no
// database, or fewer than the group has: in a group without databases, and next to one that is seeded by hand or could
// not be seeded.
func (g *Group) Lagging(server string) []string {
	var lagging []string
	seeding := slices.ContainsFunc(g.Seeding, func(s string) bool { return strings.EqualFold(s, server) })
	asynchronous := false
	if r := g.Replica(server); r != nil {
		asynchronous = r.Mode == "ASYNCHRONOUS_COMMIT"
	}
	for _, database := range g.Databases {
		s := g.state(server, database)
		switch {
		case !g.joined(server, database):
			if seeding {
				lagging = append(lagging, database+" (being seeded)")
			}
		case s == nil:
			lagging = append(lagging, database+" (not known)")
		case s.Suspended:
			lagging = append(lagging, database+" (suspended)")
		case s.State != "SYNCHRONIZED" && !(asynchronous && s.State == "SYNCHRONIZING"):
			lagging = append(lagging, fmt.Sprintf("%s (%s)", database, strings.ToLower(s.State)))
		}
	}
	return lagging
}

// Short are the databases that are not on every replica with data and whose commits would find fewer synchronized
// secondaries than they need while a server is away.
func (g *Group) Short(without string) []string {
	var short []string
	for _, database := range g.Databases {
		lacking, left := false, 0
		for _, r := range g.Replicas {
			switch {
			case r.Mode == "CONFIGURATION_ONLY" || r.Role == "PRIMARY" || strings.EqualFold(r.Server, without):
			case !g.joined(r.Server, database):
				lacking = true
			default:
				s := g.state(r.Server, database)
				if r.Mode == "SYNCHRONOUS_COMMIT" && r.Connected == "CONNECTED" && s != nil && s.State == "SYNCHRONIZED" {
					left++
				}
			}
		}
		if lacking && left < g.RequiredSynchronizedSecondaries {
			short = append(short, database)
		}
	}
	return short
}
