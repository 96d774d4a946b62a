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

// A replica whose mode the newest configuration does not tell may be a voter: it is needed for a majority, and its own
// report is not one of a voter's.
func TestAReplicaOfUnknownModeIsNeeded(t *testing.T) {
	i := Inspection{Sequence: 1, Replicas: []Replica{{"a-0", ModeSynchronous}, {"b-0", ""}, {"c-0", ""}}}
	reports := []Report{{Server: "a-0", Inspection: i}, {Server: "c-0", Inspection: i}}
	d := Decide("a-0", reports)
	NewWithT(t).Expect(d).To(And(HaveField("Needed", 2), HaveField("Reported", 1)))
	NewWithT(t).Expect(d.Quorate()).To(BeFalse())
}
