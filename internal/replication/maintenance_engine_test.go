// SPDX-License-Identifier: Apache-2.0

//go:build integration

package replication_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// On an engine without a job - that became primary, or where somebody deleted it - each of the steps may be the last,
// and in the end it has what an engine makes itself: a further look finds nothing to do, and it runs.
func TestMaintenanceJobsOnAnEngine(t *testing.T) {
	g := NewWithT(t)
	open := opener(t, engine.Start(t, "web", "solo"))
	for _, s := range []tsql.Statement{tsql.AddDistributor("solo-0", "Str0ng-and-long.secret"),
		tsql.AddDistributionDatabase("distribution", 72, 48)} {
		g.Expect(open("master").Exec(t.Context(), s)).To(Succeed(), s.Redacted())
	}
	for _, job := range []tsql.MaintenanceJob{tsql.ExpiredSubscriptions, tsql.DistributionCleanup("distribution"),
		tsql.HistoryCleanup("distribution")} {
		read := func() *mssql.MaintenanceJob {
			t.Helper()
			have, err := mssql.ReadMaintenanceJob(t.Context(), open("master"), job)
			g.Expect(err).NotTo(HaveOccurred())
			return have
		}
		whole := mssql.MaintenanceJob{Name: job.Name, Enabled: true, Steps: 1, Servers: 1, Schedules: 1,
			Outcome: mssql.JobNeverRan}
		if job.Every > 0 {
			g.Expect(*read()).To(Equal(whole), "the engine has made it")
			rename := tsql.Statement{Text: "EXEC msdb.dbo.sp_update_job @job_name = N'" + job.Name + "', @new_name = N'renamed'"}
			g.Expect(open("msdb").Exec(t.Context(), rename)).To(Succeed())
			g.Expect(read()).To(HaveField("Name", "renamed"), "no second one is made")
			g.Expect(open("msdb").Exec(t.Context(), tsql.DeleteJob("renamed"))).To(Succeed())
		}
		for i := range 6 {
			have := read()
			var p replication.Plan
			p.Maintain("solo", job, reconcile.Read(have))
			g.Expect(p.Aside).To(HaveLen(min(1, max(0, 4-i))))
			if len(p.Aside) == 0 {
				g.Expect(*have).To(Equal(whole))
				continue
			}
			s := p.Aside[0].Step.(replication.Execute)
			g.Expect(s.Settled(open(s.Database).Exec(t.Context(), s.Statement))).To(Succeed(), s.Statement.Redacted())
		}
		g.Expect(open("msdb").Exec(t.Context(), tsql.StartJob(job.Name))).To(Succeed())
		g.Eventually(read, "90s", "100ms").ShouldNot(HaveField("Outcome", mssql.JobNeverRan))
		g.Expect(read()).To(HaveField("Outcome", mssql.JobSucceeded), "%s: %s", job.Name, read().Message)
	}
}
