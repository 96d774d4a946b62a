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
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// planDelete takes login, users and Secret away with reclaimPolicy Delete, and leaves them otherwise. What shuts
// somebody out comes first, everywhere, and depends on nothing that may be refused: the login is disabled, its sessions
// are ended, its Secrets go. Then its users are dropped, and at last the login. One whose SID is not this one's is
// somebody else's.
func planDelete(d Desired, o Observed) Plan {
	d = d.adopting(o)
	p := Plan{
		Apart:   true,
		Outcome: conditions.InProgress(conditions.ReasonDeleting, "login, users and connection Secret are being dropped"),
	}
	if !v1alpha1.MayDestroy(d.Login, d.Login.Spec.ReclaimPolicy) || d.Owner != "" {
		p.Done = true
		return p
	}
	planShutOut(d, o, &p)
	if len(p.Steps) > 0 {
		return p
	}
	if o.away(d) {
		// What servers that are gone have of it goes with them.
		p.Done = true
		return p
	}
	waiting, owned := planDropUsers(d, o, &p)
	unused := len(waiting)+len(owned) == 0
	for _, server := range d.Servers {
		if s := o.Servers[server]; s.Err != nil && d.Gone.Why(server) == "" {
			waiting = append(waiting, fmt.Sprintf("%s: %v; %s", credentials.HostName(server), s.Err, sites.WayOut(server)))
		}
	}
	if len(p.Steps) == 0 {
		owned = append(owned, planDropLogins(d, o, unused, &p)...)
		p.Done = len(waiting)+len(owned) == 0
	}
	switch {
	case len(owned) > 0:
		p.Outcome = conditions.Stalled(conditions.ReasonLoginOwns, fmt.Sprintf(
			"login %s is disabled, and its connection Secrets are gone. It cannot be dropped yet: %s. Or set reclaimPolicy "+
				"to Retain, and it stays so",
			d.name(),
			strings.Join(owned, "; "),
		))
	case len(waiting) > 0:
		p.Outcome = conditions.Unknown(conditions.ReasonDeleting, "waiting for "+strings.Join(waiting, "; "))
	}
	return p
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

// own tells that a server has the login, and that it is this one.
func (s Server) own(d Desired) bool {
	return s.Err == nil && s.Login != nil && bytes.Equal(s.Login.SID, d.sid())
}

// planShutOut lets nobody in any more who has the password. What does not answer is not waited for.
func planShutOut(d Desired, o Observed, p *Plan) {
	for _, server := range d.Servers {
		if s := o.Servers[server]; s.own(d) && !s.Login.Disabled {
			p.execute(server, "master", tsql.DisableLogin(d.name()))
			for _, id := range s.Sessions {
				p.execute(server, "master", tsql.KillSession(id))
			}
		}
	}
	for _, place := range slices.Sorted(maps.Keys(o.Secrets)) {
		if s := o.Secrets[place]; s.Err == nil && s.Exists && s.Own {
			p.Steps = append(p.Steps, DropSecret{Place: place, Name: d.secretName(), UID: s.UID})
		}
	}
	planFormer(o, p)
}

// planDropUsers drops the users that own nothing. It returns what is not known, and what is owned with the statement
// that helps.
func planDropUsers(d Desired, o Observed, p *Plan) (waiting, owned []string) {
	for _, u := range d.Login.Spec.Users {
		have, seen := o.Users[string(u.Database)]
		switch {
		case !seen && len(d.Servers) > 0 && d.Primary == "":
			waiting = append(waiting, "no replica is known to be primary")
		case !seen:
		case have.Err != nil:
			waiting = append(waiting, fmt.Sprintf("database %s: %v", u.Database, have.Err))
		case have.State == nil || !bytes.Equal(have.State.SID, d.sid()):
		case len(have.Owns) > 0:
			owned = append(
				owned,
				fmt.Sprintf("user %s owns in database %s: %s", d.user(u), u.Database, authorize(have.Owns, "dbo")),
			)
		default:
			p.execute(d.Primary, string(u.Database), tsql.DropUser(d.user(u)))
		}
	}
	return waiting, owned
}

// planDropLogins drops the logins once all users are gone: they would be orphans. It returns what logins own with the
// statement that helps.
func planDropLogins(d Desired, o Observed, unused bool, p *Plan) (owned []string) {
	for _, server := range d.Servers {
		s := o.Servers[server]
		switch {
		case !s.own(d):
		case len(s.Owns) > 0:
			owned = append(owned, fmt.Sprintf("the login owns on %s: %s", credentials.HostName(server), authorize(s.Owns, "sa")))
		case unused:
			for _, id := range s.Sessions {
				p.execute(server, "master", tsql.KillSession(id))
			}
			p.execute(server, "master", tsql.DropLogin(d.name()))
		}
	}
	return owned
}

// authorize is what gives things to somebody else (docs/t-sql/statements/alter-authorization-transact-sql.md); it is
// told, not executed.
func authorize(owned []mssql.Owned, to string) string {
	var statements []string
	for _, o := range owned {
		statements = append(
			statements,
			fmt.Sprintf("ALTER AUTHORIZATION ON %s::%s TO %s", o.Class, tsql.Identifier(o.Name), to),
		)
	}
	return strings.Join(statements, ", ")
}
