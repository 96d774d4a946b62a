// SPDX-License-Identifier: Apache-2.0

//go:build integration

package login_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/login"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/engine"
)

const (
	system  = "geosql-system"
	patient = 3 * time.Minute
	often   = 100 * time.Millisecond
)

// bed is a hub that is a site too, two engines, and the controller alone.
type bed struct {
	*testing.T
	hub       *apiserver.Server
	engines   map[v1alpha1.ServerName]*engine.Engine
	connector *mssql.Connector
}

func newBed(t *testing.T) *bed {
	t.Helper()
	g := NewWithT(t)
	log.SetLogger(logr.Discard())
	b := &bed{T: t, hub: apiserver.StartHub(t), engines: map[v1alpha1.ServerName]*engine.Engine{}}
	b.hub.Namespace(t, system)
	b.hub.JoinHub(t, "dublin", "web")
	for _, server := range []v1alpha1.ServerName{"tukpub", "quisec"} {
		e := engine.Start(t, "web", server)
		b.engines[server] = e
		b.secret(credentials.PasswordsName(server), e.Access.Passwords)
		b.secret(credentials.CertificateName(server), map[string][]byte{credentials.KeyCA: e.Access.CA})
	}
	b.connector = mssql.NewConnector(mssql.Options{
		Access:  mssql.SecretAccess{Reader: b.hub.Client},
		Address: func(target mssql.Target) string { return b.engines[target.Server].Address },
	})
	t.Cleanup(func() { _ = b.connector.Close() })
	provider := sites.NewProvider(sites.Options{Namespace: system, Heartbeat: 300 * time.Millisecond})
	mgr := apiserver.NewManager(t, b.hub.ManagerConfig(t), provider, apiserver.HubOptions())
	g.Expect(login.SetupWithManager(mgr, login.Options{Sites: provider, Connector: b.connector})).To(Succeed())
	apiserver.Run(t, mgr)
	return b
}

func (b *bed) secret(name string, data map[string][]byte) {
	b.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}, Data: data}
	NewWithT(b.T).Expect(b.hub.Client.Create(b.Context(), s)).To(Succeed())
}

// as executes statements on a server as sa.
func (b *bed) as(server v1alpha1.ServerName, database string, statements ...tsql.Statement) {
	b.Helper()
	g := NewWithT(b.T)
	db, err := b.connector.Open(
		b.Context(),
		mssql.Target{Namespace: "web", Server: server, Database: database, Role: credentials.RoleSA},
	)
	g.Expect(err).NotTo(HaveOccurred())
	for _, s := range statements {
		g.Expect(db.Exec(b.Context(), s)).To(Succeed())
	}
}

// state of login and user on a server.
func (b *bed) state(server v1alpha1.ServerName, password string) func() (string, error) {
	return func() (string, error) {
		db, err := b.connector.Open(b.Context(), mssql.Target{Namespace: "web", Server: server, Role: credentials.RoleSA})
		if err != nil {
			return "", err
		}
		l, err := mssql.ReadLogin(b.Context(), db, "app", password)
		switch {
		case err != nil:
			return "", err
		case l == nil:
			return "none", nil
		case !bytes.Equal(l.SID, credentials.SID("web", "app")):
			return "another SID", nil
		case !l.PasswordMatches:
			return "another password", nil
		case l.Disabled:
			return "disabled", nil
		}
		return "fine", nil
	}
}

// login as a server has it.
func (b *bed) login(server v1alpha1.ServerName) func() (*mssql.LoginState, error) {
	return func() (*mssql.LoginState, error) {
		db, err := b.connector.Open(b.Context(), mssql.Target{Namespace: "web", Server: server, Role: credentials.RoleSA})
		if err != nil {
			return nil, err
		}
		return mssql.ReadLogin(b.Context(), db, "app", "")
	}
}

func (b *bed) user(server v1alpha1.ServerName) func() (*mssql.UserState, error) {
	return func() (*mssql.UserState, error) {
		db, err := b.connector.Open(
			b.Context(),
			mssql.Target{Namespace: "web", Server: server, Database: "Content", Role: credentials.RoleSA},
		)
		if err != nil {
			return nil, err
		}
		return mssql.ReadUser(b.Context(), db, "app")
	}
}

func (b *bed) reason() string {
	var l v1alpha1.Login
	_ = b.hub.Client.Get(b.Context(), client.ObjectKey{Namespace: "web", Name: "app"}, &l)
	if c := meta.FindStatusCondition(l.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Reason + ": " + c.Message
	}
	return ""
}

// primary says in the group's status who is.
func (b *bed) primary(server v1alpha1.ServerName) {
	b.Helper()
	g := NewWithT(b.T)
	var group v1alpha1.AvailabilityGroup
	g.Expect(b.hub.Client.Get(b.Context(), client.ObjectKey{Namespace: "web", Name: "content"}, &group)).To(Succeed())
	group.Status.Primary = credentials.HostName(server)
	g.Expect(b.hub.Client.Status().Update(b.Context(), &group)).To(Succeed())
}

// nudge lets the controller look at once at what was changed by hand on an engine.
func (b *bed) nudge() {
	b.Helper()
	NewWithT(b.T).Eventually(func() error {
		var l v1alpha1.Login
		if err := b.hub.Client.Get(b.Context(), client.ObjectKey{Namespace: "web", Name: "app"}, &l); err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&l.ObjectMeta, "test.geosql.dev/nudge", time.Now().String())
		return b.hub.Client.Update(b.Context(), &l)
	}, patient, often).Should(Succeed())
}

// group of both engines, with a database Content on each; tukpub is primary.
func (b *bed) group() {
	b.Helper()
	g := NewWithT(b.T)
	group := &v1alpha1.AvailabilityGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
		Spec: v1alpha1.AvailabilityGroupSpec{
			InitialPrimary: "tukpub", Databases: []v1alpha1.Database{{Name: "Content"}},
			Replicas: []v1alpha1.Replica{
				{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit},
				{Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit},
				{Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly},
			},
		},
	}
	g.Expect(b.hub.Client.Create(b.Context(), group)).To(Succeed())
	b.primary("tukpub")
	for server := range b.engines {
		host := credentials.HostName(server)
		// Each has a group of its own: which of the two is meant the hub says alone.
		b.as(server, "master", tsql.CreateDatabase("Content"), tsql.CreateGroup(tsql.Group{Name: "content",
			ClusterType: tsql.ClusterNone, Replicas: []tsql.Replica{{Server: host, EndpointURL: "TCP://" + host + ":5022",
				Mode: tsql.SynchronousCommit}}}))
	}
}

// Statements go to real engines: one login with one SID on both replicas of a group, users on the primary.
func TestLoginOfAGroup(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	b.group()
	l := &v1alpha1.Login{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "app"}, Spec: v1alpha1.LoginSpec{
		Target: v1alpha1.ServerOrGroup{
			AvailabilityGroup: "content",
		}, PasswordSecretRef: &v1alpha1.SecretReference{Name: "app-password"}, ReclaimPolicy: v1alpha1.ReclaimDelete,
		Users: []v1alpha1.LoginUser{
			{
				Database:    "Content",
				Roles:       []v1alpha1.RoleName{"db_datareader"},
				Permissions: []v1alpha1.DatabasePermission{"EXECUTE"},
			},
		},
	}}
	g.Expect(b.hub.Client.Create(t.Context(), l)).To(Succeed())
	g.Eventually(b.reason, patient, often).
		Should(ContainSubstring("ReferenceMissing: Secret app-password with key password"))
	b.secret("app-password", map[string][]byte{"password": []byte("One-longpass.word1\n")})
	g.Eventually(b.reason, patient, often).Should(HavePrefix("LoginReady"))
	for server := range b.engines {
		g.Expect(b.state(server, "One-longpass.word1")()).To(Equal("fine"))
	}
	g.Expect(b.user("tukpub")()).
		To(And(HaveField("SID", credentials.SID("web", "app")), HaveField("Roles", ConsistOf("db_datareader")),
			HaveField("Permissions", ContainElement("EXECUTE"))))
	g.Expect(b.user("quisec")()).To(BeNil(), "the primary's databases bring the users")

	t.Run("applications find how to connect", func(t *testing.T) {
		g := NewWithT(t)
		var secret corev1.Secret
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "app-connection"}, &secret)).
			To(Succeed())
		g.Expect(secret.Data).
			To(And(HaveKeyWithValue("host", []byte("content.web.svc")),
				HaveKeyWithValue("password", []byte("One-longpass.word1"))))
		secret.Data["host"] = []byte("elsewhere")
		g.Expect(b.hub.Client.Update(t.Context(), &secret)).To(Succeed())
		b.nudge()
		g.Eventually(func() string {
			_ = b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(&secret), &secret)
			return string(secret.Data["host"])
		}, patient, often).Should(Equal("content.web.svc"))
	})

	t.Run("what was changed by hand is changed back", func(t *testing.T) {
		g := NewWithT(t)
		b.as("tukpub", "Content", tsql.AddRoleMember("db_owner", "app"), tsql.DropRoleMember("db_datareader", "app"))
		b.as("quisec", "master", tsql.DropLogin("app"))
		b.as("tukpub", "master", tsql.AlterLoginPassword(tsql.Login{Name: "app", Password: "Another-password.2"}))
		b.nudge()
		g.Eventually(b.state("quisec", "One-longpass.word1"), patient, often).Should(Equal("fine"), "with the same SID")
		g.Eventually(b.state("tukpub", "One-longpass.word1"), patient, often).Should(Equal("fine"))
		g.Eventually(b.user("tukpub"), patient, often).Should(HaveField("Roles", ConsistOf("db_datareader")))
	})

	t.Run("who was shut out by hand is let in again", func(t *testing.T) {
		g := NewWithT(t)
		b.as("tukpub", "Content", tsql.Statement{Text: "DENY CONNECT TO [app]"}, tsql.Statement{Text: "DENY SELECT TO [app]"})
		b.as("quisec", "master", tsql.Statement{Text: "DENY CONNECT SQL TO [app]"})
		b.nudge()
		g.Eventually(b.user("tukpub"), patient, often).
			Should(And(HaveField("Permissions", ContainElement("CONNECT")), HaveField("Denied", BeEmpty())))
		g.Eventually(func() (*mssql.LoginState, error) {
			db, err := b.connector.Open(b.Context(), mssql.Target{Namespace: "web", Server: "quisec", Role: credentials.RoleSA})
			if err != nil {
				return nil, err
			}
			return mssql.ReadLogin(b.Context(), db, "app", "One-longpass.word1")
		}, patient, often).Should(And(HaveField("MayConnect", true), HaveField("ConnectDenied", false)))
		g.Eventually(b.reason, patient, often).Should(HavePrefix("LoginReady"))
	})

	t.Run("a new password reaches every replica", func(t *testing.T) {
		g := NewWithT(t)
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "app-password"},
			Data:       map[string][]byte{"password": []byte("Two-longpass.word2")},
		}
		g.Expect(b.hub.Client.Update(t.Context(), secret)).To(Succeed())
		b.nudge()
		for server := range b.engines {
			g.Eventually(b.state(server, "Two-longpass.word2"), patient, often).Should(Equal("fine"))
		}
	})

	t.Run("what it may do on the servers, and how its password is checked", func(t *testing.T) {
		g := NewWithT(t)
		b.as("quisec", "master", tsql.GrantServerPermission("ALTER TRACE", "app"))
		g.Eventually(func() error {
			if err := b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(l), l); err != nil {
				return err
			}
			l.Spec.OnServer = &v1alpha1.ServerRights{Roles: []v1alpha1.ServerRole{"processadmin"},
				Permissions: []v1alpha1.ServerPermission{"VIEW SERVER STATE"}}
			l.Spec.PasswordPolicy = &v1alpha1.PasswordPolicy{Expiration: true}
			return b.hub.Client.Update(t.Context(), l)
		}, patient, often).Should(Succeed())
		for server := range b.engines {
			g.Eventually(b.login(server), patient, often).Should(And(HaveField("Roles", ConsistOf("processadmin")),
				HaveField("Permissions", ConsistOf("CONNECT SQL", "VIEW SERVER STATE")),
				HaveField("Checked", true), HaveField("Expires", true)), "%s", server)
		}
		g.Eventually(b.reason, patient, often).Should(HavePrefix("LoginReady"))
	})

	t.Run("what it may do with schemas and objects", func(t *testing.T) {
		g := NewWithT(t)
		b.as("tukpub", "Content", tsql.Statement{Text: "CREATE TABLE dbo.Paid (id int PRIMARY KEY)"},
			tsql.Statement{Text: "GRANT INSERT ON dbo.Paid TO app"})
		grant := func(grants ...v1alpha1.UserGrant) {
			g.Eventually(func() error {
				if err := b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(l), l); err != nil {
					return err
				}
				l.Spec.Users[0].Grants = grants
				return b.hub.Client.Update(t.Context(), l)
			}, patient, often).Should(Succeed())
		}
		table := v1alpha1.UserGrant{Schema: "dbo", Object: "Paid",
			Permissions: []v1alpha1.ObjectPermission{"UPDATE", "INSERT"}}
		grant(table, v1alpha1.UserGrant{Schema: "dbo", Permissions: []v1alpha1.ObjectPermission{"EXECUTE"}},
			v1alpha1.UserGrant{Schema: "dbo", Object: "Later", Permissions: []v1alpha1.ObjectPermission{"SELECT"}})
		g.Eventually(b.reason, patient, often).Should(ContainSubstring("there is no dbo.Later in database Content"))
		has := func(schema, object, permission string) mssql.Grant {
			return mssql.Grant{On: tsql.Securable{Schema: schema, Object: object}, Permission: permission}
		}
		somebodys := has("dbo", "Paid", "INSERT")
		g.Expect(b.user("tukpub")()).
			To(HaveField("Grants", ConsistOf(has("dbo", "Paid", "UPDATE"), somebodys, has("dbo", "", "EXECUTE"))))
		grant(table)
		g.Eventually(b.user("tukpub"), patient, often).
			Should(HaveField("Grants", ConsistOf(has("dbo", "Paid", "UPDATE"), somebodys)))
		grant()
		g.Eventually(b.user("tukpub"), patient, often).Should(HaveField("Grants", ConsistOf(somebodys)))
		g.Eventually(b.reason, patient, often).Should(HavePrefix("LoginReady"))
	})

	t.Run("users follow the primary", func(t *testing.T) {
		g := NewWithT(t)
		b.primary("quisec")
		g.Eventually(b.user("quisec"), patient, often).Should(HaveField("Roles", ConsistOf("db_datareader")))
	})

	t.Run("a user that is declared no more keeps nothing that it was granted", func(t *testing.T) {
		g := NewWithT(t)
		change := func(users []v1alpha1.LoginUser) {
			g.Eventually(func() error {
				if err := b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(l), l); err != nil {
					return err
				}
				l.Spec.Users = users
				return b.hub.Client.Update(t.Context(), l)
			}, patient, often).Should(Succeed())
		}
		users := l.Spec.Users
		change(nil)
		g.Eventually(b.user("quisec"), patient, often).
			Should(And(HaveField("Roles", BeEmpty()), HaveField("Permissions", ConsistOf("CONNECT"))))
		change(users)
		g.Eventually(b.user("quisec"), patient, often).Should(HaveField("Roles", ConsistOf("db_datareader")))
	})

	t.Run("the Secret moves with its name", func(t *testing.T) {
		g := NewWithT(t)
		g.Eventually(func() error {
			if err := b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(l), l); err != nil {
				return err
			}
			l.Spec.ConnectionSecret = "app-database"
			return b.hub.Client.Update(t.Context(), l)
		}, patient, often).Should(Succeed())
		g.Eventually(func() error {
			return b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "app-database"}, &corev1.Secret{})
		}, patient, often).Should(Succeed())
		g.Eventually(func() bool {
			return apierrors.IsNotFound(
				b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "app-connection"}, &corev1.Secret{}),
			)
		}, patient, often).Should(BeTrue())
	})

	t.Run("is dropped with its object", func(t *testing.T) {
		g := NewWithT(t)
		b.as("quisec", "Content", tsql.Statement{Text: "CREATE SCHEMA [framework] AUTHORIZATION [app]"})
		b.as("quisec", "Content", tsql.Statement{Text: "CREATE PROCEDURE dbo.Pay WITH EXECUTE AS 'app' AS SELECT 1"})
		g.Expect(b.hub.Client.Delete(t.Context(), l)).To(Succeed())
		g.Eventually(b.reason, patient, often).
			Should(And(HavePrefix("LoginOwns"), ContainSubstring("ALTER AUTHORIZATION ON SCHEMA::[framework] TO dbo"),
				ContainSubstring("dbo.Pay runs as it")))
		for server := range b.engines {
			g.Expect(b.state(server, "Two-longpass.word2")()).
				To(Equal("disabled"), "nobody is let in, though the user cannot be dropped")
		}
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "app-database"}, &corev1.Secret{})).
			NotTo(Succeed())
		b.as("quisec", "Content", tsql.Statement{Text: "ALTER AUTHORIZATION ON SCHEMA::[framework] TO dbo"})
		b.as("quisec", "Content", tsql.Statement{Text: "DROP PROCEDURE dbo.Pay"})
		b.nudge()
		g.Eventually(func() error { return b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(l), l) }, patient, often).
			ShouldNot(Succeed())
		for server := range b.engines {
			g.Expect(b.state(server, "Two-longpass.word2")()).To(Equal("none"))
		}
		g.Expect(b.user("quisec")()).To(BeNil())
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "app-database"}, &corev1.Secret{})).
			NotTo(Succeed())
	})
}

// A database that was dropped is told, and holds no deletion: its user went with it.
func TestLoginOfADroppedDatabase(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	b.group()
	b.secret("app-password", map[string][]byte{"password": []byte("One-longpass.word1")})
	l := &v1alpha1.Login{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "app"}, Spec: v1alpha1.LoginSpec{
		Target:            v1alpha1.ServerOrGroup{AvailabilityGroup: "content"},
		PasswordSecretRef: &v1alpha1.SecretReference{Name: "app-password"}, ReclaimPolicy: v1alpha1.ReclaimDelete,
		Users: []v1alpha1.LoginUser{{Database: "Content", Roles: []v1alpha1.RoleName{"db_datareader"}}},
	}}
	g.Expect(b.hub.Client.Create(t.Context(), l)).To(Succeed())
	g.Eventually(b.reason, patient, often).Should(HavePrefix("LoginReady"))
	b.as("tukpub", "master", tsql.Statement{Text: "ALTER DATABASE [Content] SET SINGLE_USER WITH ROLLBACK IMMEDIATE"},
		tsql.DropDatabase("Content"))
	b.nudge()
	g.Eventually(b.reason, patient, often).
		Should(HavePrefix("ReferenceMissing: there is no database Content on tukpub-0, though it is one of the group's"))
	g.Expect(b.hub.Client.Delete(t.Context(), l)).To(Succeed())
	g.Eventually(b.reason, patient, often).Should(ContainSubstring("take it out of the group's spec.databases"))
	group := &v1alpha1.AvailabilityGroup{}
	g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "content"}, group)).To(Succeed())
	group.Spec.Databases = []v1alpha1.Database{{Name: "Archive"}}
	g.Expect(b.hub.Client.Update(t.Context(), group)).To(Succeed())
	g.Eventually(func() error { return b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(l), l) }, patient, often).
		ShouldNot(Succeed())
	g.Expect(b.state("tukpub", "One-longpass.word1")()).To(Equal("none"))
}
