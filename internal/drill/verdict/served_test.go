// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/workload/history"
)

// The objective goes by service that holds, of the worst site, and says how long the first acknowledgement took. Where
// histories do not tell, it says that, too.
func TestRTOSaysWhatCounted(t *testing.T) {
	g := NewWithT(t)
	rto := func(m verdict.Measured) v1alpha1.ObjectiveResult {
		for _, o := range verdict.Judge(v1alpha1.DrillSpec{Objectives: goals()}, nil, m).Objectives {
			if o.Name == "rto" {
				return o
			}
		}
		return v1alpha1.ObjectiveResult{}
	}
	m := good()
	m.History.Served = history.DefaultServed
	m.History.Loops = map[string]history.Loop{"quincy": history.Open, "dublin": history.Closed}
	long, first := 6*time.Second, 2*time.Second
	m.History.Faults[0].Clients = append(m.History.Faults[0].Clients,
		history.ClientFigures{Client: "dublin", Held: true, RTO: &long, First: &first})
	o := rto(m)
	g.Expect(o).To(And(HaveField("Verdict", v1alpha1.VerdictFailed), HaveField("Measured", "6s")))
	g.Expect(o.Evidence).To(And(ContainSubstring("client dublin"), ContainSubstring("first acknowledged after 2s"),
		ContainSubstring("99 % of the operations for 5s"), Not(ContainSubstring("do not tell"))))

	m = good()
	m.History.Loops = map[string]history.Loop{"quincy": "", "tukwila": history.Open}
	o = rto(m)
	g.Expect(o.Verdict).To(Equal(v1alpha1.VerdictPassed), "old histories are judged as before")
	g.Expect(o.Evidence).To(ContainSubstring("the histories of quincy do not tell when operations were to begin"))
}

// What counts has defaults, and is the drill's to declare.
func TestServed(t *testing.T) {
	g := NewWithT(t)
	g.Expect(verdict.Served(v1alpha1.DrillObjectives{})).To(Equal(history.DefaultServed))
	g.Expect(verdict.Served(v1alpha1.DrillObjectives{Served: &v1alpha1.DrillServed{Percent: ptr.To[int32](90),
		For: &metav1.Duration{Duration: time.Minute}}})).To(Equal(history.Served{Share: 0.9, For: time.Minute}))
}
