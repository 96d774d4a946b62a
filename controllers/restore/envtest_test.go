// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restore_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/restore"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/sidecars"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/engine"
)

const (
	system  = "geosql-system"
	patient = 3 * time.Minute
	often   = 100 * time.Millisecond
)

// bed is a hub, a site with a server, its engine, and the controller alone: the test speaks for the agent.
type bed struct {
	*testing.T
	hub, site *apiserver.Server
	sa        *mssql.DB
	agent     *agent
	// engines are quisec and what the test has beside it.
	engines []*engine.Engine
}

// agent is what the sidecar is told, for true, and what it says, by the test.
type agent struct {
	sidecars.Sidecars
	mu   sync.Mutex
	says []restores.Status
	// holds keeps it from ending what is withdrawn.
	holds bool
}

func (a *agent) hold(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.holds = on
}

func (a *agent) say(all ...restores.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.says = all
}

// Part decodes what the test has the agent say, which forgets what is withdrawn.
func (a *agent) Part(ctx context.Context, namespace string, server v1alpha1.ServerName, part string, into any) error {
	if part != restores.PartName {
		return nil
	}
	data, err := a.Orders(ctx, namespace, server)
	if err != nil {
		return err
	}
	told, _ := orders.Restores(data)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range told {
		if o.Withdrawn && !a.holds {
			a.says = slices.DeleteFunc(a.says, func(s restores.Status) bool { return s.UID == o.UID })
		}
	}
	// It has read its orders, and says so by a list that may be empty.
	content, err := json.Marshal(append([]restores.Status{}, a.says...))
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}

func newBed(t *testing.T, others ...v1alpha1.ServerName) *bed {
	t.Helper()
	g := NewWithT(t)
	log.SetLogger(logr.Discard())
	b := &bed{T: t, hub: apiserver.StartHub(t), site: apiserver.StartMember(t)}
	b.hub.Namespace(t, system)
	b.hub.Namespace(t, "web")
	b.site.Join(t, b.hub, system, "tukwila", "web")
	instance := engine.Start(t, "web", "quisec")
	b.engines = append(b.engines, instance)
	for _, other := range others {
		b.engines = append(b.engines, engine.Start(t, "web", other))
	}
	connector := engine.Connect(t, b.engines...)
	var err error
	b.sa, err = connector.Open(t.Context(), instance.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	for _, role := range []credentials.Role{credentials.RoleAgent, credentials.RoleOperator} {
		login := tsql.Login{Name: role.Login(), SID: credentials.SID("web", role.Login()),
			Password: instance.Access.Passwords.Of(role)}
		g.Expect(b.sa.Exec(t.Context(), tsql.CreateLogin(login))).To(Succeed())
	}
	provider := sites.NewProvider(sites.Options{Namespace: system, Heartbeat: 300 * time.Millisecond,
		UnknownAfter: 1500 * time.Millisecond, ProbeTimeout: time.Second, CallTimeout: 2 * time.Second})
	mgr := apiserver.NewManager(t, b.hub.ManagerConfig(t), provider, apiserver.HubOptions())
	b.agent = &agent{Sidecars: sidecars.Sidecars{Sites: provider, Hub: mgr.GetLocalManager().GetClient(),
		Access: connector}}
	g.Expect(restore.SetupWithManager(mgr, restore.Options{Sites: provider, Connector: connector,
		Sidecars: b.agent})).To(Succeed())
	apiserver.Run(t, mgr)

	size := v1alpha1.Volume{Size: resource.MustParse("1Gi")}
	b.create(&v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "quisec"},
		Spec: v1alpha1.SQLServerSpec{Site: "tukwila", AcceptEULA: true, Edition: "Developer", Image: "engine",
			Storage: &v1alpha1.ServerStorage{Data: &size, Log: &size, TempDB: &size, Backup: &size}}})
	b.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "s3"}, Data: map[string][]byte{
		v1alpha1.KeyAccessKeyID: []byte("who"), v1alpha1.KeySecretAccessKey: []byte("secret")}})
	b.create(&v1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "nightly"},
		Spec: v1alpha1.BackupPolicySpec{Target: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"},
			Full: v1alpha1.BackupTimes{Schedule: "0 1 * * 0"}, Stores: []v1alpha1.ObjectName{"s3"}}})
	return b
}

func (b *bed) create(object client.Object) {
	b.Helper()
	NewWithT(b.T).Expect(b.hub.Client.Create(b.Context(), object)).To(Succeed())
}

func (b *bed) store() {
	b.Helper()
	b.create(&v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "s3"},
		Spec: v1alpha1.BackupStoreSpec{S3: &v1alpha1.S3Bucket{Endpoint: "https://s3.example", Bucket: "backups",
			Prefix: "sql", CredentialsSecretRef: v1alpha1.SecretName{Name: "s3"}}}})
}

func (b *bed) restore(name string, spec v1alpha1.RestoreSpec) *v1alpha1.Restore {
	b.Helper()
	r := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}, Spec: spec}
	b.create(r)
	return r
}

// status of a Restore, as a function to wait for.
func (b *bed) status(name string) func() v1alpha1.RestoreStatus {
	return func() v1alpha1.RestoreStatus {
		var r v1alpha1.Restore
		_ = b.hub.Client.Get(b.Context(), client.ObjectKey{Namespace: "web", Name: name}, &r)
		return r.Status
	}
}

// order of a Restore at the site, as a function to wait for; nil when there is none.
func (b *bed) order(name string) func() *orders.Restore {
	return func() *orders.Restore {
		var secret corev1.Secret
		key := client.ObjectKey{Namespace: "web", Name: credentials.OrdersName("quisec")}
		_ = b.site.Client.Get(b.Context(), key, &secret)
		all, errs := orders.Restores(secret.Data)
		NewWithT(b.T).Expect(errs).To(BeEmpty())
		for _, o := range all {
			if o.Name == name {
				return &o
			}
		}
		return nil
	}
}

// rights are the permissions that the agent has on the server, as a function to wait for.
func (b *bed) rights() []string {
	principals, err := mssql.ReadPrincipals(b.Context(), b.sa)
	NewWithT(b.T).Expect(err).NotTo(HaveOccurred())
	return principals.Permissions[credentials.RoleAgent.Login()]
}

const mayMake = "CREATE ANY DATABASE"

// made is how the agent makes a database: the Restore's UID is in the names of its files.
func made(database string, r *v1alpha1.Restore) string {
	file := database + "-" + string(r.UID)
	return "CREATE DATABASE " + database + " ON (NAME = d, FILENAME = '/var/opt/mssql/data/" + file + ".mdf') LOG ON " +
		"(NAME = l, FILENAME = '/var/opt/mssql-log/" + file + ".ldf')"
}

func ready(status metav1.ConditionStatus, reason string) types.GomegaMatcher {
	return HaveField("Conditions", ContainElement(And(HaveField("Type", v1alpha1.ConditionReady),
		HaveField("Status", status), HaveField("Reason", reason))))
}

// A Restore is carried out once: it waits for what it refers to, gives the right and the order, shows how far the agent
// is, keeps the outcome, and takes everything back.
func TestARestoreIsCarriedOutOnce(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	moment := metav1.NewTime(time.Date(2026, 3, 1, 11, 59, 0, 0, time.UTC))
	spec := v1alpha1.RestoreSpec{Source: v1alpha1.RestoreSource{Policy: "nightly", Database: "Content"},
		To: &v1alpha1.RestorePoint{Time: &moment}, Target: v1alpha1.RestoreTarget{Server: "quisec", Database: "Back"}}
	r := b.restore("back", spec)
	g.Eventually(b.status("back"), patient, often).Should(ready(metav1.ConditionFalse, v1alpha1.ReasonReferenceMissing))
	g.Expect(b.rights()).NotTo(ContainElement(mayMake))
	b.store()
	g.Eventually(b.order("back"), patient, often).ShouldNot(BeNil())
	order := b.order("back")()
	g.Expect(order.UID).To(Equal(string(r.UID)))
	g.Expect(order.Folder).To(Equal("web/group/content/Content"))
	g.Expect(order.Database).To(Equal("Back"))
	g.Expect(order.Time.Equal(moment.Time)).To(BeTrue())
	g.Expect(order.Stores).To(ConsistOf(And(HaveField("SecretKey", "secret"), HaveField("Prefix", "sql"))))
	g.Expect(b.rights()).To(ContainElement(mayMake), "before the order")

	says := restores.Status{Name: "back", UID: string(r.UID), Step: restores.Downloading, Database: "Back", Store: "s3",
		Sets: 1, Bytes: 100, Downloaded: 40, Started: time.Now(), ToTime: moment.Time,
		Chain: []restores.SetStatus{{ID: "f", Kind: backup.Full, FirstLSN: "1", LastLSN: "2", Finished: time.Now(),
			Bytes: 100}}}
	b.agent.say(says)
	g.Eventually(b.status("back"), patient, often).Should(And(ready(metav1.ConditionFalse, v1alpha1.ReasonRestoring),
		HaveField("DownloadedBytes", int64(40)), HaveField("Chain", HaveLen(1)),
		HaveField("Phase", v1alpha1.RestoreRunning)))

	// The agent makes the database, which is its own then.
	for _, text := range []string{made("Back", r), "ALTER AUTHORIZATION ON DATABASE::Back TO geosql_agent"} {
		_, err := b.sa.Handle().ExecContext(t.Context(), text)
		g.Expect(err).NotTo(HaveOccurred())
	}
	says.Step, says.Restored = restores.Ended, 1
	says.Result = &restores.Result{Outcome: restores.Succeeded, Reason: v1alpha1.ReasonRestored, Message: "it is restored",
		Finished: time.Now()}
	b.agent.say(says)
	g.Eventually(b.status("back"), patient, often).Should(And(ready(metav1.ConditionTrue, v1alpha1.ReasonRestored),
		HaveField("Phase", v1alpha1.RestoreCompleted), HaveField("Outcome", v1alpha1.RestoreSucceeded)))
	g.Expect(b.order("back")()).To(BeNil())
	g.Expect(b.rights()).NotTo(ContainElement(mayMake))
	databases, err := mssql.ReadDatabases(t.Context(), b.sa)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(databases["Back"].Owner).To(Equal("sa"))
	g.Expect(b.status("back")().RestoredTo.Time.Time.Equal(moment.Time)).To(BeTrue())

	// Once only: a record stays as it is, whatever is said.
	b.agent.say()
	g.Consistently(b.order("back"), 2*time.Second, often).Should(BeNil())
	g.Expect(b.hub.Client.Delete(t.Context(), r)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(r), r))
	}, patient, often).Should(BeTrue())
}

// What is declared can forbid it; a refusal is the outcome, and nothing was told. One that is deleted while it is
// carried out is withdrawn.
func TestARestoreIsRefusedOrWithdrawn(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	b.store()
	b.create(&v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
		Spec: v1alpha1.AvailabilityGroupSpec{InitialPrimary: "tukpub", Replicas: []v1alpha1.Replica{
			{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit},
			{Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit},
			{Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly}},
			Databases: []v1alpha1.Database{{Name: "Content"}}}})
	source := v1alpha1.RestoreSource{Store: "s3", Path: "web/group/content/Content"}
	b.restore("beside", v1alpha1.RestoreSpec{Source: source, Target: v1alpha1.RestoreTarget{Server: "quisec"}})
	g.Eventually(b.status("beside"), patient, often).Should(And(
		ready(metav1.ConditionFalse, v1alpha1.ReasonRestoreRefused), HaveField("Phase", v1alpha1.RestoreCompleted),
		HaveField("Outcome", v1alpha1.RestoreRefused), HaveField("Message", ContainSubstring("AvailabilityGroup content"))))
	g.Expect(b.order("beside")()).To(BeNil())

	// The private keys are with the order of a Restore alone, the former ones too, and go with it.
	var keys []string
	for range 2 {
		key, err := age.GenerateX25519Identity()
		g.Expect(err).NotTo(HaveOccurred())
		keys = append(keys, key.String())
	}
	b.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "backup-key"},
		Data: map[string][]byte{"keys": []byte("# two\n" + strings.Join(keys, "\n") + "\n")}})
	var s v1alpha1.BackupStore
	g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "s3"}, &s)).To(Succeed())
	s.Spec.Encryption = &v1alpha1.BackupEncryption{KeySecretRef: v1alpha1.SecretReference{Name: "backup-key", Key: "keys"}}
	g.Expect(b.hub.Client.Update(t.Context(), &s)).To(Succeed())
	r := b.restore("away", v1alpha1.RestoreSpec{Source: source,
		Target: v1alpha1.RestoreTarget{Server: "quisec", Database: "Aside"}})
	g.Eventually(b.order("away"), patient, often).Should(And(Not(BeNil()), HaveField("Stores", ConsistOf(And(
		HaveField("Identities()", keys), HaveField("Reached()", "https://s3.example"))))))
	g.Expect(json.Marshal(b.status("away")())).NotTo(ContainSubstring("AGE-SECRET-KEY"))
	g.Expect(b.hub.Client.Delete(t.Context(), r)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(r), r))
	}, patient, often).Should(BeTrue())
	g.Expect(b.order("away")()).To(BeNil())
	g.Expect(b.rights()).NotTo(ContainElement(mayMake))
}

// What is checked the agent may check for that time alone: it owns the database, or, being a user of it, has the role.
func TestACheckIsAllowedForItsTime(t *testing.T) {
	b := newBed(t)
	b.store()
	for _, row := range []struct{ name, database, user string }{
		{name: "plain", database: "Plain"},
		{name: "backed-up", database: "BackedUp", user: "CREATE USER geosql_agent FOR LOGIN geosql_agent"},
		{name: "orphaned", database: "Orphaned", user: "CREATE LOGIN past WITH PASSWORD = 'L0gin-of-another-server'; " +
			"CREATE USER geosql_agent FOR LOGIN past; DROP LOGIN past"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			run := func(text string) {
				_, err := b.sa.Handle().ExecContext(t.Context(), text)
				g.Expect(err).NotTo(HaveOccurred(), text)
			}
			agent, err := b.engines[0].Connector(t).Open(t.Context(), b.engines[0].Target(credentials.RoleAgent))
			g.Expect(err).NotTo(HaveOccurred())
			check := func() error { return agent.Exec(t.Context(), tsql.CheckDatabase(row.database)) }
			r := b.restore(row.name, v1alpha1.RestoreSpec{Check: true, Source: v1alpha1.RestoreSource{Policy: "nightly",
				Database: "Content"}, Target: v1alpha1.RestoreTarget{Server: "quisec",
				Database: v1alpha1.DatabaseName(row.database)}})
			g.Eventually(b.order(row.name), patient, often).Should(HaveValue(HaveField("Check", true)))
			run(made(row.database, r))
			if row.user != "" {
				run("USE " + row.database + "; " + row.user + "; USE master")
			}
			g.Expect(check()).To(Satisfy(denied))
			says := restores.Status{Name: row.name, UID: string(r.UID), Step: restores.Checking, Database: row.database,
				Denied: true}
			b.agent.say(says)
			g.Eventually(check, patient, often).Should(Succeed())
			says.Step, says.Denied, says.Checked = restores.Ended, false, true
			says.Result = &restores.Result{Outcome: restores.Succeeded, Reason: v1alpha1.ReasonRestored,
				Message: "it is restored", Finished: time.Now()}
			b.agent.say(says)
			g.Eventually(b.status(row.name), patient, often).Should(And(HaveField("Phase", v1alpha1.RestoreCompleted),
				HaveField("Outcome", v1alpha1.RestoreSucceeded), HaveField("Checked", true)))
			g.Expect(check()).To(Satisfy(denied))
		})
	}
}

func denied(err error) bool { return mssql.HasNumber(err, mssql.NotAllowedToCheck...) }

// What was restored by way of trial is dropped when the Restore has ended, and when it is deleted before; what somebody
// else made under the name stays.
func TestWhatWasMadeForATrialIsDropped(t *testing.T) {
	b := newBed(t)
	b.store()
	for _, row := range []struct {
		name                   string
		foreign, deleted, stay bool
	}{{name: "ended"}, {name: "deleted", deleted: true}, {name: "foreign", foreign: true, stay: true}} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			database := "Trial_" + row.name
			r := b.restore(row.name, v1alpha1.RestoreSpec{Check: true, Discard: true,
				Source: v1alpha1.RestoreSource{Policy: "nightly", Database: "Content"},
				Target: v1alpha1.RestoreTarget{Server: "quisec", Database: v1alpha1.DatabaseName(database)}})
			g.Eventually(b.order(row.name), patient, often).ShouldNot(BeNil())
			maker := r
			if row.foreign {
				maker = &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{UID: "somebody-else"}}
			}
			_, err := b.sa.Handle().ExecContext(t.Context(), made(database, maker))
			g.Expect(err).NotTo(HaveOccurred())
			exists := func() bool {
				found, err := mssql.ReadDatabasePlaces(t.Context(), b.sa, database)
				g.Expect(err).NotTo(HaveOccurred())
				return found != nil
			}
			says := restores.Status{Name: row.name, UID: string(r.UID), Step: restores.Checking, Database: database}
			b.agent.hold(true)
			b.agent.say(says)
			if row.deleted {
				g.Expect(b.hub.Client.Delete(t.Context(), r)).To(Succeed())
			} else {
				says.Step, says.Checked = restores.Ended, true
				says.Result = &restores.Result{Outcome: restores.Succeeded, Reason: v1alpha1.ReasonRestored,
					Message: "it is restored", Finished: time.Now()}
				b.agent.say(says)
			}
			g.Eventually(b.order(row.name), patient, often).Should(HaveValue(HaveField("Withdrawn", true)))
			g.Consistently(exists, time.Second, often).Should(BeTrue(), "its agent has not ended yet")
			b.agent.hold(false)
			if row.deleted {
				g.Eventually(func() bool {
					return apierrors.IsNotFound(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(r), r))
				}, patient, often).Should(BeTrue())
			} else {
				g.Eventually(b.status(row.name), patient, often).Should(HaveField("Phase", v1alpha1.RestoreCompleted))
			}
			g.Expect(exists()).To(Equal(row.stay))
		})
	}
}
