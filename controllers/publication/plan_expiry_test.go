// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// A server that did not publish first, or has lost its volumes, has no job that looks for expired subscriptions: it
// gets what it lacks of one, and what is there is left as it is.
func TestTheJobForExpiredSubscriptionsIsMadeAgain(t *testing.T) {
	job := func(j *mssql.MaintenanceJob) reconcile.Reading[*mssql.MaintenanceJob] { return reconcile.Read(j) }
	const add, step, schedule, server = "add job", "say what job", "every day", "run on this server"
	const expired = "Expired subscription clean up"
	for name, c := range map[string]struct {
		seen reconcile.Reading[*mssql.MaintenanceJob]
		want string
	}{
		"none":               {job(nil), add},
		"it was begun":       {job(&mssql.MaintenanceJob{Name: expired}), step},
		"it never starts":    {job(&mssql.MaintenanceJob{Name: expired, Steps: 1, Servers: 1}), schedule},
		"all but its server": {job(&mssql.MaintenanceJob{Name: expired, Steps: 1, Schedules: 1}), server},
		"it is there":        {job(&mssql.MaintenanceJob{Name: expired, Steps: 2, Schedules: 1, Servers: 1}), ""},
		"no answer":          {reconcile.NotRead[*mssql.MaintenanceJob](errors.New("no answer")), ""},
		"not asked":          {},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(true))
			w.settle(t, all)
			o := w.look()
			o.Expiry = c.seen
			p := plan(w.d, o)
			g.Expect(p.Steps).To(BeEmpty(), "nothing waits for it")
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPublished))
			if c.want == "" {
				g.Expect(p.Aside).To(BeEmpty())
				return
			}
			g.Expect(p.Aside).To(HaveLen(1))
			g.Expect(p.Aside[0].Reason).To(Equal(v1alpha1.ReasonMaintenanceJobMissing))
			g.Expect(p.Aside[0].Describe()).To(And(HavePrefix("on tukpub-0 in master: "), ContainSubstring(c.want),
				ContainSubstring(expired)))
		})
	}
}

// An engine that does not make the job keeps nothing else from being done: the rest of the plan goes on, and is.
func TestAJobThatCannotBeMadeHoldsUpNothing(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(true))
	w.settle(t, all)
	o := w.look()
	o.Expiry = reconcile.Read[*mssql.MaintenanceJob](nil)
	o.LogReaderJob.Running = false
	p := plan(w.d, o)
	var done []string
	failed := replication.CarryOut(t.Context(), reconcile.Reporter{}, w.d.Publication, p,
		func(_ context.Context, s replication.Step) error {
			if strings.Contains(s.Describe(), "Expired subscription clean up") {
				return errors.New("14234: the category is not there")
			}
			done = append(done, s.Describe())
			return nil
		})
	g.Expect(done).To(ContainElement(ContainSubstring("start job")), "the log reader")
	g.Expect(reconcile.Outcome(p.Outcome, failed).Message).To(ContainSubstring("14234"))

	o.LogReaderJob.Running = true
	told := reconcile.Outcome(plan(w.d, o).Outcome, failed)
	g.Expect(told.Reason).To(Equal(v1alpha1.ReasonMaintenanceJobMissing))
}
