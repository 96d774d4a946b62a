// SPDX-License-Identifier: Apache-2.0

package replication

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// LacksUpkeepAlone tells of the conditions of a Publication or a Distributor that everything is as declared but a job
// that could not be made: copies and moves do not wait for that. Ready has that reason only where there is no other.
func LacksUpkeepAlone(list []metav1.Condition) bool {
	ready := v1alpha1.ReadyAsSeen(list)
	return ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == v1alpha1.ReasonMaintenanceJobMissing
}

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
