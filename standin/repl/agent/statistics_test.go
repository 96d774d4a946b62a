// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/xml"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// An agent says every five minutes what it did since it said so last, in XML.
func TestStatisticsEveryFiveMinutes(t *testing.T) {
	g := NewWithT(t)
	var s statistics
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	g.Expect(s.due(start, 0)).To(BeEmpty())
	g.Expect(s.due(start.Add(299*time.Second), 50)).To(BeEmpty())
	read := func(text string) (since struct {
		Since struct {
			Elapsed  int     `xml:"elapsedtime,attr"`
			Commands int     `xml:"cmds,attr"`
			Rate     float64 `xml:"cmdspersec,attr"`
		} `xml:"sincelaststats"`
	}) {
		g.Expect(xml.Unmarshal([]byte(text), &since)).To(Succeed(), text)
		return since
	}
	first := read(s.due(start.Add(300*time.Second), 60)).Since
	g.Expect([]int{first.Elapsed, first.Commands}).To(Equal([]int{300, 60}))
	g.Expect(first.Rate).To(Equal(0.2))
	g.Expect(s.due(start.Add(301*time.Second), 70)).To(BeEmpty())
	g.Expect(read(s.due(start.Add(600*time.Second), 90)).Since.Commands).To(Equal(30))
}
