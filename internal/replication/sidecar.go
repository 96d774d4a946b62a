// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"net"
	"strconv"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/credentials"
)

// sidecarPort is that of a server's sidecar.
const sidecarPort = 8443

// SidecarAddress is where the sidecar of a server answers, for the pods of every site.
func SidecarAddress(namespace string, server v1alpha1.ServerName) string {
	return net.JoinHostPort(credentials.HostName(server)+"."+namespace+".svc", strconv.Itoa(sidecarPort))
}
