// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/hack/bed/netem/link"
	"geosql.dev/operator/hack/bed/netem/shape"
)

func prefixes(words ...string) []netip.Prefix {
	var to []netip.Prefix
	for _, word := range words {
		to = append(to, netip.MustParsePrefix(word))
	}
	return to
}

func TestParseDestinations(t *testing.T) {
	g := NewWithT(t)
	g.Expect(ParseDestinations("172.18.0.5,10.102.3.4/16,172.18.0.5/32")).
		To(Equal(prefixes("10.102.0.0/16", "172.18.0.5/32")))
	for _, text := range []string{"", "10.0.0.0/8,", "10.0.0.0/33", "fd00::/8", "::1", "dublin"} {
		_, err := ParseDestinations(text)
		g.Expect(err).To(MatchError(ContainSubstring("is not an IPv4 prefix: write for example")), text)
	}
}

func TestNameOfDoesNotDependOnTheOrder(t *testing.T) {
	g := NewWithT(t)
	g.Expect(NameOf(prefixes("10.2.0.0/16", "10.1.2.3/16"))).To(Equal("10.1.0.0/16,10.2.0.0/16"))
}

func TestValidate(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Validate([]Class{
		{Name: "a", To: prefixes("10.1.0.0/16")},
		{Name: "b", To: prefixes("10.1.2.0/24", "10.1.2.0/24")},
	})).To(Succeed(), "a prefix within another is its own")
	var many []Class
	for i := range 65 {
		many = append(many, Class{Name: fmt.Sprint(i), To: prefixes(fmt.Sprintf("10.%d.0.0/16", i))})
	}
	for message, classes := range map[string][]Class{
		`class name "a" is empty or there twice`: {{Name: "a", To: prefixes("10.1.0.0/16")},
			{Name: "a", To: prefixes("10.2.0.0/16")}},
		`class name "" is empty`:                  {{To: prefixes("10.1.0.0/16")}},
		"class a has no destination":              {{Name: "a"}},
		"class a: fd00::/8 is not an IPv4 prefix": {{Name: "a", To: prefixes("fd00::/8")}},
		"class b: 10.1.0.0/16 belongs to class a already": {{Name: "a", To: prefixes("10.1.0.0/16")},
			{Name: "b", To: prefixes("10.1.9.9/16")}},
		"class a: delay 2m0s is outside": {{Name: "a", To: prefixes("10.1.0.0/16"),
			Rule: shape.Rule{Delay: 2 * time.Minute}}},
		"65 classes are more than the 64 a device can have": many,
	} {
		g.Expect(Validate(classes)).To(MatchError(ContainSubstring(message)))
	}
}

func TestRulesPerPacketNeedPackets(t *testing.T) {
	g := NewWithT(t)
	g.Expect(offloadFor([]shape.Rule{{Delay: time.Second, Rate: 1e9}})).To(Equal(link.SuperFrames))
	g.Expect(offloadFor([]shape.Rule{{}, {Loss: 0.01}})).To(Equal(link.Packets))
	g.Expect(offloadFor([]shape.Rule{{Loss: 0.01}, {Corrupt: 0.01}})).To(Equal(link.FinishedPackets))
}
