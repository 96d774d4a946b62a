// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/test/e2e/bed"
)

// Drills that must fail do: one loses rows, and the drill says how many to the last; another has a group without a
// fence, whose primary is replaced by hand while it lives: two servers acknowledge; a third loses nothing, and has too
// much to redo to be back in time.
func TestDrillsThatMustFail(t *testing.T) {
	if os.Getenv(exampleDrills) == "" {
		t.Skip("GEOSQL_DRILL_EXAMPLES is not set: make soak-drills runs all")
	}
	t.Parallel()
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	b.NeedChaosMesh(t)
	t.Run("redo debt", func(t *testing.T) {
		bed.Beside(t, 600)
		redoDebt(t, b)
	})
	t.Run("forced with loss", func(t *testing.T) {
		bed.Beside(t, 600)
		forcedWithLoss(t, b)
	})
	t.Run("without a fence", func(t *testing.T) {
		bed.Beside(t, 600)
		withoutFence(t, b)
	})
}

// exampleTopology declares the topology of the example, with the engine of the bed.
func exampleTopology(t *testing.T, b *bed.Bed, file string) {
	t.Helper()
	g := NewWithT(t)
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	document, _, _ := strings.Cut(string(data), "\n---")
	topology := &v1alpha1.Topology{}
	g.Expect(yaml.Unmarshal([]byte(document), topology)).To(Succeed())
	topology.Namespace = namespace
	topology.Spec.ServerDefaults.Image = b.Image(t, "STANDIN_IMAGE")
	g.Expect(b.Hub().Client.Create(t.Context(), topology)).To(Succeed())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		defer cancel()
		if err := client.IgnoreNotFound(b.Hub().Client.Delete(ctx, topology)); err != nil {
			t.Errorf("delete Topology %s: %v", topology.Name, err)
		}
		NewWithT(t).Eventually(func() bool {
			return apierrors.IsNotFound(b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(topology), &v1alpha1.Topology{}))
		}, 3*time.Minute, time.Second).Should(BeTrue(), "Topology %s goes", topology.Name)
		for _, site := range b.Sites {
			for _, what := range [][]string{{"pvc,secret", "-l", v1alpha1.LabelTopology + "=" + topology.Name},
				{"lease", "geosql-" + topology.Name}} {
				if _, _, err := site.Kubectl(ctx,
					append([]string{"-n", namespace, "delete", "--ignore-not-found", "--wait=false"}, what...)...); err != nil {
					t.Error(err)
				}
			}
		}
	})
	bed.Wait(t, "Topology "+topology.Name+" is ready", 8*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(topology), topology)
		return meta.IsStatusConditionTrue(topology.Status.Conditions, v1alpha1.ConditionReady), topology.Status.Summary, err
	})
}

// runWithTopology runs an example that has a topology of its own, and returns what it left.
func runWithTopology(t *testing.T, b *bed.Bed, name, topology string) (*v1alpha1.Drill, archive.Archive) {
	t.Helper()
	g := NewWithT(t)
	file := filepath.Join(examplesOfDrills(), "must-fail", name+".yaml")
	exampleTopology(t, b, file)
	d, on := exampleOf(t, file, topology)
	g.Expect(on).To(BeTrue())
	gt := &groupTest{t: t, b: b}
	g.Expect(b.Hub().Client.Create(t.Context(), d)).To(Succeed())
	t.Cleanup(func() { (drillTest{gt}).removeDrill(t, d) })
	overAndExpected(t, gt, d)
	kept, err := archive.Read(
		t.Context(),
		b.Hub().Client,
		archive.Run{Namespace: d.Namespace, Drill: d.Name, UID: string(d.UID), ID: d.Status.RunID},
	)
	g.Expect(err).NotTo(HaveOccurred())
	return d, kept
}

// redoDebt runs the example, and looks what held the secondary up: it had hardened all, and not redone it. Having so
// little of a processor, it may not answer for itself; the primary knows.
func redoDebt(t *testing.T, b *bed.Bed) {
	g := NewWithT(t)
	d, kept := runWithTopology(t, b, "redo-debt", "debt")
	g.Expect(d.Status.Counts.Lost).To(BeZero())
	debt, state := int64(0), ""
	for _, s := range kept.Samples.Replicas {
		if s.Server != "debqui" || s.At.After(d.Status.Faults[0].Injected.Time) {
			continue
		}
		if s.Synchronization != "" {
			state = s.Synchronization
		}
		if s.RedoQueueKB != nil {
			debt = max(debt, *s.RedoQueueKB)
		}
	}
	t.Logf("%d KB were to be redone at most", debt)
	g.Expect(debt).To(BeNumerically(">", 1_000))
	g.Expect(state).To(Equal("SYNCHRONIZED"), "all of it was hardened")
	g.Expect(d.Status.Timeline).
		To(ContainElement(And(HaveField("Event", "Promoted"), HaveField("Message", ContainSubstring("to debqui-0")))),
			"it took over")
}

// forcedWithLoss runs the example, and counts the rows that are lost a second time, from the histories and from what
// the new primary has.
func forcedWithLoss(t *testing.T, b *bed.Bed) {
	g := NewWithT(t)
	d, kept := runWithTopology(t, b, "forced-with-loss", "lossy")
	g.Expect(d.Status.Counts.Lost).To(BeNumerically(">", 0))
	evidence, err := kept.Evidence()
	g.Expect(err).NotTo(HaveOccurred())
	server := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "losasy"}}
	at := open(t, connectorFrom(t, b, shellAt(t, b.Site("dublin"), namespace)), server, credentials.RoleSA, "Lossy")
	replica, err := workload.ReadRecorded(t.Context(), at, 0)
	g.Expect(err).NotTo(HaveOccurred())
	there := map[history.RowID]bool{}
	for _, id := range replica.Rows {
		there[id] = true
	}
	acknowledged, lost := 0, 0
	for _, run := range evidence.Runs {
		for _, o := range run.Operations {
			if o.Function != history.Insert || o.Outcome != history.OK {
				continue
			}
			acknowledged++
			if !there[history.RowID{Run: run.Header.Run, Number: o.Number}] {
				lost++
			}
		}
	}
	t.Logf("counted anew: %d acknowledged, %d of them are not at the new primary", acknowledged, lost)
	g.Expect(d.Status.Counts.Acknowledged).To(BeEquivalentTo(acknowledged))
	g.Expect(lost).To(BeNumerically(">", 0))
	// What the old side lacks of the new primary's rows is lost to it, too.
	g.Expect(d.Status.Counts.Lost).To(BeNumerically(">=", lost))
	g.Expect(lostAt(evidence, "losasy")).To(Equal(lost), "the archive has the rows that the server has")
}

// lostAt counts the acknowledged rows that a replica of the archive lacks.
func lostAt(e history.Evidence, server string) int {
	there := map[history.RowID]bool{}
	for _, r := range e.Replicas {
		if strings.HasPrefix(strings.ToLower(r.Server), server) {
			for _, id := range r.Rows {
				there[id] = true
			}
		}
	}
	lost := 0
	for _, run := range e.Runs {
		for _, o := range run.Operations {
			if o.Function == history.Insert && o.Outcome == history.OK &&
				!there[history.RowID{Run: run.Header.Run, Number: o.Number}] {
				lost++
			}
		}
	}
	return lost
}

// withoutFence: somebody promotes a replica of a group of clusterType None by hand while its primary lives. Nothing
// fences the primary, and clients go on at it: what they are acknowledged from then on the new primary lacks. The drill
// that runs meanwhile reads both, and fails.
func withoutFence(t *testing.T, b *bed.Bed) {
	g := NewWithT(t)
	// Two synchronous replicas, of which neither needs the other to commit, as read-scale groups have by default.
	gt := declareGroup(t, b, "e2enone", v1alpha1.AsynchronousCommit, func(ag *v1alpha1.AvailabilityGroup) {
		ag.Labels = map[string]string{v1alpha1.DrillsLabel: v1alpha1.DrillsAllowed}
		ag.Spec.ClusterType, ag.Spec.FailoverPolicy, ag.Spec.Voters = v1alpha1.ClusterNone, v1alpha1.FailoverManual, nil
	})
	bed.Wait(t, "the group is synchronized", 6*time.Minute, func(ctx context.Context) (bool, string, error) {
		c, err := gt.ready(ctx)
		return c.Status == metav1.ConditionTrue, fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message), err
	})
	dt := drillTest{gt}
	d := dt.declare(t, "e2e-two-primaries", func(s *v1alpha1.DrillSpec) {
		s.Baseline, s.Recovery = seconds(30), seconds(20)
	})
	bed.Wait(t, "clients are served", 4*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(d), d)
		return d.Status.Phase == v1alpha1.DrillBaseline, fmt.Sprintf("%s: %s", d.Status.Phase, d.Status.Message), err
	})
	other := open(
		t,
		connectorFrom(t, b, shellAt(t, b.Site("quincy"), namespace)),
		gt.servers["quincy"],
		credentials.RoleSA,
		"master",
	)
	g.Expect(forceByHand(t.Context(), other, gt.group.Name)).To(Succeed())
	s := dt.verdict(t, d)
	g.Expect(s.Verdict).To(Equal(v1alpha1.VerdictFailed), s.Message)
	g.Expect(objective(s, "lostRows").Verdict).To(Equal(v1alpha1.VerdictFailed), objective(s, "lostRows").Evidence)
	g.Expect(objective(s, "consistency").Evidence).To(ContainSubstring("rows are in some replicas and not in others"))
	g.Expect(objective(s, "evidence").Evidence).To(ContainSubstring("both say PRIMARY"))
	g.Expect(s.Counts.Lost).To(BeNumerically(">", 0))
	dt.report(t, d)
	// A person decides which of the two goes on: what the drill made there cannot be taken away while nobody knows.
	former := open(
		t,
		connectorFrom(t, b, shellAt(t, b.Site("tukwila"), namespace)),
		gt.servers["tukwila"],
		credentials.RoleSA,
		"master",
	)
	g.Expect(former.Exec(t.Context(), tsql.Statement{Text: "ALTER AVAILABILITY GROUP [" + gt.group.Name + "] OFFLINE"})).
		To(Succeed())
}

// forceByHand is what an administrator types at a secondary.
func forceByHand(ctx context.Context, at *mssql.DB, group string) error {
	return at.Exec(ctx, tsql.Statement{Text: "ALTER AVAILABILITY GROUP [" + group + "] FORCE_FAILOVER_ALLOW_DATA_LOSS"})
}
