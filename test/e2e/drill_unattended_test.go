// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/e2e/bed"
)

// Drills that nobody looks after: one is made by the clock; a fault ends though the operator is away; one during which
// Chaos Mesh's daemons are started again says so, and one whose fault is not applied for want of them is inconclusive.
// This takes daemons and operator away from every other test, and so runs beside none.
func TestDrillsUnattended(t *testing.T) {
	if os.Getenv(exampleDrills) == "" {
		t.Skip("GEOSQL_DRILL_EXAMPLES is not set: make soak-drills runs all")
	}
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	b.NeedChaosMesh(t)
	gt := declareGroup(t, b, "e2eclock", v1alpha1.ConfigurationOnly, func(ag *v1alpha1.AvailabilityGroup) {
		ag.Labels = map[string]string{v1alpha1.DrillsLabel: v1alpha1.DrillsAllowed}
		ag.Spec.FailoverPolicy = v1alpha1.FailoverManual
	})
	gt.wait("the group is synchronized", 1, 5*time.Minute)
	dt := drillTest{gt}
	t.Run("by the clock", func(t *testing.T) { dt.scheduled(t) })
	t.Run("daemons that are started again", func(t *testing.T) { dt.startedAgain(t) })
	t.Run("no operator", func(t *testing.T) { dt.abandoned(t) })
	t.Run("no daemons", func(t *testing.T) { dt.notApplied(t) })
}

// scheduled: a schedule of every minute makes a drill, which passes, and the schedule says so.
func (dt drillTest) scheduled(t *testing.T) {
	g, hub := NewWithT(t), dt.b.Hub().Client
	s := &v1alpha1.DrillSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "e2e-minutely"},
		Spec: v1alpha1.DrillScheduleSpec{
			Schedule: "* * * * *", Template: v1alpha1.DrillTemplate{Spec: v1alpha1.DrillSpec{RunID: "scheduled",
				Target: v1alpha1.DrillTarget{
					AvailabilityGroup: v1alpha1.ObjectName(dt.group.Name),
				}, Baseline: seconds(15), Recovery: seconds(60), TimeLimit: seconds(300)}}},
	}
	g.Expect(hub.Create(t.Context(), s)).To(Succeed())
	t.Cleanup(func() { dt.removeSchedule(t, s) })
	bed.Wait(t, "a drill of the schedule has ended", 6*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := hub.Get(ctx, client.ObjectKeyFromObject(s), s)
		return s.Status.LastVerdict != "", fmt.Sprintf("active %q, %d missed", s.Status.Active, s.Status.Missed), err
	})
	g.Expect(s.Status.LastVerdict).To(Equal(v1alpha1.VerdictPassed))
	g.Expect(s.Status.LastPassed).NotTo(BeNil())
	var list v1alpha1.DrillList
	g.Expect(hub.List(t.Context(), &list, client.InNamespace(namespace),
		client.MatchingLabels{v1alpha1.LabelDrillSchedule: s.Name})).
		To(Succeed())
	g.Expect(list.Items).
		To(ContainElement(And(HaveField("Status.Verdict", v1alpha1.VerdictPassed),
			HaveField("Status.Counts.Acknowledged", BeNumerically(">=", 100)))))
}

// underWay declares a drill with a slow link between primary and secondary for some seconds, and waits until that is
// seen.
func (dt drillTest) underWay(t *testing.T, name string, lasts float64) *v1alpha1.Drill {
	t.Helper()
	d := dt.declare(t, name, func(s *v1alpha1.DrillSpec) {
		s.Objectives.RTO = seconds(60)
		s.Faults = []v1alpha1.DrillFault{
			{Name: "slow", Kind: v1alpha1.FaultNetwork, Duration: seconds(lasts), Where: primaryPlace(),
				Peer: &v1alpha1.FaultPlace{Role: v1alpha1.RoleSecondary}, Network: &v1alpha1.NetworkFault{Latency: seconds(0.2)}},
		}
	})
	bed.Wait(t, "the fault is seen to have taken effect", 5*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := dt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(d), d)
		return len(d.Status.Faults) > 0 && d.Status.Faults[0].Effect != nil &&
			d.Status.Faults[0].Effect.Status == metav1.ConditionTrue, d.Status.Message, err
	})
	return d
}

// abandoned: nobody takes the fault back, since the operator is away. It ends at its time, and the next operator
// carries on.
func (dt drillTest) abandoned(t *testing.T) {
	g := NewWithT(t)
	d := dt.underWay(t, "e2e-abandoned", 40)
	scale := func(ctx context.Context, replicas string) {
		_, _, err := dt.b.Hub().Kubectl(ctx, "-n", "geosql-system", "scale", "deploy/geosql-operator", "--replicas", replicas)
		g.Expect(err).NotTo(HaveOccurred())
	}
	back := sync.OnceFunc(func() { scale(context.Background(), "1") })
	t.Cleanup(back)
	scale(t.Context(), "0")
	bed.Wait(t, "no pod of the operator is left", time.Minute, func(ctx context.Context) (bool, string, error) {
		pods, _, err := dt.b.Hub().
			Kubectl(ctx, "-n", "geosql-system", "get", "pods", "-l", "app.kubernetes.io/name=geosql-operator", "-o", "name")
		return strings.TrimSpace(pods) == "", pods, err
	})
	for _, o := range d.Status.Faults[0].Objects {
		bed.Wait(
			t,
			o.Kind+" "+o.Name+" at "+o.Site+" is over by itself",
			3*time.Minute,
			func(ctx context.Context) (bool, string, error) {
				recovered, message, err := (&bed.Chaos{Site: dt.b.Site(o.Site), Object: chaosObject(o)}).Condition(
					ctx,
					"AllRecovered",
				)
				return recovered, message, err
			},
		)
	}
	back()
	s := dt.verdict(t, d)
	g.Expect(objective(s, "effect").Verdict).To(Equal(v1alpha1.VerdictPassed), objective(s, "effect").Evidence)
	g.Expect(s.Verdict).To(Equal(v1alpha1.VerdictPassed), s.Message)
}

// chaosObject is an object of a fault, to be read.
func chaosObject(o v1alpha1.FaultObject) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(o.APIVersion)
	u.SetKind(o.Kind)
	u.SetNamespace(o.Namespace)
	u.SetName(o.Name)
	return u
}

// startedAgain: the daemons are started again in the middle of a fault. It stays in force, which is measured, and the
// timeline has when they went and came back.
func (dt drillTest) startedAgain(t *testing.T) {
	g := NewWithT(t)
	d := dt.underWay(t, "e2e-daemons", 75)
	for _, site := range dt.b.Sites {
		_, _, err := site.Kubectl(
			t.Context(),
			"delete",
			"pod",
			"-n",
			"chaos-mesh",
			"-l",
			"app.kubernetes.io/component=chaos-daemon",
			"--grace-period=1",
			"--wait=false",
		)
		g.Expect(err).NotTo(HaveOccurred())
	}
	s := dt.verdict(t, d)
	g.Expect(s.Timeline).To(ContainElements(
		And(
			HaveField("Event", "DaemonGone"),
			HaveField("Fault", "slow"),
		),
		And(HaveField("Event", "DaemonBack"), HaveField("Fault", "slow")),
	))
	g.Expect(objective(s, "effect").Verdict).To(Equal(v1alpha1.VerdictPassed), objective(s, "effect").Evidence)
	g.Expect(s.Verdict).To(Equal(v1alpha1.VerdictPassed), s.Message)
	g.Eventually(func() []string { return dt.left(t.Context(), d) }, time.Minute, time.Second).
		Should(BeEmpty(), "the next daemons take back what the former ones did")
}

// notApplied: without a daemon at the sites' nodes Chaos Mesh takes the objects and does nothing. The drill notices. It
// is over when Chaos Mesh lets go of its objects, which takes a daemon again.
func (dt drillTest) notApplied(t *testing.T) {
	g := NewWithT(t)
	selector := func(ctx context.Context, patch string) {
		for _, site := range dt.b.Sites {
			_, _, err := site.Kubectl(ctx, "patch", "daemonset", "-n", "chaos-mesh", "chaos-daemon", "--type=merge", "-p", patch)
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	restore := sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		selector(ctx, `{"spec":{"template":{"spec":{"nodeSelector":{"geosql.dev/nowhere":null}}}}}`)
		for _, site := range dt.b.Sites {
			_, _, err := site.Kubectl(ctx, "rollout", "status", "daemonset", "-n", "chaos-mesh", "chaos-daemon", "--timeout=60s")
			g.Expect(err).NotTo(HaveOccurred())
		}
	})
	t.Cleanup(restore)
	selector(t.Context(), `{"spec":{"template":{"spec":{"nodeSelector":{"geosql.dev/nowhere":"yes"}}}}}`)
	for _, site := range dt.b.Sites {
		g.Eventually(func() string {
			out, _, _ := site.Kubectl(
				t.Context(),
				"get",
				"pods",
				"-n",
				"chaos-mesh",
				"-l",
				"app.kubernetes.io/component=chaos-daemon",
				"-o",
				"name",
			)
			return strings.TrimSpace(out)
		}, 90*time.Second, time.Second).Should(BeEmpty())
	}
	d := dt.declare(t, "e2e-not-applied", func(s *v1alpha1.DrillSpec) {
		s.Faults = []v1alpha1.DrillFault{
			{Name: "slow", Kind: v1alpha1.FaultNetwork, Duration: seconds(12), Where: primaryPlace(),
				Peer: &v1alpha1.FaultPlace{Role: v1alpha1.RoleSecondary}, Network: &v1alpha1.NetworkFault{Latency: seconds(0.2)}},
		}
	})
	bed.Wait(
		t,
		"the fault is over and was seen to have had no effect",
		5*time.Minute,
		func(ctx context.Context) (bool, string, error) {
			err := dt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(d), d)
			if len(d.Status.Faults) == 0 || d.Status.Faults[0].Effect == nil {
				return false, d.Status.Message, err
			}
			f := d.Status.Faults[0]
			over := f.State == v1alpha1.FaultRemoving || f.State == v1alpha1.FaultRemoved
			return over && f.Effect.Status == metav1.ConditionFalse, string(f.State) + ": " + f.Effect.Seen, err
		},
	)
	restore()
	s := dt.verdict(t, d)
	g.Expect(s.Verdict).To(Equal(v1alpha1.VerdictInconclusive), s.Message)
	g.Expect(objective(s, "effect").Verdict).To(Equal(v1alpha1.VerdictInconclusive))
	g.Expect(s.Timeline).To(ContainElement(HaveField("Event", "DaemonGone")))
	g.Expect(s.Counts.Lost).To(BeZero())
}
