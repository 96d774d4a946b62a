// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// Observed is the world around a server as it was read, without any decision.
type Observed struct {
	// Now is the time of the observation.
	Now time.Time
	// Site is why the site can't be used, nil when it can.
	Site error
	// Names is the condition NamesReady of the object, nil when nobody has written it.
	Names *metav1.Condition

	// Cluster is the site's nodes, storage classes and what is published about them.
	Cluster placement.Cluster
	// Claims by role; a role without one is missing.
	Claims map[placement.Role]*corev1.PersistentVolumeClaim
	// Bound are the volumes of the claims that are bound.
	Bound map[placement.Role]*corev1.PersistentVolume

	// SitePasswords and HubPasswords are what the Secrets hold.
	SitePasswords, HubPasswords credentials.Passwords
	// SiteCertificate and HubCertificate are what the Secrets of the certificate hold.
	SiteCertificate, HubCertificate map[string][]byte
	// UserCertificate is what the Secret holds that spec.tls names, or that its issuer has issued; UserCertificateError is
	// why it can't be had.
	UserCertificate      map[string][]byte
	UserCertificateError error
	// Issue is what cert-manager has of the server.
	Issue Issue
	// ForeignSecrets are Secrets of the names that the server's have, with the place, which somebody else made.
	ForeignSecrets []string
	// Authority is the operator's CA, nil while it has not been made; AuthorityError is why the one that is there can't be
	// used.
	Authority      *credentials.Authority
	AuthorityError error
	// Clocks are those of the API servers that the observation asked, compared with the manager's.
	Clocks []Clock
	// Partners are the other servers of its groups.
	Partners []Partner
	// SiteIsHub tells that the server's site is the hub's own cluster: its Secrets are the hub's.
	SiteIsHub bool

	// Readers are what the Secret holds by which the sidecars of the namespace are read at the site.
	Readers map[string][]byte
	// ReadersFormer are the operator's CAs that Readers has and no server of the namespace shows or trusts at the site.
	ReadersFormer reconcile.Reading[[]byte]

	// DeclaredSA and DeclaredKey are what the specification takes from Secrets of the user's.
	DeclaredSA, DeclaredKey DeclaredSecret
	// ProductKey is the Secret with the site's copy of the product key, nil when there is none.
	ProductKey map[string][]byte

	Account     Account
	ConfigMap   *corev1.ConfigMap
	StatefulSet *appsv1.StatefulSet
	Pod         *corev1.Pod
	// Refusal is why the API server refuses the pod to its StatefulSet, in its own words; asked for while there is no pod.
	Refusal string
	// Unstarted is why a kubelet does not start a pod with sysctls; asked for until its engine has started.
	Unstarted Unstarted
	// Budget is the pod's PodDisruptionBudget; BudgetDenied says that the site's credentials don't let the operator have
	// one, those of an earlier release.
	Budget       *policyv1.PodDisruptionBudget
	BudgetDenied bool
	// Policy is the pod's NetworkPolicy; PolicyDenied says that the site's credentials don't let the operator have one,
	// those of an earlier release.
	Policy       *networkingv1.NetworkPolicy
	PolicyDenied bool

	Engine Engine
	// State is what the pod's sidecar says of the place where its promises lie; nil when it was not asked, or is of a
	// release that does not tell.
	State reconcile.Reading[*agent.StateStatus]
	// Rooms are how full the engine's volumes are, by role; nil when that is not known.
	Rooms map[string]agent.VolumeRoom
	// Staging is what the sidecar's mirrors take of their quota; nil without one, and when that is not known.
	Staging *files.Staging
	// TCP is what the kernel has for the pod's connections; nil when that is not known.
	TCP *agent.NetworkStatus
	// Orders are the keys of the Secret with the sidecar's orders at the site.
	Orders map[string][]byte
	// Turns are of the groups of a server whose pod waits for a restart, and of those in which it has the turn.
	Turns []Turn

	// left is what is left of a server that is being deleted; nothing else is observed then.
	left left
}

// Clock is the clock of an API server.
type Clock struct {
	// Of is whose it is.
	Of string
	// Ahead is how far it is ahead of the manager's.
	Ahead sites.ClockDifference
}

// Engine is what the engine says. Nothing was asked while the pod has no address.
type Engine struct {
	// Asked tells whether the engine was asked at all.
	Asked bool
	// Err is why it did not answer.
	Err error
	// Instance is what it says of itself.
	Instance mssql.Instance
	// Refused are the roles whose passwords the engine does not take, with the error.
	Refused map[credentials.Role]error
	// Logins by name.
	Logins map[string]mssql.Login
	// Permissions on the server by login.
	Permissions map[string][]string
	// Denied are the permissions that are denied on the server, by login.
	Denied map[string][]string
	// Sysadmins are the members of the server role sysadmin.
	Sysadmins []string
	// Groups are the availability groups of which the instance hosts a replica; nil when GroupsKnown is false.
	Groups      []string
	GroupsKnown bool
	// Partners are the servers with which it exchanges log; asked for only while it has the login of one that no group
	// which is declared has beside this server.
	Partners reconcile.Reading[mssql.Partners]
	// TempDB has the files of tempdb.
	TempDB []mssql.TempDBFile
	// Databases are the user databases by name; asked for only while some are declared.
	Databases map[string]mssql.Database
}

// takes tells that the engine was seen to take the password of a role.
func (e Engine) takes(role credentials.Role) bool {
	_, exists := e.Logins[role.Login()]
	return e.Asked && e.Err == nil && exists && e.Refused[role] == nil
}

// administrator is what site and hub agree by on the password of sa, where this one is declared. The engine was asked
// with the hub's passwords.
func (o Observed) administrator(declared []byte) credentials.Administrator {
	sa := credentials.Administrator{Declared: declared}
	for _, role := range append(credentials.FormerAdministrators(), credentials.RoleSA) {
		if password := o.HubPasswords.Of(role); password != "" && mssql.PasswordRefused(o.Engine.Refused[role]) {
			sa.Refused = append(sa.Refused, []byte(password))
		}
	}
	return sa
}

// formerAdministrator is the role of the system administrator with a former password that the engine takes; empty when
// it is not seen to take any.
func (o Observed) formerAdministrator() credentials.Role {
	for _, role := range credentials.FormerAdministrators() {
		if o.HubPasswords.Of(role) != "" && o.Engine.takes(role) {
			return role
		}
	}
	return ""
}

// volumesExist tells whether any volume that an engine may have written to exists.
func (o Observed) volumesExist() bool {
	for role := range o.Claims {
		if role != placement.RoleAgent {
			return true
		}
	}
	return false
}
