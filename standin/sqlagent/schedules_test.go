// SPDX-License-Identifier: Apache-2.0

package sqlagent

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestNextRun(t *testing.T) {
	g := NewWithT(t)
	at := func(s string) time.Time {
		v, err := time.Parse("2006-01-02 15:04:05", s)
		g.Expect(err).NotTo(HaveOccurred())
		return v
	}
	always := timing{startDate: 20261101, endDate: 99991231, endTime: 235959, subdayType: 1, recurrence: 1}
	for _, c := range []struct {
		name        string
		change      func(*timing)
		after, want string
	}{
		{"once", func(x *timing) { x.kind, x.startTime = freqOnce, 120000 }, "2026-11-01 11:00:00", "2026-11-01 12:00:00"},
		{"once, past", func(x *timing) { x.kind, x.startTime = freqOnce, 120000 }, "2026-11-02 11:00:00", ""},
		{"every second day", func(x *timing) { x.kind, x.interval, x.startTime = freqDaily, 2, 30000 }, "2026-11-01 04:00:00",
			"2026-11-03 03:00:00"},
		{"every ten minutes", func(x *timing) { x.kind, x.interval, x.subdayType, x.subdayInterval = freqDaily, 1, 4, 10 },
			"2026-11-05 10:03:00", "2026-11-05 10:10:00"},
		{"until six", func(x *timing) {
			x.kind, x.interval, x.subdayType, x.subdayInterval, x.endTime = freqDaily, 1, 8, 1, 60000
		}, "2026-11-05 06:30:00", "2026-11-06 00:00:00"},
		{"Mondays", func(x *timing) { x.kind, x.interval = freqWeekly, 2 }, "2026-11-03 00:00:00", "2026-11-09 00:00:00"},
		{"the 31st", func(x *timing) { x.kind, x.interval = freqMonthly, 31 }, "2026-11-03 00:00:00", "2026-12-31 00:00:00"},
		{"the first Sunday", func(x *timing) { x.kind, x.interval, x.relative = freqMonthlyRelative, 1, 1 },
			"2026-11-02 00:00:00", "2026-12-06 00:00:00"},
		{"the third Friday of every second month",
			func(x *timing) { x.kind, x.interval, x.relative, x.recurrence = freqMonthlyRelative, 6, 4, 2 },
			"2026-11-21 00:00:00", "2027-01-15 00:00:00"},
		{"the last weekday", func(x *timing) { x.kind, x.interval, x.relative = freqMonthlyRelative, 9, 16 },
			"2027-01-30 00:00:00", "2027-02-26 00:00:00"},
		{"the second day of the weekend", func(x *timing) { x.kind, x.interval, x.relative = freqMonthlyRelative, 10, 2 },
			"2026-11-02 00:00:00", "2026-11-07 00:00:00"},
		{"the fourth day", func(x *timing) { x.kind, x.interval, x.relative, x.startTime = freqMonthlyRelative, 8, 8, 10000 },
			"2026-11-04 02:00:00", "2026-12-04 01:00:00"},
		{"the last day", func(x *timing) { x.kind, x.interval, x.relative = freqMonthlyRelative, 8, 16 },
			"2028-02-01 00:00:00", "2028-02-29 00:00:00"},
		{"agent start", func(x *timing) { x.kind = freqAgentStart }, "2026-11-03 00:00:00", ""},
	} {
		x := always
		c.change(&x)
		g.Expect(x.check()).To(Succeed(), c.name)
		got := x.next(at(c.after))
		if c.want == "" {
			g.Expect(got.IsZero()).To(BeTrue(), c.name)
			continue
		}
		g.Expect(got).To(Equal(at(c.want)), c.name)
	}
	g.Expect(timing{kind: 128}.check()).NotTo(Succeed(), "not supported, so refused")
}
