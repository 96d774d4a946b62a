// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// dbOwner is the database role that DBCC CHECKDB takes, where sysadmin is not to be given.
const dbOwner = "db_owner"

// unchecked says that the agent has restored a database and does not know that it is to be checked.
func unchecked(d Desired, says *restores.Status) bool {
	return d.Restore.Spec.Check && !says.Checked && says.Result.Reason == v1alpha1.ReasonRestored
}

// planCheck lets the agent check what it has restored. Within a database that was restored its owner is who owned it
// when it was backed up. Who is a user of it, as the agent is of what a BackupPolicy backs up, cannot become its owner
// (docs/relational-databases/system-stored-procedures/sp-changedbowner-transact-sql.md), and gets the role.
func planCheck(p *reconcile.Plan, d Desired, o Observed, says *restores.Status) {
	if says == nil || says.Result != nil || !says.Denied || says.Step != restores.Checking {
		return
	}
	user, err := o.User.Get()
	if err != nil {
		p.Outcome.Message += "; whether the agent is a user of the database cannot be read: " + err.Error()
		return
	}
	const why = "the server's agent checks the database that it has restored"
	agent := credentials.RoleAgent.Login()
	if user == nil {
		execute(p, d, tsql.SetDatabaseOwner(says.Database, agent).Because(why))
		return
	}
	if user.Login != agent {
		p.Add(within(d, says.Database, tsql.MapUser(agent, agent).Because(why)))
	}
	if !slices.Contains(user.Roles, dbOwner) {
		p.Add(within(d, says.Database, tsql.AddRoleMember(dbOwner, agent).Because(why)))
	}
}

// entered says that the agent may have been given the role in the database of a Restore that has ended. What is a
// secondary's in a group nobody can write to, and few can read (976): the role is left at its primary.
func entered(d Desired, o Observed) bool {
	return d.Restore.Spec.Check && !d.Restore.Spec.Discard && o.State == "ONLINE" && !o.Secondary && ours(d, o) &&
		(given(d, o) || d.Restore.DeletionTimestamp != nil)
}

// planLeave takes the agent out of the role again.
func planLeave(p *reconcile.Plan, d Desired, o Observed) error {
	if !entered(d, o) {
		return nil
	}
	user, err := o.User.Get()
	if err == nil && user != nil && slices.Contains(user.Roles, dbOwner) {
		p.Destroy(reconcile.Seen("the Restore that the agent had the role for has ended", err), within(d, made(d, o),
			tsql.DropRoleMember(dbOwner, credentials.RoleAgent.Login()).Because("the database is checked")))
	}
	return err
}

// within is a step in a database.
func within(d Desired, database string, s tsql.Statement) mssql.Execute {
	one := step(d, s)
	one.Database = database
	return one
}
