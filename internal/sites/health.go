// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"time"

	"geosql.dev/operator/api/v1alpha1"
)

// Health is what the heartbeat knows about a site.
type Health struct {
	// Site it is about.
	Site v1alpha1.SiteName
	// Engaged says that the site's caches are filled and its watches run.
	Engaged bool
	// LastHeartbeat is when the API server last answered; zero when never.
	LastHeartbeat time.Time
	// RoundTrip of that answer: request to last byte of the response, on an open connection.
	RoundTrip time.Duration
	// Version of Kubernetes.
	Version string
	// ClusterUID is the UID of the kube-system namespace.
	ClusterUID string
	// CredentialsExpire is when the token or certificate ends; zero when that cannot be told.
	CredentialsExpire time.Time
	// Namespaces that are allowed and usable.
	Namespaces []string
	// UnusableNamespaces says for each other allowed namespace why it cannot be used.
	UnusableNamespaces map[string]string
	// Cause of the last failure since LastHeartbeat, nil while the site answers: a *KubeconfigError, *CredentialsError,
	// *OtherClusterError, *DuplicateClusterError, ErrSiteLost, or whatever the network said.
	Cause error
}

// Reachable reports whether observations of the site may be believed at the time now: it is engaged and has answered
// within the given time.
func (h Health) Reachable(now time.Time, within time.Duration) bool {
	return h.Engaged && now.Sub(h.LastHeartbeat) < within
}
