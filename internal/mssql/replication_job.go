// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"database/sql"
	"time"

	"geosql.dev/operator/internal/tsql"
)

// Job is a SQL Server Agent job.
type Job struct {
	// Name of the job.
	Name    string
	Enabled bool
	// Description says whose it is.
	Description string
	// Step is the number of the step that runs a replication agent, 0 when none does, and Command what it runs; it has
	// passwords.
	Step    int
	Command string
	// HasServer and Scheduled tell that sp_add_jobserver and sp_add_jobschedule were run for it.
	HasServer, Scheduled bool
	// Running tells that it is being executed, and Started how long ago that began. BetweenRetries tells that an attempt
	// failed and the next one has not begun.
	Running        bool
	Started        time.Duration
	BetweenRetries bool
}

// Execution of a job, as sp_help_job tells it: the column, and its value between two attempts.
const (
	jobExecutionStatus = "current_execution_status"
	jobBetweenAttempts = 3
)

// ReadJob reads a job by its name; nil when there is none.
func ReadJob(ctx context.Context, q Querier, name string) (*Job, error) {
	var job *Job
	err := q.Query(ctx, tsql.JobState(name), func(r Row) error {
		var servers, schedules, runs int
		var seconds sql.NullInt64
		j := Job{Name: name}
		err := r.Scan(&j.Enabled, &j.Step, &j.Command, &servers, &schedules, &runs, &seconds, &j.Description)
		j.HasServer, j.Scheduled, j.Running = servers > 0, schedules > 0, runs > 0
		j.Started = time.Duration(seconds.Int64) * time.Second
		job = &j
		return err
	})
	if err != nil || job == nil || !job.Running {
		return job, err
	}
	err = q.Query(ctx, tsql.JobExecution(name), func(r Row) error {
		var status int
		err := scanNamed(r, map[string]any{jobExecutionStatus: &status})
		job.BetweenRetries = status == jobBetweenAttempts
		return err
	})
	return job, err
}

// Outcomes of a job (docs/relational-databases/system-tables/dbo-sysjobservers-transact-sql.md).
const (
	JobFailed    = 0
	JobSucceeded = 1
	JobCanceled  = 3
	JobNeverRan  = 5
)
