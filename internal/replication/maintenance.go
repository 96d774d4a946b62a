// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// Maintain makes what a server lacks of a job that replication makes once, and that is gone with the server's volumes,
// or was never made there. What is there stays as it is, also disabled, or at another time: a person may want that. One
// that was not read is left alone.
func (p *Plan) Maintain(
	server v1alpha1.ServerName,
	job tsql.MaintenanceJob,
	seen reconcile.Reading[*mssql.MaintenanceJob],
) {
	have, err := seen.Get()
	if err != nil {
		return
	}
	if have == nil {
		have = &mssql.MaintenanceJob{}
		p.Execute(server, Master, tsql.AddMaintenanceJob(job))
	}
	if have.Steps == 0 {
		p.Execute(server, Master, tsql.AddMaintenanceStep(job))
	}
	if have.Schedules == 0 {
		p.Execute(server, Master, tsql.AddMaintenanceSchedule(job))
	}
	if have.Servers == 0 {
		p.Execute(server, Master, tsql.AddJobServer(job.Name))
	}
}
