// SPDX-License-Identifier: Apache-2.0

package names

import (
	corev1 "k8s.io/api/core/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// serverNames are the names of a server at one site.
func serverNames(namespace string, server *serverView, at v1alpha1.SiteName) []name {
	n := name{namespace: namespace, service: podName(server.name), ports: serverPorts,
		labels: ownLabels(namespace, v1alpha1.LabelServer, string(server.name))}
	if at != server.home {
		n.keep = !server.known
		n.lead(at, server)
		if server.awaits(at) {
			// Where it was reached until now it is yet, as far as anything of that is left.
			n.keep, n.living = true, server.ways(at)
		}
		return []name{n}
	}
	n.selector = map[string]string{v1alpha1.LabelServer: string(server.name), v1alpha1.LabelNamespace: namespace}
	names := []name{n}
	open := n
	switch server.exposure {
	case v1alpha1.ExposureNodePort:
		open.service, open.exposed = nodeServiceName(server.name), &exposure{service: corev1.ServiceTypeNodePort}
	case v1alpha1.ExposureLoadBalancer:
		open.service = balancerName(server.name)
		open.exposed = balancing(server)
	default:
		return names
	}
	return append(names, open)
}

// allServerNames are all names that a server can have.
func allServerNames(server v1alpha1.ServerName) []string {
	return []string{podName(server), nodeServiceName(server), balancerName(server)}
}
