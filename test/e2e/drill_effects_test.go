// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/e2e/bed"
)

// effectFaults are one of each kind whose effect is measured and that a group survives, one after the other. Those of
// the network are on the link between primary and secondary, the others at the secondary, which is given by its name.
func effectFaults(server v1alpha1.ServerName) []v1alpha1.DrillFault {
	secondary := &v1alpha1.FaultPlace{Role: v1alpha1.RoleSecondary}
	network := func(name string, n v1alpha1.NetworkFault) v1alpha1.DrillFault {
		return v1alpha1.DrillFault{
			Name:    name,
			Kind:    v1alpha1.FaultNetwork,
			Where:   secondary,
			Peer:    primaryPlace(),
			Network: &n,
		}
	}
	literal := func(name, kind, spec string) v1alpha1.DrillFault {
		return v1alpha1.DrillFault{
			Name: name,
			Kind: v1alpha1.FaultChaosMesh,
			ChaosMesh: &v1alpha1.LiteralChaos{
				Site: "quincy",
				Kind: kind,
				Spec: runtime.RawExtension{Raw: []byte(strings.ReplaceAll(spec, "SERVER", string(server)))},
			},
		}
	}
	list := []v1alpha1.DrillFault{
		network("latency", v1alpha1.NetworkFault{Latency: seconds(0.06)}),
		network("loss", v1alpha1.NetworkFault{Loss: 10}),
		network("corrupt", v1alpha1.NetworkFault{Corrupt: 10}),
		network("duplicate", v1alpha1.NetworkFault{Duplicate: 30}),
		network("rate", v1alpha1.NetworkFault{Rate: "4mbit"}),
		{Name: "processors", Kind: v1alpha1.FaultCPUStress, Where: secondary, CPU: &v1alpha1.CPUFault{Workers: 1, Load: 60}},
		{Name: "memory", Kind: v1alpha1.FaultMemoryStress, Where: secondary, Memory: &v1alpha1.MemoryFault{Size: "96MB"}},
		{
			Name:        "clock",
			Kind:        v1alpha1.FaultClockOffset,
			Where:       &v1alpha1.FaultPlace{Server: server},
			ClockOffset: seconds(-600),
		},
		{Name: "freeze", Kind: v1alpha1.FaultFreeze, Where: secondary},
		literal(
			"own-delay",
			"NetworkChaos",
			`{"action":"delay","mode":"all","selector":{"labelSelectors":{"geosql.dev/server":"SERVER"}},"delay":{"latency":"70ms"},"duration":"20s"}`,
		),
		literal(
			"own-stress",
			"StressChaos",
			`{"mode":"all","selector":{"labelSelectors":{"geosql.dev/server":"SERVER"}},"containerNames":["mssql"],"stressors":{"memory":{"workers":1,"size":"64MB"}},"duration":"20s"}`,
		),
		{Name: "failure", Kind: v1alpha1.FaultPodFailure, Where: secondary},
	}
	for i := range list {
		list[i].At = seconds(float64(35 * i))
		if list[i].ChaosMesh == nil {
			list[i].Duration = seconds(20)
		}
	}
	return list
}

// TestDrillEffects measures one fault of each kind, before, during and after it. All are seen to take effect and to be
// over.
func TestDrillEffects(t *testing.T) {
	if os.Getenv(exampleDrills) == "" {
		t.Skip("GEOSQL_DRILL_EXAMPLES is not set: make soak-drills runs all")
	}
	t.Parallel()
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	b.NeedChaosMesh(t)
	gt := declareGroup(t, b, "e2eeff", v1alpha1.ConfigurationOnly, func(ag *v1alpha1.AvailabilityGroup) {
		ag.Labels = map[string]string{v1alpha1.DrillsLabel: v1alpha1.DrillsAllowed}
		ag.Spec.FailoverPolicy = v1alpha1.FailoverManual
	})
	gt.wait("the group is synchronized", 1, 6*time.Minute)
	dt := drillTest{gt}
	d := dt.declare(t, "e2e-effects", func(s *v1alpha1.DrillSpec) {
		s.Faults, s.TimeLimit = effectFaults(gt.server("quincy")), seconds(1500)
	})
	bed.Wait(t, "drill "+d.Name+" is over", 28*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(d), d)
		return d.Status.Phase == v1alpha1.DrillCompleted, fmt.Sprintf("%s: %s", d.Status.Phase, d.Status.Message), err
	})
	var unseen []string
	for _, f := range d.Status.Faults {
		text := fmt.Sprintf("%s (%s): %s", f.Name, f.State, f.Message)
		if f.Effect != nil {
			text = fmt.Sprintf("%s (%s): asked %s; seen %s, %s", f.Name, f.State, f.Effect.Asked, f.Effect.Status, f.Effect.Seen)
		}
		t.Log(text)
		if f.State != v1alpha1.FaultRemoved || f.Effect == nil || f.Effect.Status != metav1.ConditionTrue {
			unseen = append(unseen, text)
		}
	}
	t.Logf("%s: %s", d.Status.Verdict, d.Status.Message)
	dt.report(t, d)
	g.Expect(unseen).To(BeEmpty(), strings.Join(unseen, "\n"))
	g.Expect(objective(d.Status, "effect").Verdict).
		To(Equal(v1alpha1.VerdictPassed), objective(d.Status, "effect").Evidence)
	g.Expect(d.Status.Counts.Lost).To(BeZero())
	g.Expect(d.Status.Versions).To(ContainElement(HaveField("Component", "chaos-mesh")))
}
