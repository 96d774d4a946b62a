// SPDX-License-Identifier: Apache-2.0

//go:build integration

package replication_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// On an engine without the job, as one that became primary, each of the steps may be the last, and in the end it has
// what an engine makes itself: a further look finds nothing to do.
func TestTheJobForExpiredSubscriptionsOnAnEngine(t *testing.T) {
	g := NewWithT(t)
	open := opener(t, engine.Start(t, "web", "solo"))
	for i := range 6 {
		job, err := mssql.ReadMaintenanceJob(t.Context(), open("master"), tsql.ExpiredSubscriptions.Name)
		g.Expect(err).NotTo(HaveOccurred())
		var p replication.Plan
		p.Maintain("solo", tsql.ExpiredSubscriptions, reconcile.Read(job))
		g.Expect(p.Aside).To(HaveLen(min(1, max(0, 4-i))))
		if len(p.Aside) == 0 {
			g.Expect(*job).To(Equal(mssql.MaintenanceJob{Steps: 1, Servers: 1, Schedules: 1}))
			continue
		}
		s := p.Aside[0].Step.(replication.Execute)
		g.Expect(s.Settled(open(s.Database).Exec(t.Context(), s.Statement))).To(Succeed(), s.Statement.Redacted())
	}
	g.Expect(open("msdb").Exec(t.Context(), tsql.StartJob(tsql.ExpiredSubscriptions.Name))).To(Succeed(), "it can run")
}
