// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"testing"

	. "github.com/onsi/gomega"
)

// lastOfAgents is the newest line of an agent's history.
func lastOfAgents(distribution *sql.DB, history string) func() any {
	return func() any {
		return scalar(
			distribution,
			`SELECT TOP (1) comments FROM dbo.`+history+` WHERE runstatus IN (5, 6) ORDER BY timestamp DESC`,
		)
	}
}

// The Log Reader and Snapshot Agents have a redirected publisher validated before they connect to it, and an error of
// that ends them; -BypassPublisherValidation lets them connect at once
// (docs/database-engine/availability-groups/windows/replicate-track-change-data-capture-always-on-availability.md,
// General changes to replication agents).
func TestAgentsValidateARedirection(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	distribution := r.dist.open(t, "distribution")
	redirect := func(to string) {
		mustExec(
			t,
			distribution,
			`EXEC sp_redirect_publisher @original_publisher = N'PUB', @publisher_db = N'shop', @redirected_publisher = @p1`,
			to,
		)
	}
	redirect("SUB")
	r.publish(t)
	g.Eventually(lastOfAgents(distribution, "MSlogreader_history")).
		WithTimeout(deliverWithin).
		Should(ContainSubstring("The virtual network name 'SUB'"))
	g.Eventually(func() any {
		return scalar(distribution, `SELECT TOP (1) error_code FROM dbo.MSrepl_errors WHERE error_code NOT LIKE '%[A-Z]%' ORDER BY id DESC`)
	}).WithTimeout(deliverWithin).Should(Equal("21880"))
	r.push(t)
	mustExec(t, r.distDB, `EXEC msdb.dbo.sp_start_job @job_name = N'snapshot'`)
	g.Eventually(lastOfAgents(distribution, "MSsnapshot_history")).
		WithTimeout(deliverWithin).
		Should(ContainSubstring("The virtual network name 'SUB'"))

	// Both find out by themselves that they cannot connect.
	for job, history := range map[string]string{"logreader": "MSlogreader_history", "snapshot": "MSsnapshot_history"} {
		mustExec(
			t,
			r.distDB,
			`DECLARE @c nvarchar(4000) = (SELECT s.command FROM msdb.dbo.sysjobsteps AS s JOIN msdb.dbo.sysjobs AS j ON j.job_id = s.job_id WHERE j.name = @p1) + N' -BypassPublisherValidation';
			EXEC msdb.dbo.sp_update_jobstep @job_name = @p1, @step_id = 1, @command = @c`,
			job,
		)
		mustExec(t, r.distDB, `EXEC msdb.dbo.sp_stop_job @job_name = @p1`, job)
		if job == "snapshot" { // the other one has a schedule
			g.Eventually(func() error {
				_, err := r.distDB.Exec(`EXEC msdb.dbo.sp_start_job @job_name = @p1`, job)
				return err
			}).WithTimeout(deliverWithin).Should(Succeed())
		}
		g.Eventually(lastOfAgents(distribution, history)).
			WithTimeout(deliverWithin).
			Should(ContainSubstring("could not connect to Publisher 'SUB'"), job)
	}
	redirect("PUB")
	r.bothSame(t)
}
