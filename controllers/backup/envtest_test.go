// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backup_test

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/backup"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

const (
	patient = 3 * time.Minute
	often   = 100 * time.Millisecond
)

// With the manager's rights at a real API server: a Backup has its databases once its policy has told of them, and the
// outcome once the policy has the answers, which stays when these are gone. The test speaks for the policy's
// controller.
func TestABackupFollowsItsPolicy(t *testing.T) {
	g := NewWithT(t)
	log.SetLogger(logr.Discard())
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	mgr := apiserver.NewManager(t, hub.ManagerConfig(t), sites.NewProvider(sites.Options{Namespace: "geosql-system"}),
		apiserver.HubOptions())
	g.Expect(backup.SetupWithManager(mgr)).To(Succeed())
	apiserver.Run(t, mgr)
	ctx := t.Context()

	b := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "before-upgrade"},
		Spec: v1alpha1.BackupSpec{Policy: "content", CopyOnly: true}}
	g.Expect(hub.Client.Create(ctx, b)).To(Succeed())
	status := func() v1alpha1.BackupStatus {
		g.Expect(hub.Client.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
		return b.Status
	}
	reason := func() string {
		for _, c := range status().Conditions {
			if c.Type == v1alpha1.ConditionReady {
				return c.Reason
			}
		}
		return ""
	}
	g.Eventually(reason, patient, often).Should(Equal(v1alpha1.ReasonReferenceMissing))

	p := &v1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
		Spec: v1alpha1.BackupPolicySpec{Target: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"},
			Full: v1alpha1.BackupTimes{Schedule: "0 1 * * 0"}, Stores: []v1alpha1.ObjectName{"s3"}}}
	g.Expect(hub.Client.Create(ctx, p)).To(Succeed())
	tell := func(status v1alpha1.BackupPolicyStatus) {
		before := p.DeepCopy()
		p.Status = status
		g.Expect(hub.Client.Status().Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
	}
	tell(v1alpha1.BackupPolicyStatus{Databases: []v1alpha1.BackedUpDatabase{{Name: "Content"}}})
	g.Eventually(func() []v1alpha1.BackupOfDatabase { return status().Databases }, patient, often).
		Should(Equal([]v1alpha1.BackupOfDatabase{{Name: "Content"}}))
	g.Expect(reason()).To(Equal(v1alpha1.ReasonBackupTaking))

	now := metav1.Now().Rfc3339Copy()
	set := v1alpha1.BackupSet{ID: "6f", Type: v1alpha1.BackupFull, CopyOnly: true, Folder: "web/group/content/Content/x",
		Server: "quisec-0", FirstLSN: "10", LastLSN: "20", Begun: now, Finished: now,
		Duration: metav1.Duration{Duration: 1500 * time.Millisecond}, Bytes: 3000, StoredBytes: 1000, Ratio: "3.0",
		BytesPerSecond: 2000, Places: []v1alpha1.BackupSetPlace{{Store: "s3", Verified: true}}}
	answered := p.Status.DeepCopy()
	answered.Answers = []v1alpha1.BackupAnswer{{Request: b.Request("Content"), Set: set}}
	tell(*answered)
	g.Eventually(func() v1alpha1.BackupOutcome { return status().Outcome }, patient, often).
		Should(Equal(v1alpha1.BackupSucceeded))
	g.Expect(reason()).To(Equal(v1alpha1.ReasonBackupTaken))
	done := status()
	g.Expect(done.Databases[0].Set.Places).To(Equal(set.Places))
	g.Expect(done.Databases[0].Set.Duration).To(Equal(set.Duration))
	g.Expect(done.Completed).NotTo(BeNil())

	tell(v1alpha1.BackupPolicyStatus{})
	g.Expect(hub.Client.Delete(ctx, p)).To(Succeed())
	before := b.DeepCopy()
	b.Annotations = map[string]string{"look": "again"}
	g.Expect(hub.Client.Patch(ctx, b, client.MergeFrom(before))).To(Succeed())
	g.Consistently(func() v1alpha1.BackupStatus { return status() }, time.Second, often).Should(Equal(done))
	b.Spec.CopyOnly = false
	g.Expect(hub.Client.Update(ctx, b)).To(MatchError(ContainSubstring("a Backup is taken once")))
	g.Expect(hub.Client.Delete(ctx, b)).To(Succeed())
	g.Eventually(func() error { return hub.Client.Get(ctx, client.ObjectKeyFromObject(b), b) }, patient, often).
		Should(MatchError(ContainSubstring("not found")))
}
