// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/workload/history"
)

// Whether a switchover happened clients tell; what the operator's record says stands beside it and decides nothing.
func TestClientsWitnessASwitchover(t *testing.T) {
	a, b := &history.Service{Server: "TUKPUB-0", Term: 4}, &history.Service{Server: "QUISEC-0", Term: 5}
	for name, c := range map[string]struct {
		before, after *history.Service
		to            v1alpha1.ServerName
		operator      string
		status        metav1.ConditionStatus
		verdict       v1alpha1.DrillVerdict
	}{
		"they were served by another": {a, b, "", "Failover x has succeeded", metav1.ConditionTrue, v1alpha1.VerdictPassed},
		"by the one that was named": {a, b, "quisec", "Failover x has succeeded", metav1.ConditionTrue,
			v1alpha1.VerdictPassed},
		"by another than was named": {a, b, "dubasy", "Failover x has succeeded", metav1.ConditionFalse,
			v1alpha1.VerdictInconclusive},
		"by nobody, and the operator says that it succeeded": {a, nil, "", "Failover x has succeeded",
			metav1.ConditionFalse, v1alpha1.VerdictInconclusive},
		"by another, and the operator's record is lost": {a, b, "", "", metav1.ConditionTrue, v1alpha1.VerdictPassed},
		"nobody was served before": {nil, nil, "", "Failover x has succeeded", metav1.ConditionUnknown,
			v1alpha1.VerdictInconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m := good()
			now := metav1.NewMicroTime(time.Unix(1_700_000_000, 0))
			m.Faults = []v1alpha1.FaultStatus{{Name: "kill", Kind: v1alpha1.FaultSwitchover, Injected: &now,
				State: v1alpha1.FaultRemoved, Effect: &v1alpha1.FaultEffect{Status: metav1.ConditionUnknown,
					Operator: c.operator}}}
			m.History.Faults[0].Before, m.History.Faults[0].After = c.before, c.after
			spec := v1alpha1.DrillSpec{Objectives: goals(), Faults: []v1alpha1.DrillFault{
				{Name: "kill", Kind: v1alpha1.FaultSwitchover, To: c.to}}}
			j := verdict.Judge(spec, nil, m)
			g.Expect(j.Witnessed["kill"].Status).To(Equal(c.status), j.Witnessed["kill"].Seen)
			g.Expect(j.Verdict).To(Equal(c.verdict), j.Message)
			if c.verdict == v1alpha1.VerdictInconclusive {
				g.Expect(j.Message).To(And(ContainSubstring("effect"), ContainSubstring("the operator says: "+c.operator)))
			}
			g.Expect(m.Faults[0].Effect.Status).To(Equal(metav1.ConditionUnknown), "what was measured stays as it is")
		})
	}
}
