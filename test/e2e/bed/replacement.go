// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// Replacement follows how one container of several running pods is replaced by one of another image, while another
// container of theirs goes on. It may be asked while it is told.
type Replacement struct {
	// kept is the container that goes on, replaced the other one.
	kept, replaced string

	mu    sync.Mutex
	first map[string]*corev1.Pod
	done  []string
	wrong []string
	// underway are the pods whose container was being replaced at the last look.
	underway []string
}

// NewReplacement names the container that goes on and the one that is replaced.
func NewReplacement(kept, replaced string) *Replacement {
	return &Replacement{kept: kept, replaced: replaced, first: map[string]*corev1.Pod{}}
}

// See takes one look at all pods; what they were like at the first is what is to be replaced. The pods of a look are
// read one after another, and the first may be done before the second is read: only those that are under way in two
// looks, one after the other, were so at the same time.
func (r *Replacement) See(pods ...*corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var underway []string
	for _, pod := range pods {
		first := r.first[pod.Name]
		if first == nil {
			r.first[pod.Name] = pod.DeepCopy()
			continue
		}
		if r.see(first, pod) {
			underway = append(underway, pod.Name)
		}
	}
	still := slices.DeleteFunc(slices.Clone(underway), func(pod string) bool { return !slices.Contains(r.underway, pod) })
	if len(still) > 1 {
		r.blame("containers %s of %s are replaced at once", r.replaced, strings.Join(still, " and "))
	}
	r.underway = underway
}

// see tells whether the container of a pod is being replaced.
func (r *Replacement) see(first, pod *corev1.Pod) (underway bool) {
	if pod.UID != first.UID || pod.DeletionTimestamp != nil {
		r.blame("pod %s is made anew", pod.Name)
		return false
	}
	if partOf(pod, r.kept).id != partOf(first, r.kept).id {
		r.blame("container %s of pod %s was started again", r.kept, pod.Name)
	}
	was, now := partOf(first, r.replaced), partOf(pod, r.replaced)
	switch {
	case now.image == was.image:
		if now.id != was.id {
			r.blame("container %s of pod %s was started again, and its image is the same", r.replaced, pod.Name)
		}
		return false
	case now.restarts > was.restarts+1:
		r.blame("container %s of pod %s was started %d times", r.replaced, pod.Name, now.restarts-was.restarts)
	case slices.Contains(r.done, pod.Name):
		return false
	}
	if now.id == was.id || !now.ready {
		return true
	}
	r.done = append(r.done, pod.Name)
	return false
}

// Gone says that a pod is not there.
func (r *Replacement) Gone(pod string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blame("pod %s is gone", pod)
}

func (r *Replacement) blame(format string, arguments ...any) {
	if text := fmt.Sprintf(format, arguments...); !slices.Contains(r.wrong, text) {
		r.wrong = append(r.wrong, text)
	}
}

// Done are the pods whose container was replaced and is ready, in that order.
func (r *Replacement) Done() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.done)
}

// Wrong is what was seen that must not be: a pod made anew, a container that should go on and did not, or that was
// started without need, and two pods that get theirs at once.
func (r *Replacement) Wrong() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.wrong)
}

// part is a container as it is declared and as it runs.
type part struct {
	image, id string
	restarts  int32
	ready     bool
}

func partOf(pod *corev1.Pod, name string) part {
	var p part
	for _, c := range pod.Spec.Containers {
		if c.Name == name {
			p.image = c.Image
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == name {
			p.id, p.restarts, p.ready = c.ContainerID, c.RestartCount, c.Ready
		}
	}
	return p
}
