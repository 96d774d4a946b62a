// SPDX-License-Identifier: Apache-2.0

package login

import (
	"errors"
	"strings"
	"testing"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

var (
	sid     = credentials.SID("web", "app")
	otherID = credentials.SID("elsewhere", "app")
	errMute = errors.New("no answer")
)

// grants are three permissions.
var grants = []v1alpha1.UserGrant{{Schema: "sales", Permissions: []v1alpha1.ObjectPermission{"SELECT", "EXECUTE"}},
	{Schema: "dbo", Object: "Article", Permissions: []v1alpha1.ObjectPermission{"UPDATE"}}}

// onRecord has them as the operator's.
var onRecord = []v1alpha1.LoginUserStatus{{Database: "Content", Name: "app", Grants: grants}}

func declared() Desired {
	of := metav1.ObjectMeta{Namespace: "web", Name: "app", UID: "u1"}
	return Desired{
		Login: &v1alpha1.Login{ObjectMeta: of, Spec: v1alpha1.LoginSpec{
			Target:            v1alpha1.ServerOrGroup{AvailabilityGroup: "content"},
			PasswordSecretRef: &v1alpha1.SecretReference{Name: "p"},
			Users: []v1alpha1.LoginUser{
				{
					Database:    "Content",
					Roles:       []v1alpha1.RoleName{"db_datareader", "db_datawriter"},
					Permissions: []v1alpha1.DatabasePermission{"EXECUTE"},
				},
			},
		}},
		Password: "It's-a_secret.7", Servers: []v1alpha1.ServerName{"tukpub", "quisec"}, Primary: "tukpub",
		Databases: []string{"Content"},
		Host:      "content.web.svc", Port: 1433, CA: []byte("ca"),
	}
}

// whole is a world in which everything is as declared.
func whole(d Desired) Observed {
	fine := func() Server {
		return Server{Login: &mssql.LoginState{SID: sid, PasswordMatches: true, MayConnect: true, HasDefault: true}}
	}
	secret := Secret{Exists: true, Own: true, Data: d.connection()}
	return Observed{
		Servers: map[v1alpha1.ServerName]Server{"tukpub": fine(), "quisec": fine()},
		Leads:   map[v1alpha1.ObjectName]reconcile.Reading[bool]{"content": reconcile.Read(true)},
		Users: map[string]User{
			"Content": {
				State: &mssql.UserState{
					SID:         sid,
					Roles:       []string{"db_datareader", "db_datawriter"},
					Permissions: []string{"CONNECT", "EXECUTE"},
				},
			},
		},
		Secrets: map[string]Secret{"": secret, "tukwila": secret},
	}
}

func TestPlan(t *testing.T) {
	user := func(how func(*mssql.UserState)) func(*Desired, *Observed) {
		return func(_ *Desired, o *Observed) { how(o.Users["Content"].State) }
	}
	for name, c := range map[string]struct {
		change func(*Desired, *Observed)
		steps  []string
		ready  metav1.ConditionStatus
		reason string
		says   string
	}{
		"as declared": {ready: "True", reason: v1alpha1.ReasonLoginReady, says: "tukpub-0, quisec-0"},
		"not there": {change: func(_ *Desired, o *Observed) { o.Servers["quisec"] = Server{} },
			steps: []string{"on quisec-0 in master: create login app: IF SUSER_ID(N'app') IS NULL\n    CREATE LOGIN [app] " +
				"WITH PASSWORD = N'***', SID = 0x"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"another password": {change: func(_ *Desired, o *Observed) { o.Servers["quisec"].Login.PasswordMatches = false },
			steps: []string{"ALTER LOGIN [app] WITH PASSWORD = N'***'"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"disabled": {change: func(_ *Desired, o *Observed) { o.Servers["tukpub"].Login.Disabled = true },
			steps: []string{"ALTER LOGIN [app] ENABLE"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"CONNECT SQL revoked": {change: func(_ *Desired, o *Observed) { o.Servers["tukpub"].Login.MayConnect = false },
			steps: []string{"on tukpub-0 in master: grant CONNECT SQL to app: GRANT CONNECT SQL TO [app]"}, ready: "False",
			reason: v1alpha1.ReasonLoginChanging},
		"CONNECT SQL denied": {change: func(_ *Desired, o *Observed) { o.Servers["quisec"].Login.ConnectDenied = true },
			steps: []string{"on quisec-0 in master: grant CONNECT SQL to app"}, ready: "False",
			reason: v1alpha1.ReasonLoginChanging},
		"its default database is gone": {change: func(_ *Desired,
			o *Observed) {
			o.Servers["quisec"].Login.HasDefault = false
		},
			steps: []string{"ALTER LOGIN [app] WITH DEFAULT_DATABASE = [master]"}, ready: "False",
			reason: v1alpha1.ReasonLoginChanging},
		"locked out": {change: func(_ *Desired, o *Observed) { o.Servers["quisec"].Login.LockedOut = true },
			steps: []string{"ALTER LOGIN [app] WITH PASSWORD = N'***' UNLOCK"}, ready: "False",
			reason: v1alpha1.ReasonLoginChanging},
		"CONNECT revoked": {change: user(func(u *mssql.UserState) { u.Permissions = u.Permissions[1:] }),
			steps: []string{"on tukpub-0 in Content: grant CONNECT to user app"}, ready: "False",
			reason: v1alpha1.ReasonLoginChanging},
		"CONNECT denied": {change: user(func(u *mssql.UserState) {
			u.Permissions, u.Denied = u.Permissions[1:],
				[]string{"CONNECT"}
		}),
			steps: []string{"GRANT CONNECT TO [app]"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"something denied": {change: user(func(u *mssql.UserState) { u.Denied = []string{"SELECT"} }),
			steps: []string{"REVOKE SELECT FROM [app] CASCADE"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"what is declared is denied": {change: user(func(u *mssql.UserState) { u.Denied = []string{"EXECUTE"} }),
			steps: []string{"GRANT EXECUTE TO [app]"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"sa is disabled": {change: func(_ *Desired, o *Observed) {
			o.Servers["quisec"] = Server{Err: &mssql.Error{Class: mssql.LoginFailed, Err: driver.Error{Number: 18470}}}
		}, ready: "False", reason: v1alpha1.ReasonLoginFailed,
			says: "quisec-0: login sa is disabled: ALTER LOGIN [sa] ENABLE"},
		"another SID": {change: func(_ *Desired, o *Observed) {
			o.Servers["quisec"] = Server{Login: &mssql.LoginState{SID: otherID, PasswordMatches: true}}
		},
			ready: "False", reason: v1alpha1.ReasonLoginConflict, says: "geosql.dev/adopt=true"},
		"a replica is silent": {change: func(_ *Desired, o *Observed) { o.Servers["quisec"] = Server{Err: errMute} },
			ready: "Unknown", reason: v1alpha1.ReasonLoginUnknown, says: "quisec-0 (no answer)"},
		"no user": {change: func(_ *Desired, o *Observed) { o.Users["Content"] = User{} },
			steps: []string{"on tukpub-0 in Content: create user app", "[db_datareader] ADD MEMBER [app]",
				"[db_datawriter] ADD MEMBER [app]", "GRANT EXECUTE TO [app]"}, ready: "False",
			reason: v1alpha1.ReasonLoginChanging},
		"an orphaned user": {change: user(func(u *mssql.UserState) { u.SID = otherID }),
			steps: []string{"ALTER USER [app] WITH LOGIN = [app]"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"the policy is another": {change: func(d *Desired, o *Observed) {
			d.Login.Spec.PasswordPolicy = &v1alpha1.PasswordPolicy{Expiration: true}
			o.Servers["quisec"].Login.Checked, o.Servers["quisec"].Login.Expires = true, true
			o.Servers["tukpub"].Login.Checked = true
		}, steps: []string{"on tukpub-0 in master: set the password policy of login app: ALTER LOGIN [app] WITH " +
			"CHECK_EXPIRATION = ON, CHECK_POLICY = ON"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"a weak password is declared": {change: func(d *Desired, o *Observed) {
			d.Login.Spec.PasswordPolicy = &v1alpha1.PasswordPolicy{Complexity: ptr.To(false)}
			o.Servers["quisec"] = Server{}
		}, steps: []string{"CHECK_EXPIRATION = OFF, CHECK_POLICY = OFF"}, ready: "False",
			reason: v1alpha1.ReasonLoginChanging},
		"the policy is nobody's business": {change: func(_ *Desired, o *Observed) {
			o.Servers["quisec"].Login.Checked, o.Servers["quisec"].Login.Expires = true, true
		}, ready: "True", reason: v1alpha1.ReasonLoginReady},
		"it may do too little on a server": {change: func(d *Desired, o *Observed) {
			d.Login.Spec.OnServer = &v1alpha1.ServerRights{Roles: []v1alpha1.ServerRole{"processadmin"},
				Permissions: []v1alpha1.ServerPermission{"VIEW SERVER STATE"}}
			o.Servers["quisec"].Login.Roles = []string{"processadmin"}
			o.Servers["quisec"].Login.Permissions = []string{"CONNECT SQL", "VIEW SERVER STATE"}
		}, steps: []string{"on tukpub-0 in master: add app to server role processadmin",
			"on tukpub-0 in master: grant VIEW SERVER STATE to app"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"it may do too much on a server": {change: func(d *Desired, o *Observed) {
			d.Login.Spec.OnServer = &v1alpha1.ServerRights{}
			o.Servers["quisec"].Login.Roles = []string{"sysadmin"}
			o.Servers["quisec"].Login.Permissions = []string{"CONNECT SQL", "ALTER TRACE"}
		}, steps: []string{"ALTER SERVER ROLE [sysadmin] DROP MEMBER [app]", "REVOKE ALTER TRACE FROM [app]"},
			ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"what is declared on a server is denied": {change: func(d *Desired, o *Observed) {
			d.Login.Spec.OnServer = &v1alpha1.ServerRights{Permissions: []v1alpha1.ServerPermission{"VIEW SERVER STATE"}}
			for _, s := range o.Servers {
				s.Login.Permissions = []string{"VIEW SERVER STATE"}
			}
			o.Servers["quisec"].Login.Denied = []string{"VIEW SERVER STATE", "VIEW ANY DATABASE"}
		}, steps: []string{"on quisec-0 in master: grant VIEW SERVER STATE", "REVOKE VIEW ANY DATABASE FROM [app]"},
			ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"what it may do on a server is nobody's business": {change: func(_ *Desired, o *Observed) {
			o.Servers["quisec"].Login.Permissions = []string{"CONNECT SQL", "VIEW SERVER STATE"}
		}, ready: "True", reason: v1alpha1.ReasonLoginReady},
		"something on a schema and an object is granted": {change: func(d *Desired, o *Observed) {
			d.Login.Spec.Users[0].Grants, d.Login.Status.Users = grants, onRecord
			o.Users["Content"].State.Grants = []mssql.Grant{{On: tsql.Securable{Schema: "SALES"}, Permission: "SELECT"}}
		}, steps: []string{"on tukpub-0 in Content: grant EXECUTE on schema sales to user app: GRANT EXECUTE ON " +
			"SCHEMA::[sales] TO [app]", "GRANT UPDATE ON OBJECT::[dbo].[Article] TO [app]"}, ready: "False",
			reason: v1alpha1.ReasonLoginChanging},
		"what is to be granted is put on record first": {change: func(d *Desired, _ *Observed) {
			d.Login.Spec.Users[0].Grants = grants
		}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"somebody else has granted what is declared": {change: func(d *Desired, o *Observed) {
			d.Login.Spec.Users[0].Grants, o.Users["Content"].State.Grants = grants, flat(grants)
		}, ready: "True", reason: v1alpha1.ReasonLoginReady},
		"what is granted on an object is denied": {change: func(d *Desired, o *Observed) {
			d.Login.Spec.Users[0].Grants = grants
			o.Users["Content"].State.Grants = flat(grants)
			o.Users["Content"].State.DeniedOn = flat(grants)[2:]
		}, steps: []string{"GRANT UPDATE ON OBJECT::[dbo].[Article] TO [app]"}, ready: "False",
			reason: v1alpha1.ReasonLoginChanging},
		"an object is not there yet": {change: func(d *Desired, o *Observed) {
			d.Login.Spec.Users[0].Grants = grants
			user := o.Users["Content"]
			user.State.Grants, user.Absent = flat(grants)[:2], []tsql.Securable{{Schema: "dbo", Object: "Article"}}
			o.Users["Content"] = user
		}, ready: "False", reason: v1alpha1.ReasonReferenceMissing, says: "there is no dbo.Article in database Content"},
		"something on an object is granted no more": {change: func(d *Desired, o *Observed) {
			d.Login.Status.Users = onRecord
			o.Users["Content"].State.Grants = append(flat(grants)[1:],
				mssql.Grant{On: tsql.Securable{Schema: "dbo", Object: "Other"}, Permission: "SELECT"})
		}, steps: []string{"REVOKE EXECUTE ON SCHEMA::[sales] FROM [app] CASCADE",
			"REVOKE UPDATE ON OBJECT::[dbo].[Article] FROM [app] CASCADE"}, ready: "False",
			reason: v1alpha1.ReasonLoginChanging},
		"no password was made yet": {change: func(d *Desired, o *Observed) {
			d.Login.Spec.PasswordSecretRef, d.Password = nil, ""
			o.Servers["tukpub"], o.Servers["quisec"] = Server{}, Server{}
		}, steps: []string{"make the password of the login"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"another password is asked for": {change: func(d *Desired, _ *Observed) {
			d.Login.Spec.PasswordSecretRef, d.PasswordFor = nil, "u1/1"
			d.Login.Annotations = map[string]string{v1alpha1.RotateAnnotation: "u1/2"}
		}, steps: []string{"make another password of the login"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"another password was made": {change: func(d *Desired, _ *Observed) {
			d.Login.Spec.PasswordSecretRef, d.PasswordFor = nil, "u1/2"
			d.Login.Annotations = map[string]string{v1alpha1.RotateAnnotation: "u1/2"}
		}, ready: "True", reason: v1alpha1.ReasonLoginReady},
		"another password of the object that was restored": {change: func(d *Desired, _ *Observed) {
			d.Login.Spec.PasswordSecretRef = nil
			d.Login.Annotations = map[string]string{v1alpha1.RotateAnnotation: "u0/2"}
		}, ready: "True", reason: v1alpha1.ReasonLoginReady},
		"another password is asked for, and its Secret is somebody's": {change: func(d *Desired, _ *Observed) {
			d.Login.Annotations = map[string]string{v1alpha1.RotateAnnotation: "u1/2"}
		}, ready: "True", reason: v1alpha1.ReasonLoginReady},
		"a user of another login": {change: user(func(u *mssql.UserState) { u.SID, u.Login = otherID, "reports" }),
			ready: "False", reason: v1alpha1.ReasonLoginConflict,
			says: "user app in database Content is that of login reports"},
		"a user of another login that is adopted": {change: func(d *Desired, o *Observed) {
			d.Login.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
			o.Users["Content"].State.SID, o.Users["Content"].State.Login = otherID, "reports"
		}, steps: []string{"ALTER USER [app] WITH LOGIN = [app]"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"a role too few": {change: user(func(u *mssql.UserState) { u.Roles = u.Roles[:1] }),
			steps: []string{"[db_datawriter] ADD MEMBER [app]"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"a role too many": {change: user(func(u *mssql.UserState) {
			u.Roles = append(u.Roles,
				"db_owner")
		}), steps: []string{"[db_owner] DROP MEMBER [app]"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"a permission too many": {change: user(
			func(u *mssql.UserState) { u.Permissions = append(u.Permissions, "CONTROL") }),
			steps: []string{"REVOKE CONTROL FROM [app] CASCADE"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"a permission that is no name": {change: user(
			func(u *mssql.UserState) { u.Permissions = append(u.Permissions, "X; DROP") }), ready: "True",
			reason: v1alpha1.ReasonLoginReady},
		"the owner of the database": {change: user(func(u *mssql.UserState) { u.SID = []byte{1} }),
			ready: "False", reason: v1alpha1.ReasonLoginConflict, says: "dbo"},
		"a database of the group that its primary does not have": {change: func(_ *Desired, o *Observed) {
			o.Users["Content"] = User{NoDatabase: true}
		},
			ready: "False", reason: v1alpha1.ReasonReferenceMissing, says: "though it is one of the group's"},
		"a database that is not there": {change: func(d *Desired, o *Observed) {
			d.Databases = nil
			o.Users["Content"] = User{NoDatabase: true}
		},
			ready: "False", reason: v1alpha1.ReasonReferenceMissing, says: "no database Content on tukpub-0: create it"},
		"a replica is named in place of its group": {change: func(d *Desired, o *Observed) {
			d.InGroup = map[string]InGroup{"content": {Group: "articles", Elsewhere: "quisec-0"}}
			o.Users["Content"] = User{}
		}, ready: "False", reason: v1alpha1.ReasonSecondary, says: "target.availabilityGroup articles"},
		"a replica that is primary is named in place of its group": {change: func(d *Desired, _ *Observed) {
			d.InGroup = map[string]InGroup{"content": {Group: "articles"}}
		}, ready: "True", reason: v1alpha1.ReasonLoginReady, says: "after a failover nobody can log in there"},
		"no primary": {change: func(d *Desired, o *Observed) { d.Primary, o.Users = "", nil },
			ready: "Unknown", reason: v1alpha1.ReasonLoginUnknown, says: "no replica is known to be primary"},
		"a database that is none of the group's": {change: func(d *Desired, _ *Observed) { d.Databases = []string{"Orders"} },
			ready: "Unknown", reason: v1alpha1.ReasonLoginUnknown, says: "Content is none of the group's"},
		"a Secret that is not there": {change: func(_ *Desired, o *Observed) { o.Secrets["tukwila"] = Secret{} },
			steps: []string{"write the connection Secret app-connection at site tukwila"}, ready: "False",
			reason: v1alpha1.ReasonLoginChanging},
		"a Secret of before": {change: func(d *Desired, _ *Observed) { d.Host = "renamed.web.svc" },
			steps: []string{"at site tukwila", "in the hub"}, ready: "False", reason: v1alpha1.ReasonLoginChanging},
		"a Secret of somebody else": {change: func(_ *Desired,
			o *Observed) {
			o.Secrets["tukwila"] = Secret{Exists: true}
		}, ready: "Unknown", reason: v1alpha1.ReasonLoginUnknown, says: "made by somebody else"},
		"a site that is silent": {change: func(_ *Desired,
			o *Observed) {
			o.Secrets["tukwila"] = Secret{Err: errMute}
		}, ready: "Unknown", reason: v1alpha1.ReasonLoginUnknown, says: "at site tukwila: no answer"},
		"no group": {change: func(d *Desired,
			_ *Observed) {
			d.Missing = "there is no AvailabilityGroup content"
		}, ready: "False", reason: v1alpha1.ReasonReferenceMissing},
		"declared twice": {change: func(d *Desired, _ *Observed) { d.Owner = "first" },
			ready: "False", reason: v1alpha1.ReasonLoginConflict, says: "Login first"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := declared()
			o := whole(d)
			if c.change != nil {
				c.change(&d, &o)
			}
			p := plan(d, o)
			g.Expect(p.Outcome.Ready).To(Equal(c.ready), p.Outcome.Message)
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
			var shown []string
			for _, s := range p.Steps {
				shown = append(shown, s.Describe())
			}
			g.Expect(shown).To(HaveLen(len(c.steps)))
			all := strings.Join(shown, "\n")
			for _, want := range c.steps {
				g.Expect(all).To(ContainSubstring(want))
			}
			g.Expect(all).NotTo(ContainSubstring("secret.7"))
		})
	}
}

// A login that is taken over keeps its SID on the primary, gets it on the replicas, and the status that is reported
// keeps it. What was read stays as it was read.
func TestALoginThatIsTakenOver(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	o := whole(d)
	o.Servers["tukpub"].Login.SID, o.Servers["quisec"] = otherID, Server{}
	o.Users["Content"].State.SID = otherID
	g.Expect(plan(d, o).Outcome.Reason).To(Equal(v1alpha1.ReasonLoginConflict), "nobody has allowed it")

	d.Login.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	p := plan(d, o)
	g.Expect(p.Steps).To(HaveExactElements(And(HaveField("Server", v1alpha1.ServerName("quisec")),
		HaveField("Statement", tsql.CreateLogin(tsql.Login{Name: "app", SID: otherID, Password: d.Password})))))
	g.Expect(plan(d, o)).To(Equal(p))
	status := reported(d, o, p)
	g.Expect(status.SID).To(Equal(tsql.Binary(otherID)))
	g.Expect(d.Login.Status).To(Equal(v1alpha1.LoginStatus{}))

	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	g.Expect(planDelete(d, o).Steps).To(HaveLen(3), "the one login, two Secrets")
	d.Login.Status = status
	o.Servers["tukpub"] = Server{Login: &mssql.LoginState{SID: sid, PasswordMatches: true}}
	g.Expect(plan(d, o).Outcome.Reason).To(Equal(v1alpha1.ReasonLoginConflict), "it takes over one login, once")
}

// The Secret of a former name has the password too: it goes wherever it is the operator's, and is remembered until it
// is gone.
func TestTheSecretOfAFormerNameGoes(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	d.Login.Spec.ConnectionSecret, d.Login.Status.ConnectionSecret, d.Login.Status.FormerSecrets = "today", "yesterday",
		[]string{
			"before",
			"today",
		}
	g.Expect(d.formerSecrets()).To(Equal([]string{"before", "yesterday"}))
	o := whole(d)
	o.Former = []FormerSecret{
		{Place: "", Name: "before"}, {Place: "tukwila", Name: "before", Secret: Secret{Exists: true}},
		{
			Place:  "",
			Name:   "yesterday",
			Secret: Secret{Exists: true, Own: true, UID: "u"},
		}, {Place: "tukwila", Name: "yesterday", Secret: Secret{Err: errMute}},
	}
	p := plan(d, o)
	g.Expect(p.Steps).
		To(Equal([]reconcile.Step{DropSecret{Place: "", Name: "yesterday", UID: "u"}}), "somebody else's stays")
	g.Expect(former(d, o)).To(Equal([]string{"yesterday"}))
	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	g.Expect(planDelete(d, o).Steps).To(ContainElement(DropSecret{Place: "", Name: "yesterday", UID: "u"}))
	o.Former[2].Secret = Secret{}
	p = plan(d, o)
	g.Expect(p.Outcome.Message).To(ContainSubstring("former Secret yesterday at site tukwila: no answer"))
	o.Former[3].Secret = Secret{}
	g.Expect(plan(d, o).Outcome.Reason).To(Equal(v1alpha1.ReasonLoginReady))
	g.Expect(former(d, o)).To(BeEmpty())
}

// What is taken out of spec.users loses what was granted because it was there, and nothing that somebody else gave it.
func TestAUserThatIsDeclaredNoMoreLosesWhatItWasGranted(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	record := recordUsers(d, whole(d), reconcile.Plan{})
	g.Expect(record).To(ConsistOf(v1alpha1.LoginUserStatus{Database: "Content", Name: "app",
		Roles: []v1alpha1.RoleName{"db_datareader", "db_datawriter"}, Permissions: []v1alpha1.DatabasePermission{"EXECUTE"}}))
	d.Login.Status.Users = record
	d.Login.Spec.Users[0].Roles = d.Login.Spec.Users[0].Roles[:1]
	g.Expect(recordUsers(d, whole(d), reconcile.Plan{})[0].Roles).To(HaveLen(2), "what it has yet is remembered")

	d.Login.Spec.Users = nil
	o := whole(d)
	state := &mssql.UserState{
		SID:         sid,
		Roles:       []string{"db_datareader", "db_owner"},
		Permissions: []string{"CONNECT", "EXECUTE", "SELECT"},
	}
	o.FormerUsers = []FormerUser{{LoginUserStatus: record[0], User: User{State: state}}}
	var shown []string
	for _, s := range plan(d, o).Steps {
		shown = append(shown, s.Describe())
	}
	g.Expect(shown).
		To(HaveExactElements(ContainSubstring("[db_datareader] DROP MEMBER [app]"),
			ContainSubstring("REVOKE EXECUTE FROM [app]")))
	g.Expect(recordUsers(d, o, reconcile.Plan{})).To(Equal(record))

	state.Roles, state.Permissions = []string{"db_owner"}, []string{"CONNECT", "SELECT"}
	g.Expect(plan(d, o).Outcome.Reason).To(Equal(v1alpha1.ReasonLoginReady))
	g.Expect(recordUsers(d, o, reconcile.Plan{})).To(BeEmpty())

	state.SID, state.Roles = otherID, []string{"db_datareader"}
	g.Expect(plan(d, o).Steps).To(BeEmpty(), "a user with another SID is another's")
	o.FormerUsers[0].User = User{Err: errMute}
	g.Expect(plan(d, o).Outcome).
		To(And(HaveField("Reason", v1alpha1.ReasonLoginUnknown),
			HaveField("Message", ContainSubstring("former user app of database Content: no answer"))))
	g.Expect(recordUsers(d, o, reconcile.Plan{})).To(Equal(record))
	o.FormerUsers[0] = FormerUser{LoginUserStatus: record[0], Outside: true}
	g.Expect(plan(d, o).Outcome).
		To(And(HaveField("Reason", v1alpha1.ReasonLoginReady),
			HaveField("Message", ContainSubstring("none of the group's any more"))))
	d.Primary = ""
	g.Expect(plan(d, o).Outcome.Message).To(ContainSubstring("no replica is known to be primary"))
	g.Expect(recordUsers(d, Observed{}, reconcile.Plan{})).To(Equal(record))
}

func TestPlanOfADeletion(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	o := whole(d)
	p := planDelete(d, o)
	g.Expect(p.Steps).To(BeEmpty(), "Retain leaves everything")
	g.Expect(p.Done).To(BeTrue())
	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	for name, s := range o.Servers {
		s.Sessions = []int{71}
		o.Servers[name] = s
	}
	shown := func(p reconcile.Plan) (all []string) {
		for _, s := range p.Steps {
			all = append(all, s.Describe())
		}
		return all
	}
	p = planDelete(d, o)
	g.Expect(shown(p)).To(HaveExactElements(
		ContainSubstring("on tukpub-0 in master: disable login app"),
		ContainSubstring("KILL 71"),
		ContainSubstring("on quisec-0 in master: disable login app"),
		ContainSubstring("KILL 71"),
		HavePrefix(
			"delete the connection Secret",
		),
		HavePrefix("delete the connection Secret"),
	), "nobody is let in any more, before anything that may be refused")
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Apart).To(BeTrue(), "one that is refused ends none elsewhere")

	o.Servers["tukpub"].Login.Disabled, o.Servers["quisec"].Login.Disabled, o.Secrets = true, true, nil
	p = planDelete(d, o)
	g.Expect(shown(p)).To(HaveExactElements(ContainSubstring("on tukpub-0 in master: end session 71"),
		ContainSubstring("on quisec-0 in master: end session 71")), "it was disabled before, and is logged in still")
	for name, s := range o.Servers {
		s.Sessions = nil
		o.Servers[name] = s
	}
	p = planDelete(d, o)
	g.Expect(shown(p)).To(HaveExactElements(ContainSubstring("on tukpub-0 in Content: drop user app")))
	g.Expect(p.Done).To(BeFalse(), "the logins are dropped after their users")

	user := o.Users["Content"]
	user.Owns = []mssql.Owned{{Class: "SCHEMA", Name: "app"}}
	o.Users["Content"] = user
	p = planDelete(d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonLoginOwns), HaveField("Progress", conditions.Stuck),
		HaveField("Message", ContainSubstring("ALTER AUTHORIZATION ON SCHEMA::[app] TO dbo"))))

	user.Owns = []mssql.Owned{{Class: mssql.OwnedExecuteAs, Name: "dbo.Pay"}, {Class: mssql.OwnedGrantor, Name: "clerk"}}
	o.Users["Content"] = user
	p = planDelete(d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonLoginOwns), HaveField("Message",
		And(ContainSubstring("dbo.Pay runs as it"), ContainSubstring("REVOKE ... FROM [clerk] CASCADE")))))

	o.Users["Content"] = User{}
	p = planDelete(d, o)
	g.Expect(shown(p)).
		To(HaveExactElements(ContainSubstring("on tukpub-0 in master: drop login"),
			ContainSubstring("on quisec-0 in master: drop login")))
	g.Expect(p.Done).To(BeTrue())
	quisec := o.Servers["quisec"]
	quisec.Owns = []mssql.Owned{{Class: "DATABASE", Name: "Own"}}
	o.Servers["quisec"] = quisec
	p = planDelete(d, o)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(ContainSubstring("ALTER AUTHORIZATION ON DATABASE::[Own] TO sa"))
	o.Servers["quisec"] = Server{Login: &mssql.LoginState{SID: otherID}}
	g.Expect(planDelete(d, o).Steps).To(HaveLen(1), "a login of another SID is somebody else's")
	o.Servers["quisec"] = Server{Err: errMute}
	p = planDelete(d, o)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(ContainSubstring("quisec-0: no answer"))
}

func TestConnectionStringsAreQuoted(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	d.Password = `a"b};c@/d`
	data := d.connection()
	g.Expect(string(data["ado"])).To(ContainSubstring(`Password="a""b};c@/d";`))
	g.Expect(string(data["jdbc"])).To(ContainSubstring(`password={a"b}};c@/d};`))
	g.Expect(string(data["url"])).To(HavePrefix("sqlserver://app:a%22b%7D;c%40%2Fd@content.web.svc:1433?"))
	g.Expect(data).
		To(And(HaveKeyWithValue("host", []byte("content.web.svc")), HaveKeyWithValue("database", []byte("Content")),
			HaveKeyWithValue("ca.crt", []byte("ca"))))
}
