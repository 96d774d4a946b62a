// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/workload"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/internal/workload/history/listappend"
)

// Clients of all sites append to the same lists, and a run that is accepted later has others; clients of other profiles
// are told of none.
func TestListsOfARun(t *testing.T) {
	g := NewWithT(t)
	accepted := metav1.NewMicroTime(time.Unix(1_800_000_000, 999_000_000))
	d := &v1alpha1.Drill{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "lose"}}
	s := &v1alpha1.DrillStatus{Accepted: &accepted}
	told := func(site v1alpha1.SiteName) string {
		arguments := clientPod(d, s, &target{}, site, "image").Spec.Containers[0].Args
		if i := slices.Index(arguments, "--lists-from"); i >= 0 {
			return arguments[i+1]
		}
		return ""
	}
	g.Expect(told("dublin")).To(BeEmpty())
	d.Spec.Workload.Profile = v1alpha1.ProfileAppend
	first := told("dublin")
	g.Expect(first).To(Equal(fmt.Sprint(1_800_000_000 * workload.ListRange)))
	g.Expect(told("quincy")).To(Equal(first))
	later := metav1.NewMicroTime(accepted.Add(time.Second))
	s.Accepted = &later
	g.Expect(told("dublin")).To(Equal(fmt.Sprint(1_800_000_001 * workload.ListRange)))
	s.Accepted = nil
	g.Expect(told("dublin")).To(Equal(fmt.Sprint(workload.ListRange)), "of a drill that is only planned")
}

// What has come to a subscriber between two readings shows in its rows, or in its lists where no article carries rows.
func TestWhatCameBetweenTwoReadings(t *testing.T) {
	rows := func(n int64) (list []history.RowID) {
		for number := range n {
			list = append(list, history.RowID{Run: 1, Number: number})
		}
		return list
	}
	lists := func(elements ...listappend.Element) map[int64]listappend.List {
		return map[int64]listappend.List{5: elements}
	}
	for name, c := range map[string]struct {
		before, after history.Replica
		want          bool
	}{
		"nothing":               {history.Replica{Rows: rows(2)}, history.Replica{Rows: rows(2)}, false},
		"a row":                 {history.Replica{Rows: rows(2)}, history.Replica{Rows: rows(3)}, true},
		"nothing, by its lists": {history.Replica{Lists: lists("1.1.0")}, history.Replica{Lists: lists("1.1.0")}, false},
		"an element": {history.Replica{Lists: lists("1.1.0")}, history.Replica{Lists: lists("1.1.0", "1.2.0")},
			true},
		"a list, where there was none": {history.Replica{Lists: map[int64]listappend.List{}},
			history.Replica{Lists: lists("1.1.0")}, true},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(moved(c.before, c.after)).To(Equal(c.want)) })
	}
}
