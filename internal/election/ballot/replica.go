// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"strings"
	"time"
)

// Role of a replica as sys.dm_hadr_availability_replica_states.role_desc says it.
type Role string

// The roles.
const (
	RolePrimary   Role = "PRIMARY"
	RoleSecondary Role = "SECONDARY"
	RoleResolving Role = "RESOLVING"
)

// Mode of a replica as sys.availability_replicas.availability_mode_desc says it.
type Mode string

// The modes.
const (
	ModeSynchronous       Mode = "SYNCHRONOUS_COMMIT"
	ModeAsynchronous      Mode = "ASYNCHRONOUS_COMMIT"
	ModeConfigurationOnly Mode = "CONFIGURATION_ONLY"
)

// Votes says whether a replica of the mode takes part in configuration commits.
func (m Mode) Votes() bool { return m == ModeSynchronous || m == ModeConfigurationOnly }

// Observation is what an engine says of one group and of itself, cheap enough to be asked every second.
type Observation struct {
	// Exists is false when the engine has no such group.
	Exists bool
	// Role of the local replica.
	Role Role
	// Mode of the local replica.
	Mode Mode
	// CommitPending is how long a configuration commit has been waiting for a majority; 0 when none is.
	CommitPending time.Duration
	// Skew is the engine's clock minus the agent's.
	Skew time.Duration
	// Suspended databases of the group on this replica, without those that a person suspended.
	Suspended []string
	// Standing are the databases of the group on a secondary that take no log although nobody suspended them.
	Standing []string
	// Progress tells how far those are, in any words: while it changes, they are on their way.
	Progress string
	// Seeding says that a database of the group is being seeded to this instance.
	Seeding bool
	// Connected says whether a secondary is connected to its primary.
	Connected bool
	// Primary is the server that this replica takes for the primary, empty for none, or where the engine does not say.
	Primary string
	// SessionTimeout of the local replica, 0 when it is not known.
	SessionTimeout time.Duration
}

// Inspection is what an engine knows of a group's replicas and databases.
type Inspection struct {
	// Sequence versions the group's configuration (sys.availability_groups.sequence_number); it is not a log position.
	Sequence int64 `json:"sequence"`
	// Required is REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT.
	Required int `json:"required"`
	// Replicas of the configuration.
	Replicas []Replica `json:"replicas,omitempty"`
	// Names of the group's databases.
	Names []string `json:"names,omitempty"`
	// Databases as far as this engine knows them: a secondary its own, the primary those of all replicas.
	Databases []DatabaseState `json:"databases,omitempty"`
	// Seeding are the servers to which a database is being seeded; on a primary.
	Seeding []string `json:"seeding,omitempty"`
}

// Mode of a server's replica, empty when it has none.
func (i Inspection) Mode(server string) Mode {
	for _, r := range i.Replicas {
		if strings.EqualFold(r.Server, server) {
			return r.Mode
		}
	}
	return ""
}

// Replica of a configuration.
type Replica struct {
	Server string `json:"server"`
	// Mode is empty where the engine does not know it.
	Mode Mode `json:"mode"`
}

// DatabaseState is one copy of one database.
type DatabaseState struct {
	Server string `json:"server"`
	Name   string `json:"name"`
	Local  bool   `json:"local,omitempty"`
	// State is SYNCHRONIZED, SYNCHRONIZING, NOT SYNCHRONIZING, REVERTING or INITIALIZING.
	State     string `json:"state,omitempty"`
	Suspended bool   `json:"suspended,omitempty"`
	// HardenedLSN is last_hardened_lsn, numeric(25,0) in decimal; a block's position, comparable within one log.
	HardenedLSN string     `json:"hardenedLSN,omitempty"`
	LastCommit  *time.Time `json:"lastCommit,omitempty"`
	// Ready is is_failover_ready: the configuration that this engine knows calls the copy synchronized.
	Ready bool `json:"ready,omitempty"`
}

// Synchronized says whether every database has as many synchronized secondaries as a commit needs, and whether every
// synchronous replica is synchronized in every database; on a primary.
func (i Inspection) Synchronized() (enough, all bool) {
	secondaries := map[string]bool{}
	for _, r := range i.Replicas {
		if r.Mode == ModeSynchronous {
			secondaries[strings.ToLower(r.Server)] = true
		}
	}
	enough, all = true, true
	for _, name := range i.Names {
		count, local := 0, false
		for _, d := range i.Databases {
			if d.Name != name {
				continue
			}
			if d.Local {
				local = true
			} else if secondaries[strings.ToLower(d.Server)] && d.State == "SYNCHRONIZED" {
				count++
			}
		}
		enough = enough && local && count >= i.Required
		all = all && local && count >= len(secondaries)-1
	}
	return enough, all
}
