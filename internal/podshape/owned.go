// SPDX-License-Identifier: Apache-2.0

package podshape

import (
	"path"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Names of containers, volumes and ports that begin so are kept for the operator, so that a later release can add some.
const reservedPrefix = "geosql-"

// ownContainers of a server's pod.
var ownContainers = []string{"mssql", agent.Container, "keys"}

// ownVolumes of a server's pod; see controllers/sqlserver, podVolumes.
var ownVolumes = []string{"conf", "tls", "trust", "agent", "tmp", "engine-tls", "token", "data", "log", "tempdb",
	"backup",
	"agent-state"}

// sharedVolumes are those of the server that sidecars and init containers may mount: all but backup to read alone,
// since the files are the engine's.
var sharedVolumes = map[string]bool{"data": true, "log": true, "tempdb": true, "backup": false}

// ownPorts of a server's pod, whose containers share one address.
var ownPorts = map[int32]string{1433: "tds", 5022: "mirroring", credentials.AgentPort: "agent",
	credentials.ElectionPort: "election"}

// ownFolders of the engine's container: nothing is mounted there, below or above.
var ownFolders = []string{conf.DataMount, conf.LogMount, conf.TempDBMount, conf.BackupMount, agent.StateDir,
	"/etc/geosql", "/var/run/geosql", "/var/run/secrets/kubernetes.io", "/opt/mssql"}

// ownEnv are variables of the engine's container that the operator sets; those of SQL Server begin with ownEnvPrefix.
// Times that are read of an engine are taken for those of the time zone that is declared (TZ).
var ownEnv = []string{"ACCEPT_EULA", "HOME", "SSL_CERT_FILE", "TZ"}

const ownEnvPrefix = "MSSQL_"

// ownLabelPrefix begins labels and annotations of the operator.
const ownLabelPrefix = "geosql.dev/"

// ownLabels are further labels of the operator.
var ownLabels = []string{v1alpha1.LabelManagedBy, v1alpha1.LabelApp, v1alpha1.LabelAppInstance,
	v1alpha1.LabelAppComponent}

// claims of a server: its volumes are the engine's and the agent's alone.
func claims(server string) []string {
	var names []string
	for _, role := range []string{"data", "log", "tempdb", "backup", "agent"} {
		names = append(names, server+"-"+role)
	}
	return names
}

// OwnsContainer tells that a name of a container is the operator's.
func OwnsContainer(name string) bool {
	return slices.Contains(ownContainers, name) || strings.HasPrefix(name, reservedPrefix)
}

// OwnsVolume tells that a name of a volume is the operator's.
func OwnsVolume(name string) bool {
	return slices.Contains(ownVolumes, name) || strings.HasPrefix(name, reservedPrefix)
}

// OwnsPort tells that a port, or the name of one, is the operator's.
func OwnsPort(name string, number int32) bool {
	_, taken := ownPorts[number]
	for _, own := range ownPorts {
		taken = taken || own == name
	}
	return taken || strings.HasPrefix(name, reservedPrefix)
}

// OwnsFolder tells that a folder of the engine's container is the operator's, is in one or has one in it.
func OwnsFolder(folder string) bool {
	folder = path.Clean("/" + folder)
	if folder == "/tmp" {
		return true
	}
	return slices.ContainsFunc(ownFolders, func(own string) bool { return within(folder, own) || within(own, folder) })
}

// within tells that a folder is another one or below it.
func within(folder, of string) bool {
	return folder == of || of == "/" || strings.HasPrefix(folder, of+"/")
}

// OwnsEnv tells that a variable of the engine's container is the operator's.
func OwnsEnv(name string) bool {
	return slices.Contains(ownEnv, name) || strings.HasPrefix(name, ownEnvPrefix)
}

// OwnsLabel tells that the key of a label or annotation is the operator's.
func OwnsLabel(key string) bool {
	return slices.Contains(ownLabels, key) || strings.HasPrefix(key, ownLabelPrefix)
}
