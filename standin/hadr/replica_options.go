// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"hash/crc32"
	"strings"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/syntax"
)

const (
	createOperation   = "CREATE AVAILABILITY GROUP"
	minSessionTimeout = 5
	maxBackupPriority = 100
	maxReplicas       = 9
	// maxSynchronous is the documented maximum from 2019 on, the primary included.
	maxSynchronous = 5
)

// metadataID is a replica's replica_metadata_id: a number that is the same on every server and after every restart.
func metadataID(id uuid.UUID) int {
	return int(65536 + crc32.ChecksumIEEE(id[:])%0x3fff0000)
}

// securableID is sys.server_permissions.major_id of a group on this server.
func securableID(g *replica.Group) int32 { return int32(metadataID(g.Self())) }

// newReplica takes a replica of CREATE or ADD REPLICA.
func newReplica(c *group.Configuration, spec *syntax.ReplicaSpec, owner []byte, now time.Time) (*group.Replica, error) {
	if c.Server(spec.Server) != nil {
		return nil, failure(35235, spec.Server)
	}
	if spec.AvailabilityMode == nil {
		return nil, failure(41198, spec.Server)
	}
	if spec.EndpointURL == nil {
		return nil, failure(35236, spec.Server)
	}
	r := &group.Replica{
		ID:                   uuid.New(),
		Server:               spec.Server,
		BackupPriority:       50,
		SessionTimeout:       10,
		OwnerSID:             owner,
		Created:              now,
		Modified:             now,
		PrimaryConnections:   "ALL",
		SecondaryConnections: "NO",
	}
	r.MetadataID = metadataID(r.ID)
	r.Mode = availabilityMode(*spec.AvailabilityMode)
	if r.Mode == group.ConfigurationOnly {
		if err := checkConfigurationOnly(spec); err != nil {
			return nil, err
		}
	} else if spec.FailoverMode == nil {
		return nil, failure(41197, spec.Server)
	}
	return r, setReplica(c, r, spec, createOperation)
}

func availabilityMode(name string) group.AvailabilityMode {
	switch name {
	case "SYNCHRONOUS_COMMIT":
		return group.Synchronous
	case "CONFIGURATION_ONLY":
		return group.ConfigurationOnly
	}
	return group.Asynchronous
}

// checkConfigurationOnly refuses the options that such a replica does not have.
func checkConfigurationOnly(spec *syntax.ReplicaSpec) error {
	switch {
	case spec.FailoverMode != nil:
		return failure(47110, "FAILOVER_MODE", spec.Server)
	case spec.SeedingMode != nil:
		return failure(47110, "SEEDING_MODE", spec.Server)
	case spec.BackupPriority != nil:
		return failure(47110, "BACKUP_PRIORITY", spec.Server)
	case spec.PrimaryRole != nil:
		return failure(47110, "PRIMARY_ROLE", spec.Server)
	case spec.SecondaryRole != nil:
		return failure(47110, "SECONDARY_ROLE", spec.Server)
	}
	return nil
}

// setReplica takes the given options of a replica.
func setReplica(c *group.Configuration, r *group.Replica, spec *syntax.ReplicaSpec, operation string) error {
	if spec.EndpointURL != nil {
		if _, err := endpoint.ParseURL(*spec.EndpointURL); err != nil {
			return failure(35232, *spec.EndpointURL)
		}
		r.EndpointURL = *spec.EndpointURL
	}
	if spec.AvailabilityMode != nil {
		r.Mode = availabilityMode(*spec.AvailabilityMode)
	}
	if spec.FailoverMode != nil {
		switch {
		case c.Options.ClusterType == group.External && *spec.FailoverMode != "EXTERNAL":
			return failure(47102, c.Name)
		case c.Options.ClusterType == group.None && *spec.FailoverMode != "MANUAL":
			return failure(47101, c.Name)
		}
		r.FailoverMode = *spec.FailoverMode
	}
	if spec.SeedingMode != nil {
		r.AutomaticSeeding = *spec.SeedingMode == "AUTOMATIC"
	}
	if priority := spec.BackupPriority; priority != nil {
		if *priority < 0 || *priority > maxBackupPriority {
			return failure(35209, operation, spec.Server, 0, maxBackupPriority)
		}
		r.BackupPriority = int(*priority)
	}
	if spec.SessionTimeout != nil {
		if *spec.SessionTimeout < minSessionTimeout {
			return failure(35214, operation, spec.Server, minSessionTimeout)
		}
		r.SessionTimeout = int(*spec.SessionTimeout)
	}
	return setRoles(r, spec)
}

func setRoles(r *group.Replica, spec *syntax.ReplicaSpec) error {
	if p := spec.PrimaryRole; p != nil {
		if p.AllowConnections != nil {
			r.PrimaryConnections = *p.AllowConnections
		}
		if p.HasRoutingList {
			r.ReadOnlyRoutingList = p.ReadOnlyRoutingList
		}
		if p.ReadWriteRoutingURL != nil {
			if _, err := endpoint.ParseURL(*p.ReadWriteRoutingURL); *p.ReadWriteRoutingURL != "" && err != nil {
				return failure(47120, *p.ReadWriteRoutingURL, spec.Server)
			}
			r.ReadWriteRoutingURL = *p.ReadWriteRoutingURL
		}
	}
	if s := spec.SecondaryRole; s != nil {
		if s.AllowConnections != nil {
			r.SecondaryConnections = *s.AllowConnections
		}
		if s.ReadOnlyRoutingURL != nil {
			if _, err := endpoint.ParseURL(*s.ReadOnlyRoutingURL); *s.ReadOnlyRoutingURL != "" && err != nil {
				return failure(19401, *s.ReadOnlyRoutingURL, spec.Server)
			}
			r.ReadOnlyRoutingURL = *s.ReadOnlyRoutingURL
		}
	}
	return nil
}

// checkGroup checks what concerns several replicas at once. operation names the statement.
func checkGroup(c *group.Configuration, operation string) error {
	synchronous, configurationOnly := 0, 0
	for i := range c.Replicas {
		r := &c.Replicas[i]
		switch r.Mode {
		case group.Synchronous:
			synchronous++
		case group.ConfigurationOnly:
			configurationOnly++
			if c.Options.ClusterType != group.External {
				return failure(47114, r.Server, c.Name)
			}
		}
		if err := checkRouting(c, r); err != nil {
			return err
		}
	}
	required := c.Options.RequiredSynchronized
	switch {
	case len(c.Replicas) > maxReplicas:
		return failure(35223, 1, c.Name, len(c.Replicas)-1, maxReplicas)
	case synchronous > maxSynchronous:
		return failure(35212, operation, maxSynchronous, c.Name)
	case configurationOnly > 1:
		return failure(47107, operation, c.Name)
	case configurationOnly == 1 &&
		(synchronous > 2 || required != 0 || (operation == createOperation && synchronous != 2)):
		return failure(47108, operation, c.Name)
	case required < 0 || required > max(0, synchronous-1):
		return failure(35248, operation, required, max(0, synchronous-1), c.Name)
	}
	return checkBasic(c)
}

func checkRouting(c *group.Configuration, r *group.Replica) error {
	seen := map[string]bool{}
	for _, set := range r.ReadOnlyRoutingList {
		for _, name := range set {
			to := c.Server(name)
			switch {
			case seen[strings.ToLower(name)]:
				return failure(19402, name, r.Server)
			case to == nil:
				return failure(19403, name, r.Server, c.Name)
			case to.ReadOnlyRoutingURL == "":
				return failure(19404, name, r.Server)
			}
			seen[strings.ToLower(name)] = true
		}
	}
	return nil
}
