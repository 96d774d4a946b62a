// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"

	"geosql.dev/operator/internal/tsql"
)

// MaintenanceJob is what a job of replication's maintenance has: steps, servers and schedules, by their number.
type MaintenanceJob struct{ Steps, Servers, Schedules int }

// ReadMaintenanceJob reads a job by its name; nil where there is none.
func ReadMaintenanceJob(ctx context.Context, q Querier, name string) (*MaintenanceJob, error) {
	var job *MaintenanceJob
	err := q.Query(ctx, tsql.MaintenanceJobState(name), func(r Row) error {
		job = &MaintenanceJob{}
		return r.Scan(&job.Steps, &job.Servers, &job.Schedules)
	})
	return job, err
}
