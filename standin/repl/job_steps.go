// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/standin/engine"
)

// addSteps gives a job that replication makes its three steps: the agent is the second one. The first says in the
// history that the agent starts and the third that it ended without a word, and fails the job; the agents of this
// program say both themselves, so that their steps have nothing left to do.
func addSteps(ctx context.Context, s *engine.Session, j jobSpec) error {
	agent := j.subsystem
	if agent == "LogReader" {
		agent = "Log Reader"
	}
	return s.Exec(ctx, `EXEC msdb.dbo.sp_add_jobstep @job_name = @p1, @step_name = @p4, @command = N'PRINT N''Starting agent.''',
			@on_success_action = 3, @on_fail_action = 3;
		EXEC msdb.dbo.sp_add_jobstep @job_name = @p1, @step_name = N'Run agent.', @subsystem = @p2, @command = @p3,
			@on_success_action = 1, @on_fail_action = 3, @retry_attempts = 10, @retry_interval = 1;
		EXEC msdb.dbo.sp_add_jobstep @job_name = @p1, @step_name = N'Detect nonlogged agent shutdown.', @command = @p5,
			@on_success_action = 2, @on_fail_action = 2`,
		j.name, j.subsystem, j.command, agent+" Agent startup message.", "PRINT N'The "+agent+" Agent has ended.'")
}
