// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// backedUp is the example with one entry for all of it, and one for a server beside.
func backedUp(t *testing.T) *v1alpha1.Topology {
	t.Helper()
	topology := msdn(t)
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(`
- {name: s3, s3: {endpoint: "https://s3.example", bucket: sql, credentialsSecretRef: {name: keys}}}
`), &topology.Spec.BackupStores)).To(Succeed())
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(`
- {name: all, full: {schedule: "0 1 * * 0"}, stores: [s3]}
- {name: copy, target: {server: dubsub}, full: {schedule: "0 2 * * 0"}, stores: [s3]}
`), &topology.Spec.BackupPolicies)).To(Succeed())
	return topology
}

func TestPlanOfBackups(t *testing.T) {
	for name, c := range map[string]struct {
		change                 func(*v1alpha1.Topology, Observed)
		steps, reason, message string
	}{
		"all is there": {change: func(*v1alpha1.Topology, Observed) {}, reason: v1alpha1.ReasonMembersReady,
			message: "12 of 12 ready"},
		"none is there": {
			change: func(_ *v1alpha1.Topology, o Observed) {
				for _, key := range []Key{{"BackupStore", "s3"}, {"BackupPolicy", "all-content"}, {"BackupPolicy", "copy"}} {
					delete(o.Objects, key)
				}
			},
			steps:  "create BackupStore s3, create BackupPolicy all-content, create BackupPolicy copy",
			reason: v1alpha1.ReasonMembersNotReady, message: "9 of 12 ready",
		},
		"when backups are taken was changed by hand": {
			change: func(_ *v1alpha1.Topology, o Observed) {
				o.Objects[Key{"BackupPolicy", "all-content"}].(*v1alpha1.BackupPolicy).Spec.Full.Schedule = "0 3 * * 0"
			},
			steps: "change BackupPolicy all-content", reason: v1alpha1.ReasonMembersNotReady, message: "11 of 12 ready",
		},
		"a target gets an entry of its own": {
			change: func(t *v1alpha1.Topology, _ Observed) {
				t.Spec.BackupPolicies[1].Target = v1alpha1.ServerOrGroup{AvailabilityGroup: "content"}
				t.Spec.BackupPolicies[1].Name = "content"
			},
			steps:  "create BackupPolicy content, remove BackupPolicy all-content, remove BackupPolicy copy",
			reason: v1alpha1.ReasonMembersNotReady, message: "10 of 11 ready",
		},
		"the policies leave before their store": {
			change: func(t *v1alpha1.Topology, _ Observed) { t.Spec.BackupStores, t.Spec.BackupPolicies = nil, nil },
			steps:  "remove BackupPolicy all-content, remove BackupPolicy copy",
			reason: v1alpha1.ReasonMembersLeaving, message: "Leaving: ",
		},
		"a store follows when no policy is left": {
			change: func(t *v1alpha1.Topology, o Observed) {
				t.Spec.BackupStores, t.Spec.BackupPolicies = nil, nil
				delete(o.Objects, Key{"BackupPolicy", "all-content"})
				delete(o.Objects, Key{"BackupPolicy", "copy"})
			},
			steps: "remove BackupStore s3", reason: v1alpha1.ReasonMembersLeaving, message: "BackupStore s3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			topology := backedUp(t)
			o := settled(topology, "True", "Fine")
			c.change(topology, o)
			p := plan(Desire(topology), o)
			g.Expect(verbs(p.Steps)).To(Equal(c.steps))
			g.Expect(p.Outcome.Reason).To(Equal(c.reason))
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.message))
		})
	}
}

// A policy that is late shows in the Topology, with its own words.
func TestABackupThatIsLateShows(t *testing.T) {
	g := NewWithT(t)
	topology := backedUp(t)
	o := settled(topology, "True", "Fine")
	conditions.Set(statusOf(o.Objects[Key{"BackupPolicy", "all-content"}]), 3,
		conditions.InProgress(v1alpha1.ReasonBackupLate, "Content is an hour behind"))
	p := plan(Desire(topology), o)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonMembersNotReady))
	g.Expect(p.Outcome.Message).To(ContainSubstring("BackupPolicy all-content: BackupLate (Content is an hour behind)"))
}

// With a Topology its policies go first, while their servers are there to be told, and then the stores. No step speaks
// of data that a reclaimPolicy decides about: backups stay.
func TestPlanDeleteOfBackups(t *testing.T) {
	g := NewWithT(t)
	topology := backedUp(t)
	o := settled(topology, "True", "Fine")
	var order []string
	var last reconcile.Plan
	for range 10 {
		p := planDelete(Desired{Topology: topology}, o)
		if p.Done {
			break
		}
		last = p
		order = append(order, verbs(p.Steps))
		for _, s := range p.Steps {
			step := s.(Step)
			if step.Key.Kind == "BackupStore" || step.Key.Kind == "BackupPolicy" {
				g.Expect(step.Reason).To(HaveSuffix("what was backed up stays"))
			}
			delete(o.Objects, step.Key)
		}
	}
	g.Expect(order).To(HaveLen(7))
	g.Expect(order[0]).To(Equal("remove BackupPolicy all-content, remove BackupPolicy copy"))
	g.Expect(order[6]).To(Equal("remove BackupStore s3"))
	g.Expect(last.Outcome.Message).To(HaveSuffix("and so do backups, whatever it is"))
}
