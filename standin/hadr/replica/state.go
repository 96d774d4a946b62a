// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/storage/disk"
)

// durable is what a replica keeps on disk of a group.
type durable struct {
	group.Acceptor
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	Self uuid.UUID `json:"self"`
	// Over is the local group that is this distributed group's member here; zero for an ordinary group.
	Over uuid.UUID `json:"over,omitzero"`
	// Intent is the role to take after a restart: a secondary waits for its primary, a primary of cluster type NONE
	// goes on, everybody else is RESOLVING.
	Intent Role `json:"intent"`
	// Led says that the replica was primary and has not followed another since.
	Led bool `json:"led,omitempty"`
	// Following is the primary that this secondary follows; zero takes the next one that comes.
	Following uuid.UUID `json:"following"`
	// ForcedSeen is the forced failover that the databases were suspended for.
	ForcedSeen uint32 `json:"forcedSeen"`
	// CreateAnyDatabase is GRANT CREATE ANY DATABASE, and GrantedBy the login that ran it.
	CreateAnyDatabase bool   `json:"createAnyDatabase"`
	GrantedBy         []byte `json:"grantedBy,omitempty"`
	// Databases are the local copies, by group database ID.
	Databases map[uuid.UUID]*localCopy `json:"databases,omitempty"`
}

// localCopy is what a replica keeps on disk of its copy of a database.
type localCopy struct {
	Name      string `json:"name"`
	Joined    bool   `json:"joined"`
	Suspended bool   `json:"suspended"`
	// Reason is suspend_reason while Suspended.
	Reason uint8 `json:"reason"`
}

// The reasons of a suspension (sys.dm_hadr_database_replica_states.suspend_reason).
const (
	suspendUser    = 0
	suspendPartner = 1
	suspendRedo    = 2
	suspendUndo    = 6
)

func statePath(folder string, id uuid.UUID) string { return filepath.Join(folder, id.String()+".json") }

// save puts the state on disk. A failure is fatal for the answer that depends on it.
func (d *durable) save(folder string) error {
	data, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return fmt.Errorf("write the state of availability group %q: %w", d.Name, err)
	}
	if err := disk.Replace(statePath(folder, d.ID), data, 0o640); err != nil {
		return fmt.Errorf("write the state of availability group %q: %w", d.Name, err)
	}
	return nil
}

func loadStates(folder string) ([]*durable, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list availability groups: %w", err)
	}
	var out []*durable
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read availability group: %w", err)
		}
		d := &durable{}
		if err := json.Unmarshal(data, d); err != nil {
			return nil, fmt.Errorf("read availability group %s: %w", path, err)
		}
		if d.Databases == nil {
			d.Databases = map[uuid.UUID]*localCopy{}
		}
		out = append(out, d)
	}
	return out, nil
}
