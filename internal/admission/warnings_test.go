// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
)

// What no document says of SQL Server on Linux is let through with a warning at the field.
func TestWhatIsLetThroughWithAWarning(t *testing.T) {
	g := NewWithT(t)
	spec := v1alpha1.SQLServerSpec{Startup: &v1alpha1.StartupOptions{TraceFlags: []int32{1204}}}
	g.Expect(warnServer(&v1alpha1.SQLServer{Spec: spec})).To(BeEmpty())
	spec.Startup.CheckpointThrottleMBps = ptr.To[int32](750)
	g.Expect(warnServer(&v1alpha1.SQLServer{Spec: spec})).
		To(HaveExactElements(HavePrefix("spec.startup.checkpointThrottleMBps becomes the startup option -k750")))
	topology := &v1alpha1.Topology{Spec: v1alpha1.TopologySpec{Servers: []v1alpha1.TopologyServer{{Name: "a"},
		{Name: "b", SQLServerSpec: spec}}}}
	g.Expect(warnTopology(topology)).To(HaveExactElements(HavePrefix("spec.servers[1].startup.checkpointThrottleMBps")))
}
