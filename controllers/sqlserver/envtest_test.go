// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sqlserver_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

const (
	system  = "geosql-system"
	patient = 3 * time.Minute
	often   = 100 * time.Millisecond
)

func reason(want string) func(metav1.Condition) bool {
	return func(c metav1.Condition) bool { return c.Reason == want }
}

func TestController(t *testing.T) {
	b := newBed(t)

	t.Run("makes a server's objects at its site, credentials there first", func(t *testing.T) {
		g := NewWithT(t)
		b.create(t, "tukpub", nil)
		var set appsv1.StatefulSet
		g.Eventually(get(t, b.site.Client, "tukpub", &set), patient, often).Should(Succeed(), b.why(t, "tukpub"))
		affinity := set.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		g.Expect(affinity.NodeSelectorTerms[0].MatchExpressions[0].Values).To(Equal([]string{"tukwila-worker"}))
		g.Expect(set.Spec.UpdateStrategy.Type).To(Equal(appsv1.OnDeleteStatefulSetStrategyType))
		for _, role := range []string{"data", "log", "tempdb", "backup"} {
			var c corev1.PersistentVolumeClaim
			g.Expect(get(t, b.site.Client, "tukpub-"+role, &c)()).To(Succeed())
			g.Expect(c.OwnerReferences).To(BeEmpty(), "a volume outlives its pod and its StatefulSet")
		}
		var atSite, atHub corev1.Secret
		g.Expect(get(t, b.site.Client, "tukpub-credentials", &atSite)()).To(Succeed())
		g.Expect(get(t, b.hub.Client, "tukpub-credentials", &atHub)()).To(Succeed())
		g.Expect(atHub.Data).To(Equal(atSite.Data))
		g.Expect(atSite.Data).To(HaveLen(6), "five passwords and the marks of the agreement")
		var tls corev1.Secret
		g.Expect(get(t, b.site.Client, "tukpub-tls", &tls)()).To(Succeed())
		certificate, err := credentials.ParseCertificate(tls.Data)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(certificate.Covers("tukpub-0")).To(BeTrue())
		g.Eventually(b.ready(t, "tukpub"), patient, often).Should(Satisfy(reason(v1alpha1.ReasonPodPending)))
	})

	t.Run("brings the engine's logins to what they should be", func(t *testing.T) {
		g := NewWithT(t)
		b.startPod(t, "tukpub")
		g.Eventually(b.ready(t, "tukpub"), patient, often).Should(Satisfy(reason(v1alpha1.ReasonEngineNotAnswering)))
		engine := b.startEngine(t, "tukpub")
		// tempdb is moved to its volume, which takes one restart of the pod.
		b.replacePod(t, "tukpub", engine)
		g.Eventually(b.ready(t, "tukpub"), patient, often).
			Should(HaveField("Status", metav1.ConditionTrue), b.why(t, "tukpub"))
		var s v1alpha1.SQLServer
		g.Expect(get(t, b.hub.Client, "tukpub", &s)()).To(Succeed())
		g.Expect(meta.IsStatusConditionFalse(s.Status.Conditions, v1alpha1.ConditionRestartPending)).
			To(BeTrue(), "one restart was enough: %v", s.Status.Conditions)
		g.Expect(s.Status.Version).To(HavePrefix("16."))
		g.Expect(s.Status.Engine).NotTo(BeEmpty())
		g.Expect(s.Status.StartTime).NotTo(BeNil())
		g.Expect(s.Status.CertificateExpires).NotTo(BeNil())
		connector := engine.Connector(t)
		for _, role := range credentials.Roles() {
			db, err := connector.Open(t.Context(), engine.Target(role))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(db.Ping(t.Context())).To(Succeed(), role.Login())
		}
		agent, err := connector.Open(t.Context(), engine.Target(credentials.RoleAgent))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(agent.Exec(t.Context(), tsql.Statement{Text: "CREATE LOGIN intruder WITH PASSWORD = N'Aa1-Aa1-Aa1-Aa1'"})).
			NotTo(Succeed(),
				"the sidecar's login has what it needs and no more")
	})

	t.Run("a login that was taken away or given another password is put right", func(t *testing.T) {
		g := NewWithT(t)
		var atSite corev1.Secret
		g.Expect(get(t, b.site.Client, "tukpub-credentials", &atSite)()).To(Succeed())
		atSite.Data[credentials.KeyAgent] = []byte("Another-1-by-a-person")
		g.Expect(b.site.Client.Update(t.Context(), &atSite)).To(Succeed())
		connector := mssql.NewConnector(mssql.Options{
			Access: mssql.AccessFunc(func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) {
				return mssql.Access{Passwords: atSite.Data, CA: certificateOf(t, b, "tukpub")[credentials.KeyCA]}, nil
			}),
			Address: func(mssql.Target) string { return *b.engine.Load() },
		})
		defer connector.Close()
		g.Eventually(func() error {
			db, err := connector.Open(t.Context(), mssql.Target{Namespace: "web", Server: "tukpub", Role: credentials.RoleAgent})
			if err != nil {
				return err
			}
			return db.Ping(t.Context())
		}, patient, often).Should(Succeed())
	})

	t.Run(
		"passwords changed at the site or in the hub reach the engine, and nobody who is connected is cut off",
		func(t *testing.T) {
			g := NewWithT(t)
			var atSite, atHub corev1.Secret
			g.Expect(get(t, b.site.Client, "tukpub-credentials", &atSite)()).To(Succeed())
			access := func() mssql.AccessFunc {
				data := maps.Clone(atSite.Data)
				return func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) {
					return mssql.Access{Passwords: data, CA: certificateOf(t, b, "tukpub")[credentials.KeyCA]}, nil
				}
			}
			connect := func() *mssql.Connector {
				c := mssql.NewConnector(
					mssql.Options{Access: access(), Address: func(mssql.Target) string { return *b.engine.Load() }},
				)
				t.Cleanup(func() { _ = c.Close() })
				return c
			}
			alive := func(c *mssql.Connector, role credentials.Role) error {
				db, err := c.Open(t.Context(), mssql.Target{Namespace: "web", Server: "tukpub", Role: role})
				if err != nil {
					return err
				}
				return db.Exec(t.Context(), tsql.Alive())
			}
			before := connect()
			for _, role := range append(credentials.Roles(), credentials.RoleSA) {
				g.Expect(alive(before, role)).To(Succeed(), role.Login())
			}

			// sa and the sidecar at the site, the other two in the hub.
			atSite.Data[credentials.KeySA], atSite.Data[credentials.KeyAgent] = []byte(
				"Changed-1-at-the-site",
			), []byte(
				"Changed-2-at-the-site",
			)
			g.Expect(get(t, b.hub.Client, "tukpub-credentials", &atHub)()).To(Succeed())
			for _, key := range []string{credentials.KeyOperator, credentials.KeyReplication} {
				atHub.Data[key] = []byte("Changed-in-the-hub-" + key)
			}
			wanted := maps.Clone(atHub.Data)
			maps.Copy(
				wanted,
				map[string][]byte{
					credentials.KeySA:    atSite.Data[credentials.KeySA],
					credentials.KeyAgent: atSite.Data[credentials.KeyAgent],
				},
			)
			g.Expect(b.hub.Client.Update(t.Context(), &atHub)).To(Succeed())
			g.Expect(b.site.Client.Update(t.Context(), &atSite)).To(Succeed())

			atSite.Data = wanted
			after := connect()
			for _, role := range append(credentials.Roles(), credentials.RoleSA) {
				g.Eventually(func() error { return alive(after, role) }, patient, often).
					Should(Succeed(), "%s: %s", role.Login(), b.why(t, "tukpub")())
				g.Expect(alive(before, role)).To(Succeed(), "%s on a connection from before", role.Login())
			}
			g.Eventually(func(g Gomega) {
				var site, hub corev1.Secret
				g.Expect(get(t, b.site.Client, "tukpub-credentials", &site)()).To(Succeed())
				g.Expect(get(t, b.hub.Client, "tukpub-credentials", &hub)()).To(Succeed())
				g.Expect(site.Data).To(Equal(hub.Data))
				g.Expect(site.Data).NotTo(HaveKey(credentials.KeyPreviousSA))
				for _, role := range append(credentials.Roles(), credentials.RoleSA) {
					g.Expect(string(site.Data[role.Key()])).To(Equal(string(wanted[role.Key()])), role.Login())
				}
			}, patient, often).Should(Succeed())
			var pod corev1.Pod
			g.Expect(get(t, b.site.Client, "tukpub-0", &pod)()).To(Succeed())
			g.Expect(pod.Annotations).To(HaveKey("geosql.dev/refreshed"), "the sidecar's file is renewed now, not in a minute")
			g.Eventually(b.ready(t, "tukpub"), patient, often).
				Should(HaveField("Status", metav1.ConditionTrue), b.why(t, "tukpub"))
		},
	)

	t.Run("says at the site who may read the sidecars", func(t *testing.T) { b.readers(t, "tukpub") })

	t.Run("lets its pod be evicted only while its engine hosts no group", func(t *testing.T) { b.evictions(t, "tukpub") })

	t.Run("says who may connect to its pod", func(t *testing.T) { b.network(t, "tukpub") })

	t.Run("puts right what somebody changed", func(t *testing.T) {
		g := NewWithT(t)
		var set appsv1.StatefulSet
		g.Expect(get(t, b.site.Client, "tukpub", &set)()).To(Succeed())
		set.Spec.Replicas = ptr.To[int32](3)
		g.Expect(b.site.Client.Update(t.Context(), &set)).To(Succeed())
		g.Eventually(func(g Gomega) {
			g.Expect(get(t, b.site.Client, "tukpub", &set)()).To(Succeed())
			g.Expect(*set.Spec.Replicas).To(Equal(int32(1)))
		}, patient, often).Should(Succeed())
	})

	t.Run("a rebuilt hub adopts the site's passwords", func(t *testing.T) {
		g := NewWithT(t)
		var atSite, atHub corev1.Secret
		g.Expect(get(t, b.site.Client, "tukpub-credentials", &atSite)()).To(Succeed())
		g.Expect(get(t, b.hub.Client, "tukpub-credentials", &atHub)()).To(Succeed())
		g.Expect(b.hub.Client.Delete(t.Context(), &atHub)).To(Succeed())
		// The object is applied again, as it is in a rebuilt hub.
		var s v1alpha1.SQLServer
		g.Expect(get(t, b.hub.Client, "tukpub", &s)()).To(Succeed())
		again := client.MergeFrom(s.DeepCopy())
		s.Labels = map[string]string{"applied": "again"}
		g.Expect(b.hub.Client.Patch(t.Context(), &s, again)).To(Succeed())
		g.Eventually(func(g Gomega) {
			var again corev1.Secret
			g.Expect(get(t, b.hub.Client, "tukpub-credentials", &again)()).To(Succeed())
			g.Expect(again.Data).To(Equal(atSite.Data))
		}, patient, often).Should(Succeed())
	})

	t.Run("says which class excludes which node", func(t *testing.T) {
		g := NewWithT(t)
		b.create(t, "torn", func(s *v1alpha1.SQLServerSpec) { s.Storage.Backup.StorageClassName = ptr.To("archive") })
		g.Eventually(b.ready(t, "torn"), patient, often).Should(And(Satisfy(reason(v1alpha1.ReasonNoNodeForVolumes)),
			HaveField("Message", ContainSubstring(
				"class fast allows tukwila-worker; class archive allows tukwila-worker2; no node can serve"))))
		g.Expect(apierrors.IsNotFound(get(t, b.site.Client, "torn-data", &corev1.PersistentVolumeClaim{})())).
			To(BeTrue(), "no volume is claimed in vain")
	})

	t.Run("names the storage classes that exist", func(t *testing.T) {
		g := NewWithT(t)
		b.create(t, "classless", func(s *v1alpha1.SQLServerSpec) { s.Storage.Data.StorageClassName = ptr.To("quick") })
		g.Eventually(b.ready(t, "classless"), patient, often).
			Should(And(Satisfy(reason(v1alpha1.ReasonStorageClassNotFound)),
				HaveField("Message", ContainSubstring("existing classes: archive, capacity, fast"))))
	})

	t.Run("leaves a foreign StatefulSet alone", func(t *testing.T) {
		g := NewWithT(t)
		labels := map[string]string{"app": "theirs"}
		theirs := &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "foreign", Labels: labels},
			Spec: appsv1.StatefulSetSpec{
				Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
				},
			},
		}
		g.Expect(b.site.Client.Create(t.Context(), theirs)).To(Succeed())
		s := b.create(t, "foreign", nil)
		g.Eventually(b.ready(t, "foreign"), patient, often).Should(Satisfy(reason(v1alpha1.ReasonObjectConflict)))
		g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
		g.Eventually(b.ready(t, "foreign"), patient, often).Should(Satisfy(reason("NotFound")))
		g.Expect(get(t, b.site.Client, "foreign", theirs)()).To(Succeed(), "deletion takes nothing of somebody else's")
	})

	t.Run("leaves foreign Secrets alone", func(t *testing.T) {
		g := NewWithT(t)
		authority, err := credentials.NewAuthority(time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		certificate, err := authority.Issue([]string{"shop.example"}, time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		theirs := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop-tls"},
			Type:       corev1.SecretTypeTLS,
			Data:       certificate,
		}
		g.Expect(b.site.Client.Create(t.Context(), theirs)).To(Succeed())
		s := b.create(t, "shop", func(s *v1alpha1.SQLServerSpec) { s.ReclaimPolicy = v1alpha1.ReclaimDelete })
		g.Eventually(b.ready(t, "shop"), patient, often).Should(SatisfyAll(Satisfy(reason(v1alpha1.ReasonObjectConflict)),
			HaveField("Message", ContainSubstring("shop-tls of site tukwila"))))
		unchanged := func() {
			var now corev1.Secret
			g.Expect(get(t, b.site.Client, "shop-tls", &now)()).To(Succeed())
			g.Expect(now.Data).To(Equal(certificate))
			g.Expect(now.Labels).To(BeEmpty())
		}
		unchanged()
		g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
		g.Eventually(b.ready(t, "shop"), patient, often).Should(Satisfy(reason("NotFound")))
		unchanged()
	})

	t.Run("a certificate of the user's keeps its Secret, whatever its name", func(t *testing.T) {
		g := NewWithT(t)
		authority, err := credentials.NewAuthority(time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		certificate, err := authority.Issue([]string{"own-0"}, time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		theirs := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "own-tls"},
			Type:       corev1.SecretTypeTLS,
			Data:       certificate,
		}
		g.Expect(b.hub.Client.Create(t.Context(), theirs)).To(Succeed())
		s := b.create(t, "own", func(s *v1alpha1.SQLServerSpec) {
			s.ReclaimPolicy, s.TLS = v1alpha1.ReclaimDelete, &v1alpha1.ServerTLS{SecretName: "own-tls"}
		})
		g.Eventually(get(t, b.site.Client, "own", &appsv1.StatefulSet{}), patient, often).Should(Succeed())
		copied := certificateOf(t, b, "own")
		for key, value := range certificate {
			g.Expect(copied).To(HaveKeyWithValue(key, value), "the site has a copy")
		}
		g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
		b.collect(t, "own")
		g.Eventually(b.ready(t, "own"), patient, often).Should(Satisfy(reason("NotFound")))
		g.Expect(get(t, b.hub.Client, "own-tls", theirs)()).To(Succeed(), "it is the user's")
		g.Expect(theirs.Labels).To(BeEmpty())
		for key, value := range certificate {
			g.Expect(theirs.Data).To(HaveKeyWithValue(key, value), "nothing but whom to trust beside it is written into it")
		}
		g.Expect(apierrors.IsNotFound(get(t, b.site.Client, "own-tls", &corev1.Secret{})())).To(BeTrue(), "the copy goes")
	})

	t.Run("a pod that the API server refuses", func(t *testing.T) {
		g := NewWithT(t)
		s := b.create(t, "refused", nil)
		var set appsv1.StatefulSet
		g.Eventually(get(t, b.site.Client, "refused", &set), patient, often).Should(Succeed())
		for i, message := range []string{"exceeded quota: old",
			"create Pod refused-0 in StatefulSet refused failed error: pods \"refused-0\" is forbidden: must specify " +
				"limits.cpu for: agent"} {
			g.Expect(b.site.Client.Create(t.Context(),
				&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: fmt.Sprint("refused.", i)},
					InvolvedObject: corev1.ObjectReference{
						APIVersion: "apps/v1",
						Kind:       "StatefulSet",
						Namespace:  "web",
						Name:       set.Name,
						UID:        set.UID,
					},
					Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: message,
					LastTimestamp: metav1.NewTime(time.Now().Add(time.Duration(i-1) * time.Minute))})).
				To(Succeed())
		}
		g.Eventually(b.ready(t, "refused"), patient, often).Should(And(Satisfy(reason(v1alpha1.ReasonPodRefused)),
			HaveField("Message", ContainSubstring("must specify limits.cpu for: agent"))),
			"the API server's own words, the last ones; the first event may be reported before the second is there")
		g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
	})

	t.Run("a namespace that the site does not allow", func(t *testing.T) {
		g := NewWithT(t)
		b.hub.Namespace(t, "shop")
		s := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "astray"}}
		var pattern v1alpha1.SQLServer
		g.Expect(get(t, b.hub.Client, "tukpub", &pattern)()).To(Succeed())
		s.Spec = pattern.Spec
		g.Expect(b.hub.Client.Create(t.Context(), s)).To(Succeed())
		g.Eventually(func(g Gomega) {
			g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
			c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
			g.Expect(c).NotTo(BeNil())
			g.Expect(c.Reason).To(Equal(v1alpha1.ReasonNamespaceNotAllowed))
			g.Expect(c.Message).To(ContainSubstring("allowed are web"))
		}, patient, often).Should(Succeed())
	})

	t.Run("deletion waits for what names the server, and keeps its volumes", func(t *testing.T) {
		g := NewWithT(t)
		s := b.create(t, "kept", nil)
		g.Eventually(get(t, b.site.Client, "kept", &appsv1.StatefulSet{}), patient, often).Should(Succeed())
		d := &v1alpha1.Distributor{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "main"},
			Spec:       v1alpha1.DistributorSpec{Server: "kept"},
		}
		g.Expect(b.hub.Client.Create(t.Context(), d)).To(Succeed())
		g.Eventually(func() error {
			// The controller's cache must have seen the Distributor before the deletion.
			return b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(d), d)
		}, patient, often).Should(Succeed())
		g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
		g.Eventually(b.ready(t, "kept"), patient, often).Should(SatisfyAll(Satisfy(reason(v1alpha1.ReasonDeleting)),
			HaveField("Message", ContainSubstring("Distributor main"))))
		g.Expect(get(t, b.site.Client, "kept", &appsv1.StatefulSet{})()).To(Succeed())
		g.Expect(b.hub.Client.Delete(t.Context(), d)).To(Succeed())
		// No garbage collector runs here: the foreground deletion is ended by hand.
		b.collect(t, "kept")
		g.Eventually(b.ready(t, "kept"), patient, often).Should(Satisfy(reason("NotFound")))
		for _, claim := range []string{"kept-data", "kept-agent"} {
			g.Expect(get(t, b.site.Client, claim, &corev1.PersistentVolumeClaim{})()).To(Succeed())
		}
		g.Expect(get(t, b.site.Client, "kept-credentials", &corev1.Secret{})()).To(Succeed())
	})

	t.Run("one that its Topology declares goes alone, also when the deletion has waited", func(t *testing.T) {
		g := NewWithT(t)
		s := b.create(t, "member", func(s *v1alpha1.SQLServerSpec) { s.ReclaimPolicy = v1alpha1.ReclaimDelete })
		before := s.DeepCopy()
		s.Labels = map[string]string{v1alpha1.LabelTopology: "msdn"}
		g.Expect(b.hub.Client.Patch(t.Context(), s, client.MergeFrom(before))).To(Succeed())
		g.Eventually(get(t, b.site.Client, "member", &appsv1.StatefulSet{}), patient, often).Should(Succeed())
		d := &v1alpha1.Distributor{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "waits"},
			Spec:       v1alpha1.DistributorSpec{Server: "member"},
		}
		g.Expect(b.hub.Client.Create(t.Context(), d)).To(Succeed())
		g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
		g.Eventually(b.ready(t, "member"), patient, often).Should(Satisfy(reason(v1alpha1.ReasonDeleting)))
		msdn := &v1alpha1.Topology{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "msdn"},
			Spec:       v1alpha1.TopologySpec{Servers: []v1alpha1.TopologyServer{{Name: "member"}}},
		}
		g.Expect(b.hub.Client.Create(t.Context(), msdn)).To(Succeed())
		g.Eventually(b.ready(t, "member"), patient, often).Should(Satisfy(reason("NotFound")))
		set := &appsv1.StatefulSet{}
		g.Expect(get(t, b.site.Client, "member", set)()).To(Succeed())
		g.Expect(set.DeletionTimestamp).To(BeNil(), "its pod was left alone")
		g.Expect(get(t, b.site.Client, "member-data", &corev1.PersistentVolumeClaim{})()).To(Succeed())
		g.Expect(get(t, b.hub.Client, "member-credentials", &corev1.Secret{})()).To(Succeed())
		g.Expect(b.hub.Client.Delete(t.Context(), d)).To(Succeed())
	})

	t.Run("and takes them away when told to", func(t *testing.T) {
		g := NewWithT(t)
		s := b.create(t, "gone", func(s *v1alpha1.SQLServerSpec) { s.ReclaimPolicy = v1alpha1.ReclaimDelete })
		g.Eventually(get(t, b.site.Client, "gone", &appsv1.StatefulSet{}), patient, often).Should(Succeed())
		g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
		b.collect(t, "gone")
		g.Eventually(b.ready(t, "gone"), patient, often).Should(Satisfy(reason("NotFound")))
		for _, claim := range []string{"gone-data", "gone-agent"} {
			var c corev1.PersistentVolumeClaim
			err := get(t, b.site.Client, claim, &c)()
			g.Expect(apierrors.IsNotFound(err) || c.DeletionTimestamp != nil).
				To(BeTrue(), "the protection finalizer is the cluster's own")
		}
		g.Expect(apierrors.IsNotFound(get(t, b.site.Client, "gone", &networkingv1.NetworkPolicy{})())).To(BeTrue())
		g.Expect(apierrors.IsNotFound(get(t, b.site.Client, "gone-credentials", &corev1.Secret{})())).To(BeTrue())
		g.Expect(apierrors.IsNotFound(get(t, b.hub.Client, "gone-credentials", &corev1.Secret{})())).To(BeTrue())
	})

	t.Run("tells the sidecar the staging quota of its site", func(t *testing.T) { b.staging(t, "tukpub") })

	t.Run("gives a pod the buffers of its links with its next start", func(t *testing.T) { b.tuning(t, "tukpub") })

	t.Run("tells the sidecar which servers of other sites it times", func(t *testing.T) { b.timing(t, "tukpub") })

	t.Run("a silent site is unknown, and deletion waits for it until it is declared lost", func(t *testing.T) {
		g := NewWithT(t)
		b.site.Wire.Cut()
		defer b.site.Wire.Mend()
		g.Eventually(b.ready(t, "tukpub"), patient, often).
			Should(SatisfyAll(Satisfy(reason(v1alpha1.ReasonSiteUnreachable)),
				HaveField("Status", metav1.ConditionUnknown)))
		var s v1alpha1.SQLServer
		g.Expect(get(t, b.hub.Client, "tukpub", &s)()).To(Succeed())
		g.Expect(b.hub.Client.Delete(t.Context(), &s)).To(Succeed())
		g.Eventually(b.ready(t, "tukpub"), patient, often).
			Should(HaveField("Message", ContainSubstring("set its lifecycle to Lost")))
		var site v1alpha1.Site
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKey{Name: "tukwila"}, &site)).To(Succeed())
		site.Spec.Lifecycle = v1alpha1.SiteLost
		g.Expect(b.hub.Client.Update(t.Context(), &site)).To(Succeed())
		g.Eventually(b.ready(t, "tukpub"), patient, often).Should(Satisfy(reason("NotFound")))
		g.Expect(get(t, b.site.Client, "tukpub-data", &corev1.PersistentVolumeClaim{})()).To(Succeed())
	})
}
