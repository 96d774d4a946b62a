// SPDX-License-Identifier: Apache-2.0

package databases_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/databases"
)

// Of a Restore that failed between two names the former database is there under another one: no empty one is made.
func TestADatabaseThatMadeWayIsNotMadeAnew(t *testing.T) {
	for _, row := range []struct {
		why, state string
		edit       func(*v1alpha1.Restore)
		waits      bool
	}{
		{why: "it has another name", waits: true},
		{why: "something has the name", state: "ONLINE"},
		{why: "none made way", edit: func(r *v1alpha1.Restore) { r.Status.Replaced = nil }},
		{why: "another took its place", edit: func(r *v1alpha1.Restore) { r.Status.Outcome = v1alpha1.RestoreSucceeded }},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			var r v1alpha1.Restore
			r.Name, r.Spec.Replace = "back", "Content"
			r.Spec.Target = v1alpha1.RestoreTarget{Server: "quisec", Database: "Content"}
			r.Status.Server, r.Status.Phase, r.Status.Outcome = "quisec", v1alpha1.RestoreCompleted, v1alpha1.RestoreFailed
			r.Status.Replaced = &v1alpha1.ReplacedDatabase{Database: "Content_replaced_20260301120000"}
			if row.edit != nil {
				row.edit(&r)
			}
			d := databases.Declarer{Object: &metav1.ObjectMeta{Name: "quisec"}, Restores: []v1alpha1.Restore{r}}
			outcome, waits := d.Awaits(v1alpha1.Database{Name: "Content"}, "quisec", row.state)
			g.Expect(waits).To(Equal(row.waits))
			if waits {
				g.Expect(outcome.Reason).To(Equal(v1alpha1.ReasonDatabaseMissing))
				g.Expect(outcome.Message).To(ContainSubstring("Content_replaced_20260301120000"))
			}
		})
	}
}
