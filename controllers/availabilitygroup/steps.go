// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// CreateMasterKey creates master's master key with the password of the server's Secret, which the plan does not know.
type CreateMasterKey struct{ Server v1alpha1.ServerName }

// Describe names the server.
func (s CreateMasterKey) Describe() string {
	return fmt.Sprintf("on %s: create the master key that protects endpoint certificates", host(s.Server))
}

// CreatePartnerLogin creates the login of a partner's certificate with a random password that nobody keeps.
type CreatePartnerLogin struct {
	Server v1alpha1.ServerName
	Login  string
}

// Describe names server and login.
func (s CreatePartnerLogin) Describe() string {
	return fmt.Sprintf("on %s: create login %s, to which a partner's certificate is mapped", host(s.Server), s.Login)
}

// CopyKey makes a certificate with its private key in master of another server, under a password that is made for the
// copy and that nobody keeps.
type CopyKey struct {
	From, To v1alpha1.ServerName
	// Thumbprint in hexadecimal digits; Name is what it is called at To.
	Thumbprint, Name string
	Databases        []string
}

// Describe names the servers and the certificate.
func (s CopyKey) Describe() string {
	return fmt.Sprintf("on %s: make certificate %s (0x%s), by which %s is encrypted, as %s has it", host(s.To), s.Name,
		s.Thumbprint, list(s.Databases), host(s.From))
}

// CreateLease creates a group's Lease at a voter. It never changes one that is there.
type CreateLease struct {
	Site  v1alpha1.SiteName
	Group string
	// InitialPrimary may claim the first term of a group that is yet to be made; empty for one that exists.
	InitialPrimary string
	// Configuration of voters of a group that exists; zero for one that is yet to be made.
	Configuration votes.Configuration
}

// Describe names the voter.
func (s CreateLease) Describe() string {
	if !s.Configuration.IsZero() {
		return fmt.Sprintf("create the lease of group %s at site %s, which is to vote", s.Group, s.Site)
	}
	return fmt.Sprintf(
		"create the lease of group %s at voter %s, released, for %s to claim",
		s.Group,
		s.Site,
		s.InitialPrimary,
	)
}

// GiveOrders writes what a server's agent needs to hold the group's votes, with credentials for the voters.
type GiveOrders struct {
	Server v1alpha1.ServerName
	Reason string
	// New says that the group's configuration does not name the server yet: it need not reach every voter.
	New bool
}

// Describe names the server.
func (s GiveOrders) Describe() string {
	return fmt.Sprintf("give the agent of %s its orders: %s", host(s.Server), s.Reason)
}

// TakeOrders takes a group away from the orders of a server that is no longer its replica.
type TakeOrders struct{ Server v1alpha1.ServerName }

// Describe names the server.
func (s TakeOrders) Describe() string {
	return fmt.Sprintf("take the orders from the agent of %s, which is no longer a replica", host(s.Server))
}

// MarkEnding tells the agent of the last server that has the group whether that is about to be dropped there: the agent
// would take a group that is gone for one that was dropped by hand, and end the engine.
type MarkEnding struct {
	Server v1alpha1.ServerName
	Ending bool
	// ID is which group of the name is dropped, as the server's engine knows it: another one is not meant.
	ID string
}

// Describe names the server.
func (s MarkEnding) Describe() string {
	if !s.Ending {
		return fmt.Sprintf("tell the agent of %s that the group is not dropped after all", host(s.Server))
	}
	return fmt.Sprintf("tell the agent of %s that the group is about to be dropped", host(s.Server))
}

// RemoveVotes deletes a group's Lease, as it was read, and the agents' account at a voter: a vote that somebody has
// been granted since stays.
type RemoveVotes struct {
	Site v1alpha1.SiteName
	// UID and Version of the Lease.
	UID     types.UID
	Version string
}

// Describe names the voter.
func (s RemoveVotes) Describe() string {
	return fmt.Sprintf("remove the group's lease and the agents' account at voter %s", s.Site)
}

// AddListener adds a group's listener in the first form that the engine takes: with its address as that of one host,
// with a mask of a subnet, or without an address of its own.
type AddListener struct {
	Server   v1alpha1.ServerName
	Group    string
	Name, IP string
	Port     int
}

// Describe is the first form's.
func (s AddListener) Describe() string { return s.forms()[0].Describe() }

// RestartEndpoint stops and starts the mirroring endpoint of a server. One that is left stopped is started by the next
// plan.
type RestartEndpoint struct {
	Server   v1alpha1.ServerName
	Endpoint string
	// For is the replica to which the primary has no connection.
	For v1alpha1.ServerName
}

// Describe names the server.
func (s RestartEndpoint) Describe() string {
	return fmt.Sprintf("restart endpoint %s of %s: the primary has no connection to %s", s.Endpoint, host(s.Server),
		host(s.For))
}

// statement is the one batch that does both.
func (s RestartEndpoint) statement() mssql.Execute {
	return mssql.Execute{Server: s.Server, Role: credentials.RoleOperator, Database: "master",
		Statement: tsql.RestartEndpoint(s.Endpoint)}
}

// placeOf is the server on which a step is carried out, empty for one that is not on a server alone.
func placeOf(step reconcile.Step) v1alpha1.ServerName {
	switch s := step.(type) {
	case mssql.Execute:
		return s.Server
	case CreateMasterKey:
		return s.Server
	case CreatePartnerLogin:
		return s.Server
	case CopyKey:
		return s.To
	}
	return ""
}

// execute adds a statement in master, under the operator's login.
func execute(p *reconcile.Plan, server v1alpha1.ServerName, s tsql.Statement) {
	executeAs(p, credentials.RoleOperator, server, s)
}

// destroy adds a statement that takes something away, with what was seen in its place.
func destroy(p *reconcile.Plan, seen reconcile.Evidence, server v1alpha1.ServerName, s tsql.Statement) {
	p.Destroy(seen, mssql.Execute{Server: server, Role: credentials.RoleOperator, Database: "master", Statement: s})
}

// dropGroup is destroy for DROP AVAILABILITY GROUP, which is sa's as CREATE and JOIN are: of CREATE AVAILABILITY GROUP
// the page asks for a member of sysadmin, and whether the others are content with ALTER ANY AVAILABILITY GROUP has been
// seen of nobody who was none.
func dropGroup(p *reconcile.Plan, seen reconcile.Evidence, server v1alpha1.ServerName, s tsql.Statement) {
	p.Destroy(seen, mssql.Execute{Server: server, Role: credentials.RoleSA, Database: "master", Statement: s})
}

// executeAsSA adds a statement in master that needs more than the operator's login has.
func executeAsSA(p *reconcile.Plan, server v1alpha1.ServerName, s tsql.Statement) {
	executeAs(p, credentials.RoleSA, server, s)
}

// executeAs adds a statement in master under the login of a role.
func executeAs(p *reconcile.Plan, role credentials.Role, server v1alpha1.ServerName, s tsql.Statement) {
	p.Add(mssql.Execute{Server: server, Role: role, Database: "master", Statement: s})
}
