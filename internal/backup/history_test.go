// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// months is a history with a log backup every five minutes, a differential every six hours and a full backup every
// week.
func months(days int) (sets []Set, now time.Time) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	position := func(minute int) LSN { return LSN(fmt.Sprint(1_000_000 + minute)) }
	base := ""
	for minute := 0; minute < days*24*60; minute += 5 {
		at = at.Add(5 * time.Minute)
		s := Set{ID: fmt.Sprint(minute), Kind: Log, Fork: "a", FirstFork: "a", FirstLSN: position(minute - 5),
			LastLSN: position(minute), Begun: at, Finished: at, Until: at}
		data := s
		data.ID, data.Kind, data.FirstLSN, data.BaseID = s.ID+" data", Differential, position(minute-1), base
		if minute%(7*24*60) == 0 {
			data.Kind, data.BaseID, base = Full, "", data.ID
		}
		if minute%(6*60) == 0 {
			sets = append(sets, data)
		}
		sets = append(sets, s)
	}
	return sets, at
}

// What is planned every few seconds for as long as a policy is carried out looks at each set a few times, however many
// there are.
func TestThePlansOfMonthsTakeAFewLooksAtEachSet(t *testing.T) {
	for _, days := range []int{14, 28, 56} {
		t.Run(fmt.Sprint(days, " days"), func(t *testing.T) {
			g := NewWithT(t)
			sets, now := months(days)
			h := newHistory(sets)
			g.Expect(h.looks).To(BeNumerically("<", 4*len(sets)), "the windows")
			needed := reasons{}
			keep := Retention{Age: time.Duration(days-7) * 24 * time.Hour}
			keep.needOf(h, moments(sets, now.Add(-keep.Age)), needed)
			g.Expect(h.looks).To(BeNumerically("<", 20*len(sets)), "the retention")
			g.Expect(needed).NotTo(BeEmpty())
		})
	}
}

func BenchmarkNeededOfAMonth(b *testing.B) {
	sets, now := months(30)
	for b.Loop() {
		Needed(sets, Retention{Age: 14 * 24 * time.Hour}, now)
	}
}
