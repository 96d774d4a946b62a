// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

func TestParseDelay(t *testing.T) {
	g := NewWithT(t)
	for text, want := range map[string]time.Duration{
		"0": 0, "0ms": 0, "75ms": 75 * time.Millisecond, "1.5s": 1500 * time.Millisecond, "250us": 250 * time.Microsecond,
		"60s": time.Minute,
	} {
		g.Expect(ParseDelay(text)).To(Equal(want), text)
	}
	for _, text := range []string{"", "75", "ms", "-1ms", "1e3ms", "75 ms", "61s", "1m", "1h", "Infs", "1..5ms", "NaNms"} {
		_, err := ParseDelay(text)
		g.Expect(err).To(MatchError(ContainSubstring("write a number and a unit us, ms or s")), text)
	}
}

func TestParsePercent(t *testing.T) {
	g := NewWithT(t)
	for text, want := range map[string]float64{"0": 0, "0%": 0, "1%": 0.01, "0.5%": 0.005, "100%": 1} {
		g.Expect(ParsePercent(text)).To(BeNumerically("~", want, 1e-12), text)
	}
	for _, text := range []string{"", "%", "1", "0.01", "101%", "-1%", "1 %"} {
		_, err := ParsePercent(text)
		g.Expect(err).To(MatchError(ContainSubstring("write a number from 0 to 100 and a percent sign")), text)
	}
}

func TestParseRate(t *testing.T) {
	g := NewWithT(t)
	for text, want := range map[string]float64{"0": 0, "1gbit": 1e9, "1Gbit": 1e9, "1.5mbit": 1.5e6, "512kbit": 512e3,
		"64000bit": 64e3} {
		g.Expect(ParseRate(text)).To(Equal(want), text)
	}
	for _, text := range []string{"", "1g", "1000", "100Mbps", "1kbit", "101gbit", "-1mbit", "mbit"} {
		_, err := ParseRate(text)
		g.Expect(err).To(MatchError(ContainSubstring("write a number and a unit bit, kbit, mbit or gbit")), text)
	}
}

func TestFormatsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		delay := time.Duration(rapid.Int64Range(0, int64(MaxDelay/time.Microsecond)).Draw(t, "delay")) * time.Microsecond
		g.Expect(ParseDelay(FormatDelay(delay))).To(Equal(delay))
		loss := float64(rapid.IntRange(0, 1_000_000).Draw(t, "loss")) / 1_000_000
		g.Expect(ParsePercent(FormatPercent(loss))).To(BeNumerically("~", loss, 1e-12))
		rate := float64(rapid.Int64Range(MinRate, MaxRate).Draw(t, "rate"))
		g.Expect(ParseRate(FormatRate(rate))).To(BeNumerically("~", rate, 1e-3))
	})
}

func TestValidate(t *testing.T) {
	g := NewWithT(t)
	for message, rule := range map[string]Rule{
		"delay 2m0s is outside":                             {Delay: 2 * time.Minute},
		"jitter 2m0s is outside":                            {Jitter: 2 * time.Minute},
		"loss 1.5 is outside":                               {Loss: 1.5},
		"duplicate -0.1 is outside":                         {Duplicate: -0.1},
		"reorder needs a delay":                             {Reorder: 0.1},
		"rate 1000 bit/s is outside 8kbit to 100gbit":       {Rate: 1000},
		"gap, limit, buffer and burst must not be negative": {Limit: -1},
	} {
		g.Expect(rule.Validate()).To(MatchError(ContainSubstring(message)))
	}
}

func TestJitterWithinDelay(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Rule{Delay: time.Millisecond, Jitter: time.Millisecond}.JitterWithinDelay()).To(Succeed())
	g.Expect(Rule{Delay: time.Millisecond, Jitter: 2 * time.Millisecond}.JitterWithinDelay()).
		To(MatchError(ContainSubstring("jitter 2ms is larger than the delay 1ms")))
}

func TestRuleInWords(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Rule{}.String()).To(Equal("direct"))
	g.Expect(Rule{Delay: 75 * time.Millisecond, Jitter: 500 * time.Microsecond, Loss: 0.01, Rate: 1e9}.String()).
		To(Equal("delay 75ms jitter 500us loss 1% rate 1gbit"))
	g.Expect(Rule{Delay: 75 * time.Millisecond, Cut: true}.String()).To(Equal("cut"))
}
