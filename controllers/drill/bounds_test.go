// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/workload/history"
)

// The moments of a fault lie between looks, which its status keeps. Who does not answer was not
// seen.
func TestMomentsLieBetweenLooks(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, cut())
	f := s.at(v1alpha1.FaultActive)
	for f.State != v1alpha1.FaultRemoving {
		s.look(time.Second)
		f = &s.d.Status.Faults[0]
	}
	there := s.now
	s.w.replicas["quisec"] = replicaState{group: &mssql.Group{Role: "SECONDARY", States: []mssql.GroupDatabaseState{
		{Local: true, Database: "Content", State: "NOT SYNCHRONIZING"}}}}
	s.w.read = s.now.Add(6 * time.Second)
	s.look(4 * time.Second)
	f = &s.d.Status.Faults[0]
	g.Expect(f.State).To(Equal(v1alpha1.FaultRemoved))
	g.Expect(f.Bounds.StillThere.Time).To(BeTemporally("==", there))
	g.Expect(f.Bounds.GoneBy.Time).To(BeTemporally("==", there.Add(6*time.Second)))
	s.look(3 * time.Second)
	behind := s.now
	s.w.replicas["quisec"] = replicaState{err: errors.New("silent")}
	s.look(10 * time.Second)
	g.Expect(s.d.Status.Faults[0].Bounds.Behind.Time).To(BeTemporally("==", behind), "who is silent may be well")
	s.w.replicas["quisec"] = role("SECONDARY")
	s.look(3 * time.Minute)
	f = &s.d.Status.Faults[0]
	g.Expect(f.Settled.Time).To(BeTemporally("==", s.now))
	g.Expect(f.Bounds.Behind.Time).To(BeTemporally("==", behind))

	// Nobody looked for three minutes: a goal of one is neither met nor missed.
	s.d.Spec.Objectives.RedoCatchUp = lasting(time.Minute)
	faults := (&Reconciler{}).faults(s.w, instants())
	v := history.Check(history.Evidence{Faults: faults})
	for _, o := range verdict.Judge(s.d.Spec, nil, verdict.Measured{History: v}).Objectives {
		if o.Name == "redoCatchUp" {
			g.Expect(o.Verdict).To(Equal(v1alpha1.VerdictInconclusive), "%+v", o)
			g.Expect(o.Bound.Duration).To(BeNumerically(">", time.Minute))
		}
	}
}

// A way that stays closed when the fault is taken back is looked at until it is open.
func TestTheWayIsLookedAtUntilItIsOpen(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, cut())
	f := s.at(v1alpha1.FaultActive)
	way := func(failures int32) []v1alpha1.ProbeFigures {
		return []v1alpha1.ProbeFigures{{From: "quisec", To: "tukpub-0:1433", Attempts: 5, Failures: failures}}
	}
	f.Effect.Before, s.w.probes["cut"] = way(0), way(5)
	for f.State != v1alpha1.FaultRemoved {
		s.look(time.Second)
		f = &s.d.Status.Faults[0]
	}
	s.look(2 * time.Second)
	closed := s.now
	g.Expect(s.d.Status.Faults[0].Bounds).To(And(HaveField("StillCut.Time", BeTemporally("==", closed)),
		HaveField("OpenBy", BeNil())))
	s.w.probes["cut"], s.w.asked = way(0), s.now.Add(9*time.Second)
	s.look(3 * time.Second)
	g.Expect(s.d.Status.Faults[0].Bounds).To(And(HaveField("StillCut.Time", BeTemporally("==", closed)),
		HaveField("OpenBy.Time", BeTemporally("==", closed.Add(9*time.Second)))))
}
