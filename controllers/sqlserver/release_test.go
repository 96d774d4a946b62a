// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// Another value here is another restart of every server when somebody upgrades: what a release adds to the pod waits
// for the next start of each engine (lasting).
func TestWhatAReleaseRestartsPodsFor(t *testing.T) {
	for name, around := range map[string]Surroundings{"alone": {}, "beside a replica of its group": inTwoGroups(),
		"at the end of a long link": linked(150*time.Millisecond, "1Gbit")} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := modern(t, declared(server(), around))
			e.d.AgentImage = "geosql:1"
			e.d.buffers = tuningOf(e.d, e.o).sysctls
			g.Expect(e.d.buffers).To(HaveLen(2 * len(e.d.Links)))
			template := corev1.PodTemplateSpec{Spec: podSpec(e.d, nil)}
			annotations := templateAnnotations(e.d, template, []byte("certificate"))
			g.Expect(annotations).To(Equal(map[string]string{
				annotationTemplate:    "4882c44d9e0acf75",
				annotationEngine:      "440d4459844f5edd",
				annotationSidecar:     "107c0a96a84a6ac6",
				annotationCertificate: "3572e13cd32ff7e8",
				annotationConf:        "b2adfe3edd69428c",
			}))
		})
	}
}
