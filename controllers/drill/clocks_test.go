// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/workload/history"
)

// The status keeps the first comparison of each site's clock, which stays; the archive's evidence has it beside what
// this process has seen.
func TestClocksAreNoted(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, kill())
	first := history.ClockReading{Boot: "one", Monotonic: 5e9, Sent: begin.UnixNano(),
		Received: begin.Add(20 * time.Millisecond).UnixNano()}
	s.w.clocks = map[v1alpha1.SiteName]history.ClockReading{"quincy": first}
	s.until(v1alpha1.DrillBaseline)
	s.w.clocks["quincy"] = history.ClockReading{Boot: "one", Monotonic: 6e9, Sent: 1, Received: 2}
	s.until(v1alpha1.DrillRunning)
	noted := notedClocks(s.d.Status.Clients)
	first.Received += int64(time.Microsecond)
	g.Expect(noted).To(Equal([]history.ClockReading{first}))

	a := archive.Archive{Samples: archive.Samples{Clocks: noted}}
	packed, err := archive.Pack(a)
	g.Expect(err).NotTo(HaveOccurred())
	a, err = archive.Unpack(packed)
	g.Expect(err).NotTo(HaveOccurred())
	e, err := a.Evidence()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(e.Clocks).To(Equal(noted))
}
