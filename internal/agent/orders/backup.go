// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"strings"
	"time"
)

// backupPrefix precedes the name of a BackupPolicy in the Secret's keys.
const backupPrefix = "backup."

// BackupKey is the key of a policy's order.
func BackupKey(policy string) string { return backupPrefix + policy }

// Backup tells the sidecar of a server which backups it takes, when no manager can be asked too. Every server of a
// group has the same.
type Backup struct {
	// Policy that it is for, and its namespace.
	Policy    string `json:"policy"`
	Namespace string `json:"namespace"`
	// Target is whose databases they are, as in the descriptions of sets; Group the availability group, empty for a server
	// alone.
	Target string `json:"target"`
	Group  string `json:"group,omitempty"`
	// Databases by name; all of the target where there are none.
	Databases []string `json:"databases,omitempty"`
	// Full and Differential say when; empty is never. LogEvery is the time between two backups of the log, 0 for none.
	Full         BackupTimes   `json:"full"`
	Differential BackupTimes   `json:"differential"`
	LogEvery     time.Duration `json:"logEvery,omitempty"`
	// AtPrimary says that they are taken at the primary alone; without it at the secondary that the group prefers.
	AtPrimary bool `json:"atPrimary,omitempty"`
	// Compression, Checksum, Stripes (1 to 64), MaxTransferSize (bytes) and BufferCount are how they are taken; 0 leaves
	// the last two to the engine.
	Compression     bool `json:"compression,omitempty"`
	Checksum        bool `json:"checksum,omitempty"`
	Stripes         int  `json:"stripes,omitempty"`
	MaxTransferSize int  `json:"maxTransferSize,omitempty"`
	BufferCount     int  `json:"bufferCount,omitempty"`
	// Stores are where copies of them are kept; without one they stay on the server's backup volume.
	Stores []BackupStore `json:"stores,omitempty"`
	// KeepAge and KeepFulls are the retention; 0 and 0 keep all.
	KeepAge   time.Duration `json:"keepAge,omitempty"`
	KeepFulls int           `json:"keepFulls,omitempty"`
	// Verify says that each file is read back from the store after it was written.
	Verify bool `json:"verify,omitempty"`
	// Verification has everything read back once more; nil when nobody has asked for it, or it is done.
	Verification *BackupVerification `json:"verification,omitempty"`
	// Owner is the hub whose the target's folder in the stores is to be, by the UID of its namespace kube-system. TakeOver
	// are the claims of other hubs that may be taken over.
	Owner    string   `json:"owner,omitempty"`
	TakeOver []string `json:"takeOver,omitempty"`
	// Requests are backups that people have asked for.
	Requests []BackupRequest `json:"requests,omitempty"`
}

// BackupTimes are those of a cron schedule in a time zone.
type BackupTimes struct {
	Schedule string `json:"schedule,omitempty"`
	TimeZone string `json:"timeZone,omitempty"`
}

// BackupStore is a bucket with what opens it.
type BackupStore struct {
	Name          string `json:"name"`
	Endpoint      string `json:"endpoint"`
	Bucket        string `json:"bucket"`
	Prefix        string `json:"prefix,omitempty"`
	Region        string `json:"region,omitempty"`
	VirtualHosted bool   `json:"virtualHosted,omitempty"`
	AccessKey     string `json:"accessKey"`
	SecretKey     string `json:"secretKey"`
	CA            []byte `json:"ca,omitempty"`
	// Host is the name of the server whose sidecar keeps the store, without credentials: each other knows the other by its
	// certificate, and CA is by which that of Host is verified. Empty for a bucket.
	Host string `json:"host,omitempty"`
	// UploadRate is bytes a second at most; 0 sets no bound.
	UploadRate int64 `json:"uploadRate,omitempty"`
	// Encryption is how what is kept there is encrypted; nil where it is not.
	Encryption *Encryption `json:"encryption,omitempty"`
}

// Encryption is how the files of a store are encrypted.
type Encryption struct {
	// Endpoint of the store, in place of the one that agents go to which know of no encryption.
	Endpoint string `json:"endpoint"`
	// Recipient is the public key to which files are encrypted.
	Recipient string `json:"recipient"`
	// Identities are the private keys that decrypt them; a restore alone has them.
	Identities []string `json:"identities,omitempty"`
}

// EncryptedEndpoint is the Endpoint of a store with an Encryption: agents of releases that know of none reach nothing
// there, and keep their backups until they are of this one. They would send them as they are.
const EncryptedEndpoint = "https://encryption-needs-a-newer-agent.invalid"

// Encrypted is the store with its files encrypted to a recipient; identities decrypt them, where that is asked for.
func (s BackupStore) Encrypted(recipient string, identities []string) BackupStore {
	s.Encryption = &Encryption{Endpoint: s.Endpoint, Recipient: recipient, Identities: identities}
	s.Endpoint = EncryptedEndpoint
	return s
}

// Recipient is the public key to which the store's files are encrypted; empty for none.
func (s BackupStore) Recipient() string {
	if s.Encryption == nil {
		return ""
	}
	return s.Encryption.Recipient
}

// Identities are the private keys that the order has for the store.
func (s BackupStore) Identities() []string {
	if s.Encryption == nil {
		return nil
	}
	return s.Encryption.Identities
}

// Reached is the endpoint at which the store answers.
func (s BackupStore) Reached() string {
	if s.Encryption == nil {
		return s.Endpoint
	}
	return s.Encryption.Endpoint
}

// Place says where in the world a store is, without credentials: one that is made anew under its name elsewhere has
// another.
func (s BackupStore) Place() string {
	return strings.Join([]string{s.Reached(), s.Bucket, s.Prefix}, "/")
}

// BackupVerification is a request to read back everything that was not since a moment.
type BackupVerification struct {
	// Request as the person made it.
	Request string `json:"request"`
	// Since is when that was, by the clock where it was made.
	Since time.Time `json:"since"`
}

// BackupRequest is a backup that somebody asked for once.
type BackupRequest struct {
	// ID of the request, which the description of its set has.
	ID string `json:"id"`
	// Kind is Full or Differential.
	Kind string `json:"kind"`
	// Database that it is of.
	Database string `json:"database"`
	// CopyOnly keeps a full one from becoming the base of differentials.
	CopyOnly bool `json:"copyOnly,omitempty"`
}

// Encode makes the value of the key.
func (b Backup) Encode() ([]byte, error) { return encode("a backup policy", b) }

// Backups reads all Backups of a Secret. What cannot be read is left out and said in the errors.
func Backups(data map[string][]byte) ([]Backup, []error) { return decode[Backup](data, backupPrefix) }
