// SPDX-License-Identifier: Apache-2.0

//go:build integration

package metrics_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/metrics"
	"geosql.dev/operator/internal/metrics/metricstest"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/test/support/apiserver"
)

func registry(g *WithT, hub client.Reader, elected bool) *prometheus.Registry {
	begun := make(chan struct{})
	if elected {
		close(begun)
	}
	objects := metrics.NewObjects(hub, begun, &confirmed.Log{},
		func() map[v1alpha1.SiteName]int { return map[v1alpha1.SiteName]int{"dublin": 25} }, metricstest.Authorities)
	r := prometheus.NewPedanticRegistry()
	g.Expect(r.Register(objects)).To(Succeed())
	if elected {
		g.Eventually(func() float64 { return metricstest.Value(r, metrics.Leading.Name) }, time.Minute).
			Should(BeEquivalentTo(1))
	}
	return r
}

// Every family that is declared has series for the example's objects, and there is no series of any other.
func TestObjectsTellEveryFamily(t *testing.T) {
	g := NewWithT(t)
	hub := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(metricstest.Objects(time.Now())...).Build()
	r := registry(g, hub, true)
	families, err := r.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	var told []string
	for _, f := range families {
		told = append(told, f.GetName())
	}
	var declared []string
	for _, f := range metrics.Hub() {
		declared = append(declared, f.Name)
	}
	g.Expect(told).To(ConsistOf(declared))
}

// Names and help follow Prometheus' conventions.
func TestConventions(t *testing.T) {
	g := NewWithT(t)
	hub := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(metricstest.Objects(time.Now())...).Build()
	problems, err := testutil.GatherAndLint(registry(g, hub, true))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
	for _, f := range metrics.Hub() {
		g.Expect(f.Name).To(MatchRegexp(`^geosql_[a-z_]+$`))
		g.Expect(f.Name).NotTo(MatchRegexp(`_(kb|kilobytes|ms|milliseconds|minutes)(_|$)`), "base units")
		g.Expect(f.Help).To(HaveSuffix("."), f.Name)
		for _, label := range f.Labels {
			g.Expect(label).NotTo(MatchRegexp(`message|reason|text|error|lsn|time`), "%s: a label of unbounded values", f.Name)
		}
	}
}

// What losing the primary would cost is what the best secondary lacks; a secondary of which something is not known is
// none of the best.
func TestEstimatedDataLossOfAGroup(t *testing.T) {
	lacks := func(seconds ...float64) []v1alpha1.ReplicaDatabaseStatus {
		var all []v1alpha1.ReplicaDatabaseStatus
		for i, s := range seconds {
			d := v1alpha1.ReplicaDatabaseStatus{Name: string(rune('A' + i)), SynchronizationState: "SYNCHRONIZING"}
			if s >= 0 {
				d.EstimatedDataLoss = &metav1.Duration{Duration: time.Duration(s * float64(time.Second))}
			}
			all = append(all, d)
		}
		return all
	}
	for name, c := range map[string]struct {
		secondaries [][]v1alpha1.ReplicaDatabaseStatus
		want        []float64
	}{
		"the worst database of the best secondary": {[][]v1alpha1.ReplicaDatabaseStatus{lacks(1, 7), lacks(3, 4)},
			[]float64{4}},
		"nothing is known of one": {[][]v1alpha1.ReplicaDatabaseStatus{lacks(0, -1), lacks(3, 4)},
			[]float64{4}},
		"nothing is known of any": {[][]v1alpha1.ReplicaDatabaseStatus{lacks(-1), lacks(2, -1)}, nil},
		"no secondary":            {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			group := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
				Status: v1alpha1.AvailabilityGroupStatus{
					GroupID:  "1",
					Primary:  "tukpub-0",
					Replicas: []v1alpha1.ReplicaStatus{{Server: "tukpub-0", Role: "PRIMARY", Databases: lacks(0, 0)}},
				}}
			for i, databases := range c.secondaries {
				group.Status.Replicas = append(
					group.Status.Replicas,
					v1alpha1.ReplicaStatus{Server: "s" + string(rune('0'+i)), Role: "SECONDARY", Databases: databases},
				)
			}
			r := registry(g, fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(group).Build(), true)
			g.Expect(metricstest.Values(r, metrics.GroupDataLoss.Name)).To(Equal(c.want))
		})
	}
}

// Of several switchovers and failovers the last counts, and a Pause is none.
func TestTheLastFailoverCounts(t *testing.T) {
	g := NewWithT(t)
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	failover := func(name string, kind v1alpha1.FailoverKind, completed time.Time,
		outcome v1alpha1.FailoverOutcome) *v1alpha1.Failover {
		return &v1alpha1.Failover{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
			Spec:       v1alpha1.FailoverSpec{Group: "content", Kind: kind},
			Status: v1alpha1.FailoverStatus{
				Outcome:   outcome,
				Completed: ptr.To(metav1.NewMicroTime(completed)),
				Timeline: &v1alpha1.FailoverTimeline{
					Suspected: ptr.To(
						metav1.NewMicroTime(completed.Add(-5 * time.Second)),
					), Promoted: ptr.To(metav1.NewMicroTime(completed.Add(-2 * time.Second)))},
			},
		}
	}
	hub := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(
		failover("old", v1alpha1.FailoverSwitchover, at, v1alpha1.FailoverFailed),
		failover("new", v1alpha1.FailoverFailover, at.Add(time.Minute), v1alpha1.FailoverSucceeded),
		failover("pause", v1alpha1.FailoverPause, at.Add(time.Hour), v1alpha1.FailoverRefused)).Build()
	r := registry(g, hub, true)
	g.Expect(metricstest.Labels(r, metrics.FailoverOutcome.Name, "outcome")).To(Equal([]string{"Succeeded"}))
	g.Expect(metricstest.Value(r, metrics.FailoverCompleted.Name)).To(BeEquivalentTo(at.Add(time.Minute).Unix()))
	g.Expect(metricstest.Labels(r, metrics.FailoverSeconds.Name, "until")).To(Equal([]string{"Promoted"}))
	g.Expect(metricstest.Value(r, metrics.FailoverSeconds.Name)).To(BeNumerically("~", 3, 1e-6))
}

// The drills of a schedule that repeats are told as its status sums them up, the bound as a ratio.
func TestRepeatedDrills(t *testing.T) {
	g := NewWithT(t)
	hub := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(metricstest.Objects(time.Now())...).Build()
	r := registry(g, hub, true)
	g.Expect(metricstest.Labels(r, metrics.ScheduleRepeated.Name, "verdict")).
		To(ConsistOf("Passed", "Failed", "Inconclusive"))
	g.Expect(metricstest.Values(r, metrics.ScheduleRepeated.Name)).To(ConsistOf(2.0, 1.0, 1.0))
	g.Expect(metricstest.Value(r, metrics.ScheduleLost.Name)).To(BeEquivalentTo(1))
	g.Expect(metricstest.Value(r, metrics.ScheduleLossBound.Name)).To(BeNumerically("~", 0.865, 1e-9))
	g.Expect(metricstest.Labels(r, metrics.ScheduleRTO.Name, "statistic")).
		To(ConsistOf("least", "median", "p95", "most"))
	g.Expect(metricstest.Values(r, metrics.ScheduleRTO.Name)).To(ConsistOf(4.0, 6.0, 9.0, 9.0))
}

// A manager that stands by tells nothing of objects, and what cannot be read is left out while the rest is told.
func TestWhatIsNotTold(t *testing.T) {
	g := NewWithT(t)
	objects := metricstest.Objects(time.Now())
	hub := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(objects...).Build()
	told, err := testutil.GatherAndCount(registry(g, hub, false))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(told).To(Equal(1), "only that it stands by")

	broken := fake.NewClientBuilder().
		WithScheme(apiserver.Scheme).
		WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
				if _, drills := list.(*v1alpha1.DrillList); drills {
					return errors.New("no such kind")
				}
				return c.List(ctx, list, o...)
			}}).
		Build()
	families, err := registry(g, broken, true).Gather()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(families).To(ContainElement(HaveField("Name", HaveValue(Equal(metrics.GroupTerm.Name)))))
	g.Expect(families).NotTo(ContainElement(HaveField("Name", HaveValue(HavePrefix("geosql_drill")))))
}

// No message of a status, in which anything may stand, gets into a series.
func TestNoMessageGetsOut(t *testing.T) {
	g := NewWithT(t)
	hub := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(metricstest.Objects(time.Now())...).Build()
	families, err := registry(g, hub, true).Gather()
	g.Expect(err).NotTo(HaveOccurred())
	word := regexp.MustCompile(`^[A-Za-z0-9_ .-]*$`)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				g.Expect(word.MatchString(l.GetValue())).To(BeTrue(), "%s %s", f.GetName(), l)
				g.Expect(strings.Contains(l.GetValue(), metricstest.Message)).To(BeFalse(), "%s %s", f.GetName(), l)
			}
		}
	}
}
