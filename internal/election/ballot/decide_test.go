// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Of replicas that have as much the one by name is the best, and the candidate before it.
func TestTheCandidateIsPreferredToItsEquals(t *testing.T) {
	i := Inspection{Sequence: 1, Replicas: []Replica{
		{"a-0", ModeSynchronous}, {"b-0", ModeSynchronous}, {"c-0", ModeSynchronous}}}
	var reports []Report
	for _, server := range []string{"c-0", "a-0", "b-0"} {
		reports = append(reports, Report{Server: server, Inspection: i})
	}
	for candidate, best := range map[string]string{"a-0": "a-0", "C-0": "c-0", "other-0": "a-0"} {
		NewWithT(t).Expect(Decide(candidate, reports).Best).To(Equal(best), candidate)
	}
}
