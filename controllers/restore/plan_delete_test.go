// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
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

// A sidecar that has no orders has read none: that is no news of a Restore that is told it now.
func TestARestoreBeginsAtASidecarWithoutOrders(t *testing.T) {
	g := NewWithT(t)
	d, o := desired(), observed(t)
	o.Order = reconcile.Read[[]byte](nil)
	o.Says, o.Untold = heard("u1", []restores.Status{{Step: restores.Unread}}, nil)
	p := plan(d, o)
	g.Expect(p.Steps).To(ContainElement(HaveField("Order", Not(BeEmpty()))))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRestoring), p.Outcome.Message)
	g.Expect(p.Outcome.Message).To(ContainSubstring("has not read its orders yet"))
	g.Expect(o.Untold).To(BeFalse())
}

// A sidecar that was started a moment ago says nothing of any Restore, and has not read its orders: a mark that went
// then would leave what is on its volume, and a database that comes of it later.
func TestAMarkStaysUntilTheSidecarHasReadIt(t *testing.T) {
	for _, row := range []struct {
		why   string
		says  string
		later time.Duration
		takes bool
		tells string
		never bool
	}{
		{why: "its orders are not read", says: `[{"step": "Unread"}]`, later: time.Hour, tells: "has not read its orders yet"},
		{why: "nor is another's mark", says: `[{"step": "Unread"}, {"uid": "u2", "step": "Restoring"}]`, later: time.Hour,
			tells: "has not read its orders yet"},
		{why: "it says what it does already", says: `[{"step": "Unread"}, {"uid": "u1", "step": "Restoring"}]`},
		{why: "its orders are read", says: `[]`, takes: true},
		{why: "another Restore goes on", says: `[{"uid": "u2", "step": "Restoring"}]`, takes: true},
		{why: "it is of an earlier release", says: `null`, later: untoldFor - time.Second},
		{why: "it has been for a while", says: `null`, later: untoldFor, takes: true},
		{why: "since when is not known", says: `null`, later: untoldFor, never: true},
		{why: "it knows no Restores", later: untoldFor - time.Second},
		{why: "it has known none for a while", later: untoldFor, takes: true},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			mark, err := orders.Restore{Name: "back", UID: "u1", Withdrawn: true}.Encode()
			g.Expect(err).NotTo(HaveOccurred())
			for _, deleted := range []bool{true, false} {
				var all []restores.Status
				if row.says != "" {
					g.Expect(json.Unmarshal([]byte(row.says), &all)).To(Succeed())
				}
				d, o := desired(), observed(t)
				yesterday := metav1.NewTime(noon.Add(-24 * time.Hour))
				if deleted {
					d.Restore.DeletionTimestamp = &yesterday
				} else {
					ended(&d, v1alpha1.RestoreSucceeded)
					d.Restore.Status.Finished = &yesterday
				}
				d.Now = noon.Add(row.later)
				o.Order, o.Rights, o.Owner = reconcile.Read(mark), reconcile.Read[[]string](nil), reconcile.Read("sa")
				if o.Says, o.Untold = heard("u1", all, nil); !row.never {
					o.UntoldSince = noon
				}
				var p reconcile.Plan
				if deleted {
					p = planDelete(d, o)
					g.Expect(p.Done).To(Equal(row.takes))
				} else {
					p = plan(d, o)
					g.Expect(p.Note).To(BeNil(), "it is over once the mark is gone")
				}
				if row.takes {
					g.Expect(p.Steps).To(HaveExactElements(Tell{Server: "quisec"}))
				} else {
					g.Expect(p.Steps).To(BeEmpty())
				}
				g.Expect(p.Outcome.Message).To(ContainSubstring(row.tells))
			}
		})
	}
}
