// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"geosql.dev/operator/internal/conditions"
)

// A certificate is renewed by itself, also while the one node on which a server's volumes are is cordoned: a pod that was
// restarted then would not come back before the node does.
func TestAPodWithoutAnotherNodeIsNotRestarted(t *testing.T) {
	cordon := func(e *environ) { e.o.Cluster.Nodes[0].Spec.Unschedulable = true }
	secondary := Turn{Group: "content", Declared: true, Primary: "quisec"}
	for name, c := range map[string]struct {
		turn   *Turn
		tempDB bool
		change func(*environ)
		reason string
	}{
		"a server alone":               {change: cordon, reason: conditions.ReasonNodeCordoned},
		"a server of a group":          {change: cordon, turn: &secondary, reason: conditions.ReasonNodeCordoned},
		"for tempdb":                   {change: cordon, tempDB: true, reason: conditions.ReasonNodeCordoned},
		"the node is not ready to run": {change: func(e *environ) { e.o.Cluster.Nodes[0].Spec.Taints = notReady() }, reason: conditions.ReasonRestartNeeded},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			if c.tempDB {
				e.o.Engine.TempDB[0].Path = "/var/opt/mssql/data/tempdb.mdf"
			} else {
				e.outdated(secondary)
			}
			if c.turn == nil {
				e.d.Groups, e.o.Engine.Groups, e.o.Turns, e.o.Budget = nil, nil, nil, nil
			}
			c.change(e)
			p := plan(e.d, e.o)
			for _, step := range p.Steps {
				g.Expect(step).NotTo(BeAssignableToTypeOf(RestartPod{}))
			}
			g.Expect(p.Pending).To(ContainSubstring("would find no node"))
			g.Expect(restartPending(p).Reason).To(Equal(c.reason))
			e.o.Cluster.Nodes[0].Spec = corev1.NodeSpec{}
			p = plan(e.d, e.o)
			g.Expect(p.Steps).To(ContainElement(BeAssignableToTypeOf(RestartPod{})), "once there is one")
		})
	}
}

func notReady() []corev1.Taint {
	return []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
}
