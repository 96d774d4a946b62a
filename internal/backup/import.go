// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Header is what a file that any server wrote says of one of its backup sets. Times in the Set are those that the clock
// of that server showed; its Kind is empty where it is no backup of a whole database.
type Header struct {
	Set
	// Type is BackupType as RESTORE HEADERONLY has it, 0 of a set of which the file does not tell.
	Type int `json:"type"`
	// Position of the set in its files, from 1.
	Position int `json:"position"`
	// ClockOffset is how far that clock was from UTC, in minutes; nil where the file does not say it.
	ClockOffset *int `json:"clockOffsetMinutes,omitempty"`
	// Major is the major version of the server, Build its version as a whole.
	Major int    `json:"major"`
	Build string `json:"build"`
	// Bytes that the set takes in its files.
	Bytes int64 `json:"bytes"`
	// BaseLSN is, of a differential, where the full backup begins that it needs.
	BaseLSN LSN `json:"baseLSN,omitempty"`
	// Faulty says that the database was damaged when it was backed up, Snapshot that the files have no content.
	Faulty   bool `json:"faulty,omitempty"`
	Snapshot bool `json:"snapshot,omitempty"`
	// Thumbprints are those of the certificates that open the backup or the database in it, in hexadecimal digits.
	Thumbprints []string `json:"thumbprints,omitempty"`
	// Closed is what the engine said of a set that it cannot open, where it names no thumbprint otherwise.
	Closed string `json:"closed,omitempty"`
	// DatabaseFiles are those of the database, as far as the file was asked for them.
	DatabaseFiles []DatabaseFile `json:"databaseFiles,omitempty"`
}

// ImportFile is a file that any server wrote, with what it says of itself.
type ImportFile struct {
	// Key of the object that it is, and the name under which it lies on disk.
	Key  string `json:"key"`
	Name string `json:"name"`
	// Bytes that it has.
	Bytes int64 `json:"bytes"`
	// MediaSet is what it is a part of: family Family of Families, from 1.
	MediaSet string `json:"mediaSet,omitempty"`
	Family   int    `json:"family,omitempty"`
	Families int    `json:"families,omitempty"`
	// Headers are its backup sets.
	Headers []Header `json:"headers,omitempty"`
}

// Import is what a database is to be restored from that arrives in files.
type Import struct {
	Files []ImportFile
	// Database that is meant, where the files have several.
	Database string
	// Zone is that of the clock of the server which wrote them; nil for what the files say.
	Zone *time.Location
	// Major is the version of the server that restores, Thumbprints are those of its certificates.
	Major       int
	Thumbprints []string
	To          Target
}

// Imported is the chain that restores it. The files of its sets have the names under which they lie on disk.
type Imported struct {
	Plan
	// Positions of the sets in their files.
	Positions []int
	// Unused is what else the files have.
	Unused []Unused
}

// Unused is a backup set that is not restored.
type Unused struct {
	// Key of the first file that has it, and its position there.
	Key      string `json:"key"`
	Position int    `json:"position"`
	// Kind and Database of it, empty where the file does not say them.
	Kind     Kind   `json:"kind,omitempty"`
	Database string `json:"database,omitempty"`
	// Why it is not, for people.
	Why string `json:"why"`
}

// Refusal is why files are not restored although they may make a chain.
type Refusal string

const (
	// DatabaseNotNamed says that they have several databases, and none is named.
	DatabaseNotNamed Refusal = "DatabaseNotNamed"
	// ZoneNotNamed says that a moment is asked for, and nobody knows what the clock was that wrote the files.
	ZoneNotNamed Refusal = "ZoneNotNamed"
	// VersionNewer says that a newer version wrote them than the server is.
	VersionNewer Refusal = "VersionNewer"
	// CertificateMissing says that the server lacks the certificate that opens them.
	CertificateMissing Refusal = "CertificateMissing"
)

// Refused is the error of an Import that is not restored.
type Refused struct {
	Why     Refusal
	Message string
}

func (e *Refused) Error() string { return e.Message }

// found is a backup set with the files over which it is striped, in the order of the media families.
type found struct {
	Header
	files []ImportFile
	// described is the set as chains are made of it.
	described Description
	// why it is not restored; empty while nothing speaks against it.
	why string
}

// Choose finds the chain. The error is a *NoChain or a *Refused; what the files have is there with it.
func (i Import) Choose() (Imported, error) {
	all := i.find()
	name, err := i.database(all)
	if err != nil {
		return Imported{Unused: unused(all, "no database is named")}, err
	}
	usable := i.usable(all, name)
	if err := i.zoned(usable); err != nil {
		return Imported{Unused: unused(all, "the time zone of the server that wrote it is not known")}, err
	}
	plan, err := PlanOf(described(usable), i.To)
	if len(usable) == 0 {
		err = &NoChain{Target: i.To, Missing: "the files have no backup of database " + name + " that can be restored"}
	}
	if err != nil {
		return Imported{Unused: unused(all, "no chain has it")}, err
	}
	result := Imported{Plan: plan}
	for n, d := range plan.Sets {
		f := usable[slices.IndexFunc(usable, func(f *found) bool { return f.ID == d.ID })]
		if err := i.restorable(f); err != nil {
			return Imported{Unused: unused(all, "the chain to which it leads is refused")}, err
		}
		if n == len(plan.Sets)-1 && (!plan.StopAt.IsZero() || plan.StopBefore != "") {
			// It stops by the clock that the server had then.
			plan.Sets[n].ClockOffset = i.offset(f.Header, plan.StopAt)
		}
		result.Positions = append(result.Positions, f.Position)
	}
	for _, f := range all {
		f.compare(plan, i.To, usable)
	}
	result.Unused = unused(all, "")
	return result, nil
}

// find makes one of each backup set of all files, in their order. Of a media family that is there twice the file with
// the most sets is taken.
func (i Import) find() (all []*found) {
	type family struct {
		media  string
		number int
	}
	chosen := map[family]ImportFile{}
	for _, f := range i.Files {
		of := family{f.MediaSet, f.Family}
		if best, there := chosen[of]; !there || len(f.Headers) > len(best.Headers) {
			chosen[of] = f
		}
	}
	known := map[string]*found{}
	for _, file := range i.Files {
		best := chosen[family{file.MediaSet, file.Family}]
		for _, h := range file.Headers {
			one := known[h.ID]
			switch {
			case best.Key != file.Key:
				all = append(all, &found{Header: h, files: []ImportFile{file}, why: "object " + best.Key + " has the same"})
			case one == nil || h.ID == "":
				one = &found{Header: h, files: []ImportFile{file}}
				known[h.ID] = one
				all = append(all, one)
			case one.files[0].MediaSet == file.MediaSet:
				one.files = append(one.files, file)
			default:
				all = append(all, &found{Header: h, files: []ImportFile{file},
					why: "object " + one.files[0].Key + " has the same"})
			}
		}
	}
	for _, f := range all {
		slices.SortStableFunc(f.files, func(a, b ImportFile) int { return cmp.Compare(a.Family, b.Family) })
		f.why = cmp.Or(f.why, f.unusable())
		f.described = i.describe(f)
	}
	return all
}

// unusable is what speaks against a set whatever is asked for.
func (f *found) unusable() string {
	families := max(f.files[0].Families, 1)
	switch {
	case f.Type == 0:
		return "the file does not tell of it: the backup did not come to its end, or has a password"
	case f.Kind == "":
		return fmt.Sprintf("it is a backup of parts of a database (BackupType %d), not of all of it or of its log", f.Type)
	case f.Snapshot:
		return "it is of a snapshot: the file has no content"
	case f.Faulty:
		return "the database was damaged when it was backed up"
	case len(f.files) < families:
		return fmt.Sprintf("it is striped over %d files, of which %d are there: all of them are needed", families,
			len(f.files))
	}
	return ""
}

// describe is the set as chains are made of it, with its times in UTC.
func (i Import) describe(f *found) Description {
	d := Description{Set: f.Set, Build: f.Build, Bytes: f.Bytes, DatabaseFiles: f.DatabaseFiles}
	for _, at := range []*time.Time{&d.Begun, &d.Finished, &d.Until} {
		*at = i.utc(f.Header, *at)
	}
	d.ClockOffset = i.offset(f.Header, d.Finished)
	for _, file := range f.files {
		bytes := file.Bytes
		if len(file.Headers) > 1 {
			bytes = f.Header.Bytes / int64(len(f.files))
		}
		d.Files = append(d.Files, File{Name: file.Name, Bytes: bytes})
	}
	return d
}

// utc is when the clock of the server that took a set showed a time.
func (i Import) utc(h Header, shown time.Time) time.Time {
	switch {
	case shown.IsZero():
		return shown
	case i.Zone != nil:
		return time.Date(shown.Year(), shown.Month(), shown.Day(), shown.Hour(), shown.Minute(), shown.Second(),
			shown.Nanosecond(), i.Zone).UTC()
	case h.ClockOffset != nil:
		return shown.Add(-time.Duration(*h.ClockOffset) * time.Minute)
	}
	return shown
}

// offset is how far that clock is from UTC at a moment, in minutes.
func (i Import) offset(h Header, at time.Time) int {
	switch {
	case i.Zone != nil:
		_, seconds := at.In(i.Zone).Zone()
		return seconds / 60
	case h.ClockOffset != nil:
		return *h.ClockOffset
	}
	return 0
}

// database is the name of the one that is meant.
func (i Import) database(all []*found) (string, error) {
	if i.Database != "" {
		return i.Database, nil
	}
	var names []string
	for _, f := range all {
		if f.Kind != "" && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, f.Database) }) {
			names = append(names, f.Database)
		}
	}
	switch len(names) {
	case 0:
		return "", nil
	case 1:
		return names[0], nil
	}
	slices.Sort(names)
	return "", &Refused{DatabaseNotNamed, fmt.Sprintf("the files have backups of %d databases, %s: name one of them in "+
		"spec.source.database of another Restore", len(names), strings.Join(names, ", "))}
}

// usable are the sets of the database that is meant against which nothing speaks.
func (i Import) usable(all []*found, name string) (usable []*found) {
	for _, f := range all {
		if f.why == "" && !strings.EqualFold(f.Database, name) {
			f.why = "it is of database " + f.Database
		}
		if f.why == "" {
			usable = append(usable, f)
		}
	}
	return usable
}

// zoned refuses a moment of which nobody knows what the clock showed then that wrote the files.
func (i Import) zoned(usable []*found) error {
	unknown := slices.IndexFunc(usable, func(f *found) bool { return f.ClockOffset == nil })
	if i.To.Time.IsZero() || i.Zone != nil || unknown < 0 {
		return nil
	}
	return &Refused{ZoneNotNamed, fmt.Sprintf("object %s does not say in which time zone the server was that wrote it, "+
		"and a time is asked for: name it in spec.source.timeZone of another Restore", usable[unknown].files[0].Key)}
}

// restorable says whether this server can restore a set.
func (i Import) restorable(f *found) error {
	if f.Major > i.Major {
		return &Refused{VersionNewer, fmt.Sprintf("object %s was written by a newer version, %s; the server's major version "+
			"is %d: restore to a server of that version or a newer one", f.files[0].Key, f.Build, i.Major)}
	}
	if f.Closed != "" {
		return &Refused{CertificateMissing, fmt.Sprintf("object %s is opened by a certificate that the server does not have "+
			"in master: %s", f.files[0].Key, f.Closed)}
	}
	for _, thumbprint := range f.Thumbprints {
		if !slices.Contains(i.Thumbprints, thumbprint) {
			return &Refused{CertificateMissing, fmt.Sprintf("object %s is opened by the certificate with the thumbprint 0x%s, "+
				"which the server does not have in master: create it there, with its private key, from a backup of the "+
				"certificate", f.files[0].Key, thumbprint)}
		}
	}
	return nil
}

func described(usable []*found) (all []Description) {
	for _, f := range usable {
		all = append(all, f.described)
	}
	return all
}

func unused(all []*found, otherwise string) (list []Unused) {
	for _, f := range all {
		if why := cmp.Or(f.why, otherwise); why != "" {
			list = append(list, Unused{Key: f.files[0].Key, Position: f.Position, Kind: f.Kind, Database: f.Database, Why: why})
		}
	}
	return list
}
