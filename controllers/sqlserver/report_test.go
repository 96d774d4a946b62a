// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// An engine's image may be named by its digest, and the status has the digest of what runs, whatever the tag says.
func TestTheImageByItsDigest(t *testing.T) {
	g := NewWithT(t)
	image := "registry.example:5000/mssql/server:2022@sha256:" + strings.Repeat("ab", 32)
	s := server()
	s.Spec.Image = image
	e := newEnviron(t, declared(s, Surroundings{}))
	e.settle(t, 100)
	g.Expect(e.o.Pod.Spec.Containers[0].Image).To(Equal(image))
	status := v1alpha1.SQLServerStatus{}
	describe(&status, e.d, e.o)
	g.Expect(status.ImageID).To(BeEmpty(), "it has not started")
	e.o.Pod.Status.ContainerStatuses[0].ImageID = "docker.io/" + image
	p, done := e.settle(t, 100)
	g.Expect(done).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
	describe(&status, e.d, e.o)
	g.Expect(status.ImageID).To(Equal("docker.io/" + image))
}
