// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/test/e2e/bed"
)

// seconds as the API writes them.
func seconds(n float64) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n * float64(time.Second))}
}

// drillTest runs drills on one group, one after another.
type drillTest struct{ *groupTest }

// declare declares a drill on the group; it goes when the test ends, and must leave nothing behind.
func (dt drillTest) declare(t *testing.T, name string, change func(*v1alpha1.DrillSpec)) *v1alpha1.Drill {
	t.Helper()
	d := &v1alpha1.Drill{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.DrillSpec{
		// The sites remember which runs of a name were begun, also those of an earlier run of the tests.
		RunID: time.Now().
			UTC().
			Format("20060102-150405"),
		Target:   v1alpha1.DrillTarget{AvailabilityGroup: v1alpha1.ObjectName(dt.group.Name)},
		Baseline: seconds(10), Recovery: seconds(180), TimeLimit: seconds(600),
	}}
	change(&d.Spec)
	if err := dt.b.Hub().Client.Create(t.Context(), d); err != nil {
		t.Fatalf("create Drill %s: %v", name, err)
	}
	t.Cleanup(func() { dt.removeDrill(t, d) })
	return d
}

func (dt drillTest) removeDrill(t *testing.T, d *v1alpha1.Drill) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := client.IgnoreNotFound(dt.b.Hub().Client.Delete(ctx, d)); err != nil {
		t.Errorf("delete Drill %s: %v", d.Name, err)
	}
	NewWithT(t).Eventually(func() bool {
		return apierrors.IsNotFound(dt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(d), &v1alpha1.Drill{}))
	}, 2*time.Minute, time.Second).Should(BeTrue(), "Drill %s goes", d.Name)
	NewWithT(t).Expect(dt.left(ctx, d)).To(BeEmpty())
}

// left are the objects of Chaos Mesh and the pods of a drill at all sites.
func (dt drillTest) left(ctx context.Context, d *v1alpha1.Drill) []string {
	var left []string
	for _, site := range dt.b.Sites {
		for _, kind := range []string{"NetworkChaos", "PodChaos"} {
			list := &unstructured.UnstructuredList{}
			list.SetAPIVersion("chaos-mesh.org/v1alpha1")
			list.SetKind(kind + "List")
			if err := site.Client.List(ctx, list, client.InNamespace(namespace),
				client.MatchingLabels{v1alpha1.LabelDrill: d.Name}); err != nil {
				left = append(left, fmt.Sprintf("%s: %v", site.Name, err))
			}
			for _, o := range list.Items {
				left = append(left, fmt.Sprintf("%s %s at %s", kind, o.GetName(), site.Name))
			}
		}
		out, _, err := site.Kubectl(ctx, "get", "pods", "-n", namespace, "-l", v1alpha1.LabelDrill+"="+d.Name, "-o", "name")
		if err != nil || strings.TrimSpace(out) != "" {
			left = append(left, fmt.Sprintf("pods at %s: %s %v", site.Name, out, err))
		}
	}
	return left
}

// verdict waits until the drill is over.
func (dt drillTest) verdict(t *testing.T, d *v1alpha1.Drill) v1alpha1.DrillStatus {
	t.Helper()
	began := time.Now()
	bed.Wait(t, "drill "+d.Name+" is over", 8*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := dt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(d), d)
		s := d.Status
		return s.Phase == v1alpha1.DrillCompleted, fmt.Sprintf("%s (%s): %s", s.Phase, s.Reason, s.Message), err
	})
	out, err := dt.groupTest.geosql("dublin", "drill", "describe", d.Name)
	t.Logf("after %.0f s (%v)\n%s", time.Since(began).Seconds(), err, out)
	return d.Status
}

func objective(s v1alpha1.DrillStatus, name string) v1alpha1.ObjectiveResult {
	for _, o := range s.Objectives {
		if o.Name == name {
			return o
		}
	}
	return v1alpha1.ObjectiveResult{}
}

func primaryPlace() *v1alpha1.FaultPlace { return &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary} }

// A drill loses the primary's pod and passes; one with a goal that nobody can meet fails for that goal; one that is
// deleted in the middle leaves nothing behind, and the operator may end meanwhile.
func TestDrill(t *testing.T) {
	groupB.Beside(t, 2, 380) // that the operator ends meanwhile must hold up nobody
	g := NewWithT(t)
	gt := inTurn(t, groupB)
	b := gt.b
	b.NeedChaosMesh(t)
	gt.backAt("tukwila")
	gt.patch(func(ag *v1alpha1.AvailabilityGroup) {
		ag.Spec.Objectives = &v1alpha1.Objectives{RPO: seconds(0), RTO: seconds(60)}
	})
	dt := drillTest{gt}

	refused := &v1alpha1.Drill{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "e2e-refused"},
		Spec: v1alpha1.DrillSpec{
			RunID: "1", Target: v1alpha1.DrillTarget{AvailabilityGroup: v1alpha1.ObjectName(gt.group.Name)}},
	}
	g.Expect(b.Hub().Client.Create(t.Context(), refused)).To(MatchError(ContainSubstring("does not allow drills")))
	g.Expect(b.Hub().Client.Patch(t.Context(), gt.group, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"`+v1alpha1.DrillsLabel+`":"allowed"}}}`)))).To(Succeed())

	t.Run("lose the primary's pod", func(t *testing.T) { dt.losePod(t) })
	t.Run("must fail and must not pass", func(t *testing.T) { dt.slowLink(t) })
	t.Run("errors in the data", func(t *testing.T) { dt.planted(t) })
	t.Run("deleted in the middle", func(t *testing.T) { dt.deleted(t) })
}

// losePod: what was acknowledged is there, the clients were served again, and the archive says the same.
func (dt drillTest) losePod(t *testing.T) {
	g := NewWithT(t)
	d := dt.declare(t, "e2e-lose-pod", func(s *v1alpha1.DrillSpec) {
		// The server whose pod is lost has to catch up with what was written meanwhile.
		s.Objectives.ArrivalP50, s.Objectives.ArrivalP99 = seconds(120), seconds(180)
		s.Faults = []v1alpha1.DrillFault{{Name: "kill", Kind: v1alpha1.FaultPodKill, At: seconds(2), Where: primaryPlace()}}
	})
	s := dt.verdict(t, d)
	g.Expect(s.Verdict).To(Equal(v1alpha1.VerdictPassed), s.Message)
	g.Expect(s.Counts.Acknowledged).To(BeNumerically(">", 100))
	g.Expect(s.Counts.Lost).To(BeZero())
	g.Expect(objective(s, "rto").Measured).NotTo(BeEmpty())
	g.Expect(s.Undisturbed).To(HaveLen(3))
	g.Expect(s.Undisturbed).To(HaveEach(HaveField("Longest", Not(BeNil()))))
	g.Expect(objective(s, "arrivalP99")).
		To(And(HaveField("Verdict", v1alpha1.VerdictPassed), HaveField("Measured", Not(BeEmpty()))))
	g.Expect(s.Faults).To(HaveLen(1))
	dt.arrived(t, s)
	g.Expect(s.Faults[0].Effect.Status).To(Equal(metav1.ConditionTrue))
	g.Expect(s.Clients).To(HaveLen(3))
	var events []string
	for _, e := range s.Timeline {
		events = append(events, e.Event)
	}
	g.Expect(events).
		To(ContainElements("Started", "BaselineMeasured", "Injected", "EffectSeen", "Removed", "Fenced", "Promoted",
			"FirstWrite", "Synchronized", "Recovered", "Judged"))

	kept, err := archive.Read(
		t.Context(),
		dt.b.Hub().Client,
		archive.Run{Namespace: d.Namespace, Drill: d.Name, UID: string(d.UID), ID: s.RunID},
	)
	g.Expect(err).NotTo(HaveOccurred())
	evidence, err := kept.Evidence()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(history.Check(evidence).Counts.Acknowledged).To(BeEquivalentTo(s.Counts.Acknowledged))
	g.Expect(kept.Replicas).To(HaveLen(2))

	// Applied again, it does not run again; with other faults it is refused, and with another runID it runs.
	again := d.DeepCopy()
	again.Spec.Objectives.LostRows = ptr.To[int64](5)
	g.Expect(dt.b.Hub().Client.Patch(t.Context(), again, client.MergeFrom(d))).
		To(MatchError(ContainSubstring("change runID")), "whatever has been written to its status meanwhile")
	out, _, err := dt.b.Hub().
		Kubectl(t.Context(), "wait", "-n", namespace, "drill/"+d.Name, "--for=jsonpath={.status.verdict}=Passed",
			"--timeout=1m")
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Eventually(func() []string { return dt.left(t.Context(), d) }, time.Minute, time.Second).
		Should(BeEmpty(), "nothing of a drill that is over stays at a site")
	dt.report(t, d)
}

// arrived: rows were seen to arrive at whoever was a secondary. That is the server whose pod was lost only if another
// one was promoted: it may be back first, and serve again.
func (dt drillTest) arrived(t *testing.T, s v1alpha1.DrillStatus) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(dt.b.Hub().Client.Get(t.Context(), client.ObjectKeyFromObject(dt.group), dt.group)).To(Succeed())
	g.Expect(s.Arrivals).To(HaveLen(2))
	for _, a := range s.Arrivals {
		if lost := v1alpha1.ServerName(s.Faults[0].Targets[0]); a.Server == string(lost) &&
			dt.group.Status.Primary == credentials.HostName(lost) {
			continue // it was primary all the time
		}
		g.Expect(a).
			To(And(HaveField("Kind", "Secondary"), HaveField("Acknowledged", BeNumerically(">", 20)),
				HaveField("Seen", BeNumerically(">", 20)), HaveField("Uncertainty", Not(BeNil()))))
	}
}

// slowLink: a slower link does what was asked, and a goal of 10 ms is missed for that goal alone. The operator ends in
// the middle and the next one carries on: on a busy machine it comes half a minute later, and the fault has to be seen
// for half of its time.
func (dt drillTest) slowLink(t *testing.T) {
	g := NewWithT(t)
	d := dt.declare(t, "e2e-slow-link", func(s *v1alpha1.DrillSpec) {
		s.Objectives.RTO = seconds(0.01)
		s.Faults = []v1alpha1.DrillFault{
			{Name: "slow", Kind: v1alpha1.FaultNetwork, At: seconds(1), Duration: seconds(60), Where: primaryPlace(),
				Peer: &v1alpha1.FaultPlace{Role: v1alpha1.RoleSecondary}, Network: &v1alpha1.NetworkFault{Latency: seconds(0.2)}},
		}
	})
	bed.Wait(t, "the fault is seen to have taken effect", 5*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := dt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(d), d)
		return len(d.Status.Faults) > 0 && d.Status.Faults[0].Effect != nil &&
			d.Status.Faults[0].Effect.Status == metav1.ConditionTrue, d.Status.Message, err
	})
	_, _, err := dt.b.Hub().
		Kubectl(t.Context(), "delete", "pod", "-n", "geosql-system", "-l", "app.kubernetes.io/name=geosql-operator",
			"--grace-period=0", "--force")
	g.Expect(err).NotTo(HaveOccurred())
	s := dt.verdict(t, d)
	g.Expect(s.Verdict).To(Equal(v1alpha1.VerdictFailed), s.Message)
	g.Expect(objective(s, "rto").Verdict).To(Equal(v1alpha1.VerdictFailed))
	for _, o := range s.Objectives {
		if o.Name != "rto" {
			g.Expect(o.Verdict).To(Equal(v1alpha1.VerdictPassed), "%s: %s", o.Name, o.Evidence)
		}
	}
	effect := s.Faults[0].Effect
	g.Expect(effect.Before).NotTo(BeEmpty())
	// A busy machine adds to each of them, and takes nothing away: what was added least is the fault's.
	const asked, tolerance = 400 * time.Millisecond, 150 * time.Millisecond
	least := time.Hour
	for i, before := range effect.Before {
		during := effect.During[i].Connect.Duration
		g.Expect(during).To(BeNumerically(">=", asked-20*time.Millisecond), "%s to %s", before.From, before.To)
		least = min(least, during-before.Connect.Duration)
	}
	g.Expect(least).To(BeNumerically("<", asked+tolerance), "of %v", effect.During)
	g.Expect(effect.After).NotTo(BeEmpty())
	for _, after := range effect.After {
		g.Expect(after.Connect.Duration).To(BeNumerically("<", asked), "%s to %s", after.From, after.To)
	}
}

// planted: a row that is deleted by hand while clients write, one that is doubled and a byte that is changed are found
// by the final reads, at both copies.
func (dt drillTest) planted(t *testing.T) {
	g := NewWithT(t)
	d := dt.declare(t, "e2e-planted", func(s *v1alpha1.DrillSpec) {
		s.Workload.Row = &v1alpha1.DrillRow{Type: v1alpha1.RowChar, Bytes: 64}
	})
	g.Expect(dt.b.Hub().Client.Get(t.Context(), client.ObjectKeyFromObject(dt.group), dt.group)).To(Succeed())
	primary := &v1alpha1.SQLServer{}
	name := strings.TrimSuffix(dt.group.Status.Primary, "-0")
	g.Expect(dt.b.Hub().Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, primary)).To(Succeed())
	at := open(t, connectorFrom(t, dt.b, shellAt(t, dt.b.Site(string(primary.Spec.Site)), namespace)), primary,
		credentials.RoleSA, "Content")
	bed.Wait(t, "clients have written some rows", 5*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := dt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(d), d)
		if err != nil || d.Status.RecordedAfter == nil {
			return false, d.Status.Message, err
		}
		rows := 0
		err = at.Handle().QueryRowContext(ctx, "SELECT COUNT(*) FROM dbo.Recorded WHERE Id > @p1",
			*d.Status.RecordedAfter).Scan(&rows)
		return rows >= 30, fmt.Sprintf("%d rows", rows), err
	})
	for _, change := range []string{
		"DELETE FROM dbo.Recorded WHERE Id = (SELECT MIN(Id) FROM dbo.Recorded WHERE Id > @p1)",
		"INSERT INTO dbo.Recorded (Run, Op, Server, Configuration, WrittenAt) SELECT Run, Op, Server, Configuration, " +
			"WrittenAt FROM dbo.Recorded WHERE Id = (SELECT MIN(Id) FROM dbo.Recorded WHERE Id > @p1)",
		"UPDATE dbo.Article SET Body = STUFF(Body, 60, 1, '~') " +
			"WHERE @p1 >= 0 AND Id = (SELECT MAX(Id) FROM dbo.Article WHERE Id < 0)",
	} {
		_, err := at.Handle().ExecContext(t.Context(), change, *d.Status.RecordedAfter)
		g.Expect(err).NotTo(HaveOccurred(), change)
	}
	s := dt.verdict(t, d)
	g.Expect(s.Verdict).To(Equal(v1alpha1.VerdictFailed), s.Message)
	g.Expect(s.Counts).To(HaveValue(And(HaveField("Lost", BeEquivalentTo(1)), HaveField("Duplicated", BeEquivalentTo(1)))))
	g.Expect(objective(s, "lostRows").Evidence).To(ContainSubstring("is missing"))
	g.Expect(objective(s, "consistency").Evidence).To(And(ContainSubstring("1 rows are there more than once"),
		ContainSubstring("2 payloads are not what was written"), ContainSubstring("2 transactions are there in part")))
}

// deleted: a drill that is deleted while its fault lasts takes it back before it is gone.
func (dt drillTest) deleted(t *testing.T) {
	d := dt.declare(t, "e2e-deleted", func(s *v1alpha1.DrillSpec) {
		s.Faults = []v1alpha1.DrillFault{
			{
				Name:     "cut",
				Kind:     v1alpha1.FaultPartition,
				Duration: seconds(300),
				Where:    &v1alpha1.FaultPlace{Role: v1alpha1.RoleSecondary},
			},
		}
	})
	bed.Wait(t, "the partition is seen", 5*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := dt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(d), d)
		text := d.Status.Message
		if len(d.Status.Faults) > 0 && d.Status.Faults[0].Effect != nil {
			text = d.Status.Faults[0].Effect.Seen
		}
		return len(d.Status.Faults) > 0 && d.Status.Faults[0].Effect != nil &&
			d.Status.Faults[0].Effect.Status == metav1.ConditionTrue, text, err
	})
	dt.removeDrill(t, d)
	dt.groupTest.t = t
	dt.groupTest.wait("the group is synchronized again", 1, 3*time.Minute)
}
