// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// backupOperator is the database role that may back up, and nothing else.
const backupOperator = "db_backupoperator"

// history are the tables of msdb in which a server notes its backups.
var history = []tsql.Securable{{Schema: "dbo", Object: "backupset"}, {Schema: "dbo", Object: "backupmediafamily"}}

// Tell tells a server's sidecar what to do for the policy.
type Tell struct {
	Server v1alpha1.ServerName
	// Order is nil to tell it nothing any more.
	Order []byte
}

// Describe names the server; an order has credentials.
func (s Tell) Describe() string {
	if s.Order == nil {
		return "tell " + credentials.HostName(s.Server) + " to take no backups for the policy any more"
	}
	return "tell " + credentials.HostName(s.Server) + " which backups to take"
}

// plan tells the servers, gives their agents the rights, and records what was taken. It is pure.
func plan(d Desired, o Observed) reconcile.Plan {
	p := reconcile.Plan{Apart: true}
	for _, name := range d.Former {
		if told, err := o.Servers[name].Order.Get(); err == nil && len(told) > 0 {
			p.Add(Tell{Server: name})
		}
	}
	switch {
	case d.First != "":
		// It may have been told before the other was there. Carried out both, the shorter retention removes what the other
		// promises.
		for _, name := range d.Servers {
			if told, err := o.Servers[name].Order.Get(); err == nil && len(told) > 0 {
				p.Add(Tell{Server: name})
			}
		}
		p.Outcome = conditions.Stalled(v1alpha1.ReasonBackupConflict, fmt.Sprintf("BackupPolicy %s is about the same "+
			"target, and came first: delete one of the two", d.First))
		return p
	case d.Missing != "":
		p.Outcome = conditions.InProgress(v1alpha1.ReasonReferenceMissing, d.Missing)
		return p
	}
	order, err := order(d, o).Encode()
	if err != nil {
		p.Outcome = conditions.Stalled(v1alpha1.ReasonBackupFailing, err.Error())
		return p
	}
	var unrecorded []string
	for _, name := range d.Servers {
		s := o.Servers[name]
		told, err := s.Order.Get()
		switch {
		case err != nil || bytes.Equal(told, order):
		case slices.Contains(d.Policy.Status.Servers, name):
			p.Add(Tell{Server: name, Order: order})
		default:
			// What is told nobody takes back from a server of which nothing remembers it.
			unrecorded = append(unrecorded, credentials.HostName(name))
		}
		planHistory(&p, name, s)
	}
	for _, database := range o.covered(d) {
		if !o.model(database).ReadOnly {
			planUser(&p, d.Primary, string(database), o.Users[database])
		}
	}
	planRecords(&p, d, o)
	planTests(&p, d, o)
	p.Outcome = outcome(d, o)
	if len(unrecorded) > 0 {
		p.Outcome = conditions.InProgress(v1alpha1.ReasonBackupPreparing, "about to tell "+strings.Join(unrecorded, ", ")+
			" which backups to take")
	}
	return p
}

// remembered are the servers that are told something, or may be: those of the target, and former ones until they are
// known to be told nothing any more. One that is not declared any more cannot be asked, and is not there.
func remembered(d Desired, o Observed) []v1alpha1.ServerName {
	all := slices.Clone(d.Servers)
	for _, name := range d.Former {
		told, err := o.Servers[name].Order.Get()
		if err == nil && len(told) > 0 || err != nil && slices.Contains(d.Gone.Servers(), name) {
			all = append(all, name)
		}
	}
	return all
}

// order is what the servers are told. A secondary of a basic group takes no backups
// (docs/database-engine/availability-groups/windows/basic-availability-groups-always-on-availability-groups.md), so that
// the primary takes all, as long as nobody knows that the group is none.
func order(d Desired, o Observed) orders.Backup {
	order := d.Order
	order.AtPrimary = order.AtPrimary || order.Group != "" && !advanced(d, o)
	return order
}

// advanced tells of a group that is known to be no basic one: what the engines say counts, the declaration where they
// have not been asked.
func advanced(d Desired, o Observed) bool {
	known := false
	for _, name := range d.Servers {
		says, err := o.Servers[name].EngineEdition.Get()
		asked := err == nil && says != 0
		switch declared := d.Editions[name]; {
		case asked && says == mssql.EngineEditionStandard, !asked && declared.BasicOnly():
			return false
		case asked, declared != "":
			known = true
		}
	}
	return known
}

// planHistory lets a server's agent read what the server notes of its backups.
func planHistory(p *reconcile.Plan, server v1alpha1.ServerName, s Server) {
	user, err := s.History.Get()
	if err != nil {
		return
	}
	agent := credentials.RoleAgent.Login()
	if user == nil {
		execute(p, server, "msdb", tsql.CreateUser(agent, agent))
	}
	for _, table := range history {
		has := func(g mssql.Grant) bool { return g.On == table && g.Permission == "SELECT" }
		if user == nil || !slices.ContainsFunc(user.Grants, has) {
			execute(p, server, "msdb", tsql.GrantOn("SELECT", table, agent))
		}
	}
}

// planUser lets the agents back a database up. The secondaries have its users from the primary.
func planUser(p *reconcile.Plan, server v1alpha1.ServerName, database string,
	read reconcile.Reading[*mssql.UserState]) {
	user, err := read.Get()
	if err != nil {
		return // it is not there yet, or does not answer
	}
	if admits(user) {
		return
	}
	agent := credentials.RoleAgent.Login()
	switch {
	case user == nil:
		execute(p, server, database, tsql.CreateUser(agent, agent))
	case user.Login != agent:
		execute(p, server, database, tsql.MapUser(agent, agent))
	}
	if user == nil || !slices.Contains(user.Roles, backupOperator) {
		execute(p, server, database, tsql.AddRoleMember(backupOperator, agent))
	}
}

// admits says whether the agents may back a database up by what they are there.
func admits(user *mssql.UserState) bool {
	return user != nil && user.Login == credentials.RoleAgent.Login() && slices.Contains(user.Roles, backupOperator)
}

// execute adds a statement. It runs as sa: users take more than the operator's login has.
func execute(p *reconcile.Plan, server v1alpha1.ServerName, database string, s tsql.Statement) {
	p.Add(mssql.Execute{Server: server, Database: database, Statement: s.Because("the server's agent takes backups")})
}

// planDelete tells the servers that the policy is no more. What was backed up stays, as do the agents' users.
func planDelete(d Desired, o Observed) reconcile.Plan {
	p := reconcile.Plan{Apart: true}
	p.Outcome = conditions.InProgress(v1alpha1.ReasonDeleting, "the servers are told that the policy is no more; "+
		"what was backed up stays")
	p.Done = true
	for _, name := range slices.Concat(d.Servers, d.Former) {
		told, err := o.Servers[name].Order.Get()
		switch why := d.Gone.Why(name); {
		case err != nil && why != "":
			p.Leave("the order of BackupPolicy %s at %s: %s", d.Policy.Name, credentials.HostName(name), why)
		case err != nil:
			p.Done = false
			p.Outcome.Message += fmt.Sprintf("; %s does not answer: %v; %s", credentials.HostName(name), err,
				sites.GoneForGood(name))
		case len(told) > 0:
			p.Add(Tell{Server: name})
		}
	}
	return p
}
