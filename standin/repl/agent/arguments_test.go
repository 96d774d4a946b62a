// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestArguments(t *testing.T) {
	const required = "-Publisher [PUB] -PublisherDB [shop] -Subscriber SUB -SubscriberDB \"a b\" "
	for line, problem := range map[string]string{
		required: "",
		required + "-Continuous -CommitBatchSize 500":      "",
		required + "-SubscriberPassword [p]]w d]":          "",
		required + "-Unknown 1":                            `"-Unknown" is not one`,
		required + "-CommitBatchSize 20000":                "-CommitBatchSize must be max 10000",
		required + "-SubscriptionStreams 65":               "must be 1..64",
		required + "-SubscriptionType 7":                   "-SubscriptionType must not be",
		required + "-EncryptionLevel 9":                    "-EncryptionLevel must",
		required + "-CommitBatchSize":                      "needs a value",
		required + "-Continuous -Continuous":               "given twice",
		required + "-SubscriberPassword [open":             "does not end",
		"-Publisher [PUB] -PublisherDB [shop] -Continuous": "is required",
	} {
		g := NewWithT(t)
		a, err := parseArguments("distrib", line)
		if problem == "" {
			g.Expect(err).NotTo(HaveOccurred(), line)
			g.Expect(a.str("-SubscriberDB")).To(Equal("a b"))
			continue
		}
		g.Expect(err).To(MatchError(ContainSubstring(problem)), line)
	}
	a, err := parseArguments("distrib", required+"-SubscriberPassword [p]]w d] -CommitBatchSize 7")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.str("-SubscriberPassword")).To(Equal("p]w d"))
	g.Expect(a.profile("CommitBatchSize", "100")).To(Succeed())
	g.Expect(a.profile("PollingInterval", "3")).To(Succeed())
	g.Expect([]int{a.num("-CommitBatchSize", 0), a.num("-PollingInterval", 0)}).
		To(Equal([]int{7, 3}), "the command line goes before the profile")
}
