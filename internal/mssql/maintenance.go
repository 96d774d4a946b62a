// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"

	"geosql.dev/operator/internal/tsql"
)

// MaintenanceJob is a job of replication's maintenance as it is there.
type MaintenanceJob struct {
	// Name that it has: a person may have given it another one.
	Name    string
	Enabled bool
	// Steps, Servers and Schedules that it has, by their number.
	Steps, Servers, Schedules int
	// Outcome of its last run, one of JobFailed and so on, and what it ended with, for people.
	Outcome int
	Message string
}

// ReadMaintenanceJob reads a job as it is there; nil where there is none.
func ReadMaintenanceJob(ctx context.Context, q Querier, job tsql.MaintenanceJob) (*MaintenanceJob, error) {
	var have *MaintenanceJob
	err := q.Query(ctx, tsql.MaintenanceJobState(job), func(r Row) error {
		have = &MaintenanceJob{}
		return r.Scan(&have.Name, &have.Enabled, &have.Steps, &have.Servers, &have.Schedules, &have.Outcome, &have.Message)
	})
	return have, err
}

// ReadDatabaseSize reads how many bytes the files of a database have; 0 where there is no such database.
func ReadDatabaseSize(ctx context.Context, q Querier, database string) (bytes int64, err error) {
	err = q.Query(ctx, tsql.DatabaseSize(database), func(r Row) error { return r.Scan(&bytes) })
	return bytes, err
}
