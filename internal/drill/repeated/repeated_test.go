// SPDX-License-Identifier: Apache-2.0

package repeated_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/repeated"
)

// The bound is that of the tables: the rule of three where nothing happened, more where something did, and everything
// where nobody looked.
func TestUpperBound(t *testing.T) {
	for _, c := range []struct {
		k, n  int
		bound float64
	}{
		{0, 100, 0.02951}, {0, 300, 0.00994}, {0, 1, 0.95}, {1, 100, 0.04656}, {5, 50, 0.19883}, {10, 10, 1}, {0, 0, 1},
		{0, 10_000, 0.0002995}, {3, 10_000, 0.000775},
	} {
		NewWithT(t).Expect(repeated.UpperBound(c.k, c.n, 0.95)).
			To(BeNumerically("~", c.bound, 0.0005*max(c.bound, 0.01)), "%d of %d", c.k, c.n)
	}
}

// Runs that have not seen enough say nothing of losses, unless they have seen one; clients that a fault cut off have no
// time without service.
func TestSummarize(t *testing.T) {
	g := NewWithT(t)
	run := func(v v1alpha1.DrillVerdict, lost int64, rto time.Duration) v1alpha1.Drill {
		return v1alpha1.Drill{Status: v1alpha1.DrillStatus{Verdict: v, Counts: &v1alpha1.DrillCounts{Lost: lost},
			Figures: []v1alpha1.FaultClientFigures{
				{RTO: &metav1.Duration{Duration: rto}}, {RTO: &metav1.Duration{Duration: time.Second}}, {},
				{Isolated: true, RTO: &metav1.Duration{Duration: time.Hour}},
			}}}
	}
	s := repeated.Summarize([]v1alpha1.Drill{
		run(v1alpha1.VerdictPassed, 0, 9*time.Second), run(v1alpha1.VerdictFailed, 0, 40*time.Second),
		run(v1alpha1.VerdictFailed, 7, 3*time.Second), run(v1alpha1.VerdictInconclusive, 0, 5*time.Second),
		run(v1alpha1.VerdictInconclusive, 1, 6*time.Second), run("", 0, time.Hour),
		{Status: v1alpha1.DrillStatus{Verdict: v1alpha1.VerdictPassed}},
	})
	g.Expect(s).To(And(HaveField("Runs", 6), HaveField("Passed", 2), HaveField("Failed", 2), HaveField("Inconclusive", 2),
		HaveField("Told", 4), HaveField("Lost", 2)))
	g.Expect(s.AtMost).To(BeNumerically("~", 0.9024, 0.0005))
	g.Expect(s.RTO).To(Equal([]time.Duration{3 * time.Second, 5 * time.Second, 6 * time.Second, 9 * time.Second,
		40 * time.Second}))
	g.Expect(repeated.Summarize(nil).AtMost).To(Equal(1.0))
}
