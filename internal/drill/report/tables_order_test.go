// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/report"
)

// The report says which errors the checker was shown to see, and which it was not.
func TestControlsAreInTheReport(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	g.Expect(render(t, d, a, report.Markdown)).NotTo(ContainSubstring("## Controls"), "a run of an earlier release")
	d.Status.Controls = []v1alpha1.DrillControl{
		{Planted: "a lost row", Result: v1alpha1.ControlFound, Evidence: "lostRows Failed"},
		{Planted: "a stale read", Result: v1alpha1.ControlNothing, Evidence: "no register was read"},
		{Planted: "a dead client", Result: v1alpha1.ControlNotFound},
	}
	text := render(t, d, a, report.Markdown)
	g.Expect(text).To(ContainSubstring("| a lost row | found | lostRows Failed |"))
	g.Expect(text).To(ContainSubstring("| a stale read | nothing to plant it in | no register was read |"))
	g.Expect(text).To(ContainSubstring("| a dead client | not found |  |"))
	g.Expect(text).NotTo(ContainSubstring("## Transactions on lists"), "of another profile")
}
