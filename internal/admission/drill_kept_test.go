// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/archive"
)

// A drill whose histories no archive holds is refused with what it would record, and what it is told to declare instead
// is admitted.
func TestDrillsThatNoArchiveKeeps(t *testing.T) {
	lasting := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	w := &World{Groups: map[string]*v1alpha1.AvailabilityGroup{}, Servers: map[string]*v1alpha1.SQLServer{}}
	g := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Name: "content",
		Labels: map[string]string{v1alpha1.DrillsLabel: v1alpha1.DrillsAllowed}}}
	for server, site := range map[string]v1alpha1.SiteName{"a": "tukwila", "b": "quincy", "c": "dublin"} {
		g.Spec.Replicas = append(g.Spec.Replicas, v1alpha1.Replica{Server: v1alpha1.ServerName(server)})
		w.Servers[server] = &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: server},
			Spec: v1alpha1.SQLServerSpec{Site: site}}
	}
	w.Groups["content"] = g
	for name, c := range map[string]struct {
		workload v1alpha1.DrillWorkload
		limit    time.Duration
		would    int64 // 0: it is admitted
		instead  v1alpha1.DrillWorkload
	}{
		"by default": {v1alpha1.DrillWorkload{}, time.Hour, 0, v1alpha1.DrillWorkload{}},
		"a day and a half of defaults": {v1alpha1.DrillWorkload{Duration: lasting(36 * time.Hour)}, 48 * time.Hour,
			3 * 2 * 10 * 36 * 3600, v1alpha1.DrillWorkload{Duration: lasting(36 * time.Hour),
				ThinkTime: lasting(4 * time.Second)}},
		"ten hours of defaults": {v1alpha1.DrillWorkload{Duration: lasting(10 * time.Hour)}, 11 * time.Hour,
			3 * 2 * 10 * 10 * 3600, v1alpha1.DrillWorkload{Duration: lasting(10 * time.Hour), RowsPerSecond: 1}},
		"200 users for three minutes": {v1alpha1.DrillWorkload{Users: 200, Duration: lasting(3 * time.Minute)}, time.Hour,
			3 * 200 * 10 * 180, v1alpha1.DrillWorkload{Users: 200, Duration: lasting(3 * time.Minute), RowsPerSecond: 2}},
		"they stay after their stage": {v1alpha1.DrillWorkload{Stages: []v1alpha1.DrillStage{
			{Users: 1, Duration: metav1.Duration{Duration: time.Minute}},
			{Users: 100, Duration: metav1.Duration{Duration: time.Minute}}}, Duration: lasting(10 * time.Minute)}, time.Hour,
			3 * 10 * (60 + 100*540), v1alpha1.DrillWorkload{Stages: []v1alpha1.DrillStage{
				{Users: 1, Duration: metav1.Duration{Duration: time.Minute}},
				{Users: 100, Duration: metav1.Duration{Duration: time.Minute}}}, Duration: lasting(10 * time.Minute),
				RowsPerSecond: 1}},
		"a bookstore's": {v1alpha1.DrillWorkload{Profile: v1alpha1.ProfileBookstore, Users: 200,
			Duration: lasting(time.Hour)},
			2 * time.Hour, 4_311_377, v1alpha1.DrillWorkload{Profile: v1alpha1.ProfileBookstore, Users: 200,
				Duration: lasting(time.Hour), ThinkTime: lasting(9 * time.Second)}},
		"at one site of three": {v1alpha1.DrillWorkload{Sites: []v1alpha1.SiteName{"quincy"},
			Duration: lasting(3 * time.Hour)},
			5 * time.Hour, 0, v1alpha1.DrillWorkload{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := v1alpha1.DrillSpec{RunID: "1", Target: v1alpha1.DrillTarget{AvailabilityGroup: "content"},
				Workload: c.workload, TimeLimit: lasting(c.limit)}
			errs := w.drillSpec(field.NewPath("spec"), s)
			if c.would == 0 {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs).To(HaveLen(1))
			g.Expect(errs[0].Field).To(Equal("spec.workload"))
			g.Expect(errs[0].Error()).To(And(ContainSubstring(fmt.Sprintf("%d operations", c.would)),
				ContainSubstring(fmt.Sprint(archive.MaxOperations))))
			switch {
			case c.instead.ThinkTime != nil:
				g.Expect(errs[0].Detail).To(ContainSubstring("thinkTime of at least " + c.instead.ThinkTime.Duration.String()))
			default:
				g.Expect(errs[0].Detail).To(ContainSubstring(fmt.Sprintf("rowsPerSecond of at most %d", c.instead.RowsPerSecond)))
			}
			s.Workload = c.instead
			g.Expect(w.drillSpec(field.NewPath("spec"), s)).To(BeEmpty())
			g.Expect(drill.Operations(s, 3)).To(BeNumerically("<=", archive.MaxOperations))
		})
	}
}
