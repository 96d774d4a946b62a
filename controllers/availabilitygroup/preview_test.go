// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"regexp"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// changing are parts of steps that differ between a preview and the real thing: moments, and the listener's address.
var changing = regexp.MustCompile(`\d{8} \d\d:\d\d:\d\d|\d{8}T\d{6}Z|\d+\.\d+\.\d+\.\d+`)

func normal(s string) string { return changing.ReplaceAllString(s, "#") }

// What is announced is what is done, in whatever group.
func TestPreviewIsWhatIsDone(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.AvailabilityGroupSpec){
		"two and a configuration-only replica": func(*v1alpha1.AvailabilityGroupSpec) {},
		"three synchronous replicas": func(s *v1alpha1.AvailabilityGroupSpec) {
			s.Replicas[2].AvailabilityMode = v1alpha1.SynchronousCommit
			s.Databases = append(s.Databases, v1alpha1.Database{Name: "Orders"})
		},
		"a listener of its own": func(s *v1alpha1.AvailabilityGroupSpec) {
			s.Listener = &v1alpha1.Listener{Name: "articles", Port: 14330}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			group := declared()
			change(&group.Spec)
			e := newEnviron(t, group)
			var announced, done []string
			for _, s := range Preview(e.d, begin) {
				announced = append(announced, normal(s.Describe()))
			}
			e.settle(everything)
			for _, s := range e.done {
				done = append(done, normal(s))
			}
			g.Expect(announced).To(ConsistOf(done))
		})
	}
}

// The Restores from which databases come are announced as well, and none of these is made empty.
func TestPreviewTellsOfRestores(t *testing.T) {
	g := NewWithT(t)
	group := declared()
	group.Spec.Databases = []v1alpha1.Database{fromBucket("Content"), {Name: "Plain"}}
	e := newEnviron(t, group)
	var announced, done []string
	for _, s := range Preview(e.d, begin) {
		announced = append(announced, normal(s.Describe()))
	}
	e.rounds(30)
	for i := range e.d.Restores {
		e.ends(&e.d.Restores[i], v1alpha1.RestoreSucceeded, "ONLINE")
	}
	e.settle(everything)
	for _, s := range e.done {
		done = append(done, normal(s))
	}
	g.Expect(announced).To(ContainElement(ContainSubstring("which restores database Content at the primary")))
	g.Expect(announced).To(ConsistOf(done))
}
