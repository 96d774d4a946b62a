// SPDX-License-Identifier: Apache-2.0

package version_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/internal/version"
	"geosql.dev/operator/test/support/checkout"
)

// What the programs say of Kubernetes is what the chart demands.
func TestMinKubernetesIsTheCharts(t *testing.T) {
	g := NewWithT(t)
	data, err := os.ReadFile(filepath.Join(checkout.Root(), "charts", "geosql-operator", "Chart.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var chart struct {
		KubeVersion string `json:"kubeVersion"`
	}
	g.Expect(yaml.Unmarshal(data, &chart)).To(Succeed())
	g.Expect(chart.KubeVersion).To(Equal(">=" + version.MinKubernetes + ".0-0"))
}
