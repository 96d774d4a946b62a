// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"geosql.dev/standin/storage/disk"
)

// state is what a server keeps about its copy of a database, apart from the data; it does not travel with the log.
type state struct {
	Mode          Mode          `json:"mode"`
	RecoveryModel RecoveryModel `json:"recoveryModel"`
	// FullBackup is the newest full backup's position; zero before the first.
	FullBackup LSN `json:"fullBackup"`
	// LogBackup is where the next log backup begins.
	LogBackup LSN `json:"logBackup"`
	// ChainBegin is where the first log backup of the chain begins.
	ChainBegin LSN `json:"chainBegin,omitzero"`
	// Base is the full backup from which a database in Restoring mode came, on which differential backups may stand.
	Base LSN `json:"base,omitzero"`
	// Until is up to when a database in Restoring mode may have transactions.
	Until time.Time `json:"until,omitzero"`
	// Standby is the standby file of a database in Restoring mode that takes reads.
	Standby string `json:"standby,omitempty"`
	// Checksums says that the data file's pages have checksums.
	Checksums bool `json:"checksums,omitempty"`
	// Holds keep log for their owners.
	Holds map[string]LSN `json:"holds,omitempty"`
}

const stateFile = "state.json"

// MarshalText writes an LSN as String does.
func (l LSN) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (l *LSN) UnmarshalText(text []byte) error {
	v, err := ParseLSN(string(text))
	*l = v
	return err
}

func readState(folder string) (state, error) {
	s := state{Holds: map[string]LSN{}}
	data, err := os.ReadFile(filepath.Join(folder, stateFile))
	if err != nil {
		return s, fmt.Errorf("read the database's state: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read the database's state: %w", err)
	}
	if s.Holds == nil {
		s.Holds = map[string]LSN{}
	}
	return s, nil
}

func writeState(folder string, s state) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write the database's state: %w", err)
	}
	if err := disk.Replace(filepath.Join(folder, stateFile), data, 0o640); err != nil {
		return fmt.Errorf("write the database's state: %w", err)
	}
	return nil
}

// changeState changes the state on disk, then in memory.
func (db *Database) changeState(change func(*state)) error {
	db.stateMu.Lock()
	defer db.stateMu.Unlock()
	next := db.state.clone()
	change(&next)
	if err := writeState(db.files.Log, next); err != nil {
		return err
	}
	db.state = next
	return nil
}

func (db *Database) currentState() state {
	db.stateMu.Lock()
	defer db.stateMu.Unlock()
	return db.state
}

// clone copies the state; a state that was handed out is never changed.
func (s state) clone() state {
	holds := make(map[string]LSN, len(s.Holds))
	for k, v := range s.Holds {
		holds[k] = v
	}
	s.Holds = holds
	return s
}
