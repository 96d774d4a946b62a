// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// A server that did not publish first, or has lost its volumes, has no job that looks for expired subscriptions: it
// gets what it lacks of one, and what is there is left as it is.
func TestTheJobForExpiredSubscriptionsIsMadeAgain(t *testing.T) {
	job := func(j *mssql.MaintenanceJob) reconcile.Reading[*mssql.MaintenanceJob] { return reconcile.Read(j) }
	const add, step, schedule, server = "add job", "say what job", "every day", "run on this server"
	for name, c := range map[string]struct {
		seen reconcile.Reading[*mssql.MaintenanceJob]
		want []string
	}{
		"none":               {job(nil), []string{add, step, schedule, server}},
		"it was begun":       {job(&mssql.MaintenanceJob{}), []string{step, schedule, server}},
		"all but its server": {job(&mssql.MaintenanceJob{Steps: 1, Schedules: 1}), []string{server}},
		"it is there":        {job(&mssql.MaintenanceJob{Steps: 2, Schedules: 1, Servers: 1}), nil},
		"no answer":          {reconcile.NotRead[*mssql.MaintenanceJob](errors.New("no answer")), nil},
		"not asked":          {},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared(true))
			w.settle(t, all)
			o := w.look()
			o.Expiry = c.seen
			p := plan(w.d, o)
			g.Expect(p.Steps).To(HaveLen(len(c.want)))
			for i, want := range c.want {
				g.Expect(p.Steps[i].Describe()).To(And(HavePrefix("on tukpub-0 in master: "), ContainSubstring(want),
					ContainSubstring("Expired subscription clean up")))
			}
		})
	}
}
