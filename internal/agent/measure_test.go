// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"log/slog"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/internal/mssql"
)

// Every family that is declared is told when the engine knows everything; a NULL has no series; old figures have none.
func TestMeasurementsAsMetrics(t *testing.T) {
	g := NewWithT(t)
	now := time.Now()
	answers := true
	m := &measurer{
		log:       slog.New(slog.DiscardHandler),
		answers:   func() bool { return answers },
		figuresAt: now,
		diagnosed: now,
		diagnosis: mssql.Diagnosis{{Type: "instance", Name: "system", State: 1}},
		figures: &mssql.Measurements{
			Replicas: []mssql.MeasuredReplica{
				{Group: "content", Server: "tukpub-0", Role: "PRIMARY", Connected: "CONNECTED", Health: "HEALTHY"},
				{Group: "content", Server: "quisec-0"},
			},
			Copies: []mssql.MeasuredCopy{
				{
					Group:        "content",
					Server:       "quisec-0",
					Database:     "Content",
					State:        "SYNCHRONIZED",
					SendQueueKB:  ptr.To[int64](2),
					SendRateKBps: ptr.To[int64](3),
					RedoQueueKB:  ptr.To[int64](4),
					RedoRateKBps: ptr.To[int64](5),
					LagSeconds:   ptr.To[int64](6),
					Hardened:     &now,
					Redone:       &now,
					Committed:    &now,
				},
				{Group: "content", Server: "tukpub-0", Database: "Content", State: "SYNCHRONIZED", Suspended: true}},
			Databases: []mssql.MeasuredDatabase{{Name: "Content", State: "ONLINE", LogReuseWait: "LOG_BACKUP"}},
			Logs:      map[string]mssql.LogSize{"Content": {TotalKB: 8, UsedKB: 7, GrowKB: ptr.To[int64](4)}},
		},
	}
	r := prometheus.NewPedanticRegistry()
	g.Expect(r.Register(m)).To(Succeed())
	told := map[string]int{}
	families, err := r.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		told[f.GetName()] = len(f.GetMetric())
	}
	for _, f := range measuredFamilies {
		g.Expect(told).To(HaveKey(f.Name))
	}
	g.Expect(told).To(HaveLen(len(measuredFamilies)))
	g.Expect(told).To(HaveKeyWithValue(copySendQueue.Name, 1), "NULL is not 0")
	problems, err := testutil.GatherAndLint(r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
	for _, f := range families {
		if f.GetName() == copySendQueue.Name {
			g.Expect(f.GetMetric()[0].GetGauge().GetValue()).To(BeEquivalentTo(2048))
		}
	}
	answers = false
	count, err := testutil.GatherAndCount(r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(count).To(Equal(1), "what an engine said that has gone silent is not so any more; the diagnosis says why")
	answers = true
	m.figuresAt, m.diagnosed = now.Add(-measureStale), now.Add(-measureStale)
	count, err = testutil.GatherAndCount(r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(count).To(BeZero(), "figures of long ago are none")
}

// Which component's error counts follows the documented levels, and a diagnosis of long ago counts no more.
func TestFailingComponents(t *testing.T) {
	failing := func(names ...string) mssql.Diagnosis {
		d := mssql.Diagnosis{
			{Type: "Always On:AvailabilityGroup", Name: "system", State: mssql.ComponentError},
			{Type: "instance", Name: "io_subsystem", State: mssql.ComponentError},
		}
		for _, n := range []string{"system", "resource", "query_processing"} {
			c := mssql.Component{Type: "instance", Name: n, State: mssql.ComponentWarning}
			for _, f := range names {
				if f == n {
					c.State = mssql.ComponentError
				}
			}
			d = append(d, c)
		}
		return d
	}
	for _, c := range []struct {
		diagnosis mssql.Diagnosis
		level     int
		want      string
	}{
		{failing(), 5, ""},
		{failing("system"), 2, ""},
		{failing("system"), 3, "system"},
		{failing("resource"), 3, ""},
		{failing("resource"), 4, "resource"},
		{failing("query_processing"), 4, ""},
		{failing("query_processing"), 5, "query_processing"},
		{failing("resource", "query_processing"), 5, "resource"},
	} {
		m := &measurer{diagnosis: c.diagnosis, diagnosed: time.Now()}
		NewWithT(t).Expect(m.failing(c.level)).To(Equal(c.want), "%v at level %d", c.diagnosis, c.level)
		m.diagnosed = time.Now().Add(-measureStale)
		NewWithT(t).Expect(m.failing(c.level)).To(BeEmpty(), "long ago")
	}
}
