// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// The target's sites know of a run before anything is done there: the Drill's own memory goes with it.
func TestARunIsNotedBeforeAnythingIsDone(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, kill())
	s.w.begun = map[v1alpha1.SiteName]reconcile.Reading[[]begunRun]{
		"tukwila": reconcile.Read[[]begunRun](nil),
		"quincy":  reconcile.Read([]begunRun{{ID: "0", UID: "uid"}}),
	}
	s.w.secret, s.w.clients = false, nil
	s.until(v1alpha1.DrillPreparing)
	g.Expect(s.look(time.Second)).To(ConsistOf(RememberRun{Site: "tukwila"}, RememberRun{Site: "quincy"}))
	g.Expect(s.d.Status.Message).To(ContainSubstring("noted"))
	for _, site := range []v1alpha1.SiteName{"tukwila", "quincy"} {
		s.w.begun[site] = reconcile.Read([]begunRun{{ID: "1", UID: "uid"}})
	}
	g.Expect(s.look(time.Second)).To(ContainElement(MakeSecret{}))
	g.Expect(s.d.Status.Reason).NotTo(Equal(v1alpha1.ReasonRunOver), "its own note is none against it")

	// The same manifest after a restore: another UID, no status.
	s.d.UID, s.d.Status = "another", v1alpha1.DrillStatus{}
	g.Expect(s.look(time.Second)).To(BeEmpty())
	g.Expect(s.d.Status).To(And(HaveField("Phase", v1alpha1.DrillPending), HaveField("Reason", v1alpha1.ReasonRunOver)))
	s.d.Spec.RunID = "2"
	s.until(v1alpha1.DrillPreparing)
}
