// SPDX-License-Identifier: Apache-2.0

// Package conf writes mssql.conf, the file with the settings of SQL Server on Linux
// (docs/linux/configure/mssql-conf.md).
package conf

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Name of the file.
const Name = "mssql.conf"

// Path of the file in the engine's container.
const Path = DataMount + "/" + Name

// Dir has the file as it is now, in the containers that read it for themselves: the kubelet exchanges it there.
const Dir = "/etc/geosql/conf"

// Where the volumes are mounted, and what is on them.
const (
	DataMount   = "/var/opt/mssql"
	LogMount    = "/var/opt/mssql-log"
	TempDBMount = "/var/opt/mssql-tempdb"
	BackupMount = "/var/opt/mssql-backup"
	DataDir     = DataMount + "/data"
	LogDir      = LogMount
	TempDBDir   = TempDBMount
	BackupDir   = BackupMount
	TLSDir      = "/etc/geosql/tls"
	// SnapshotDir is a distributor's snapshot folder.
	SnapshotDir = BackupMount + "/ReplData"
	// MirrorDir has a mirror of each distributor's snapshot folder, by the distributor's instance name.
	MirrorDir = BackupMount + "/mirror"
	// BroughtDir has the folders into which people bring the files of snapshots.
	BroughtDir = BackupMount + "/brought"
	// SnapshotShare is the share name under which a distributor's snapshot folder is known.
	SnapshotShare = "ReplData"
)

// Settings are the values of mssql.conf by "section.key".
type Settings map[string]string

// managed are the settings that are the same for every server.
var managed = Settings{
	"EULA.accepteula":               "Y",
	"filelocation.defaultdatadir":   DataDir,
	"filelocation.defaultlogdir":    LogDir,
	"filelocation.defaultbackupdir": BackupDir,
	"hadr.hadrenabled":              "1",
	"network.forceencryption":       "1",
	"network.tcpport":               "1433",
	"network.tlscert":               TLSDir + "/" + credentials.KeyCertificate,
	"network.tlskey":                TLSDir + "/" + credentials.KeyPrivateKey,
	// 1.3 needs TDS 8.0; 1.0 and 1.1 are broken.
	"network.tlsprotocols": "1.2",
	"sqlagent.enabled":     "true",
	// SQL Server Agent waits for every database otherwise: one that stays RESTORING or SUSPECT would keep all jobs from
	// running.
	waitForDatabases: "0",
}

const waitForDatabases = "sqlagent.startupwaitforalldb"

// patient are managed settings that wait for the next start of an engine: a release that adds one restarts none.
var patient = []string{waitForDatabases}

// settingForm is the form of a user's setting: nothing in it can end the line or begin a section.
var settingForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*\.[A-Za-z0-9_/-]+$`)

// reserved are settings that the operator sets in another way: arguments, environment or nothing at all.
var reserved = []string{
	"filelocation.masterdatafile", "filelocation.masterlogfile", "memory.memorylimitmb", "network.ipaddress",
}

// reservedSections are sections that belong to the operator as a whole: trace flags are arguments (spec.startup), the
// mapping of snapshot folders follows the subscriptions.
var reservedSections = []string{"traceflag", unc}

// Managed tells whether the operator manages a setting, so that a user may not set it. Case does not matter.
func Managed(setting string) bool {
	same := func(k string) bool { return strings.EqualFold(k, setting) }
	section, _, _ := strings.Cut(setting, ".")
	return slices.ContainsFunc(slices.Collect(maps.Keys(managed)), same) ||
		slices.ContainsFunc(reserved, same) ||
		slices.ContainsFunc(reservedSections, func(s string) bool { return strings.EqualFold(s, section) })
}

// Managers lists what Managed refuses, sorted, sections as "section.*".
func Managers() []string {
	all := slices.Collect(maps.Keys(managed))
	all = append(all, reserved...)
	for _, s := range reservedSections {
		all = append(all, s+".*")
	}
	slices.Sort(all)
	return all
}

// Share is the UNC name of a distributor's snapshot folder as uncmapping takes it, with slashes.
func Share(distributor v1alpha1.ServerName) string {
	return "//" + credentials.HostName(distributor) + "/" + SnapshotShare
}

// Mirror is the folder in which a subscriber has the mirror of a distributor's snapshot folder.
func Mirror(distributor v1alpha1.ServerName) string {
	return MirrorDir + "/" + credentials.HostName(distributor)
}

// Folders are the servers whose snapshot folders a server knows by their UNC names: the distributors from which it
// takes snapshots, and the others of its namespace, each of which may distribute what it publishes.
type Folders struct{ From, Others []v1alpha1.ServerName }

// Render writes the file for a server: the user's settings, then the operator's, which win. A server maps the UNC name
// of its own snapshot folder to the folder itself, those of the distributors from which it takes snapshots to their
// mirrors, and those of all others to its own folder: when it publishes through one of them, its engine writes scripts
// of articles for subscribers that begin without a snapshot there, which nobody reads elsewhere.
func Render(server v1alpha1.ServerName, user map[string]string, folders Folders) string {
	settings := Settings{}
	for _, d := range folders.Others {
		settings[mapping(d)] = SnapshotDir
	}
	maps.Copy(settings, managed)
	return render(server, user, folders.From, settings)
}

// unc is the section that maps UNC names.
const unc = "uncmapping"

// mapping is the setting that maps a distributor's snapshot folder.
func mapping(distributor v1alpha1.ServerName) string { return unc + "." + Share(distributor) }

// RestartsFor is what of the file a running engine is restarted for, in the file's form. It is restarted for no
// folder but those from which it takes snapshots: few have a subscriber that begins without one.
func RestartsFor(server v1alpha1.ServerName, user map[string]string, distributors []v1alpha1.ServerName) string {
	now := maps.Clone(managed)
	for _, key := range patient {
		delete(now, key)
	}
	return render(server, user, distributors, now)
}

func render(
	server v1alpha1.ServerName,
	user map[string]string,
	distributors []v1alpha1.ServerName,
	managed Settings,
) string {
	settings := Settings{}
	for key, value := range user {
		if settingForm.MatchString(key) && !Managed(key) {
			settings[key] = value
		}
	}
	maps.Copy(settings, managed)
	settings[mapping(server)] = SnapshotDir
	for _, d := range distributors {
		if d != server {
			settings[mapping(d)] = Mirror(d)
		}
	}
	sections := map[string][]string{}
	for key, value := range settings {
		section, name, _ := strings.Cut(key, ".")
		sections[section] = append(sections[section], name+" = "+oneLine(value))
	}
	var file strings.Builder
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		lines := sections[section]
		slices.Sort(lines)
		fmt.Fprintf(&file, "[%s]\n%s\n\n", section, strings.Join(lines, "\n"))
	}
	return file.String()
}

// oneLine keeps a value from adding lines, and so settings, of its own.
func oneLine(s string) string {
	return strings.TrimSpace(strings.NewReplacer("\r", " ", "\n", " ").Replace(s))
}

// Mapped are the folders that a file maps UNC names to, in its order, each once.
func Mapped(file string) []string {
	var folders []string
	section := ""
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			section = strings.ToLower(strings.TrimSpace(strings.TrimSuffix(name, "]")))
			continue
		}
		_, folder, ok := strings.Cut(line, "=")
		folder = strings.TrimSpace(folder)
		if ok && section == unc && folder != "" && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}
