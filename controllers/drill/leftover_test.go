// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
)

// A run begins when nothing is left of the one before, and every site of the target has said so.
func TestARunWaitsForWhatIsLeft(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, kill())
	s.w.swept = []left{{"quincy", pod("x")}}
	g.Expect(s.look(time.Second)).To(ConsistOf(BeAssignableToTypeOf(Remove{})))
	g.Expect(s.d.Status.Phase).To(Equal(v1alpha1.DrillPending))
	g.Expect(s.d.Status.Message).To(ContainSubstring("of an earlier run"))
	s.w.swept, s.w.unswept, s.w.siteErr = nil, []v1alpha1.SiteName{
		"quincy",
	}, map[v1alpha1.SiteName]error{
		"quincy": errors.New("silent"),
	}
	g.Expect(s.look(time.Second)).To(BeEmpty())
	g.Expect(s.d.Status.Phase).To(Equal(v1alpha1.DrillPending))
	s.w.unswept, s.w.siteErr = []v1alpha1.SiteName{"elsewhere"}, nil
	s.until(v1alpha1.DrillPreparing)
}

// A runID that is changed past admission while a run is under way makes no run of it: its faults must be taken back
// first.
func TestARunIDThatChangesMeanwhile(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, cut())
	s.at(v1alpha1.FaultActive)
	s.d.Spec.RunID = "2"
	s.until(v1alpha1.DrillJudging)
	g.Expect(s.d.Status.RunID).To(Equal("1"))
	g.Expect(s.d.Status.Faults[0].State).To(Equal(v1alpha1.FaultRemoved))
	g.Expect((&Observed{Desired: Desired{drill: s.d}}).runID()).To(Equal("1"))
}

// A queue that nobody knew for long may have had any length, however often other servers were seen, and whoever else
// answered: what has yet to be sent to a server only its primary can tell.
func TestGapsOfOneServer(t *testing.T) {
	status := v1alpha1.DrillStatus{Accepted: at(begin), Baseline: at(begin), Ended: at(begin.Add(time.Minute))}
	for name, c := range map[string]struct {
		change     func(primary, secondary *archive.ReplicaSample)
		send, redo time.Duration
	}{
		"all is known": {func(_, _ *archive.ReplicaSample) {}, time.Second, time.Second},
		"a secondary is silent": {func(_, secondary *archive.ReplicaSample) { secondary.Role = "" },
			time.Second, 40 * time.Second},
		"its primary is": {func(primary, secondary *archive.ReplicaSample) { primary.Role, secondary.SendQueueKB = "", nil },
			40 * time.Second, 40 * time.Second},
		"nobody is primary": {func(primary, secondary *archive.ReplicaSample) {
			primary.Role, secondary.Role, secondary.SendQueueKB = "RESOLVING", "RESOLVING", nil
		}, 40 * time.Second, 40 * time.Second},
		"the primary does not know it": {func(_, secondary *archive.ReplicaSample) { secondary.SendQueueKB = nil },
			40 * time.Second, time.Second},
		"the secondary does not know it": {func(_, secondary *archive.ReplicaSample) { secondary.RedoQueueKB = nil },
			time.Second, 40 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var samples []archive.ReplicaSample
			for i := range 61 {
				one := archive.ReplicaSample{At: begin.Add(time.Duration(i) * time.Second), Server: "tukpub", Role: "PRIMARY"}
				other := archive.ReplicaSample{At: one.At, Server: "quisec", Role: "SECONDARY", SendQueueKB: ptr.To[int64](1),
					RedoQueueKB: ptr.To[int64](1)}
				if i > 10 && i < 50 {
					c.change(&one, &other)
				}
				samples = append(samples, one, other)
			}
			both := []v1alpha1.ServerName{"tukpub", "quisec"}
			g.Expect(gap(samples, status, both, toSend)).To(Equal(c.send))
			g.Expect(gap(samples, status, both, toRedo)).To(Equal(c.redo))
		})
	}
}

// Chaos Mesh's version and the digests of its images are what the site's nodes have.
func TestVersionsOfChaosMesh(t *testing.T) {
	g := NewWithT(t)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "one"},
		Status: corev1.NodeStatus{Images: []corev1.ContainerImage{
			{Names: []string{"ghcr.io/chaos-mesh/chaos-mesh@sha256:aa", "ghcr.io/chaos-mesh/chaos-mesh:v2.7.0"}},
			{Names: []string{"registry.local:5000/bed/chaos-daemon:v2.7.0"}},
			{Names: []string{"registry.k8s.io/pause:3.10"}},
		}},
	}
	other := node.DeepCopy()
	other.Name = "two"
	list := chaosVersions(t.Context(), fake.NewClientBuilder().WithObjects(node, other).Build(), "quincy")
	g.Expect(list).To(ConsistOf(
		v1alpha1.DrillVersion{
			Component: "chaos-mesh",
			Site:      "quincy",
			Version:   "v2.7.0",
			Image:     "ghcr.io/chaos-mesh/chaos-mesh:v2.7.0",
			Digest:    "sha256:aa",
		},
		v1alpha1.DrillVersion{
			Component: "chaos-mesh/chaos-daemon",
			Site:      "quincy",
			Version:   "v2.7.0",
			Image:     "registry.local:5000/bed/chaos-daemon:v2.7.0",
		},
	))
}
