// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"time"
)

// restorePrefix begins the keys of Restores.
const restorePrefix = "restore."

// RestoreKey is the key of a Restore's order.
func RestoreKey(name string) string { return restorePrefix + name }

// Restore tells the sidecar of a server to restore a database there, once.
type Restore struct {
	// Name of the Restore, and its UID: another one of the name is another order.
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Stores that may have the sets, and the folder of the database in each, below the store's prefix.
	Stores []BackupStore `json:"stores"`
	Folder string        `json:"folder"`
	// Import says which files are restored that any server wrote, instead of a folder's sets.
	Import *Import `json:"import,omitempty"`
	// Database that is made; empty for the name that it had.
	Database string `json:"database,omitempty"`
	// Time, LSN or Backup say to when; none is the newest point.
	Time   time.Time `json:"time,omitzero"`
	LSN    string    `json:"lsn,omitempty"`
	Backup string    `json:"backup,omitempty"`
	// Group whose primary the server is to be when the restore begins and when it ends; empty for a server alone. Unmade
	// says that there was no such group yet: then the server may have none of the name.
	Group  string `json:"group,omitempty"`
	Unmade bool   `json:"unmade,omitempty"`
	// DryRun finds the chain, and changes nothing.
	DryRun bool `json:"dryRun,omitempty"`
	// Check has the engine check the database once it is ONLINE.
	Check bool `json:"check,omitempty"`
	// Withdrawn ends it: what was begun is broken off, and what was downloaded goes. By this alone it ends: an order that
	// is missing may be so because somebody deleted the Secret.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// ImportFolder is the Folder of a Restore with an Import: agents of releases that know of no files find nothing there,
// and refuse. Without one they would take the newest database of the whole store.
const ImportFolder = "files-need-a-newer-agent"

// Import says which files of a store are restored that any server wrote.
type Import struct {
	// Files are keys of objects, Folder is where more of them are, each below the store's prefix.
	Files  []string `json:"files,omitempty"`
	Folder string   `json:"folder,omitempty"`
	// Database that is meant, empty where they have one.
	Database string `json:"database,omitempty"`
	// TimeZone of the server that wrote them, by its name in the tz database; empty for what the files say.
	TimeZone string `json:"timeZone,omitempty"`
}

// Encode makes the value of the key.
func (r Restore) Encode() ([]byte, error) { return encode("a restore", r) }

// Restores reads all Restores of a Secret. What cannot be read is left out and said in the errors.
func Restores(data map[string][]byte) ([]Restore, []error) {
	return decode[Restore](data, restorePrefix)
}
