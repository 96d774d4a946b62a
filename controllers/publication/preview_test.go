// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// What is announced is what is done, for a group and for a server alone; no secret is in it.
func TestPreviewIsWhatIsDone(t *testing.T) {
	for name, group := range map[string]bool{"group": true, "server alone": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := declared(group)
			var announced []string
			for _, s := range Preview(d, publisher, start) {
				announced = append(announced, s.Describe())
			}
			_, done := newWorld(declared(group)).settle(t, all)
			g.Expect(announced).To(Equal(done))
			g.Expect(strings.Join(announced, "\n")).NotTo(ContainSubstring("secret"))
		})
	}
}
