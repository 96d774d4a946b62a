// SPDX-License-Identifier: Apache-2.0

package names

import (
	"geosql.dev/operator/api/v1alpha1"
)

// serverNames are the names of a server at one site.
func serverNames(namespace string, server *serverView, at v1alpha1.SiteName) []name {
	n := name{namespace: namespace, service: podName(server.name), ports: serverPorts,
		labels: ownLabels(namespace, v1alpha1.LabelServer, string(server.name))}
	if at != server.home {
		n.keep = !server.known
		if e, ok := server.reach(at); ok {
			n.endpoints = []endpoint{e}
		}
		return []name{n}
	}
	n.selector = map[string]string{v1alpha1.LabelServer: string(server.name), v1alpha1.LabelNamespace: namespace}
	names := []name{n}
	if server.exposure == v1alpha1.ExposureNodePort {
		node := n
		node.service, node.nodePort = nodeServiceName(server.name), true
		names = append(names, node)
	}
	return names
}

// allServerNames are all names that a server can have.
func allServerNames(server v1alpha1.ServerName) []string {
	return []string{podName(server), nodeServiceName(server)}
}
