// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/storage"
)

// The kinds of messages.
const (
	msgHello byte = iota + 1
	msgControl
	msgControlReply
	msgPrepare
	msgPromise
	msgLogReply
	msgLogStart
	msgBlock
	msgAck
	msgSeedReply
	msgSeedData
	msgBackupPoint
	msgBackupAlive
	msgBackupDone
	msgBackupNoted
)

// The purposes of connections.
const (
	purposeControl = "control"
	purposePrepare = "prepare"
	purposeLog     = "log"
	purposeSeed    = "seed"
	purposeBackup  = "backup"
)

// hello is the first message of a connection.
type hello struct {
	Purpose string    `json:"purpose"`
	Group   uuid.UUID `json:"group"`
	Name    string    `json:"name"`
	From    uuid.UUID `json:"from"`
	Server  string    `json:"server"`
	Epoch   uint32    `json:"epoch"`
	// Late says that the sender's first connection to this replica has failed, and its endpoint has not been restarted
	// since.
	Late bool `json:"late,omitzero"`
	// Database is the group database of log and seed connections.
	Database uuid.UUID `json:"database,omitzero"`
	Seed     *seedInfo `json:"seed,omitempty"`
}

// controlRequest is the primary's regular message.
type controlRequest struct {
	Epoch uint32 `json:"epoch"`
	// Config is the newest configuration, committed or proposed; nil when the other side has it.
	Config    *group.Configuration `json:"config,omitempty"`
	Committed uint64               `json:"committed"`
	Databases []primaryDatabase    `json:"databases,omitempty"`
	// Opened is when the primary's endpoint was opened.
	Opened time.Time `json:"opened,omitzero"`
}

// primaryDatabase is what secondaries learn of the primary's database.
type primaryDatabase struct {
	ID uuid.UUID `json:"id"`
	// Keep is from where some replica may still need log.
	Keep storage.LSN `json:"keep"`
	// Replication is from where the log reader still needs log; zero when there is none.
	Replication storage.LSN `json:"replication"`
	storage.Chain
	// SendQueue is the log that was not sent to this secondary yet, in KB.
	SendQueue int64 `json:"sendQueue,omitempty"`
	// Settings are the database's options.
	Settings json.RawMessage `json:"settings,omitempty"`
	// Forks is the history of the primary's copy, and End the end of its log.
	Forks []storage.Fork `json:"forks,omitempty"`
	End   storage.LSN    `json:"end,omitzero"`
}

// controlReply is the answer to it.
type controlReply struct {
	// Known is false when this server has not joined the group.
	Known    bool   `json:"known"`
	Promised uint32 `json:"promised"`
	Accepted uint64 `json:"accepted"`
	Role     Role   `json:"role"`
	// Follows tells whether log of this primary is taken.
	Follows           bool `json:"follows"`
	CreateAnyDatabase bool `json:"createAnyDatabase"`
	// ForcedSeen is the forced failover that the databases were suspended for.
	ForcedSeen uint32            `json:"forcedSeen,omitempty"`
	Databases  []secondaryStatus `json:"databases,omitempty"`
}

// secondaryStatus is a secondary's copy of a database.
type secondaryStatus struct {
	ID        uuid.UUID `json:"id"`
	Exists    bool      `json:"exists"`
	Joined    bool      `json:"joined"`
	Suspended bool      `json:"suspended"`
	Reason    uint8     `json:"reason"`
	Reverting bool      `json:"reverting"`
	// Initializing is set while log is missing that the primary had when this copy had taken back its own.
	Initializing bool `json:"initializing,omitempty"`
	// Recovery is up to where the copy has the same log as the primary's; zero when it has none of its own.
	Recovery storage.LSN `json:"recovery,omitzero"`
	progress
}

// progress is how far a secondary's copy is.
type progress struct {
	Received     storage.LSN `json:"received"`
	Hardened     storage.LSN `json:"hardened"`
	Redone       storage.LSN `json:"redone"`
	ReceivedTime time.Time   `json:"receivedTime"`
	HardenedTime time.Time   `json:"hardenedTime"`
	RedoneTime   time.Time   `json:"redoneTime"`
	// RedoQueue is in bytes of log, RedoRate in bytes a second.
	RedoQueue uint64 `json:"redoQueue"`
	RedoRate  uint64 `json:"redoRate"`
	// RedoneCommit is the commit time of the newest redone transaction.
	RedoneCommit time.Time `json:"redoneCommit"`
}

// prepareRequest asks for a promise; Read asks only what is known.
type prepareRequest struct {
	Epoch uint32 `json:"epoch"`
	Read  bool   `json:"read"`
	// Candidate, with Read, asks those for a promise as well who know of no primary and call the candidate synchronized.
	Candidate uuid.UUID `json:"candidate,omitzero"`
}

// The answers to the opening of a log connection.
const (
	logReady     = "ready"
	logAbsent    = "absent"
	logSuspended = "suspended"
	logRefused   = "refused"
	logReseed    = "reseed"
)

type logReply struct {
	Status string         `json:"status"`
	Reason string         `json:"reason,omitempty"`
	Forks  []storage.Fork `json:"forks,omitempty"`
	End    storage.LSN    `json:"end"`
	Last   storage.LSN    `json:"last"`
	Family uuid.UUID      `json:"family"`
}

type logStart struct {
	// Undo asks to take back everything from UndoTo on.
	Undo   bool        `json:"undo"`
	UndoTo storage.LSN `json:"undoTo"`
	// End is the end of the primary's log: after an undo the copy is INITIALIZING until it has that.
	End storage.LSN `json:"end,omitzero"`
}

type seedInfo struct {
	Name  string        `json:"name"`
	Files storage.Files `json:"files"`
	// DataDefault and LogDefault say that the file is in the primary's default folder: it goes to the secondary's.
	DataDefault bool      `json:"dataDefault"`
	LogDefault  bool      `json:"logDefault"`
	Reseed      bool      `json:"reseed"`
	ID          uuid.UUID `json:"id"`
}

// seedReply is the secondary's answer before and after the data.
type seedReply struct {
	OK bool `json:"ok"`
	// Failure is a failure_state of sys.dm_hadr_automatic_seeding without its hundreds, Code an error number.
	Failure int    `json:"failure"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// backupPoint is the primary's answer to a secondary that backs up a database's log: where the backup begins.
type backupPoint struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
	storage.Chain
}

// backupDone says up to where the log was backed up.
type backupDone struct {
	Last storage.LSN `json:"last"`
}

// backupNoted is the primary's answer to it.
type backupNoted struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
}
