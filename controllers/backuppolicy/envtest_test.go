// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backuppolicy_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/backuppolicy"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/sidecars"
	"geosql.dev/operator/test/support/apiserver"
)

const (
	system  = "geosql-system"
	patient = 3 * time.Minute
	often   = 100 * time.Millisecond
	// nobody answers there.
	nobody = "127.0.0.1:1"
)

// bed is a hub that is a site itself, another site, and the controller alone: nobody's engine or sidecar answers.
type bed struct {
	*testing.T
	hub, site *apiserver.Server
	agents    *agents
}

// agents are what the sidecars are told, for true, and what they say, by the test: nothing while it has none say it.
type agents struct {
	sidecars.Sidecars
	mu   sync.Mutex
	says []backups.Status
}

func (a *agents) say(all ...backups.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.says = all
}

// Part decodes what the test has every sidecar say.
func (a *agents) Part(ctx context.Context, namespace string, server v1alpha1.ServerName, part string, into any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.says == nil {
		return a.Sidecars.Part(ctx, namespace, server, part, into)
	}
	content, err := json.Marshal(a.says)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}

func newBed(t *testing.T) *bed {
	t.Helper()
	g := NewWithT(t)
	log.SetLogger(logr.Discard())
	b := &bed{T: t, hub: apiserver.StartHub(t), site: apiserver.StartMember(t)}
	b.hub.Namespace(t, system)
	b.site.Join(t, b.hub, system, "tukwila", "web")
	b.hub.JoinHub(t, "dublin", "web")
	for server, site := range map[string]v1alpha1.SiteName{"tukpub": "tukwila", "tuksec": "tukwila", "dubsec": "dublin"} {
		volume := func() *v1alpha1.Volume { return &v1alpha1.Volume{Size: resource.MustParse("1Gi")} }
		g.Expect(b.hub.Client.Create(t.Context(), &v1alpha1.SQLServer{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: server},
			Spec: v1alpha1.SQLServerSpec{Site: site, AcceptEULA: true, Edition: "Developer", Image: "engine",
				Storage: &v1alpha1.ServerStorage{Data: volume(), Log: volume(), TempDB: volume(), Backup: volume()}}})).
			To(Succeed())
	}
	connector := mssql.NewConnector(mssql.Options{Access: mssql.SecretAccess{Reader: b.hub.Client},
		Address: func(mssql.Target) string { return nobody }})
	t.Cleanup(func() { _ = connector.Close() })
	provider := sites.NewProvider(sites.Options{Namespace: system, Heartbeat: 300 * time.Millisecond,
		UnknownAfter: 1500 * time.Millisecond, ProbeTimeout: time.Second, CallTimeout: 2 * time.Second})
	mgr := apiserver.NewManager(t, b.hub.ManagerConfig(t), provider, apiserver.HubOptions())
	b.agents = &agents{Sidecars: sidecars.Sidecars{Sites: provider, Hub: mgr.GetLocalManager().GetClient(),
		Access: connector, Address: func(string, v1alpha1.ServerName) string { return nobody }}}
	g.Expect(backuppolicy.SetupWithManager(mgr, backuppolicy.Options{Sites: provider, Connector: connector,
		Sidecars: b.agents})).To(Succeed())
	apiserver.Run(t, mgr)
	return b
}

// replicas are those of the group: the servers, and a witness.
func replicas(servers ...v1alpha1.ServerName) (all []v1alpha1.Replica) {
	for _, server := range servers {
		all = append(all, v1alpha1.Replica{Server: server, AvailabilityMode: v1alpha1.SynchronousCommit})
	}
	return append(all, v1alpha1.Replica{Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly})
}

// declare makes a group of tukpub and dubsec with a policy that keeps its backups in a bucket.
func (b *bed) declare() *v1alpha1.BackupPolicy {
	b.Helper()
	policy := &v1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "nightly"},
		Spec: v1alpha1.BackupPolicySpec{Target: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"},
			Full: v1alpha1.BackupTimes{Schedule: "0 1 * * 0"}, Stores: []v1alpha1.ObjectName{"bucket"},
			Retention: &v1alpha1.BackupRetention{Fulls: 2}}}
	for _, obj := range []client.Object{
		&v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
			Spec: v1alpha1.AvailabilityGroupSpec{InitialPrimary: "tukpub", Replicas: replicas("tukpub", "dubsec")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "keys"}, Data: map[string][]byte{
			v1alpha1.KeyAccessKeyID: []byte("somebody"), v1alpha1.KeySecretAccessKey: []byte("first-secret")}},
		&v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "bucket"},
			Spec: v1alpha1.BackupStoreSpec{S3: &v1alpha1.S3Bucket{Endpoint: "https://s3.example:9000/", Bucket: "backups",
				Prefix: "sql/live", CredentialsSecretRef: v1alpha1.SecretName{Name: "keys"}}}},
		policy,
	} {
		NewWithT(b.T).Expect(b.hub.Client.Create(b.Context(), obj)).To(Succeed())
	}
	return policy
}

// told is what a server's Secret has for its sidecar's backups, and the names of its other keys.
func (b *bed) told(at *apiserver.Server, server v1alpha1.ServerName) (all []orders.Backup, others []string) {
	b.Helper()
	var secret corev1.Secret
	err := at.Client.Get(b.Context(), client.ObjectKey{Namespace: "web", Name: credentials.OrdersName(server)}, &secret)
	NewWithT(b.T).Expect(client.IgnoreNotFound(err)).To(Succeed())
	all, errs := orders.Backups(secret.Data)
	NewWithT(b.T).Expect(errs).To(BeEmpty())
	for key := range secret.Data {
		if key != orders.BackupKey("nightly") {
			others = append(others, key)
		}
	}
	return all, others
}

// secretKey is that with which a server reaches the bucket; empty for a server that has no order.
func (b *bed) secretKey(at *apiserver.Server, server v1alpha1.ServerName) func() string {
	return func() string {
		if all, _ := b.told(at, server); len(all) == 1 && len(all[0].Stores) == 1 {
			return all[0].Stores[0].SecretKey
		}
		return ""
	}
}

// uid is what the hub is known by.
func (b *bed) uid() string {
	uid, err := sites.HubUID(b.Context(), b.hub.Client)
	NewWithT(b.T).Expect(err).NotTo(HaveOccurred())
	return uid
}

// policy as it is now.
func (b *bed) policy() (v1alpha1.BackupPolicy, error) {
	var p v1alpha1.BackupPolicy
	err := b.hub.Client.Get(b.Context(), client.ObjectKey{Namespace: "web", Name: "nightly"}, &p)
	return p, err
}

// The order of a policy lies at the site of each server of its group, with the bucket's credentials of now; one that
// leaves the group has it no more, and none has it when the policy is deleted. What others tell the servers stays.
func TestThePolicysOrderIsAtTheServersSites(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	g.Expect(b.site.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web",
		Name: credentials.OrdersName("tukpub")}, Data: map[string][]byte{"group.content": []byte("{}")}})).To(Succeed())
	policy := b.declare()
	g.Eventually(b.secretKey(b.site, "tukpub"), patient, often).Should(Equal("first-secret"))
	g.Eventually(b.secretKey(b.hub, "dubsec"), patient, often).Should(Equal("first-secret"))
	all, others := b.told(b.site, "tukpub")
	g.Expect(others).To(ConsistOf("group.content"))
	g.Expect(all[0]).To(And(HaveField("Policy", "nightly"), HaveField("Target", "group/content"),
		HaveField("Group", "content"), HaveField("LogEvery", 5*time.Minute), HaveField("AtPrimary", true),
		HaveField("KeepFulls", 2), HaveField("Verify", true), HaveField("Owner", b.uid()), HaveField("TakeOver", BeEmpty())))
	g.Expect(all[0].Stores[0]).To(And(HaveField("Endpoint", "https://s3.example:9000"), HaveField("Bucket", "backups"),
		HaveField("Prefix", "sql/live"), HaveField("AccessKey", "somebody")))

	t.Run("nobody says what is backed up, and no secret is told", func(t *testing.T) {
		g := NewWithT(t)
		g.Eventually(func() *metav1.Condition {
			p, _ := b.policy()
			return meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
		}, patient, often).Should(And(HaveField("Status", metav1.ConditionUnknown),
			HaveField("Reason", v1alpha1.ReasonBackupUnknown), HaveField("Message", Not(ContainSubstring("first-secret")))))
		p, err := b.policy()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(p.Status.Servers).To(ConsistOf(v1alpha1.ServerName("tukpub"), v1alpha1.ServerName("dubsec")))
	})
	t.Run("what may be taken over is what a person says", func(t *testing.T) {
		g := NewWithT(t)
		p, err := b.policy()
		g.Expect(err).NotTo(HaveOccurred())
		before := p.DeepCopy()
		p.Annotations = map[string]string{v1alpha1.TakeOverBackupsAnnotation: "theirs"}
		g.Expect(b.hub.Client.Patch(t.Context(), &p, client.MergeFrom(before))).To(Succeed())
		g.Eventually(func() []string { all, _ := b.told(b.site, "tukpub"); return all[0].TakeOver }, patient, often).
			Should(Equal([]string{"theirs"}))
	})
	t.Run("credentials that are changed are everywhere", func(t *testing.T) {
		g := NewWithT(t)
		var keys corev1.Secret
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "keys"}, &keys)).To(Succeed())
		keys.Data[v1alpha1.KeySecretAccessKey] = []byte("second-secret")
		g.Expect(b.hub.Client.Update(t.Context(), &keys)).To(Succeed())
		g.Eventually(b.secretKey(b.site, "tukpub"), patient, often).Should(Equal("second-secret"))
		g.Eventually(b.secretKey(b.hub, "dubsec"), patient, often).Should(Equal("second-secret"))
	})
	t.Run("of an encryption the public key alone is told", func(t *testing.T) {
		g := NewWithT(t)
		key, err := age.GenerateX25519Identity()
		g.Expect(err).NotTo(HaveOccurred())
		var s v1alpha1.BackupStore
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "bucket"}, &s)).To(Succeed())
		s.Spec.Encryption = &v1alpha1.BackupEncryption{KeySecretRef: v1alpha1.SecretReference{Name: "backup-key"}}
		g.Expect(b.hub.Client.Update(t.Context(), &s)).To(Succeed())
		condition := func() *metav1.Condition {
			p, _ := b.policy()
			return meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
		}
		g.Eventually(condition, patient, often).Should(And(HaveField("Reason", v1alpha1.ReasonReferenceMissing),
			HaveField("Message", ContainSubstring("Secret backup-key is not there"))))
		all, _ := b.told(b.site, "tukpub")
		g.Expect(all[0].Stores[0].Recipient()).To(BeEmpty(), "what was told stays")
		g.Expect(b.hub.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web",
			Name: "backup-key"}, Data: map[string][]byte{v1alpha1.KeyStoreEncryption: []byte(key.String())}})).To(Succeed())
		g.Eventually(func() string { all, _ := b.told(b.site, "tukpub"); return all[0].Stores[0].Recipient() }, patient,
			often).Should(Equal(key.Recipient().String()))
		all, _ = b.told(b.site, "tukpub")
		g.Expect(all[0].Stores[0].Identities()).To(BeEmpty())
		g.Expect(all[0].Stores[0].Reached()).To(Equal("https://s3.example:9000"))
		g.Expect(all[0].Stores[0].Endpoint).To(Equal(orders.EncryptedEndpoint), "an earlier release sends nothing")
		var told corev1.Secret
		g.Expect(b.site.Client.Get(t.Context(), client.ObjectKey{Namespace: "web",
			Name: credentials.OrdersName("tukpub")}, &told)).To(Succeed())
		for _, value := range told.Data {
			g.Expect(string(value)).NotTo(ContainSubstring("AGE-SECRET-KEY"))
		}
	})
	t.Run("a server that leaves the group has the credentials no more", func(t *testing.T) {
		g := NewWithT(t)
		var group v1alpha1.AvailabilityGroup
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "content"}, &group)).To(Succeed())
		group.Spec.Replicas = replicas("tukpub", "tuksec")
		g.Expect(b.hub.Client.Update(t.Context(), &group)).To(Succeed())
		g.Eventually(b.secretKey(b.site, "tuksec"), patient, often).Should(Equal("second-secret"))
		g.Eventually(b.secretKey(b.hub, "dubsec"), patient, often).Should(BeEmpty())
		g.Eventually(func() []v1alpha1.ServerName { p, _ := b.policy(); return p.Status.Servers }, patient, often).
			Should(ConsistOf(v1alpha1.ServerName("tukpub"), v1alpha1.ServerName("tuksec")))
	})
	t.Run("what a Topology makes anew goes on", func(t *testing.T) {
		g := NewWithT(t)
		declared := &v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "all"},
			Spec: v1alpha1.TopologySpec{Servers: []v1alpha1.TopologyServer{{Name: "other"}},
				BackupPolicies: []v1alpha1.TopologyBackupPolicy{{Name: "nightly", BackupPolicySpec: policy.Spec}}}}
		g.Expect(b.hub.Client.Create(t.Context(), declared)).To(Succeed())
		anew := &v1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "nightly",
			Labels: map[string]string{v1alpha1.LabelTopology: "all"}}, Spec: policy.Spec}
		g.Eventually(func() error {
			p, err := b.policy()
			if err != nil {
				return err
			}
			p.Labels = anew.Labels
			return b.hub.Client.Update(t.Context(), &p)
		}, patient, often).Should(Succeed())
		g.Expect(b.hub.Client.Delete(t.Context(), policy)).To(Succeed())
		g.Eventually(func() bool { _, err := b.policy(); return apierrors.IsNotFound(err) }, patient, often).Should(BeTrue())
		for _, server := range []v1alpha1.ServerName{"tukpub", "tuksec"} {
			g.Expect(b.secretKey(b.site, server)()).To(Equal("second-secret"), string(server))
		}
		g.Expect(b.hub.Client.Create(t.Context(), anew)).To(Succeed())
		g.Eventually(func() []v1alpha1.ServerName { p, _ := b.policy(); return p.Status.Servers }, patient, often).
			Should(ConsistOf(v1alpha1.ServerName("tukpub"), v1alpha1.ServerName("tuksec")))
		g.Expect(b.hub.Client.Delete(t.Context(), declared)).To(Succeed())
		policy = anew
	})
	t.Run("a deleted policy stays until every site has heard of it", func(t *testing.T) {
		g := NewWithT(t)
		b.site.Wire.Cut()
		g.Expect(b.hub.Client.Delete(t.Context(), policy)).To(Succeed())
		g.Eventually(func() string {
			p, _ := b.policy()
			if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); c != nil {
				return c.Reason + ": " + c.Message
			}
			return ""
		}, patient, often).Should(And(HavePrefix(v1alpha1.ReasonDeleting), ContainSubstring("tukpub-0 does not answer"),
			ContainSubstring("if server tukpub is gone for good")))
		g.Expect(b.secretKey(b.site, "tukpub")()).To(Equal("second-secret"))
		b.site.Wire.Mend()
		g.Eventually(func() bool { _, err := b.policy(); return apierrors.IsNotFound(err) }, patient, often).Should(BeTrue())
		for _, server := range []v1alpha1.ServerName{"tukpub", "tuksec"} {
			all, _ := b.told(b.site, server)
			g.Expect(all).To(BeEmpty(), string(server))
		}
		_, others := b.told(b.site, "tukpub")
		g.Expect(others).To(ConsistOf("group.content"), "what the group's controller tells stays")
	})
}
