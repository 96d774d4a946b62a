// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/e2e/bed"
)

// repeatedDrills is how many drills are drawn, repeatedSeed the seed, and repeatedHours how long they are waited for.
const (
	repeatedDrills = "GEOSQL_DRILL_TIMES"
	repeatedSeed   = "GEOSQL_DRILL_SEED"
	repeatedHours  = "GEOSQL_DRILL_HOURS"
)

// TestRepeatedDrills draws drills of a group one after another, as many as are asked for or as there is time for, and
// leaves what they tell together. None may lose an acknowledged row, whatever else became of it.
func TestRepeatedDrills(t *testing.T) {
	if os.Getenv(repeatedDrills) == "" {
		t.Skip("GEOSQL_DRILL_TIMES is not set: make soak-repeated draws 200")
	}
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	b.NeedChaosMesh(t)
	gt := declareGroup(t, b, "e2erepeat", v1alpha1.ConfigurationOnly, func(ag *v1alpha1.AvailabilityGroup) {
		ag.Labels = map[string]string{v1alpha1.DrillsLabel: v1alpha1.DrillsAllowed}
	})
	gt.wait("the group is synchronized", 1, 5*time.Minute)
	dt, hub := drillTest{gt}, b.Hub().Client
	times := number(t, repeatedDrills, 200)
	s := &v1alpha1.DrillSchedule{
		// The sites remember which runs of a name were begun, also those of an earlier run of the tests.
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "soak-" + time.Now().UTC().Format("0102-150405")},
		Spec: v1alpha1.DrillScheduleSpec{
			Repeat: &v1alpha1.DrillRepeat{
				Times: int32(times), Seed: int64(number(t, repeatedSeed, 1)),
				FaultsAtMost: 2, Pause: seconds(15), StopAfter: v1alpha1.StopNever,
			},
			Template: v1alpha1.DrillTemplate{Spec: v1alpha1.DrillSpec{
				RunID: "drawn", Target: v1alpha1.DrillTarget{AvailabilityGroup: v1alpha1.ObjectName(gt.group.Name)},
				Baseline: seconds(5), Recovery: seconds(120), TimeLimit: seconds(420),
				Objectives: v1alpha1.DrillObjectives{RTO: seconds(60)},
				Faults: []v1alpha1.DrillFault{
					{Name: "kill", Kind: v1alpha1.FaultPodKill, Where: primaryPlace()},
					{Name: "freeze", Kind: v1alpha1.FaultFreeze, Duration: seconds(20), Where: primaryPlace()},
					{Name: "move", Kind: v1alpha1.FaultSwitchover},
					{Name: "kill-secondary", Kind: v1alpha1.FaultPodKill,
						Where: &v1alpha1.FaultPlace{Role: v1alpha1.RoleSecondary}},
				},
			}},
		},
	}
	g.Expect(hub.Create(t.Context(), s)).To(Succeed())
	t.Cleanup(func() { dt.removeSchedule(t, s) })
	limit := time.Duration(number(t, repeatedHours, 10)) * time.Hour
	for until := time.Now().Add(limit); time.Now().Before(until); {
		g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
		if r := s.Status.Repeated; r != nil && int(r.Made) == times && s.Status.Active == "" {
			break
		}
		bed.Wait(t, "the next drill of "+s.Name, 30*time.Minute, func(ctx context.Context) (bool, string, error) {
			active := s.Status.Active
			err := hub.Get(ctx, client.ObjectKeyFromObject(s), s)
			return s.Status.Active != active, fmt.Sprintf("%+v", s.Status.Repeated), err
		})
	}
	out, err := gt.geosql("dublin", "drill", "summary", s.Name)
	g.Expect(err).NotTo(HaveOccurred(), out)
	t.Log(out)
	if folder := os.Getenv(resultsFolder); folder != "" {
		g.Expect(os.WriteFile(filepath.Join(folder, "drills-repeated.txt"), []byte(out), 0o600)).To(Succeed())
	}
	g.Expect(s.Status.Repeated.Told).To(BeNumerically(">", 0), out)
	g.Expect(s.Status.Repeated.Lost).To(BeZero(), out)
}

// removeSchedule deletes a schedule with its drills.
func (dt drillTest) removeSchedule(t *testing.T, s *v1alpha1.DrillSchedule) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	g, hub := NewWithT(t), dt.b.Hub().Client
	g.Expect(client.IgnoreNotFound(hub.Delete(ctx, s))).To(Succeed())
	var list v1alpha1.DrillList
	g.Expect(hub.List(ctx, &list, client.InNamespace(namespace),
		client.MatchingLabels{v1alpha1.LabelDrillSchedule: s.Name})).To(Succeed())
	for i := range list.Items {
		dt.removeDrill(t, &list.Items[i])
	}
}
