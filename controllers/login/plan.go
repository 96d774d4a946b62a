// SPDX-License-Identifier: Apache-2.0

package login

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

// WriteSecret writes the connection Secret at a place; the hub has the empty name.
type WriteSecret struct{ Place, Name string }

// Describe names the place.
func (s WriteSecret) Describe() string {
	return fmt.Sprintf("write the connection Secret %s %s", s.Name, where(s.Place))
}

// DropSecret deletes a connection Secret at a place, the one that was seen to be this Login's and no other.
type DropSecret struct {
	Place, Name string
	UID         types.UID
}

// Describe names the place.
func (s DropSecret) Describe() string {
	return fmt.Sprintf("delete the connection Secret %s %s", s.Name, where(s.Place))
}

func where(place string) string {
	if place == "" {
		return "in the hub"
	}
	return "at site " + place
}

// execute adds a statement. It runs as sa: logins with a password and users take more than the operator's login has.
func execute(p *reconcile.Plan, server v1alpha1.ServerName, database string, s tsql.Statement) {
	p.Add(mssql.Execute{Server: server, Database: database, Statement: s})
}

// destroy adds a statement that takes something away, with what was seen in its place.
func destroy(
	p *reconcile.Plan,
	seen reconcile.Evidence,
	server v1alpha1.ServerName,
	database string,
	s tsql.Statement,
) {
	p.Destroy(seen, mssql.Execute{Server: server, Database: database, Statement: s})
}

// plan brings login, users and Secret to what is declared, as far as servers and sites answer. It is pure.
func plan(d Desired, o Observed) reconcile.Plan {
	d = d.adopting(o)
	p := reconcile.Plan{Apart: true}
	if way := inTheWay(d, o); way != nil {
		p.Outcome = *way
		return p
	}
	lacks := lacksPassword(d, o)
	switch {
	case lacks != nil && !everywhere(d, o):
		p.Outcome = *lacks
		return p
	case lacks != nil:
		// Of a login that is there all else is done.
		d.keepsPassword = true
	case d.dueToMake():
		p.Add(MakePassword{Request: d.rotation()})
		p.Outcome = conditions.InProgress(v1alpha1.ReasonLoginChanging, "a password is being made, and kept in Secret "+
			d.generatedSecret())
		return p
	}
	var unknown, missing, inPlace []string
	for _, server := range d.Servers {
		s := o.Servers[server]
		if s.Err != nil {
			unknown = append(unknown, fmt.Sprintf("%s (%v)", credentials.HostName(server), s.Err))
			continue
		}
		planLogin(d, server, s.Login, &p)
	}
	if len(p.Steps) == 0 {
		// A user is of use once its login is there, and is made with its SID.
		var users []string
		users, missing, inPlace = planUsers(d, o, &p)
		unknown = append(unknown, users...)
		unknown = append(unknown, planFormerUsers(d, o, &p)...)
	}
	if !d.keepsPassword {
		unknown = append(unknown, planSecrets(d, o, &p)...)
		unknown = append(unknown, planFormer(o, &p)...)
	}
	if len(inPlace) > 0 {
		p.Outcome = conditions.Stalled(v1alpha1.ReasonSecondary, strings.Join(inPlace, "; "))
		return p
	}
	settle(&p, d, o, unknown, missing)
	if lacks != nil && p.Outcome.Ready == metav1.ConditionTrue {
		lacks.Message += ". The login keeps the password that it has; everything else is as declared"
		p.Outcome = *lacks
	}
	return p
}

// inTheWay is why nothing can be done about the Login; nil when something can.
func inTheWay(d Desired, o Observed) *conditions.Outcome {
	var way conditions.Outcome
	conflict, refused := conflicts(d, o), shut(d, o)
	switch {
	case d.Missing != "":
		way = conditions.InProgress(v1alpha1.ReasonReferenceMissing, d.Missing)
	case d.Owner != "":
		way = conditions.Stalled(v1alpha1.ReasonLoginConflict, fmt.Sprintf(
			"Login %s declares %s on one of the servers too: delete one of the two, or name it otherwise", d.Owner, d.name()))
	case conflict != "":
		way = conditions.Stalled(v1alpha1.ReasonLoginConflict, conflict)
	case len(refused) > 0:
		way = conditions.Stalled(v1alpha1.ReasonLoginFailed, fmt.Sprintf(
			"what is declared is done and looked at as sa, which is refused: %s. sa must stay enabled under that name, with "+
				"the password of key %s in the server's Secret", strings.Join(refused, "; "), credentials.KeySA))
	default:
		return nil
	}
	return &way
}

// settle tells what is so until the steps are done: what is not known, and which databases are not there.
func settle(p *reconcile.Plan, d Desired, o Observed, unknown, missing []string) {
	switch {
	case len(p.Steps) > 0, o.unrecorded(d):
		p.Outcome = conditions.InProgress(
			v1alpha1.ReasonLoginChanging,
			"login, users or connection Secret are being brought to what is declared",
		)
	case len(unknown) > 0:
		p.Outcome = conditions.Unknown(
			v1alpha1.ReasonLoginUnknown,
			"not known, and looked at again: "+strings.Join(unknown, "; "),
		)
	case len(missing) > 0:
		p.Outcome = conditions.InProgress(v1alpha1.ReasonReferenceMissing, strings.Join(missing, "; "))
	default:
		p.Outcome = conditions.Ready(
			v1alpha1.ReasonLoginReady,
			fmt.Sprintf("login %s is as declared on %s", d.name(), hosts(d.Servers))+outside(o)+replicaOnly(d),
		)
	}
}

// shut says on which servers sa is not let in, and what helps.
func shut(d Desired, o Observed) []string {
	var shut []string
	for _, server := range d.Servers {
		if why := mssql.Shut(o.Servers[server].Err, credentials.RoleSA.Login()); why != "" {
			shut = append(shut, credentials.HostName(server)+": "+why)
		}
	}
	return shut
}

func hosts(servers []v1alpha1.ServerName) string {
	var names []string
	for _, s := range servers {
		names = append(names, credentials.HostName(s))
	}
	return strings.Join(names, ", ")
}

// conflicts says what keeps the login from having one SID: one that somebody else made with another.
func conflicts(d Desired, o Observed) string {
	if foreign := foreignLogins(d, o); len(foreign) > 0 {
		text := fmt.Sprintf("login %s should have SID %s, and has another one: %s. Nothing is changed at it",
			d.name(), tsql.Binary(d.sid()), strings.Join(foreign, ", "))
		way := fmt.Sprintf("drop it there (DROP LOGIN %s) and it is made again", tsql.Identifier(d.name()))
		switch {
		case d.adopts():
			return text + "; " + way + ", on all but the one whose databases have its users"
		case d.made():
			return text + "; " + way
		}
		return fmt.Sprintf("%s; %s, or annotate the Login with %s=true to take it over with the SID that it has on the "+
			"primary", text, way, v1alpha1.AdoptAnnotation)
	}
	for _, declared := range d.Login.Spec.Users {
		u := o.Users[string(declared.Database)]
		if u.Err != nil || u.State == nil {
			continue
		}
		if len(u.State.SID) == 1 {
			return fmt.Sprintf(
				"the user in database %s is the database's owner (dbo): declare another user, or change the owner",
				declared.Database,
			)
		}
		if u.State.Login != "" && !bytes.Equal(u.State.SID, d.sid()) && !d.adopts() {
			return fmt.Sprintf(
				"user %s in database %s is that of login %s: declare another user name, or annotate the Login with %s=true to "+
					"take the user over",
				d.user(declared),
				declared.Database,
				u.State.Login,
				v1alpha1.AdoptAnnotation,
			)
		}
	}
	return ""
}

// foreignLogins are the servers that have a login of the name with another SID, each with that.
func foreignLogins(d Desired, o Observed) []string {
	var foreign []string
	for _, server := range d.Servers {
		if s := o.Servers[server]; s.Err == nil && s.Login != nil && !bytes.Equal(s.Login.SID, d.sid()) {
			foreign = append(foreign, fmt.Sprintf("%s on %s", tsql.Binary(s.Login.SID), credentials.HostName(server)))
		}
	}
	return foreign
}

func planLogin(d Desired, server v1alpha1.ServerName, have *mssql.LoginState, p *reconcile.Plan) {
	login := tsql.Login{Name: d.name(), SID: d.sid(), Password: d.Password, Policy: d.policy()}
	if have == nil {
		execute(p, server, "master", tsql.CreateLogin(login))
		return
	}
	if d.Login.Spec.PasswordPolicy != nil && have.Policy() != login.Policy {
		// Before a password that the former policy would refuse.
		execute(p, server, "master", tsql.SetPasswordPolicy(login.Name, login.Policy))
	}
	switch {
	case d.keepsPassword:
	case have.LockedOut:
		execute(p, server, "master", tsql.UnlockLogin(login))
	case !have.PasswordMatches:
		execute(p, server, "master", tsql.AlterLoginPassword(login))
	}
	if !have.MayConnect || have.ConnectDenied {
		// What is granted is denied no more.
		execute(p, server, "master", tsql.GrantServerPermission(tsql.ConnectSQL, login.Name))
	}
	if !have.HasDefault {
		execute(p, server, "master", tsql.SetDefaultDatabase(login.Name, "master"))
	}
	if have.Disabled {
		execute(p, server, "master", tsql.EnableLogin(login.Name))
	}
	if rights := d.Login.Spec.OnServer; rights != nil {
		planRights(login.Name, server, rights, have, p)
	}
}

// policy that the password is held to.
func (d Desired) policy() tsql.PasswordPolicy {
	declared := d.Login.Spec.PasswordPolicy
	if declared == nil {
		return tsql.PasswordPolicy{}
	}
	return tsql.PasswordPolicy{Unchecked: !ptr.Deref(declared.Complexity, true), Expires: declared.Expiration}
}

// planRights brings what a login may do on a server itself to what is declared, and nothing else.
func planRights(
	login string,
	server v1alpha1.ServerName,
	rights *v1alpha1.ServerRights,
	have *mssql.LoginState,
	p *reconcile.Plan,
) {
	undeclared := reconcile.Seen("the login has what is not declared for it", nil)
	for _, role := range rights.Roles {
		if !contains(have.Roles, string(role)) {
			execute(p, server, "master", tsql.AddServerRoleMember(string(role), login))
		}
	}
	for _, role := range have.Roles {
		if !contains(rights.Roles, role) {
			destroy(p, undeclared, server, "master", tsql.DropServerRoleMember(role, login))
		}
	}
	for _, permission := range rights.Permissions {
		if !contains(have.Permissions, string(permission)) || contains(have.Denied, string(permission)) {
			execute(p, server, "master", tsql.GrantServerPermission(tsql.ServerPermission(permission), login))
		}
	}
	for _, permission := range slices.Concat(have.Permissions, have.Denied) {
		if permission != string(tsql.ConnectSQL) && !contains(rights.Permissions, permission) && known(permission) {
			destroy(p, undeclared, server, "master",
				tsql.RevokeServerPermission(tsql.ServerPermission(permission), login))
		}
	}
}

// planUsers makes the users on the primary, which brings them to every replica with its databases. It returns what is
// not known, which databases are not there, and which are a secondary's, though the target is a server.
func planUsers(d Desired, o Observed, p *reconcile.Plan) (unknown, missing, inPlace []string) {
	if len(d.Login.Spec.Users) == 0 {
		return nil, nil, nil
	}
	if d.Primary == "" {
		return []string{"no replica is known to be primary: users are made there"}, nil, nil
	}
	without := beyond(d, o)
	for _, u := range d.Login.Spec.Users {
		have := o.Users[string(u.Database)]
		in, grouped := d.inGroup(u.Database)
		switch {
		case slices.Contains(without, u.Database):
			unknown = append(unknown, fmt.Sprintf("database %s: its user is made once status, which remembers %d users, has "+
				"room; declare former users again, or let their databases answer", u.Database, maxUsers))
		case grouped && in.Elsewhere != "":
			inPlace = append(inPlace, fmt.Sprintf("%s is primary, and users can be changed there alone; %s",
				in.Elsewhere, in.wayOut(u.Database)))
		case d.Databases != nil && !contains(d.Databases, string(u.Database)):
			unknown = append(unknown, fmt.Sprintf("database %s is none of the group's", u.Database))
		case have.Err != nil:
			unknown = append(unknown, fmt.Sprintf("database %s: %v", u.Database, have.Err))
		case have.NoDatabase && d.ofGroup(u.Database):
			missing = append(missing,
				fmt.Sprintf("there is no database %s on %s, though it is one of the group's: let a replica "+
					"that has it be primary, or take it out of spec.users", u.Database, credentials.HostName(d.Primary)))
		case have.NoDatabase:
			missing = append(missing, fmt.Sprintf("there is no database %s on %s: create it, or take it out of spec.users",
				u.Database, credentials.HostName(d.Primary)))
		case o.unproved(d, u.Database) != "":
			unknown = append(unknown, fmt.Sprintf("database %s: %s", u.Database, o.unproved(d, u.Database)))
		default:
			planUser(d, u, have, p)
			for _, on := range have.Absent {
				missing = append(missing, fmt.Sprintf("there is no %s in database %s, on which something is granted once there "+
					"is: make it, or take it out of spec.users", on, u.Database))
			}
		}
	}
	return unknown, missing, inPlace
}

// replicaOnly tells of databases of a group whose users can log in at this replica alone; empty when there are none.
func replicaOnly(d Desired) string {
	text := ""
	for _, u := range d.Login.Spec.Users {
		if in, grouped := d.inGroup(u.Database); grouped {
			text += "; after a failover nobody can log in there: " + in.wayOut(u.Database)
		}
	}
	return text
}

func planUser(d Desired, u v1alpha1.LoginUser, as User, p *reconcile.Plan) {
	user, database, have := d.user(u), string(u.Database), as.State
	undeclared := reconcile.Seen("the user has what is not declared for it", as.Err)
	if have == nil {
		execute(p, d.Primary, database, tsql.CreateUser(user, d.name()))
		have = &mssql.UserState{SID: d.sid(), Permissions: []string{permissionConnect}}
	}
	if !bytes.Equal(have.SID, d.sid()) {
		execute(p, d.Primary, database, tsql.MapUser(user, d.name()))
	}
	for _, role := range u.Roles {
		if !contains(have.Roles, string(role)) {
			execute(p, d.Primary, database, tsql.AddRoleMember(string(role), user))
		}
	}
	for _, role := range have.Roles {
		if !contains(u.Roles, role) {
			destroy(p, undeclared, d.Primary, database, tsql.DropRoleMember(role, user))
		}
	}
	if !contains(have.Permissions, permissionConnect) || contains(have.Denied, permissionConnect) {
		execute(p, d.Primary, database, tsql.GrantDatabasePermission(tsql.PermissionConnect, user))
	}
	for _, permission := range u.Permissions {
		if !contains(have.Permissions, string(permission)) || contains(have.Denied, string(permission)) {
			execute(p, d.Primary, database, tsql.GrantDatabasePermission(tsql.DatabasePermission(permission), user))
		}
	}
	for _, permission := range have.Permissions {
		// CREATE USER grants CONNECT.
		if permission != permissionConnect && !contains(u.Permissions, permission) && known(permission) {
			destroy(p, undeclared, d.Primary, database,
				tsql.RevokeDatabasePermission(tsql.DatabasePermission(permission), user))
		}
	}
	planGrants(d, u, as, have, p)
	for _, permission := range have.Denied {
		// A denial counts more than what roles give; that of a permission which is declared ends with its grant.
		if permission != permissionConnect && !contains(u.Permissions, permission) && known(permission) {
			destroy(p, undeclared, d.Primary, database,
				tsql.RevokeDatabasePermission(tsql.DatabasePermission(permission), user))
		}
	}
}

// permissionConnect is what every user needs to be let into its database.
const permissionConnect = string(tsql.PermissionConnect)

// contains compares names as a database's default collation does.
func contains[T ~string](names []T, name string) bool {
	return slices.ContainsFunc(names, func(n T) bool { return strings.EqualFold(string(n), name) })
}

// known says that a permission's name, which came from the server, is made of words alone.
func known(permission string) bool {
	return strings.IndexFunc(permission, func(r rune) bool { return (r < 'A' || r > 'Z') && r != ' ' }) < 0
}

// planSecrets writes the connection Secret wherever it is not as it should be. It returns what is not known.
func planSecrets(d Desired, o Observed, p *reconcile.Plan) []string {
	var unknown []string
	want := d.connection()
	for _, place := range slices.Sorted(maps.Keys(o.Secrets)) {
		s := o.Secrets[place]
		switch {
		case s.Err != nil:
			unknown = append(unknown, fmt.Sprintf("Secret %s %s: %v", d.secretName(), where(place), s.Err))
		case s.Exists && !s.Own:
			unknown = append(
				unknown,
				fmt.Sprintf(
					"Secret %s %s was made by somebody else: delete it, or set spec.connectionSecret to another name",
					d.secretName(),
					where(place),
				),
			)
		case !s.Exists || !reflect.DeepEqual(s.Data, want):
			p.Steps = append(p.Steps, WriteSecret{Place: place, Name: d.secretName()})
		}
	}
	return unknown
}

// planFormer deletes what the operator wrote under former names: they have the password too. It returns what is not
// known.
func planFormer(o Observed, p *reconcile.Plan) []string {
	var unknown []string
	for _, s := range o.Former {
		switch {
		case s.Err != nil:
			unknown = append(unknown, fmt.Sprintf("former Secret %s %s: %v", s.Name, where(s.Place), s.Err))
		case s.remains():
			p.Steps = append(p.Steps, DropSecret{Place: s.Place, Name: s.Name, UID: s.UID})
		}
	}
	return unknown
}
