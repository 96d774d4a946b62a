// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restore_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

// group declares one, with the database Content.
func (b *bed) group() {
	b.Helper()
	b.create(&v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
		Spec: v1alpha1.AvailabilityGroupSpec{InitialPrimary: "quisec", Replicas: []v1alpha1.Replica{
			{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit},
			{Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit},
			{Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly}},
			Databases: []v1alpha1.Database{{Name: "Content"}}}})
}

// seen is what the group's status says.
func (b *bed) seen(edit func(*v1alpha1.AvailabilityGroupStatus)) {
	b.Helper()
	NewWithT(b.T).Eventually(func() error {
		var group v1alpha1.AvailabilityGroup
		err := b.hub.Client.Get(b.Context(), client.ObjectKey{Namespace: "web", Name: "content"}, &group)
		if err != nil {
			return err
		}
		edit(&group.Status)
		return b.hub.Client.Status().Update(b.Context(), &group)
	}, patient, often).Should(Succeed())
}

// A Restore to a group goes to its primary, which is written down first, and ends when another becomes primary; what is
// restored becomes the operator's.
func TestARestoreGoesToTheGroupsPrimary(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	b.store()
	b.group()
	b.seen(func(s *v1alpha1.AvailabilityGroupStatus) { s.GroupID = "6f9619ff-8b86-d011-b42d-00c04fc964ff" })
	spec := v1alpha1.RestoreSpec{Source: v1alpha1.RestoreSource{Policy: "nightly", Database: "Content"},
		Target: v1alpha1.RestoreTarget{AvailabilityGroup: "content"}}
	moved := b.restore("moved", spec)
	g.Eventually(b.status("moved"), patient, often).Should(And(
		ready(metav1.ConditionFalse, v1alpha1.ReasonReferenceMissing), HaveField("Server", BeEmpty())))
	b.seen(func(s *v1alpha1.AvailabilityGroupStatus) { s.Primary = "quisec-0" })
	g.Eventually(b.order("moved"), patient, often).ShouldNot(BeNil())
	g.Expect(b.order("moved")()).To(And(HaveField("Group", "content"), HaveField("Unmade", false)))
	g.Expect(b.status("moved")().Server).To(BeEquivalentTo("quisec"))
	g.Expect(b.rights()).To(ContainElement(mayMake))
	b.agent.say(restores.Status{Name: "moved", UID: string(moved.UID), Step: restores.Restoring, Database: "Content"})
	g.Eventually(b.status("moved"), patient, often).Should(HaveField("Phase", v1alpha1.RestoreRunning))
	b.seen(func(s *v1alpha1.AvailabilityGroupStatus) { s.Primary = "" })
	g.Consistently(b.status("moved"), 4*time.Second, often).Should(HaveField("Phase", v1alpha1.RestoreRunning),
		"nobody knows of another primary")
	b.seen(func(s *v1alpha1.AvailabilityGroupStatus) { s.Primary = "tukpub-0" })
	g.Eventually(b.status("moved"), patient, often).Should(And(
		ready(metav1.ConditionFalse, v1alpha1.ReasonPrimaryMoved), HaveField("Phase", v1alpha1.RestoreCompleted),
		HaveField("Outcome", v1alpha1.RestoreFailed), HaveField("Message", ContainSubstring(string(moved.UID)))))
	g.Expect(b.order("moved")()).To(BeNil())
	g.Expect(b.rights()).NotTo(ContainElement(mayMake))

	b.seen(func(s *v1alpha1.AvailabilityGroupStatus) { s.Primary = "quisec-0" })
	r := b.restore("back", spec)
	g.Eventually(b.order("back"), patient, often).ShouldNot(BeNil())
	for _, text := range []string{made("Content", r), "ALTER AUTHORIZATION ON DATABASE::Content TO geosql_agent"} {
		_, err := b.sa.Handle().ExecContext(t.Context(), text)
		g.Expect(err).NotTo(HaveOccurred())
	}
	b.agent.say(restores.Status{Name: "back", UID: string(r.UID), Step: restores.Ended, Database: "Content", Sets: 1,
		Restored: 1, Started: time.Now(), Chain: []restores.SetStatus{{ID: "f", Kind: backup.Full, Finished: time.Now()}},
		Result: &restores.Result{Outcome: restores.Succeeded, Reason: v1alpha1.ReasonRestored, Finished: time.Now()}})
	g.Eventually(b.status("back"), patient, often).Should(And(ready(metav1.ConditionTrue, v1alpha1.ReasonRestored),
		HaveField("Phase", v1alpha1.RestoreCompleted)))
	databases, err := mssql.ReadDatabases(t.Context(), b.sa)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(databases["Content"].Owner).To(Equal("geosql_operator"))
}

// What a group has is never restored over; before there is the group its first primary restores.
func TestARestoreGoesToTheFirstPrimaryOrNowhere(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	b.store()
	b.group()
	spec := v1alpha1.RestoreSpec{Source: v1alpha1.RestoreSource{Store: "s3", Path: "web/group/content/Content"},
		Target: v1alpha1.RestoreTarget{AvailabilityGroup: "content"}}
	b.restore("first", spec)
	g.Eventually(b.order("first"), patient, often).ShouldNot(BeNil())
	g.Expect(b.order("first")()).To(And(HaveField("Group", "content"), HaveField("Unmade", true)))

	b.seen(func(s *v1alpha1.AvailabilityGroupStatus) {
		s.GroupID, s.Primary = "6f9619ff-8b86-d011-b42d-00c04fc964ff", "tukpub-0"
		s.Replicas = []v1alpha1.ReplicaStatus{{Server: "tukpub-0", Role: "PRIMARY",
			Databases: []v1alpha1.ReplicaDatabaseStatus{{Name: "content", SynchronizationState: "SYNCHRONIZED"}}}}
	})
	g.Eventually(b.status("first"), patient, often).Should(ready(metav1.ConditionFalse, v1alpha1.ReasonPrimaryMoved))
	b.restore("over", spec)
	g.Eventually(b.status("over"), patient, often).Should(And(
		ready(metav1.ConditionFalse, v1alpha1.ReasonRestoreRefused), HaveField("Phase", v1alpha1.RestoreCompleted),
		HaveField("Message", ContainSubstring("has database Content already"))))
	g.Expect(b.order("over")()).To(BeNil())
}
