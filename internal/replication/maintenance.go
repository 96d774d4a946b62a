// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// Maintain makes what a server lacks of a job that replication makes once, and that is gone with the server's volumes,
// or was never made there: one thing at a time, beside the other steps, for nothing that is delivered waits for it.
// What is there stays as it is, also disabled, or at another time: a person may want that. One that was not read is
// left alone.
func (p *Plan) Maintain(
	server v1alpha1.ServerName,
	job tsql.MaintenanceJob,
	seen reconcile.Reading[*mssql.MaintenanceJob],
) {
	have, err := seen.Get()
	if err != nil {
		return
	}
	if have != nil {
		job.Name = have.Name
	}
	step := Execute{Server: server, Database: Master}
	switch {
	case have == nil:
		step.Statement = tsql.AddMaintenanceJob(job)
	case have.Steps == 0:
		step.Statement = tsql.AddMaintenanceStep(job)
	case have.Schedules == 0:
		step.Statement = tsql.AddMaintenanceSchedule(job)
	case have.Servers == 0:
		step.Statement = tsql.AddJobServer(job.Name)
	default:
		return
	}
	p.Beside(step, v1alpha1.ReasonMaintenanceJobMissing)
}
