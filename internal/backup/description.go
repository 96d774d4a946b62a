// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// Format is the version of a Description's form. A reader refuses a higher one: what it does not know may change what
// the files are, and its sum is another for them. A set is described in the first form, which every release reads,
// unless it has what that form does not know.
const (
	Format      = 2
	formatFirst = 1
)

// DescriptionName is the name of the object that describes a set, beside its files. It is written last: a set without
// one is not whole.
const DescriptionName = "set.json"

// Description says of a set what is needed to restore it, so that a store alone is enough.
type Description struct {
	// Format of this description.
	Format int `json:"format"`
	Set
	// Namespace and Target are whose database it is: "group/<name>" or "server/<name>".
	Namespace string `json:"namespace"`
	Target    string `json:"target"`
	// Policy that it was taken for; Request is what a person asked for it by, empty when it was due by the policy.
	Policy  string `json:"policy"`
	Request string `json:"request,omitempty"`
	// Server is the instance that took it, Build its ProductVersion.
	Server string `json:"server"`
	Build  string `json:"build"`
	// ClockOffset is how far the server's clock was from UTC, in minutes: times in the log are in its own time.
	ClockOffset int `json:"clockOffsetMinutes"`
	// Encryption is how the files are encrypted; nil for files as the engine wrote them.
	Encryption *Encryption `json:"encryption,omitempty"`
	// Files are those of the set, in the order in which a restore names them.
	Files []File `json:"files"`
	// DatabaseFiles are those of the database.
	DatabaseFiles []DatabaseFile `json:"databaseFiles,omitempty"`
	// Bytes are those that were backed up, before they were packed.
	Bytes int64 `json:"bytes"`
	// EncryptedBy is the thumbprint, in hexadecimal digits, of the certificate by which the database was encrypted when
	// the set had been taken; empty where it was not, or where a provider outside of the server has the key.
	EncryptedBy string `json:"encryptedBy,omitempty"`
	// Compressed and Checksum are how it was taken.
	Compressed bool `json:"compressed,omitempty"`
	Checksum   bool `json:"checksum,omitempty"`
	// Sum is the SHA-256, hexadecimal, of the description as it is encoded without it.
	Sum string `json:"sum"`
}

// Encryption is how the files of a set are encrypted.
type Encryption struct {
	// Scheme is age: each file is one of age-encryption.org/v1.
	Scheme string `json:"scheme"`
	// Recipient is the public key to which they are encrypted; whoever has the private one can read them.
	Recipient string `json:"recipient"`
}

// SchemeAge is the Scheme that this release knows.
const SchemeAge = "age"

// File is one of a set.
type File struct {
	// Name beside the description.
	Name string `json:"name"`
	// Bytes and SHA256, hexadecimal, of what lies beside the description.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Plain is, of one that is encrypted, what the engine wrote; nil where that lies there.
	Plain *File `json:"plain,omitempty"`
}

// Written is the file as the engine wrote it.
func (f File) Written() File {
	if f.Plain == nil {
		return f
	}
	return *f.Plain
}

// DatabaseFile is a file of a database by its logical name.
type DatabaseFile struct {
	Name string `json:"name"`
	Log  bool   `json:"log,omitempty"`
	// Bytes that the file takes when it is restored.
	Bytes int64 `json:"bytes"`
}

// Stored are the bytes of all files.
func (d Description) Stored() (bytes int64) {
	for _, f := range d.Files {
		bytes += f.Bytes
	}
	return bytes
}

// Encode makes the description's object.
func (d Description) Encode() ([]byte, error) {
	d.Format = formatFirst
	if d.Encryption != nil || d.EncryptedBy != "" || d.BulkLogged {
		d.Format = Format
	}
	var err error
	if d.Sum, err = d.sum(); err != nil {
		return nil, err
	}
	content, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("describe the %s: %w", d.Set, err)
	}
	return append(content, '\n'), nil
}

func (d Description) sum() (string, error) {
	d.Sum = ""
	content, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("describe the %s: %w", d.Set, err)
	}
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:]), nil
}

// Decode reads a description. One of a newer form, that is not as it was written, or that lacks what a chain is made
// of, is an error.
func Decode(content []byte) (Description, error) {
	var d Description
	if err := json.Unmarshal(content, &d); err != nil {
		return d, fmt.Errorf("a description of a backup: %w", err)
	}
	sum, err := d.sum()
	if err != nil {
		return d, err
	}
	switch {
	case d.Format < 1 || d.Format > Format:
		return d, fmt.Errorf("a description of a backup has format %d; this release reads 1 to %d", d.Format, Format)
	case d.Sum != sum:
		return d, errors.New("a description of a backup is not as it was written: its sum is another")
	case !slices.Contains([]Kind{Full, Differential, Log}, d.Kind) || d.ID == "" || d.Database == "" || d.Family == "" ||
		d.LastLSN == "" || d.Fork == "" || d.Finished.IsZero() || len(d.Files) == 0:
		return d, fmt.Errorf("a description of a backup lacks id, kind, database, family, lastLSN, fork, finished or files")
	}
	for _, f := range d.Files {
		for _, name := range []string{f.Name, f.Written().Name} {
			if name == "" || name != path.Base(name) || name == DescriptionName || strings.HasPrefix(name, ".") {
				return d, fmt.Errorf("a description of a backup names the file %q", name)
			}
		}
	}
	return d, d.encryptionKnown()
}

// encryptionKnown says that the files can be decrypted by who has the key.
func (d Description) encryptionKnown() error {
	if d.Encryption != nil && (d.Encryption.Scheme != SchemeAge || d.Encryption.Recipient == "") {
		return fmt.Errorf("a description of a backup says that its files are encrypted by %q for %q; this release knows %s",
			d.Encryption.Scheme, d.Encryption.Recipient, SchemeAge)
	}
	for _, f := range d.Files {
		if (f.Plain != nil) != (d.Encryption != nil) || f.Plain != nil && (f.Plain.Plain != nil || f.Plain.Name == f.Name) {
			return fmt.Errorf("a description of a backup does not say of the file %s what it is decrypted to", f.Name)
		}
	}
	return nil
}

// Folder is where all backups of a target are, below a store's prefix.
func Folder(namespace, target string) string { return path.Join(namespace, target) }

// DatabaseFolder is where the backups of a target's database are, below a store's prefix.
func DatabaseFolder(namespace, target, database string) string {
	return path.Join(Folder(namespace, target), databaseFolder(database))
}

// databaseFolder is the one of a database, whose name may have any character. None begins with a dot: . and .. are no
// names, and others that begin so are not shown by everybody.
func databaseFolder(name string) string {
	escaped := url.PathEscape(name)
	if after, dotted := strings.CutPrefix(escaped, "."); dotted {
		return "%2E" + after
	}
	return escaped
}

// Folder is where the set is, below a store's prefix. Sets of a database are in the order of their names in that of
// their ends, and no two have the same.
func (d Description) Folder() string {
	return path.Join(Folder(d.Namespace, d.Target), databaseFolder(d.Database),
		d.Finished.UTC().Format("20060102T150405Z")+"-"+strings.ToLower(string(d.Kind))+"-"+strings.ToLower(d.ID))
}

// FolderTime is the end of the set in a folder, by the folder's name; false where it is no set's.
func FolderTime(folder string) (time.Time, bool) {
	shown, _, _ := strings.Cut(path.Base(folder), "-")
	at, err := time.Parse("20060102T150405Z", shown)
	return at, err == nil
}

// Key is that of the description, KeyOf that of one of the files.
func (d Description) Key() string { return path.Join(d.Folder(), DescriptionName) }

// KeyOf is the key of one of the set's files.
func (d Description) KeyOf(file string) string { return path.Join(d.Folder(), file) }

// ByDatabase sorts sets by database, one that was made anew under the same name apart.
func ByDatabase(all []Description) map[Identity][]Description {
	databases := map[Identity][]Description{}
	for _, d := range all {
		databases[d.Identity()] = append(databases[d.Identity()], d)
	}
	return databases
}

// Sets are what chains are made of.
func Sets(all []Description) []Set {
	var sets []Set
	for _, d := range all {
		sets = append(sets, d.Set)
	}
	return sets
}
