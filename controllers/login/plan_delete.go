// SPDX-License-Identifier: Apache-2.0

package login

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// planDelete takes login, users and Secret away with reclaimPolicy Delete, and leaves them otherwise. What shuts
// somebody out comes first, everywhere, and depends on nothing that may be refused: the login is disabled, its sessions
// are ended, its Secrets go. Then its users are dropped, and at last the login. One whose SID is not this one's is
// somebody else's.
func planDelete(d Desired, o Observed) reconcile.Plan {
	d = d.adopting(o)
	p := reconcile.Plan{
		Apart:   true,
		Outcome: conditions.InProgress(v1alpha1.ReasonDeleting, "login, users and connection Secret are being dropped"),
	}
	if !v1alpha1.MayDestroy(d.Login, d.Login.Spec.ReclaimPolicy) || d.Owner != "" {
		p.Done = true
		return p
	}
	planShutOut(d, o, &p)
	if len(p.Steps) > 0 {
		return p
	}
	waiting := o.unreadSecrets(d)
	if len(waiting) > 0 {
		waiting = append(waiting, "if a site is gone for good, set the lifecycle of the Site to Lost")
	}
	leaveSecrets(d, o, &p)
	leaveForeign(d, o, &p)
	if d.made() && len(d.Servers) == 0 {
		p.Leave("login %s on servers that nobody knows any more (%s)", d.name(), d.Missing)
	}
	users, owned := planDropUsers(d, o, &p)
	users = append(users, planLeftUsers(d, o, &p)...)
	waiting = append(waiting, users...)
	unused := len(users)+len(owned) == 0
	for _, server := range d.Servers {
		s := o.Servers[server]
		if s.Err == nil {
			continue
		}
		if why := d.Gone.Why(server); why != "" {
			p.Leave("login %s on %s (%s)", d.name(), credentials.HostName(server), why)
			continue
		}
		waiting = append(waiting, fmt.Sprintf("%s: %v; %s", credentials.HostName(server), s.Err, sites.WayOut(server)))
	}
	if len(p.Steps) == 0 {
		owned = append(owned, planDropLogins(d, o, unused, &p)...)
		p.Done = len(waiting)+len(owned) == 0
	}
	switch {
	case len(owned) > 0:
		p.Outcome = conditions.Stalled(v1alpha1.ReasonLoginOwns, fmt.Sprintf(
			"%s. It cannot be dropped yet: %s. Or set reclaimPolicy to Retain, and it stays so",
			o.shutOut(d),
			strings.Join(owned, "; "),
		))
	case len(waiting) > 0:
		p.Outcome = conditions.Unknown(v1alpha1.ReasonDeleting, "waiting for "+strings.Join(waiting, "; "))
	}
	return p
}

// leaveSecrets notes the connection Secrets at sites where nobody can look for them any more: they have the password.
func leaveSecrets(d Desired, o Observed, p *reconcile.Plan) {
	for _, site := range d.Login.Status.SecretSites {
		if _, asked := o.Secrets[string(site)]; asked {
			continue
		}
		why := o.Unasked[site]
		if why == "" {
			why = "there is no such Site any more"
		}
		names := append([]string{d.secretName()}, d.formerSecrets()...)
		p.Leave("connection Secret %s %s (%s)", strings.Join(names, ", "), where(string(site)), why)
	}
}

// leaveForeign notes the logins of the name that are not this one: nothing is done to them.
func leaveForeign(d Desired, o Observed, p *reconcile.Plan) {
	for _, server := range d.Servers {
		if s := o.Servers[server]; s.Err == nil && s.Login != nil && !s.own(d) {
			p.Leave("login %s on %s, which has SID %s and not %s: it is somebody else's, and nothing was changed at it",
				d.name(), credentials.HostName(server), tsql.Binary(s.Login.SID), tsql.Binary(d.sid()))
		}
	}
}

// away tells that no server of the login answers, and that nobody expects any of them back.
func (o Observed) away(d Desired) bool {
	for _, server := range d.Servers {
		if o.Servers[server].Err == nil || d.Gone.Why(server) == "" {
			return false
		}
	}
	return len(d.Servers) > 0
}

// shutOut says how far the login is known to be shut out: what was read, and what was not.
func (o Observed) shutOut(d Desired) string {
	var disabled []v1alpha1.ServerName
	var unknown []string
	for _, server := range d.Servers {
		switch s := o.Servers[server]; {
		case s.Err != nil:
			unknown = append(unknown, fmt.Sprintf("%s (%v)", credentials.HostName(server), s.Err))
		case s.own(d):
			disabled = append(disabled, server)
		}
	}
	text := fmt.Sprintf("login %s, as it was made here, is on none of the servers that answer", d.name())
	if len(disabled) > 0 {
		text = fmt.Sprintf("login %s is disabled on %s and has no session there", d.name(), hosts(disabled))
	}
	for _, s := range o.allSecrets(d) {
		if s.Err != nil {
			unknown = append(unknown, fmt.Sprintf("connection Secret %s %s (%v)", s.Name, where(s.Place), s.Err))
		}
	}
	if len(o.unreadSecrets(d)) == 0 {
		text += ", and its connection Secrets are gone at every site that was asked"
	}
	if len(unknown) > 0 {
		text += "; not known of " + strings.Join(unknown, ", ")
	}
	return text
}

// allSecrets are the connection Secrets of the present name and of former ones. A site that does not have the
// namespace, or deletes it with all that is in it, has none.
func (o Observed) allSecrets(d Desired) []FormerSecret {
	var all []FormerSecret
	for _, place := range slices.Sorted(maps.Keys(o.Secrets)) {
		all = append(all, FormerSecret{Place: place, Name: d.secretName(), Secret: o.Secrets[place]})
	}
	return slices.DeleteFunc(append(all, o.Former...), func(s FormerSecret) bool { return sites.IsNamespaceGone(s.Err) })
}

// unreadSecrets are those of which nobody knows whether they are there: a password would be left behind.
func (o Observed) unreadSecrets(d Desired) []string {
	var unread []string
	for _, s := range o.allSecrets(d) {
		if s.Err != nil {
			unread = append(unread, fmt.Sprintf("Secret %s %s: %v", s.Name, where(s.Place), s.Err))
		}
	}
	return unread
}

// own tells that a server has the login, and that it is this one.
func (s Server) own(d Desired) bool {
	return s.Err == nil && s.Login != nil && bytes.Equal(s.Login.SID, d.sid())
}

// planShutOut lets nobody in any more who has the password, and ends who is in: also where the login was disabled
// before. What does not answer is not waited for.
func planShutOut(d Desired, o Observed, p *reconcile.Plan) {
	for _, server := range d.Servers {
		s := o.Servers[server]
		if !s.own(d) {
			continue
		}
		own := reconcile.Seen("the login has this one's SID", s.Err)
		if !s.Login.Disabled {
			destroy(p, own, server, "master", tsql.DisableLogin(d.name()))
		}
		for _, id := range s.Sessions {
			p.Destroy(own, mssql.EndLoginSession(server, d.name(), id))
		}
	}
	for _, s := range o.allSecrets(d) {
		if s.remains() && s.Err == nil {
			p.Steps = append(p.Steps, DropSecret{Place: s.Place, Name: s.Name, UID: s.UID})
		}
	}
}

// planDropUsers drops the users that own nothing. It returns what is not known, and what is owned with the statement
// that helps. Where users are that nobody can look for any more is left behind.
func planDropUsers(d Desired, o Observed, p *reconcile.Plan) (waiting, owned []string) {
	away := o.away(d)
	for _, u := range d.Login.Spec.Users {
		have, seen := o.Users[string(u.Database)]
		leave := func(why string) {
			p.Leave("user %s in database %s (%s)", d.user(u), u.Database, why)
		}
		switch {
		case away && have.Err != nil:
			leave(have.Err.Error())
		case away:
			leave("none of its servers answers")
		case !seen && d.Missing != "":
			if d.made() {
				leave(d.Missing)
			}
		case !seen && len(d.Servers) > 0 && d.Primary == "":
			waiting = append(waiting, "no replica is known to be primary")
		case !seen:
		case d.InGroup[strings.ToLower(string(u.Database))].Elsewhere != "":
			in, _ := d.inGroup(u.Database)
			waiting = append(waiting, fmt.Sprintf("database %s is in AvailabilityGroup %s, whose primary is %s: its user can "+
				"be dropped here once %s is primary; reclaimPolicy Retain leaves it", u.Database, in.Group, in.Elsewhere,
				credentials.HostName(d.Primary)))
		case have.Err != nil:
			waiting = append(waiting, fmt.Sprintf("database %s: %v", u.Database, have.Err))
		case have.NoDatabase && d.ofGroup(u.Database):
			waiting = append(waiting,
				fmt.Sprintf("database %s is one of the group's, and %s does not have it: its user goes once "+
					"a replica that has it is primary; if it is gone for good take it out of the group's spec.databases",
					u.Database, credentials.HostName(d.Primary)))
		case o.unproved(d, u.Database) != "":
			waiting = append(waiting, fmt.Sprintf("database %s: %s; reclaimPolicy Retain leaves its user", u.Database,
				o.unproved(d, u.Database)))
		case have.State == nil || !bytes.Equal(have.State.SID, d.sid()):
		case len(have.Owns) > 0:
			owned = append(
				owned,
				fmt.Sprintf("user %s owns in database %s: %s", d.user(u), u.Database, authorize(have.Owns, "dbo")),
			)
		default:
			destroy(p, reconcile.Seen("the group's primary has the user with this SID, and it owns nothing", have.Err),
				d.Primary, string(u.Database), tsql.DropUser(d.user(u)))
		}
	}
	return waiting, owned
}

// planDropLogins drops the logins once all users are gone: they would be orphans. It returns what logins own with the
// statement that helps.
func planDropLogins(d Desired, o Observed, unused bool, p *reconcile.Plan) (owned []string) {
	for _, server := range d.Servers {
		s := o.Servers[server]
		switch {
		case !s.own(d):
		case len(s.Owns) > 0:
			owned = append(owned, fmt.Sprintf("the login owns on %s: %s", credentials.HostName(server), authorize(s.Owns, "sa")))
		case unused:
			destroy(p, reconcile.Seen("the login has this one's SID, owns nothing, and its users are gone", s.Err),
				server, "master", tsql.DropLogin(d.name()))
		}
	}
	return owned
}

// authorize is what gives things to somebody else (docs/t-sql/statements/alter-authorization-transact-sql.md); it is
// told, not executed.
func authorize(owned []mssql.Owned, to string) string {
	var statements []string
	for _, o := range owned {
		class := o.Class
		if class == mssql.OwnedSecondary {
			class = "DATABASE"
		}
		text := fmt.Sprintf("ALTER AUTHORIZATION ON %s::%s TO %s", class, tsql.Identifier(o.Name), to)
		switch o.Class {
		case mssql.OwnedExecuteAs:
			text = o.Name + " runs as it: alter it WITH EXECUTE AS OWNER"
		case mssql.OwnedSecondary:
			text = fmt.Sprintf("database %s, of which this is a secondary replica, where no owner can be changed: let the "+
				"server be the group's primary for once, which gives it the owner that the group declares, and where none is "+
				"run %s there", o.Name, text)
		case mssql.OwnedGrantor:
			text = fmt.Sprintf("it has granted permissions to %s: revoke them (REVOKE ... FROM %s CASCADE)", o.Name,
				tsql.Identifier(o.Name))
		}
		statements = append(statements, text)
	}
	return strings.Join(statements, ", ")
}
