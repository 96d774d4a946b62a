// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// A step that fails for ever holds up no restart that does not depend on it, be it of this server or of another one of
// its group, and a condition says that it fails.
func TestAStepThatFailsHoldsUpNoRestart(t *testing.T) {
	turn := Turn{Group: "content", Declared: true, Primary: "quisec"}
	for name, c := range map[string]struct {
		change func(*environ)
		fails  func(reconcile.Step) bool
		// condition and reason say that it fails.
		condition, reason string
	}{
		"tempdb's files can't be moved": {
			change: func(e *environ) { e.o.Engine.TempDB[0].Next = "/var/opt/mssql/data/tempdb.mdf" },
			fails:  isTempDB, condition: v1alpha1.ConditionTempDBArranged, reason: v1alpha1.ReasonTempDBRefused},
		"files can't be added to tempdb": {
			change: func(e *environ) { e.d.Server.Spec.TempDBFiles = ptr.To[int32](8) },
			fails:  isTempDB, condition: v1alpha1.ConditionTempDBArranged, reason: v1alpha1.ReasonTempDBRefused},
		"a volume can't grow for a quota": {
			change: func(e *environ) { e.d.Server.Spec.Storage.Backup.Size = resource.MustParse("80Gi") },
			fails: func(s reconcile.Step) bool {
				a, ok := s.(ApplyObject)
				return ok && a.Object.GetName() == "tukpub-backup"
			},
			// Nothing of it is in the way of the group's other servers.
			condition: "Ready", reason: v1alpha1.ReasonVolumeCannotGrow},
	} {
		for what, outdated := range map[string]bool{"its own restart": true, "that of another one": false} {
			t.Run(name+": "+what, func(t *testing.T) {
				g := NewWithT(t)
				e := newEnviron(t, declared(server(), Surroundings{}))
				e.settle(t, 100)
				c.change(e)
				if e.hosts(turn); outdated {
					e.outdated(turn)
				} else {
					// It had the turn before: it is well, and others wait.
					e.o.Turns[0].Holder = e.d.name()
					e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
				}
				done := e.with(t, c.fails)
				if outdated {
					g.Expect(done).To(ContainElement(BeAssignableToTypeOf(RestartPod{})))
				}
				g.Expect(done).To(ContainElement(ReleaseTurn{Group: "content"}))
				all := e.d.Server.Status.Conditions
				said := apimeta.FindStatusCondition(all, c.condition)
				g.Expect(said.Reason).To(Equal(c.reason))
				g.Expect(said.Message).To(ContainSubstring("5123"))
				g.Expect(said.Status).To(Equal(metav1.ConditionFalse))
				g.Expect(e.d.Server.Status.Serves()).To(BeTrue(), "%+v", all)
				g.Expect(plan(e.d, e.o).All()).NotTo(BeEmpty(), "it is tried again")

				e.with(t, func(reconcile.Step) bool { return false })
				g.Expect(plan(e.d, e.o).All()).To(BeEmpty())
				said = apimeta.FindStatusCondition(e.d.Server.Status.Conditions, c.condition)
				g.Expect(said.Status).To(Equal(metav1.ConditionTrue))
			})
		}
	}
}

// A certificate that can't be used holds up nothing but itself: the server is restarted in its turn, with the one that
// it has, and lets others have theirs.
func TestAnInvalidCertificateHoldsUpNoRestart(t *testing.T) {
	turn := Turn{Group: "content", Declared: true, Primary: "quisec"}
	for what, outdated := range map[string]bool{"its own restart": true, "that of another one": false} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: "mine"}
			e.o.UserCertificate = issued(t, "sql.example.com")
			if outdated {
				e.outdated(turn)
			} else {
				e.hosts(turn)
				e.o.Turns[0].Holder = e.d.name()
				e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
			}
			before := e.o.SiteCertificate
			done := e.with(t, func(reconcile.Step) bool { return false })
			if outdated {
				g.Expect(done).To(ContainElement(BeAssignableToTypeOf(RestartPod{})))
			}
			g.Expect(done).To(ContainElement(ReleaseTurn{Group: "content"}))
			g.Expect(e.o.SiteCertificate).To(Equal(before))
			all := e.d.Server.Status.Conditions
			ready := apimeta.FindStatusCondition(all, v1alpha1.ConditionReady)
			g.Expect(ready.Reason).To(Equal(v1alpha1.ReasonCertificateKept))
			g.Expect(ready.Message).To(And(ContainSubstring("not for the name tukpub-0"),
				ContainSubstring("goes on with the certificate that it has, which ends at")))
			g.Expect(e.d.Server.Status.Serves()).To(BeTrue())
		})
	}
}

// Where sa is shut tempdb stays where it is; that keeps nobody waiting either.
func TestTempDBWaitsForSAAlone(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	e.o.Engine.TempDB[0].Next = "/var/opt/mssql/data/tempdb.mdf"
	e.o.Engine.Refused["sa"] = errors.New("18456")
	e.hosts(Turn{Group: "content", Declared: true, Primary: "quisec", Holder: "tukpub"})
	g.Expect(e.with(t, isTempDB)).To(ContainElement(ReleaseTurn{Group: "content"}))
	said := apimeta.FindStatusCondition(e.d.Server.Status.Conditions, v1alpha1.ConditionTempDBArranged)
	g.Expect(said.Reason).To(Equal(v1alpha1.ReasonAdministratorShut))
}

// An engine that did not answer has refused nothing: the statement is waited for, as before.
func TestATimeOutIsNoRefusal(t *testing.T) {
	g := NewWithT(t)
	var refused *tempDBRefused
	g.Expect(errors.As(asRefused(&mssql.Error{Class: mssql.Refused, Err: errors.New("5123")}), &refused)).To(BeTrue())
	silent := &mssql.Error{Class: mssql.Unreachable, Err: errors.New("i/o")}
	for _, err := range []error{nil, context.DeadlineExceeded, silent} {
		g.Expect(errors.As(asRefused(err), &refused)).To(BeFalse(), "%v", err)
	}
}

func isTempDB(s reconcile.Step) bool {
	_, is := s.(ArrangeTempDB)
	return is
}

// serves tells whether other servers go on beside one of which the plan says what it says.
func (e *environ) serves(p reconcile.Plan) bool {
	s := e.d.Server.Status.DeepCopy()
	conditions.Set(&s.StatusBase, 1, p.Outcome)
	return s.Serves()
}

// with plans, does and reports some times, as the frame does, while some steps fail.
func (e *environ) with(t *testing.T, fails func(reconcile.Step) bool) (done []reconcile.Step) {
	t.Helper()
	carryOut := func(_ context.Context, s reconcile.Step) error {
		switch {
		case fails(s) && isTempDB(s):
			return &tempDBRefused{errors.New("error 5123")}
		case fails(s):
			return errors.New("error 5123")
		}
		done = append(done, s)
		e.do(t, s)
		return nil
	}
	for range 8 {
		o := e.o
		p := plan(e.d, o)
		failed := reconcile.WithAside(t.Context(), p, carryOut,
			func() error { return reconcile.InOrder(t.Context(), p.Steps, carryOut) })
		if c := tempDBCondition(e.d, o, failed); c != nil {
			conditions.SetOne(&e.d.Server.Status.StatusBase, 1, *c)
		}
		conditions.Set(&e.d.Server.Status.StatusBase, 1, reconcile.Outcome(p.Outcome, failed))
		e.d.TempDBRefused = declared(e.d.Server, Surroundings{}).TempDBRefused
	}
	return done
}
