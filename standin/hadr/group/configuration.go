// SPDX-License-Identifier: Apache-2.0

// Package group has the configuration of an availability group and the protocol by which its replicas agree on it. It
// does no I/O.
//
// The configuration is a register: every version replaces the one before it as a whole. A replica becomes primary in a
// new epoch, which a majority of the voters promises to it alone; a promise refuses all older epochs from then on, for
// configurations as for log. The primary of an epoch numbers its configurations upwards; one is committed when a
// majority of the voters has it on disk. So whoever is promised the next epoch by a majority finds the newest committed
// configuration among the promises, and no older primary can commit another one afterwards.
package group

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// AvailabilityMode is sys.availability_replicas.availability_mode.
type AvailabilityMode uint8

// The availability modes, with SQL Server's numbers.
const (
	Asynchronous      AvailabilityMode = 0
	Synchronous       AvailabilityMode = 1
	ConfigurationOnly AvailabilityMode = 4
)

// String is availability_mode_desc.
func (m AvailabilityMode) String() string {
	switch m {
	case Synchronous:
		return "SYNCHRONOUS_COMMIT"
	case ConfigurationOnly:
		return "CONFIGURATION_ONLY"
	}
	return "ASYNCHRONOUS_COMMIT"
}

// ClusterType is sys.availability_groups.cluster_type.
type ClusterType uint8

// The cluster types, with SQL Server's numbers.
const (
	WSFC     ClusterType = 0
	External ClusterType = 1
	None     ClusterType = 2
)

// String is cluster_type_desc.
func (t ClusterType) String() string { return [...]string{"WSFC", "EXTERNAL", "NONE"}[t] }

// Options are a group's options.
type Options struct {
	ClusterType ClusterType `json:"clusterType"`
	// BackupPreference is 0 PRIMARY, 1 SECONDARY_ONLY, 2 SECONDARY, 3 NONE.
	BackupPreference      uint8 `json:"backupPreference"`
	FailureConditionLevel int   `json:"failureConditionLevel"`
	HealthCheckTimeout    int64 `json:"healthCheckTimeout"`
	DBFailover            bool  `json:"dbFailover"`
	// RequiredSynchronized is REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT.
	RequiredSynchronized int `json:"requiredSynchronized"`
	// Basic says that the group was created with BASIC.
	Basic bool `json:"basic,omitempty"`
	// WriteLease says that the group was created with WRITE_LEASE_VALIDITY.
	WriteLease bool `json:"writeLease"`
	// Distributed says that the replicas are availability groups.
	Distributed bool `json:"distributed,omitempty"`
}

// Replica is a replica of the group.
type Replica struct {
	ID          uuid.UUID        `json:"id"`
	MetadataID  int              `json:"metadataID"`
	Server      string           `json:"server"`
	EndpointURL string           `json:"endpointURL"`
	Mode        AvailabilityMode `json:"mode"`
	// FailoverMode is AUTOMATIC, MANUAL or EXTERNAL; empty for a configuration-only replica.
	FailoverMode string `json:"failoverMode,omitempty"`
	// AutomaticSeeding is SEEDING_MODE = AUTOMATIC.
	AutomaticSeeding bool `json:"automaticSeeding"`
	BackupPriority   int  `json:"backupPriority"`
	// SessionTimeout is in seconds.
	SessionTimeout int `json:"sessionTimeout"`
	// PrimaryConnections is ALL or READ_WRITE, SecondaryConnections NO, READ_ONLY or ALL.
	PrimaryConnections   string     `json:"primaryConnections"`
	SecondaryConnections string     `json:"secondaryConnections"`
	ReadOnlyRoutingURL   string     `json:"readOnlyRoutingURL,omitempty"`
	ReadWriteRoutingURL  string     `json:"readWriteRoutingURL,omitempty"`
	ReadOnlyRoutingList  [][]string `json:"readOnlyRoutingList,omitempty"`
	OwnerSID             []byte     `json:"ownerSID,omitempty"`
	Created              time.Time  `json:"created"`
	Modified             time.Time  `json:"modified"`
	// Joined is set once the replica has taken part; only joined replicas vote.
	Joined bool `json:"joined"`
}

// Timeout is the session time-out.
func (r *Replica) Timeout() time.Duration { return time.Duration(r.SessionTimeout) * time.Second }

// Data tells whether the replica holds databases.
func (r *Replica) Data() bool { return r.Mode != ConfigurationOnly }

// Database is a database of the group.
type Database struct {
	ID     uuid.UUID `json:"id"`
	Name   string    `json:"name"`
	Family uuid.UUID `json:"family"`
	// Synchronized are the replicas, other than the primary, that have every commit that was or will be acknowledged.
	Synchronized []uuid.UUID `json:"synchronized,omitempty"`
}

// Listener is a listener of the group.
type Listener struct {
	ID   uuid.UUID   `json:"id"`
	Name string      `json:"name"`
	Port int         `json:"port"`
	DHCP bool        `json:"dhcp,omitempty"`
	IPs  []IPAddress `json:"ips,omitempty"`
}

// IPAddress is an address of a listener with its IPv4 mask; Mask is empty for IPv6.
type IPAddress struct {
	IP   string `json:"ip"`
	Mask string `json:"mask,omitempty"`
}

// Configuration is one version of a group's configuration.
type Configuration struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	// Sequence is sys.availability_groups.sequence_number: the epoch in the upper half, the version in it below.
	Sequence uint64    `json:"sequence"`
	Primary  uuid.UUID `json:"primary"`
	// Forced is the epoch of the last forced failover, 0 for none.
	Forced    uint32     `json:"forced"`
	Options   Options    `json:"options"`
	Replicas  []Replica  `json:"replicas"`
	Databases []Database `json:"databases,omitempty"`
	Listeners []Listener `json:"listeners,omitempty"`
	// Above is what the group's primary keeps of the distributed availability group that the group is a member of: every
	// replica has it, and the next primary goes on with it. It is empty when there is none.
	Above json.RawMessage `json:"above,omitempty"`
}

// Epoch is the epoch in which the version was made.
func (c *Configuration) Epoch() uint32 { return uint32(c.Sequence >> 32) }

// First is the sequence number of an epoch's first configuration.
func First(epoch uint32) uint64 { return uint64(epoch)<<32 | 1 }

// Clone is a deep copy.
func (c *Configuration) Clone() *Configuration {
	data, err := json.Marshal(c)
	if err != nil {
		panic("group: a configuration that cannot be encoded: " + err.Error())
	}
	out := &Configuration{}
	if err := json.Unmarshal(data, out); err != nil {
		panic("group: a configuration that cannot be decoded: " + err.Error())
	}
	return out
}

// Replica finds a replica by its ID; nil when there is none.
func (c *Configuration) Replica(id uuid.UUID) *Replica {
	for i := range c.Replicas {
		if c.Replicas[i].ID == id {
			return &c.Replicas[i]
		}
	}
	return nil
}

// Server finds a replica by its server's name; nil when there is none.
func (c *Configuration) Server(name string) *Replica {
	for i := range c.Replicas {
		if strings.EqualFold(c.Replicas[i].Server, name) {
			return &c.Replicas[i]
		}
	}
	return nil
}

// Database finds a database by its ID; nil when there is none.
func (c *Configuration) Database(id uuid.UUID) *Database {
	for i := range c.Databases {
		if c.Databases[i].ID == id {
			return &c.Databases[i]
		}
	}
	return nil
}

// DatabaseNamed finds a database by its name; nil when there is none.
func (c *Configuration) DatabaseNamed(name string) *Database {
	for i := range c.Databases {
		if strings.EqualFold(c.Databases[i].Name, name) {
			return &c.Databases[i]
		}
	}
	return nil
}

// Voters are the replicas whose majority commits: the joined synchronous and configuration-only ones. Without a cluster
// (NONE) the primary decides alone.
func (c *Configuration) Voters() []uuid.UUID {
	var out []uuid.UUID
	for i := range c.Replicas {
		r := &c.Replicas[i]
		if c.Options.ClusterType == None {
			if r.ID == c.Primary {
				out = append(out, r.ID)
			}
			continue
		}
		if r.Mode != Asynchronous && (r.Joined || r.ID == c.Primary) {
			out = append(out, r.ID)
		}
	}
	if len(out) == 0 {
		// An asynchronous replica that was forced to be primary.
		out = append(out, c.Primary)
	}
	return out
}

// SynchronizedAt tells whether the replica is the primary, or marked synchronized for every database.
func (c *Configuration) SynchronizedAt(id uuid.UUID) bool {
	if id == c.Primary {
		return true
	}
	for i := range c.Databases {
		if !slices.Contains(c.Databases[i].Synchronized, id) {
			return false
		}
	}
	r := c.Replica(id)
	return r != nil && r.Joined
}

// Majority tells whether more than half of the voters said yes.
func Majority(voters []uuid.UUID, yes func(uuid.UUID) bool) bool {
	n := 0
	for _, v := range voters {
		if yes(v) {
			n++
		}
	}
	return n > len(voters)/2
}
