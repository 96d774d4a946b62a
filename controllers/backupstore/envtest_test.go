// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backupstore_test

import (
	"testing"
	"time"

	"filippo.io/age"
	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/backupstore"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/bucket"
)

const (
	patient = 3 * time.Minute
	often   = 100 * time.Millisecond
)

// A store is tried with the Secrets of now before it is Ready, and is let go of once no policy names it.
func TestAStoreIsTriedAndLetGoOf(t *testing.T) {
	g := NewWithT(t)
	log.SetLogger(logr.Discard())
	hub, s3 := apiserver.StartHub(t), bucket.Start(t)
	for _, namespace := range []string{"geosql-system", "web"} {
		hub.Namespace(t, namespace)
	}
	provider := sites.NewProvider(sites.Options{Namespace: "geosql-system"})
	mgr := apiserver.NewManager(t, hub.ManagerConfig(t), provider, apiserver.HubOptions())
	g.Expect(backupstore.SetupWithManager(mgr, backupstore.Options{Sites: provider})).To(Succeed())
	apiserver.Run(t, mgr)

	key := client.ObjectKey{Namespace: "web", Name: "s3"}
	ready := func() string {
		var s v1alpha1.BackupStore
		_ = hub.Client.Get(t.Context(), key, &s)
		if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); c != nil {
			return c.Reason + ": " + c.Message
		}
		return ""
	}
	store := &v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "s3"},
		Spec: v1alpha1.BackupStoreSpec{S3: &v1alpha1.S3Bucket{Endpoint: s3.Bucket.Endpoint, Bucket: s3.Bucket.Name,
			CredentialsSecretRef: v1alpha1.SecretName{Name: "keys"}, CASecretRef: &v1alpha1.SecretReference{Name: "keys"}}}}
	g.Expect(hub.Client.Create(t.Context(), store)).To(Succeed())
	g.Eventually(ready, patient, often).Should(And(HavePrefix(v1alpha1.ReasonReferenceMissing),
		ContainSubstring("Secret keys is not there")))
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "keys"}, Data: map[string][]byte{
		v1alpha1.KeyAccessKeyID: []byte(s3.Bucket.AccessKey), v1alpha1.KeySecretAccessKey: []byte("another-secret"),
		v1alpha1.KeyStoreCA: s3.Bucket.CA}}
	g.Expect(hub.Client.Create(t.Context(), keys)).To(Succeed())
	g.Eventually(ready, patient, often).Should(And(HavePrefix(v1alpha1.ReasonStoreUnreachable),
		Not(ContainSubstring("another-secret"))))
	keys.Data[v1alpha1.KeySecretAccessKey] = []byte(s3.Bucket.SecretKey)
	g.Expect(hub.Client.Update(t.Context(), keys)).To(Succeed())
	g.Eventually(ready, patient, often).Should(HavePrefix(v1alpha1.ReasonStoreReady))

	// With an encryption it needs a key, of which the public one is shown; none that cannot be read is.
	pair, err := age.GenerateX25519Identity()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hub.Client.Get(t.Context(), key, store)).To(Succeed())
	before := client.MergeFrom(store.DeepCopy()) // its status changes by itself
	store.Spec.Encryption = &v1alpha1.BackupEncryption{KeySecretRef: v1alpha1.SecretReference{Name: "keys"}}
	g.Expect(hub.Client.Patch(t.Context(), store, before)).To(Succeed())
	g.Eventually(ready, patient, often).Should(And(HavePrefix(v1alpha1.ReasonReferenceMissing),
		ContainSubstring("Secret keys has no key age.key")))
	for _, row := range []struct{ value, says string }{
		{pair.String()[:40], "line 1: a private key is none"}, {pair.String(), v1alpha1.ReasonStoreReady}} {
		keys.Data[v1alpha1.KeyStoreEncryption] = []byte(row.value)
		g.Expect(hub.Client.Update(t.Context(), keys)).To(Succeed())
		g.Eventually(ready, patient, often).Should(And(ContainSubstring(row.says),
			Not(ContainSubstring(pair.String()[16:30]))))
	}
	g.Expect(hub.Client.Get(t.Context(), key, store)).To(Succeed())
	g.Expect(store.Status.Recipient).To(Equal(pair.Recipient().String()))

	policy := &v1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "nightly"},
		Spec: v1alpha1.BackupPolicySpec{Target: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"},
			Full: v1alpha1.BackupTimes{Schedule: "0 1 * * 0"}, Stores: []v1alpha1.ObjectName{"s3"}}}
	g.Expect(hub.Client.Create(t.Context(), policy)).To(Succeed())
	g.Eventually(func() int32 {
		_ = hub.Client.Get(t.Context(), key, store)
		return store.Status.Policies
	}, patient, often).Should(Equal(int32(1)))
	g.Expect(hub.Client.Delete(t.Context(), store)).To(Succeed())
	g.Eventually(ready, patient, often).Should(And(HavePrefix(v1alpha1.ReasonStoreInUse), ContainSubstring("nightly")))
	g.Expect(hub.Client.Delete(t.Context(), policy)).To(Succeed())
	g.Eventually(func() bool { return apierrors.IsNotFound(hub.Client.Get(t.Context(), key, store)) }, patient, often).
		Should(BeTrue())
}
