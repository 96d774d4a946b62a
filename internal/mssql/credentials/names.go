// SPDX-License-Identifier: Apache-2.0

// Package credentials has the passwords and certificates of servers: their names and keys in Secrets, how they are
// made, and the rule by which site and hub agree on them. A server's Secrets are written to its site first; a hub that
// was rebuilt adopts what the site has.
package credentials

import (
	"crypto/sha256"
	"net"
	"slices"
	"strconv"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
)

// Keys of the Secret of passwords.
const (
	KeySA          = "sa-password"
	KeyOperator    = "operator-password"
	KeyAgent       = "agent-password"
	KeyReplication = "replication-password"
	KeyMasterKey   = "master-key-password"
	// KeyPreviousSA is there while the sa password was changed in the Secret and the engine is not known to take it yet.
	KeyPreviousSA = "previous-sa-password"
	// KeySupersededSA is there beside the previous one while the password that followed that gave way to another one
	// before the engine was known to take it: whether it has is not known either.
	KeySupersededSA = "superseded-sa-password"
	// keyAgreed has marks of the passwords on which site and hub last agreed.
	keyAgreed = "agreed"
)

// Keys of the Secret of the certificate, those of a kubernetes.io/tls Secret and the CA's.
const (
	KeyCertificate = "tls.crt"
	KeyPrivateKey  = "tls.key"
	KeyCA          = "ca.crt"
)

// KeyProductKey is the key of a product key in its Secret, in the user's unless told otherwise.
const KeyProductKey = "productKey"

// KeyPassword is the key of a password in a user's Secret unless told otherwise.
const KeyPassword = "password"

// CASecretName is the Secret of the operator's CA, in the operator's namespace of the hub, with the keys tls.crt and
// tls.key. The CA's key never leaves the hub.
const CASecretName = "geosql-ca"

// Role is the part in which the operator or an agent logs in to a server.
type Role string

const (
	// RoleSA is the system administrator: it makes the other logins and their grants, and what only a sysadmin may.
	RoleSA Role = "sa"
	// RolePreviousSA is the system administrator with the password from before a change.
	RolePreviousSA Role = "previous-sa"
	// RoleSupersededSA is the system administrator with the password that came between that one and the present one.
	RoleSupersededSA Role = "superseded-sa"
	// RoleOperator is the manager's login.
	RoleOperator Role = "operator"
	// RoleAgent is the login of the sidecar.
	RoleAgent Role = "agent"
	// RoleReplication is the login of the replication agents.
	RoleReplication Role = "replication"
)

// Login is the name of the SQL login of the role.
func (r Role) Login() string {
	if r == RoleSA || slices.Contains(FormerAdministrators(), r) {
		return "sa"
	}
	return "geosql_" + string(r)
}

// Key is the key of the role's password in the Secret of passwords.
func (r Role) Key() string { return string(r) + "-password" }

// FormerAdministrators are the roles of the system administrator with passwords from before a change, the oldest first.
func FormerAdministrators() []Role { return []Role{RolePreviousSA, RoleSupersededSA} }

// Roles are the roles whose logins the operator makes, in the order of their making.
func Roles() []Role { return []Role{RoleOperator, RoleAgent, RoleReplication} }

// PartnerLogin is the login to which a server's endpoint certificates are mapped on the other replicas of its groups.
func PartnerLogin(server v1alpha1.ServerName) string { return partnerPrefix + string(server) }

// PartnerOf is the server whose certificates are mapped to the login; false for a login of another kind.
func PartnerOf(login string) (v1alpha1.ServerName, bool) {
	server, is := strings.CutPrefix(login, partnerPrefix)
	return v1alpha1.ServerName(server), is && server != ""
}

const partnerPrefix = "geosql_partner_"

// SID is the security identifier of a login: the first 16 bytes of the SHA-256 of namespace and login. It is the same
// on every server of a namespace, so that users of a replicated database keep their logins on every replica.
func SID(namespace, login string) []byte {
	sum := sha256.Sum256([]byte("geosql.dev/login/" + namespace + "/" + login))
	return sum[:16]
}

// PasswordsName is the name of the Secret of passwords of a server.
func PasswordsName(server v1alpha1.ServerName) string { return string(server) + "-credentials" }

// CertificateName is the name of the Secret of the certificate that the operator issues to a server. A server whose
// spec.tls names a Secret of the user's has its copy under this name at the site.
func CertificateName(server v1alpha1.ServerName) string { return string(server) + "-tls" }

// ProductKeyName is the name of the Secret, at the server's site, with the copy of its product key.
func ProductKeyName(server v1alpha1.ServerName) string { return string(server) + "-product-key" }

// IssuedName is the name, at the server's site, of cert-manager's Certificate of a server whose spec.tls names an
// issuer, and of the Secret that cert-manager keeps it in.
func IssuedName(server v1alpha1.ServerName) string { return string(server) + "-certificate" }

// SecretsOf are the names of all Secrets that the operator keeps for a server, at its site and in the hub.
func SecretsOf(server v1alpha1.ServerName) []string {
	return []string{PasswordsName(server), CertificateName(server), ProductKeyName(server), IssuedName(server),
		OrdersName(server)}
}

// OrdersName is the name of the Secret, at the server's site, with the orders of its sidecar, and of the ServiceAccount
// that may read it.
func OrdersName(server v1alpha1.ServerName) string { return string(server) + "-agent" }

// HostName is the instance's name, "<object name>-0".
func HostName(server v1alpha1.ServerName) string { return string(server) + "-0" }

// ServerOf is the server that has a host name, which is its instance's name, in whatever case an engine tells it.
func ServerOf(host string) v1alpha1.ServerName {
	return v1alpha1.ServerName(strings.TrimSuffix(strings.ToLower(host), "-0"))
}

const (
	// AgentPort is where the sidecar of every server speaks HTTPS to everybody, with the server's certificate.
	AgentPort = 8443
	// ElectionPort is where it speaks HTTPS to the sidecars of its groups' other servers alone, which show their server's
	// certificate in the handshake. Those of earlier releases ask at AgentPort.
	ElectionPort = 8444
)

// AgentAddress is where the sidecar of a server answers that has this name.
func AgentAddress(host string) string { return net.JoinHostPort(host, strconv.Itoa(AgentPort)) }

// ElectionAddress is where the sidecar of a server that has this name answers those of its groups' other servers.
func ElectionAddress(host string) string { return net.JoinHostPort(host, strconv.Itoa(ElectionPort)) }
