// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/report"
)

// report makes a drill's reports as a person does. The archive says what the status says, and has what the page draws.
// The page stays in GEOSQL_TEST_RESULTS when that is set.
func (dt drillTest) report(t *testing.T, d *v1alpha1.Drill) {
	t.Helper()
	g := NewWithT(t)
	folder := os.Getenv("GEOSQL_TEST_RESULTS")
	if folder == "" {
		folder = t.TempDir()
	}
	file := func(format string) string { return filepath.Join(folder, "drill-"+d.Name+"."+format) }
	for _, format := range []string{"html", "md", "json"} {
		_, err := dt.groupTest.geosql("dublin", "drill", "report", d.Name, "-o", format, "--output-file", file(format))
		g.Expect(err).NotTo(HaveOccurred())
	}
	data, err := os.ReadFile(file("json"))
	g.Expect(err).NotTo(HaveOccurred())
	var r report.Report
	g.Expect(json.Unmarshal(data, &r)).To(Succeed())
	g.Expect(r.Verdict).To(Equal(d.Status.Verdict))
	g.Expect(r.Recheck).NotTo(BeNil())
	g.Expect(r.Recheck.Differences).To(BeEmpty())
	g.Expect(r.Measured.Throughput).To(HaveLen(len(d.Status.Clients)))
	g.Expect(r.Measured.Acknowledging).To(HaveLen(len(d.Status.Clients)))
	g.Expect(r.Measured.Roles).NotTo(BeEmpty())
	page, err := os.ReadFile(file("html"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(page)).To(BeNumerically(">", 20_000))
}
