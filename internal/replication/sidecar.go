// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
)

// SidecarAddress is where the sidecar of a server answers, for the pods of every site.
func SidecarAddress(namespace string, server v1alpha1.ServerName) string {
	return credentials.AgentAddress(credentials.HostName(server) + "." + namespace + ".svc")
}
