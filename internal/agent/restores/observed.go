// SPDX-License-Identifier: Apache-2.0

package restores

import (
	"path"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

// record is what is kept of a restore on the backup volume: it is written before what it says is begun, so that the
// next life of the sidecar knows what may have been.
type record struct {
	UID string `json:"uid"`
	// Started is when the sidecar took it up.
	Started time.Time `json:"started"`
	// Store that the sets are in, Plan which they are; no Plan yet where it has no sets.
	Store string      `json:"store,omitempty"`
	Plan  backup.Plan `json:"plan"`
	// Files that any server wrote, each with what is known of it; none while they are not looked for. Positions are those
	// of the plan's sets in them, Unused is what else they have.
	Files     []gathered      `json:"files,omitempty"`
	Positions []int           `json:"positions,omitempty"`
	Unused    []backup.Unused `json:"unused,omitempty"`
	// Database that is made.
	Database string `json:"database,omitempty"`
	// Downloaded are the sets, from the first on, that are on the backup volume as they were written.
	Downloaded int `json:"downloaded,omitempty"`
	// Begun says that the engine was, or was about to be, told to restore the first set: from then on there may be a
	// database that this restore made.
	Begun bool `json:"begun,omitempty"`
	// Restored are the sets, from the first on, of which the engine said that they are restored.
	Restored int `json:"restored,omitempty"`
	// Recovering says that the engine was, or was about to be, told to recover the database.
	Recovering bool `json:"recovering,omitempty"`
	// Checking says that the engine was, or was about to be, told to check the database; Checked that it found nothing.
	Checking bool `json:"checking,omitempty"`
	Checked  bool `json:"checked,omitempty"`
	// Refusals are how often the engine refused a step, and the restore began anew.
	Refusals int `json:"refusals,omitempty"`
	// Refusal is the step that it refused last, and its words; Refused is when.
	Refusal string    `json:"refusal,omitempty"`
	Refused time.Time `json:"refused,omitzero"`
	// Furthest is how many sets were restored at most.
	Furthest int `json:"furthest,omitempty"`
	// Result is how it ended; nil while it goes on.
	Result *Result `json:"result,omitempty"`
}

// gathered is a file that any server wrote.
type gathered struct {
	backup.ImportFile
	// Tag is the object's: another content has another.
	Tag string `json:"tag"`
	// Whole says that it is on the backup volume, Read that the engine has said what is in it.
	Whole bool `json:"whole,omitempty"`
	Read  bool `json:"read,omitempty"`
}

// Outcome of a restore.
type Outcome string

const (
	// Succeeded did what was asked.
	Succeeded Outcome = "Succeeded"
	// Refused changed nothing.
	Refused Outcome = "Refused"
	// Failed began, and did not reach its end.
	Failed Outcome = "Failed"
)

// Result is how a restore ended; Reason is one of a Restore's that has ended.
type Result struct {
	Outcome  Outcome   `json:"outcome"`
	Reason   string    `json:"reason"`
	Message  string    `json:"message"`
	Finished time.Time `json:"finished"`
}

// observed is what is known before the next step.
type observed struct {
	Order  orders.Restore
	Record record
	Now    time.Time
	// Database is the one of the name on the server, nil where there is none. Err says that it could not be asked for;
	// neither is set before it is known which name it has.
	Database *mssql.DatabasePlaces
	Err      error
	// Role of the server in the order's group, such as PRIMARY; empty where the order names none, and where the server has
	// no such group.
	Role string
	// Lacks are the thumbprints of certificates without which the sets do not open, and which master does not have.
	Lacks []string
	// Working says that the engine restores something for this login still: an earlier life of the sidecar asked for it.
	Working bool
	// Left says that there are downloads.
	Left bool
}

// pausing says that the engine refused something a short while ago.
func (o *observed) pausing() bool {
	since := o.Now.Sub(o.Record.Refused)
	return o.Record.Refusals > 0 && since >= 0 && since < refusalPause
}

// away says why a database of a group is neither begun nor recovered at this server; empty where nothing keeps it. A
// copy that came ONLINE beside the group's primary would stand outside of the group, and could be written to there.
func (o *observed) away() string {
	group := o.Order.Group
	switch {
	case group == "" || o.Role == "PRIMARY" || o.Role == "" && o.Order.Unmade:
		return ""
	case o.Role == "":
		return "the server has no availability group " + group
	}
	return "the server is " + o.Role + " in availability group " + group + ", and not its primary"
}

// locked says which certificates are missing; empty where none is.
func (o *observed) locked() string {
	if len(o.Lacks) == 0 {
		return ""
	}
	return "the backups are encrypted, and the server's master lacks the certificate with the thumbprint 0x" +
		strings.Join(o.Lacks, ", 0x") + ": nothing is downloaded or restored until it is there"
}

// ours says whether the database was made by this restore: each of its files has the restore's UID in its name, which
// nobody else gives to a file, and which the engine tells as long as there is the database.
func (o *observed) ours() bool {
	return len(o.Database.Files) > 0 && !slices.ContainsFunc(o.Database.Files, func(file string) bool {
		return !strings.Contains(path.Base(strings.ReplaceAll(file, `\`, "/")), o.Order.UID)
	})
}
