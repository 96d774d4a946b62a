// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Monthly-relative schedules are due on the nth day of a kind of a month
// (docs/relational-databases/system-stored-procedures/sp-add-schedule-transact-sql.md, @freq_relative_interval).
func TestMonthlyRelativeSchedules(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newInstance(t, "MSSQL_AGENT_ENABLED=true").open(t, "msdb")
	mustExec(
		t,
		db,
		`EXEC sp_add_job @job_name = N'j'; EXEC sp_add_jobstep @job_name = N'j', @step_name = N's', @command = N'SELECT 1'; EXEC sp_add_jobserver @job_name = N'j'`,
	)
	mustExec(
		t,
		db,
		`EXEC sp_add_jobschedule @job_name = N'j', @name = N'last Friday', @freq_type = 32, @freq_interval = 6, @freq_relative_interval = 16, @freq_recurrence_factor = 1, @active_start_date = 20300101, @active_start_time = 20000`,
	)
	g.Eventually(func() ([][]any, error) {
		return tryQuery(
			db,
			`SELECT c.freq_relative_interval, a.next_run_date, a.next_run_time FROM sysschedules AS c JOIN sysjobschedules AS a ON a.schedule_id = c.schedule_id WHERE c.name = N'last Friday'`,
		)
	}).WithTimeout(patient).WithPolling(100 * time.Millisecond).Should(Equal([][]any{{int64(16), int64(20300125),
		int64(20000)}}))
	g.Expect(query(t, db, `EXEC sp_help_jobschedule @job_name = N'j', @include_description = 1`)[0][14]).
		To(Equal("Every 1 month(s) on the last Friday of that month at 02:00:00"))
	mustExec(t, db, `EXEC sp_update_schedule @name = N'last Friday', @freq_interval = 10, @freq_relative_interval = 2`)
	g.Eventually(func() any { return scalar(db, `SELECT next_run_date FROM sysjobschedules`) }).
		WithTimeout(patient).
		WithPolling(100 * time.Millisecond).
		Should(BeEquivalentTo(20300106))
	mustExec(t, db, `EXEC sp_delete_jobschedule @job_name = N'j', @name = N'last Friday'`)
	g.Expect(query(t, db, `SELECT name FROM sysschedules`)).To(BeEmpty())
	g.Expect(failure(t, db, `EXEC sp_delete_jobschedule @job_name = N'j', @name = N'last Friday'`).Number).
		To(Equal(int32(14262)))
}

// What cannot be a schedule is refused, and so is a filter of the history that no row could have.
func TestSchedulesAreJudged(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newInstance(t).open(t, "msdb")
	for text, number := range map[string]int32{
		`sp_add_schedule @schedule_name = N's', @freq_type = 32, @freq_interval = 11, @freq_relative_interval = 1, @freq_recurrence_factor = 1`: 14266,
		`sp_add_schedule @schedule_name = N's', @freq_type = 32, @freq_interval = 1, @freq_relative_interval = 3, @freq_recurrence_factor = 1`:  14266,
		`sp_add_schedule @schedule_name = N's', @freq_type = 32, @freq_interval = 1, @freq_relative_interval = 1`:                               14266,
		`sp_add_schedule @schedule_name = N's', @freq_type = 128`:                                                                               14266,
		`sp_add_schedule @schedule_name = N's', @freq_type = 4, @freq_interval = 1, @active_start_date = 20261301`:                              14287,
		`sp_add_schedule @schedule_name = N's', @freq_type = 4, @freq_interval = 1, @active_start_date = 20270229`:                              14287,
		`sp_add_schedule @schedule_name = N's', @freq_type = 4, @freq_interval = 1, @active_start_date = 18991231`:                              14266,
		`sp_add_schedule @schedule_name = N's', @freq_type = 1, @active_start_time = 250000`:                                                    14266,
		`sp_add_schedule @schedule_name = N's', @freq_type = 1, @active_start_time = 126000`:                                                    14287,
		`sp_add_schedule @schedule_name = N's', @freq_type = 1, @active_end_time = 120060`:                                                      14287,
		`sp_add_schedule @schedule_name = N's', @freq_type = 64, @owner_login_name = N'nobody'`:                                                 14234,
		`sp_help_jobhistory @mode = N'FULLY'`: 14266,
		`sp_help_jobhistory @run_status = 6`:  14266,
	} {
		g.Expect(failure(t, db, "EXEC "+text).Number).To(Equal(number), text)
	}
	g.Expect(query(t, db, `SELECT name FROM sysschedules`)).To(BeEmpty())
	g.Expect(failure(t, db, `EXEC sp_start_job @job_name = N'not there'`).Message).To(ContainSubstring("'not there'"))
	mustExec(
		t,
		db,
		`EXEC sp_add_schedule @schedule_name = N's', @freq_type = 4, @freq_interval = 1, @active_start_date = 20280229, @active_end_time = 235959`,
	)
}
