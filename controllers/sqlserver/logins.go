// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"bytes"
	"fmt"
	"slices"

	"geosql.dev/operator/internal/engineimage"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// roleSysadmin is the server role that may do everything.
const roleSysadmin = "sysadmin"

// grant is a permission on the server and why a login has it.
type grant struct {
	permission tsql.ServerPermission
	// since is the major version that knows the permission, 0 for all that are supported.
	since int
}

// grants of the logins. Each is the least that the documents name for what the login does.
var grants = map[credentials.Role][]grant{
	credentials.RoleOperator: {
		// Read the DMVs of groups, replicas and performance; since 2022 those of groups ask for the second
		// (docs/relational-databases/system-dynamic-management-views/sys-dm-hadr-*).
		{tsql.ViewServerState, 0},
		{tsql.ViewServerPerformanceState, 16},
		// See logins, grants, endpoints, certificates and groups that others own.
		{tsql.ViewAnyDefinition, 0},
		// Read the state of user databases and of replication in them.
		{tsql.ConnectAnyDatabase, 0},
		// CREATE DATABASE for groups and publications (docs/t-sql/statements/create-database-transact-sql.md).
		{tsql.CreateAnyDatabase, 0},
		// ALTER DATABASE SET RECOVERY, SET HADR (docs/t-sql/statements/alter-database-transact-sql-set-hadr.md).
		{tsql.AlterAnyDatabase, 0},
		// ALTER AVAILABILITY GROUP; CREATE takes sa (docs/t-sql/statements/create-availability-group-transact-sql.md).
		{tsql.AlterAnyAvailabilityGroup, 0},
		// CREATE and ALTER ENDPOINT (docs/t-sql/statements/create-endpoint-transact-sql.md).
		{tsql.AlterAnyEndpoint, 0},
		// Logins of partners' certificates (docs/t-sql/statements/create-login-transact-sql.md).
		{tsql.AlterAnyLogin, 0},
		// Linked servers to subscribers (sp_addlinkedserver).
		{tsql.AlterAnyLinkedServer, 0},
	},
	credentials.RoleAgent: {
		{tsql.ViewServerState, 0},
		{tsql.ViewServerPerformanceState, 16},
		{tsql.ViewAnyDefinition, 0},
		// Renew the write lease, OFFLINE, SET (ROLE = SECONDARY), FAILOVER.
		{tsql.AlterAnyAvailabilityGroup, 0},
		// ALTER DATABASE SET HADR RESUME.
		{tsql.AlterAnyDatabase, 0},
		// KILL sessions that came to a former primary by the listener (docs/t-sql/language-elements/kill-transact-sql.md).
		{tsql.AlterAnyConnection, 0},
		// Restart the endpoint over which a replica does not come back (docs/t-sql/statements/alter-endpoint-transact-sql.md).
		{tsql.AlterAnyEndpoint, 0},
	},
	// The replication agents need rights in databases only: db_owner of the distribution, publication and subscription
	// databases (docs/relational-databases/replication/security/replication-agent-security-model.md). They are given
	// where those are made.
	credentials.RoleReplication: {},
}

// planLogins brings logins, grants and passwords to what they should be. Everything is done as sa: granting a
// permission takes CONTROL SERVER, and the operator's login has as little as it can.
//
// sa stays enabled, and keeps its name. Its password is known to the Secret alone, and without it a changed grant, a
// lost password or an engine restored from a backup would be beyond repair. That it is not so is told at once
// (administrator), not when it is needed.
func planLogins(d Desired, o Observed, p *reconcile.Plan) bool {
	engine := o.Engine
	execute := func(s tsql.Statement) {
		p.Add(mssql.Execute{Role: credentials.RoleSA, Database: "master", Statement: s})
	}
	for _, role := range credentials.Roles() {
		login := tsql.Login{
			Name: role.Login(), SID: credentials.SID(d.Server.Namespace, role.Login()), Password: o.SitePasswords.Of(role),
		}
		have, exists := engine.Logins[login.Name]
		switch {
		case !exists:
			execute(tsql.CreateLogin(login))
		case !bytes.Equal(have.SID, login.SID):
			return p.Settle(conflictingLogin(d, login, have.SID))
		default:
			if have.Disabled {
				execute(tsql.EnableLogin(login.Name))
			}
			if refused := engine.Refused[role]; refused != nil {
				if role == credentials.RoleAgent && o.Pod != nil {
					p.Add(RefreshPod{Name: o.Pod.Name, Reason: "the sidecar's password changed"})
				}
				if mssql.LockedOut(refused) {
					execute(tsql.UnlockLogin(login))
				} else {
					execute(tsql.AlterLoginPassword(login))
				}
			}
		}
		needed := grants[role]
		if exists {
			// CREATE LOGIN grants it.
			needed = append([]grant{{tsql.ConnectSQL, 0}}, needed...)
		}
		for _, g := range needed {
			has := slices.Contains(engine.Permissions[login.Name], string(g.permission))
			// What is granted is denied no more.
			if g.since <= engineimage.MajorOf(engine.Instance.ProductVersion) &&
				(!has || slices.Contains(engine.Denied[login.Name], string(g.permission))) {
				execute(tsql.GrantServerPermission(g.permission, login.Name))
			}
		}
	}
	planSysadmin(d, engine, p)
	if len(p.Steps) > 0 {
		return administered(d, o, p, "the engine answers; its logins are being made")
	}
	return true
}

// planSysadmin makes the operator's login a sysadmin where the server replicates, and nowhere else. It is unavoidable
// there: sp_adddistributor, sp_adddistributiondb, sp_adddistpublisher and sp_replicationdboption are for members of
// sysadmin alone (docs/relational-databases/system-stored-procedures, "Permissions" of each).
func planSysadmin(d Desired, engine Engine, p *reconcile.Plan) {
	operator := credentials.RoleOperator.Login()
	is := slices.Contains(engine.Sysadmins, operator)
	switch {
	case d.Replicates && !is:
		p.Add(mssql.Execute{Role: credentials.RoleSA, Database: "master",
			Statement: tsql.AddServerRoleMember(roleSysadmin, operator)})
	case !d.Replicates && is:
		p.Destroy(reconcile.Seen("nothing that is declared replicates here", engine.Err), mssql.Execute{
			Role: credentials.RoleSA, Database: "master", Statement: tsql.DropServerRoleMember(roleSysadmin, operator)})
	}
}

func conflictMessage(d Desired, login tsql.Login, has []byte) string {
	return fmt.Sprintf(
		"login %s exists on server %s with SID %s and with another SID than %s, which all servers of namespace %s share. "+
			"Nothing is changed at it: drop it there (DROP LOGIN %s), it is made again",
		login.Name,
		d.host(),
		tsql.Binary(has),
		tsql.Binary(login.SID),
		d.Server.Namespace,
		tsql.Identifier(login.Name),
	)
}

// sidSA is that of the system administrator, whatever its name.
var sidSA = []byte{1}

// administrator says why the engine does not let sa in, and what helps; empty when it does. A connection that is open
// already goes on for a while, so the login itself is looked at too.
func administrator(d Desired, o Observed) string {
	name := credentials.RoleSA.Login()
	for has, login := range o.Engine.Logins {
		switch {
		case !bytes.Equal(login.SID, sidSA):
		case has != name:
			return fmt.Sprintf(
				"the system administrator is named %s, not %s: ALTER LOGIN %s WITH NAME = %s",
				has,
				name,
				tsql.Identifier(has),
				tsql.Identifier(name),
			)
		case login.Disabled:
			return fmt.Sprintf("login %s is disabled: ALTER LOGIN %s ENABLE", name, tsql.Identifier(name))
		}
	}
	refused := o.Engine.Refused[credentials.RoleSA]
	why := mssql.Shut(refused, name)
	switch {
	case refused == nil:
		return ""
	case why == "", mssql.PasswordRefused(refused):
		return fmt.Sprintf(
			"the engine does not take the password of %s in Secret %s: %v; put the right %s into the Secret at site %s",
			name,
			credentials.PasswordsName(d.name()),
			refused,
			credentials.KeySA,
			d.Server.Spec.Site,
		)
	}
	return why
}
