// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// An engine makes the jobs that keep a distribution database small with the database, and never again: what somebody
// deleted is made again, one thing at a time, and what is there is left alone.
func TestTheJobsThatKeepADistributionDatabaseSmall(t *testing.T) {
	type reading = reconcile.Reading[*mssql.MaintenanceJob]
	job := reconcile.Read[*mssql.MaintenanceJob]
	whole := func() reading {
		return job(&mssql.MaintenanceJob{Name: "as it was", Enabled: true, Steps: 1, Servers: 1, Schedules: 1})
	}
	const cleanup, history = "Distribution clean up: distribution", "Agent history clean up: distribution"
	for name, c := range map[string]struct {
		cleanup, history reading
		want             []string
	}{
		"both were deleted":   {job(nil), job(nil), []string{"add job " + cleanup, "add job " + history}},
		"one was deleted":     {whole(), job(nil), []string{"add job " + history}},
		"it was begun":        {job(&mssql.MaintenanceJob{Name: cleanup}), whole(), []string{"say what job " + cleanup}},
		"it never starts":     {job(&mssql.MaintenanceJob{Name: cleanup, Steps: 1}), whole(), []string{"every 10 minutes"}},
		"it has another name": {job(&mssql.MaintenanceJob{Name: "my own", Steps: 1}), whole(), []string{"start job my own"}},
		"both are there":      {whole(), whole(), nil},
		"one is disabled":     {job(&mssql.MaintenanceJob{Name: cleanup, Steps: 1, Servers: 1, Schedules: 1}), whole(), nil},
		"no answer": {reconcile.NotRead[*mssql.MaintenanceJob](errors.New("no route")),
			reconcile.NotRead[*mssql.MaintenanceJob](errors.New("no route")), nil},
		"not asked": {reading{}, reading{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			w.settle(t, all)
			w.o.Cleanup, w.o.History = c.cleanup, c.history
			p := plan(w.d, w.o)
			g.Expect(p.Steps).To(BeEmpty(), "nothing waits for them")
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonConfigured))
			g.Expect(p.Aside).To(HaveLen(len(c.want)))
			for i, want := range c.want {
				g.Expect(p.Aside[i].Describe()).To(And(HavePrefix("on dist-0 in master: "), ContainSubstring(want)))
			}
		})
	}
}

// While the engine may be at its own procedure, which makes them, nobody makes a second one of the name.
func TestTheEngineMakesItsJobsFirst(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	none := reconcile.Read[*mssql.MaintenanceJob](nil)
	w.o.Cleanup, w.o.History = none, none
	owner := w.o.Owner
	w.o.Owner = replication.Owner{}
	g.Expect(plan(w.d, w.o).Aside).To(BeEmpty(), "the agents' user comes after the procedure")
	w.o.Owner = owner
	w.server(distributor).Distribution = nil
	g.Expect(plan(w.d, w.o).Aside).To(BeEmpty(), "the database is not listed")
}

// An engine that refuses a job keeps no publisher from being admitted, and the refusal is told.
func TestAJobThatTheDistributorDoesNotMake(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	w.o.Cleanup = reconcile.Read[*mssql.MaintenanceJob](nil)
	w.server(distributor).Publishers = nil
	refuses := func(_ context.Context, s replication.Step) error {
		if s.(replication.Execute).Statement.Procedure == "msdb.dbo.sp_add_job" {
			return errors.New("14234: the category is not there")
		}
		w.do(t, s)
		return nil
	}
	var failed error
	for range 3 {
		failed = replication.CarryOut(t.Context(), reconcile.Reporter{}, w.d.Distributor, plan(w.d, w.o), refuses)
	}
	g.Expect(configured(w.d, w.o)).To(Equal([]string{"quisec-0", "tukpub-0"}))
	told := outcome(w.d, plan(w.d, w.o), failed)
	g.Expect(told.Reason).To(Equal(v1alpha1.ReasonMaintenanceJobMissing))
	g.Expect(told.Message).To(ContainSubstring("14234"))
}
