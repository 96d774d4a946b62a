// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
)

// A fault has been in force when that was seen for half of its time, a look standing for ten seconds around it, but not
// for when it was looked for and not there.
func TestHowLongAFaultWasInForce(t *testing.T) {
	const is, not, open = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	type looks map[int]metav1.ConditionStatus
	for name, c := range map[string]struct {
		kind  v1alpha1.DrillFaultKind
		lasts int
		looks looks
		short bool
	}{
		"at every look":      {v1alpha1.FaultPartition, 60, looks{5: is, 20: is, 40: is, 55: is}, false},
		"in its last second": {v1alpha1.FaultPartition, 20, looks{5: not, 18: not, 19: is}, true},
		"from its middle on": {v1alpha1.FaultPartition, 60, looks{5: not, 29: not, 32: is, 44: is, 55: is},
			false},
		"short, at the only look":        {v1alpha1.FaultPartition, 10, looks{7: is}, false},
		"long, at the only look":         {v1alpha1.FaultCPUStress, 60, looks{5: is}, true},
		"at both ends alone":             {v1alpha1.FaultPartition, 60, looks{5: is, 57: is}, true},
		"at its ends and in its middle":  {v1alpha1.FaultPartition, 60, looks{5: is, 30: is, 57: is}, false},
		"late, and nobody looked before": {v1alpha1.FaultNetwork, 60, looks{5: open, 50: is}, true},
		"what is done at once":           {v1alpha1.FaultPodKill, 0, looks{5: is}, false},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
			injected := metav1.NewMicroTime(begin)
			f := v1alpha1.FaultStatus{Name: "f", Injected: &injected, Effect: &v1alpha1.FaultEffect{}}
			for second := range 61 {
				if status, looked := c.looks[second]; looked {
					fault.Sighted(f.Effect, begin, begin.Add(time.Duration(second)*time.Second), status)
				}
			}
			o := drill.Occurrence{Name: "f", DrillFault: v1alpha1.DrillFault{Name: "f", Kind: c.kind,
				Duration: &metav1.Duration{Duration: time.Duration(c.lasts) * time.Second}}}
			NewWithT(t).Expect(fault.TooShort(f, o) != "").To(Equal(c.short), fault.TooShort(f, o))
		})
	}
}

// A partition is there when each two engines that it should part were seen to be parted, from one end at least.
func TestAPartitionIsLookedAtOnEveryWay(t *testing.T) {
	way := func(from, to string, failures int32) v1alpha1.ProbeFigures {
		return v1alpha1.ProbeFigures{From: from, To: to + "-0:1433", Attempts: 5, Failures: failures,
			Connect: &metav1.Duration{Duration: time.Millisecond}}
	}
	before := []v1alpha1.ProbeFigures{way("quisec", "tukpub", 0), way("tukpub", "quisec", 0), way("dubsub", "tukpub", 0),
		way("tukpub", "dubsub", 0), way("dubdis", "tukpub", 5)}
	o := drill.Occurrence{Name: "cut", DrillFault: v1alpha1.DrillFault{Kind: v1alpha1.FaultPartition}}
	for name, c := range map[string]struct {
		during []v1alpha1.ProbeFigures
		want   metav1.ConditionStatus
		after  string
	}{
		"all ways": {[]v1alpha1.ProbeFigures{way("quisec", "tukpub", 5), way("tukpub", "quisec", 5),
			way("dubsub", "tukpub", 5), way("tukpub", "dubsub", 5)}, metav1.ConditionTrue, ""},
		"from the ends that can be asked": {[]v1alpha1.ProbeFigures{way("quisec", "tukpub", 5), way("dubsub", "tukpub", 5)},
			metav1.ConditionTrue, ""},
		"one of two": {[]v1alpha1.ProbeFigures{way("quisec", "tukpub", 5), way("tukpub", "quisec", 5)},
			metav1.ConditionUnknown, "between dubsub and tukpub"},
		"one of them is open": {[]v1alpha1.ProbeFigures{way("quisec", "tukpub", 4)}, metav1.ConditionFalse,
			"between dubsub and tukpub"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			status, text := fault.NetworkEffect(o, []v1alpha1.ServerName{"tukpub"}, before, c.during)
			g.Expect(status).To(Equal(c.want), text)
			after := append([]v1alpha1.ProbeFigures{}, c.during...)
			for i := range after {
				after[i].Failures = 0
			}
			g.Expect(fault.StillThere(v1alpha1.FaultStatus{Kind: v1alpha1.FaultPartition,
				Effect: &v1alpha1.FaultEffect{Before: before, During: c.during, After: after}})).To(HaveSuffix(c.after))
		})
	}
}
