// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
)

// ErrUnknownSite says that no Site object has that name.
var ErrUnknownSite = errors.New("no such site")

// ErrSiteLost says that a person declared the site lost (spec.lifecycle: Lost): nothing is done there.
var ErrSiteLost = errors.New("the site is declared lost")

// UnreachableError says that a site cannot be used now. What is at the site is unknown, not absent.
type UnreachableError struct {
	// Site that does not answer.
	Site v1alpha1.SiteName
	// Since when; zero when it has never answered to this process.
	Since time.Time
	// Cause of the last attempt.
	Cause error
}

// Error says since when and why.
func (e *UnreachableError) Error() string {
	if e.Since.IsZero() {
		return fmt.Sprintf("site %s has not answered yet: %v", e.Site, e.Cause)
	}
	return fmt.Sprintf("site %s has not answered since %s: %v", e.Site, e.Since.UTC().Format(time.RFC3339), e.Cause)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// IsUnreachable reports whether err says that a site cannot be reached now; the observation is Unknown then.
func IsUnreachable(err error) bool {
	var unreachable *UnreachableError
	return errors.As(err, &unreachable)
}

// NamespaceError says that objects of a namespace cannot be placed at a site.
type NamespaceError struct {
	// Site and Namespace in question.
	Site      v1alpha1.SiteName
	Namespace string
	// Allowed are the Site's spec.allowedNamespaces.
	Allowed []string
	// Missing is set when the namespace is allowed but does not exist at the site or the credentials cannot use it.
	Missing string
	// Gone says that the site answered and does not have the namespace, or is deleting it with all that is in it.
	Gone bool
}

// IsNamespaceGone reports whether err says that a site does not have a namespace, or is deleting it: then nothing of an
// object that is being deleted is left there, or nothing that could be done about it.
func IsNamespaceGone(err error) bool {
	var namespace *NamespaceError
	return errors.As(err, &namespace) && namespace.Gone
}

// Error says what to change.
func (e *NamespaceError) Error() string {
	if e.Missing != "" {
		return fmt.Sprintf(
			"namespace %s cannot be used at site %s: %s; run `kubectl geosql site join %s` again with --namespaces, or "+
				"create it there",
			e.Namespace,
			e.Site,
			e.Missing,
			e.Site,
		)
	}
	return fmt.Sprintf(
		"namespace %s is not allowed at site %s: allowed are %s; add it to the Site's spec.allowedNamespaces and run "+
			"`kubectl geosql site join %s` again",
		e.Namespace,
		e.Site,
		strings.Join(e.Allowed, ", "),
		e.Site,
	)
}

// DuplicateClusterError says that two Sites are one cluster; the older one is used.
type DuplicateClusterError struct {
	Site, Other v1alpha1.SiteName
	ClusterUID  string
}

// Error says which Site to delete.
func (e *DuplicateClusterError) Error() string {
	return fmt.Sprintf(
		"sites %s and %s are one cluster (kube-system has UID %s): delete one of them",
		e.Other,
		e.Site,
		e.ClusterUID,
	)
}

// OtherClusterError says that a Site's kubeconfig reaches another cluster than the site is. What is at the site is
// unknown, and nothing is done at the other cluster.
type OtherClusterError struct {
	Site v1alpha1.SiteName
	// Was and Is are the UIDs of the namespaces kube-system of the site's cluster and of the one that answers.
	Was, Is string
}

// Error says how the other cluster is taken in the site's place.
func (e *OtherClusterError) Error() string {
	return fmt.Sprintf(
		"another cluster answers for site %s: its kube-system has UID %s, the site's has %s; nothing is done there. Correct "+
			"the kubeconfig, or, if the site's cluster was made anew, run `kubectl geosql site join %s --new-cluster`",
		e.Site,
		e.Is,
		e.Was,
		e.Site,
	)
}

// OtherHubError says that a site is another hub's, or was taken over by another copy of this one. Nothing is written
// there, no engine there is asked, and nothing is run in its pods. What was under way when the Lease moved may still
// arrive.
type OtherHubError struct {
	Site v1alpha1.SiteName
	// Namespace is one of those in which the Lease says so.
	Namespace string
	// Owner is the hub that the Lease names, Self this one.
	Owner, Self Owner
}

// Error says who may go on, and how this hub takes the site over.
func (e *OtherHubError) Error() string {
	other := fmt.Sprintf("site %s is another hub's", e.Site)
	if e.Owner.Hub == e.Self.Hub {
		other = fmt.Sprintf("site %s was taken over by another copy of this hub", e.Site)
	}
	return fmt.Sprintf("%s: Lease %s/%s there names %s, this hub is %s; nothing is done there. If this hub is to go "+
		"on with the site, end the other one's manager and run `kubectl geosql site join %s --take-over`; else end this "+
		"one, or set the Site's spec.lifecycle to Lost here", other, e.Namespace, OwnerLease, e.Owner, e.Self, e.Site)
}

// UnclaimedError says that a namespace of a site is no hub's at the moment: its Lease was deleted, and is made again.
type UnclaimedError struct {
	Site      v1alpha1.SiteName
	Namespace string
}

// Error names the Lease.
func (e *UnclaimedError) Error() string {
	return fmt.Sprintf("Lease %s/%s at site %s, which names the hub, was deleted: it is made again before anything "+
		"is written there", e.Namespace, OwnerLease, e.Site)
}

// KubeconfigError says that a Site's kubeconfig cannot be used as it is; nothing will change until it is replaced.
type KubeconfigError struct {
	Site   v1alpha1.SiteName
	Secret string
	Reason string
}

// Error says what to change. It never contains a part of the kubeconfig.
func (e *KubeconfigError) Error() string {
	return fmt.Sprintf(
		"the kubeconfig of site %s (Secret %s) cannot be used: %s; run `kubectl geosql site join %s` again",
		e.Site,
		e.Secret,
		e.Reason,
		e.Site,
	)
}

// CredentialsError says that the site's API server does not accept or does not authorize the credentials.
type CredentialsError struct {
	Site  v1alpha1.SiteName
	Cause error
	// Expired is when the credentials ended, zero when they have not or that cannot be told.
	Expired time.Time
}

// Error says what to change.
func (e *CredentialsError) Error() string {
	if !e.Expired.IsZero() {
		return fmt.Sprintf(
			"the credentials of site %s expired at %s; run `kubectl geosql site join %s` again",
			e.Site,
			e.Expired.UTC().Format(time.RFC3339),
			e.Site,
		)
	}
	return fmt.Sprintf(
		"site %s does not accept the credentials (%v); run `kubectl geosql site join %s` again",
		e.Site,
		e.Cause,
		e.Site,
	)
}

// Unwrap returns the cause.
func (e *CredentialsError) Unwrap() error { return e.Cause }
