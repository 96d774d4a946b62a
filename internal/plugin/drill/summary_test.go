// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/terminal"
)

// The drills of one schedule are summed up; where it may have deleted some, what is left is no rate.
func TestSummary(t *testing.T) {
	g := NewWithT(t)
	hub := terminal.Hub().Build()
	create := func(o client.Object) { g.Expect(hub.Create(context.Background(), o)).To(Succeed()) }
	key := client.ObjectKey{Namespace: "web", Name: "nightly"}
	schedule := &v1alpha1.DrillSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "nightly"},
		Spec: v1alpha1.DrillScheduleSpec{PassedHistoryLimit: ptr.To[int32](100), OtherHistoryLimit: ptr.To[int32](100)}}
	create(schedule)
	summary := func() string {
		var out bytes.Buffer
		g.Expect(summarize(context.Background(), &out, hub, key)).To(Succeed())
		return out.String()
	}
	g.Expect(summary()).To(Equal("runs: 0 over; 0 passed, 0 failed, 0 inconclusive\nlosses: no run tells\n" +
		"without service: not measured\n"))
	for i := range 60 {
		of := "nightly"
		if i == 59 {
			of = "weekly"
		}
		create(&v1alpha1.Drill{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: fmt.Sprintf("nightly-%d", i),
				Labels: map[string]string{v1alpha1.LabelDrillSchedule: of}},
			Status: v1alpha1.DrillStatus{Verdict: v1alpha1.VerdictPassed, Counts: &v1alpha1.DrillCounts{},
				Figures: []v1alpha1.FaultClientFigures{{RTO: &metav1.Duration{Duration: time.Duration(i+1) * time.Second}}}},
		})
	}
	g.Expect(summary()).To(Equal("runs: 59 over; 59 passed, 0 failed, 0 inconclusive\n" +
		"losses: in 0 of 59 runs that tell; at most 5 % of runs lose rows (95 % confidence, runs taken for independent and " +
		"alike)\nwithout service, the worst of each of 59 runs: 1s at least, 30s at the median, 57s at the 95th of 100, " +
		"59s at most\n"))
	schedule.Spec.PassedHistoryLimit = ptr.To[int32](59)
	g.Expect(hub.Update(context.Background(), schedule)).To(Succeed())
	g.Expect(summary()).To(HavePrefix("The schedule keeps 59 drills that passed and 100 others"))
}

// Of a schedule that repeats it is said how its drills were drawn, which did not pass, and how to make one again; all
// of them are kept, so that no limit is warned of.
func TestSummaryOfDrawnDrills(t *testing.T) {
	g := NewWithT(t)
	hub := terminal.Hub().Build()
	create := func(o client.Object) { g.Expect(hub.Create(context.Background(), o)).To(Succeed()) }
	create(&v1alpha1.DrillSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "drawn"},
		Spec: v1alpha1.DrillScheduleSpec{Repeat: &v1alpha1.DrillRepeat{Times: 200, Seed: 42}},
		Status: v1alpha1.DrillScheduleStatus{Repeated: &v1alpha1.RepeatedDrills{Seed: 42, Made: 18, Deleted: 1,
			Stopped: "Drill drawn-018 has failed: missed: rto"}}})
	for i := range 17 {
		d := &v1alpha1.Drill{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: fmt.Sprintf("drawn-%03d", i+2),
				Labels:      map[string]string{v1alpha1.LabelDrillSchedule: "drawn"},
				Annotations: map[string]string{v1alpha1.AnnotationDrillSeed: fmt.Sprintf("42/%d", i+2)}},
			Status: v1alpha1.DrillStatus{Verdict: v1alpha1.VerdictPassed, Counts: &v1alpha1.DrillCounts{}},
		}
		if i == 16 {
			d.Status.Verdict, d.Status.Message = v1alpha1.VerdictFailed, "missed: rto"
		}
		create(d)
	}
	var out bytes.Buffer
	g.Expect(summarize(context.Background(), &out, hub, client.ObjectKey{Namespace: "web", Name: "drawn"})).To(Succeed())
	g.Expect(out.String()).To(Equal("drawn: 18 of 200 made, seed 42; one of them alone again: another schedule with the " +
		"same template and repeat: {times: 1, first: NUMBER, seed: 42}\n" +
		"Failed of drawn-018, seed and number 42/18: missed: rto\n" +
		"1 of the drills were deleted: shares of what is left are no rates\n" +
		"stopped: Drill drawn-018 has failed: missed: rto\n" +
		"runs: 17 over; 16 passed, 1 failed, 0 inconclusive\n" +
		"losses: in 0 of 17 runs that tell; at most 16 % of runs lose rows (95 % confidence, runs taken for independent " +
		"and alike)\nwithout service: not measured\n"))
}
