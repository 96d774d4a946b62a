// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// look is what is seen of a pod with an engine and an agent.
type look struct {
	pod, uid      string
	engine, image string
	agent         string
	restarts      int32
	ready         bool
}

func (l look) seen() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: l.pod, UID: types.UID(l.uid)},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "mssql", Image: "engine:1"}, {Name: "agent", Image: l.image}},
		},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "mssql", ContainerID: l.engine, Ready: true},
			{Name: "agent", ContainerID: l.agent, RestartCount: l.restarts, Ready: l.ready},
		}}}
}

// Containers that are replaced one after another are told from all else that may happen to them and to their pods.
func TestReplacementIsFollowed(t *testing.T) {
	old := func(pod string) look {
		return look{pod: pod, uid: pod, engine: "e-" + pod, image: "geosql:1", agent: "a1-" + pod, ready: true}
	}
	change := func(l look, edit func(*look)) look { edit(&l); return l }
	told := func(pod string) look { return change(old(pod), func(l *look) { l.image = "geosql:2" }) }
	comes := func(pod string) look {
		return change(told(pod), func(l *look) { l.agent, l.restarts, l.ready = "a2-"+pod, 1, false })
	}
	well := func(pod string) look { return change(comes(pod), func(l *look) { l.ready = true }) }
	for name, c := range map[string]struct {
		looks [][]look
		done  []string
		wrong string
	}{
		"one after another": {[][]look{{old("a"), told("b"), old("c")}, {old("a"), comes("b"), old("c")},
			{old("a"), well("b"), told("c")},
			{old("a"), well("b"), comes("c")}, {old("a"), well("b"), well("c")}}, []string{"b", "c"}, ""},
		"a probe that misses afterwards": {[][]look{{well("b"), told("c")},
			{change(well("b"), func(l *look) { l.ready = false }), comes("c")}, {well("b"), well("c")}},
			[]string{"b", "c"}, ""},
		"two that are told at once": {[][]look{{old("a"), told("b"), told("c")}, {old("a"), told("b"), comes("c")}}, nil,
			"containers agent of b and c are replaced at once"},
		"a look that takes longer than the first's last moment": {[][]look{{comes("b"), old("c")}, {comes("b"), told("c")},
			{well("b"), told("c")}, {well("b"), well("c")}},
			[]string{"b", "c"}, ""},
		"the next before the first is ready": {[][]look{{comes("b"), old("c")}, {comes("b"), told("c")},
			{comes("b"), told("c")}}, nil, "containers agent of b and c are replaced at once"},
		"a pod made anew": {[][]look{{change(well("b"), func(l *look) { l.uid = "other" })}}, nil,
			"pod b is made anew"},
		"an engine that was started again": {[][]look{{change(well("b"), func(l *look) { l.engine = "e2" })}},
			[]string{"b"}, "container mssql of pod b was started again"},
		"an agent that ends by itself": {[][]look{{change(old("b"), func(l *look) { l.agent = "a2" })}}, nil,
			"its image is the same"},
		"an agent that does not stay": {[][]look{{comes("b")}, {change(well("b"), func(l *look) { l.restarts = 3 })}},
			[]string{"b"}, "container agent of pod b was started 3 times"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := NewReplacement("mssql", "agent")
			r.See(old("a").seen(), old("b").seen(), old("c").seen())
			for _, looks := range c.looks {
				var pods []*corev1.Pod
				for _, l := range looks {
					pods = append(pods, l.seen())
				}
				r.See(pods...)
			}
			g.Expect(r.Done()).To(Equal(c.done))
			if c.wrong == "" {
				g.Expect(r.Wrong()).To(BeEmpty())
				return
			}
			g.Expect(r.Wrong()).To(ContainElement(ContainSubstring(c.wrong)))
		})
	}
	r := NewReplacement("mssql", "agent")
	r.Gone("a")
	NewWithT(t).Expect(r.Wrong()).To(ConsistOf("pod a is gone"))
}
