// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A job that replication makes has three steps, the second of which is the agent. What runs is that one, whatever the
// others are: the job works as it was made, and fails in its last step.
func TestJobsOfReplicationHaveThreeSteps(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	mustExec(t, r.source, `EXEC sp_addlogreader_agent @publisher_security_mode = 0, @publisher_login = N'sa',
		@publisher_password = @p1`, saPassword)
	db := r.dist.open(t, "distribution")
	const steps = `SELECT s.step_id, s.step_name, s.subsystem FROM dbo.MSlogreader_agents AS a
		JOIN msdb.dbo.sysjobsteps AS s ON s.job_id = CAST(a.job_id AS uniqueidentifier) ORDER BY s.step_id`
	g.Expect(query(t, db, steps)).To(Equal([][]any{
		{int64(1), "Log Reader Agent startup message.", "TSQL"},
		{int64(2), "Run agent.", "LogReader"},
		{int64(3), "Detect nonlogged agent shutdown.", "TSQL"},
	}))
	g.Eventually(func() any { return scalar(db, `SELECT COUNT(*) FROM dbo.MSlogreader_history`) }).
		WithTimeout(deliverWithin).Should(BeNumerically(">", 0))
}
