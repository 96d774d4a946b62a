// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// What is announced is what is done; no secret is in it.
func TestPreviewIsWhatIsDone(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	var announced []string
	for _, s := range Preview(Imagine(d.Distributor, d.Publishers)) {
		announced = append(announced, s.Describe())
	}
	w := newWorld(d)
	var done []string
	for range 100 {
		p := plan(w.d, w.o)
		if len(p.Steps) == 0 {
			break
		}
		for _, s := range p.Steps {
			done = append(done, s.Describe())
			w.do(t, s)
		}
	}
	g.Expect(done).NotTo(BeEmpty())
	g.Expect(announced).To(Equal(done))
	g.Expect(strings.Join(announced, "\n")).NotTo(ContainSubstring(placeholder))
}
