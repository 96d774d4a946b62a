// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// silent is a server of which nothing can be read.
func silent() Observed {
	away := errors.New("nobody answers")
	return Observed{Order: reconcile.NotRead[[]byte](away), Says: reconcile.NotRead[*restores.Status](away),
		Rights: reconcile.NotRead[[]string](away), Owner: reconcile.NotRead[string](away),
		Stands: reconcile.NotRead[standing](away), Places: reconcile.NotRead[*mssql.DatabasePlaces](away)}
}

// betweenNames is a Restore of which the agent has ended, and whose former database has made way.
func betweenNames(d *Desired, o *Observed, edit func(*standing)) {
	d.Restore.Spec.Target.Database, d.Restore.Spec.Replace = "Content", "Content"
	makesRoom(d)
	o.Order, o.Says = reconcile.Read[[]byte](nil), reconcile.Read[*restores.Status](nil)
	o.Rights, o.Owner = reconcile.Read[[]string](nil), reconcile.Read("sa")
	s := standing{Restored: fresh("Content_restored_u1"), Aside: former(aside)}
	edit(&s)
	o.Stands = reconcile.Read(s)
}

// What a Restore leaves that is deleted, wherever it was.
func TestPlanDeleteLeaves(t *testing.T) {
	const (
		takes = "ALTER DATABASE [Content_restored_u1] MODIFY NAME = [Content]"
		back  = "ALTER DATABASE [" + aside + "] MODIFY NAME = [Content]"
	)
	for _, row := range []struct {
		why   string
		edit  func(*Desired, *Observed)
		steps []string
		waits bool
	}{
		{why: "one that is over waits for no server", edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreSucceeded)
			d.Restore.Status.Phase = v1alpha1.RestoreCompleted
			*o = silent()
		}},
		{why: "unless its database is to be dropped", waits: true, edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreSucceeded)
			d.Restore.Status.Phase, d.Restore.Spec.Discard = v1alpha1.RestoreCompleted, true
			*o = silent()
		}},
		{why: "one that was refused touches no database", edit: func(d *Desired, o *Observed) {
			taking(d, o)
			d.Restore.Status.Outcome = v1alpha1.RestoreRefused
		}},
		{why: "nor does another touch what is not its own", edit: func(d *Desired, o *Observed) {
			taking(d, o)
			d.Restore.Status.Outcome, o.Places = "", otherPlaces()
		}},
		{why: "its own is handed over", edit: taking, steps: []string{"ALTER AUTHORIZATION ON DATABASE::[Content] TO [sa]",
			"ALTER ROLE [db_owner] DROP MEMBER [geosql_agent]"}},
		{why: "whose it is, is known first", waits: true, edit: func(d *Desired, o *Observed) {
			taking(d, o)
			o.Places = silent().Places
		}},
		{why: "and under which name it stands", waits: true, edit: func(d *Desired, o *Observed) {
			taking(d, o)
			d.Restore.Spec.Replace, o.Owner, o.Stands = "Content", reconcile.Read(""), silent().Stands
		}},
		{why: "what was restored gets the name that nobody has", steps: []string{takes}, edit: func(d *Desired, o *Observed) {
			betweenNames(d, o, func(*standing) {})
		}},
		{why: "it is waited for while it recovers", waits: true, edit: func(d *Desired, o *Observed) {
			betweenNames(d, o, func(s *standing) { s.Restored.State = "RECOVERING" })
		}},
		{why: "the former one gets its name back if it is lost", steps: []string{back}, edit: func(d *Desired, o *Observed) {
			betweenNames(d, o, func(s *standing) { s.Restored = nil })
		}},
		{why: "or is somebody else's", steps: []string{back}, edit: func(d *Desired, o *Observed) {
			betweenNames(d, o, func(s *standing) { s.Restored.Own = false })
		}},
		{why: "no database is left to one user", steps: []string{"ALTER DATABASE [Content_restored_u1] SET MULTI_USER"},
			edit: func(d *Desired, o *Observed) {
				betweenNames(d, o, func(s *standing) {
					s.Named, s.Aside, s.Restored.Access = former("Content"), nil, "SINGLE_USER"
				})
			}},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			d, o := desired(), observed(t)
			d.Restore.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
			row.edit(&d, &o)
			p := planDelete(d, o)
			g.Expect(p.Done).To(Equal(!row.waits), p.Outcome.Message)
			g.Expect(p.Left).To(BeEmpty())
			if row.waits && len(row.steps) == 0 {
				return // what is told and taken meanwhile is of other tests
			}
			g.Expect(p.Steps).To(HaveLen(len(row.steps)), "%v", p.Steps)
			for i, s := range p.Steps {
				g.Expect(s.(mssql.Execute).Statement.Text).To(ContainSubstring(row.steps[i]))
			}
		})
	}
}

// A Restore that never had a server leaves nothing anywhere, and waits for nobody.
func TestADeletedRestoreWithoutAServer(t *testing.T) {
	g := NewWithT(t)
	d := desired()
	toGroup(&d)
	d.Restore.Status.Server, d.Restore.Spec.Target.Database, d.Restore.Spec.Replace = "", "Content", "Content"
	d.Restore.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
	o, err := (&Reconciler{}).observe(t.Context(), d)
	g.Expect(err).NotTo(HaveOccurred())
	p := planDelete(d, o)
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Left).To(BeEmpty())
}

// The database of a Restore that replaces has the name once it was swapped, and never before: the former one has it.
func TestMade(t *testing.T) {
	g := NewWithT(t)
	d, o := replacingOne(t)
	for _, s := range []standing{{Named: former("Content")}, {Named: former("Content"), Restored: fresh("x")}, {}} {
		o.Stands = reconcile.Read(s)
		g.Expect(made(d, o)).To(Equal("Content_restored_u1"))
	}
	o.Stands = reconcile.Read(standing{Named: fresh("Content")})
	g.Expect(made(d, o)).To(Equal("Content"))
	d.Restore.Spec.Replace = ""
	g.Expect(made(d, o)).To(Equal("Content"))
}
