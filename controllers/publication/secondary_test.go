// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"testing"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// A server that is named in place of its group is a secondary after a failover: its condition says so, and no backup is
// made of what it cannot read.
func TestPublisherThatIsASecondary(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared(false))
	w.settle(t, all)
	o := w.look()
	database := o.Servers[publisher].State.Databases["content"]
	database.RecoveryModel, database.LogChain = "FULL", false
	o.Servers[publisher].State.Databases["content"] = database
	o.Database, o.DatabaseErr = Database{}, &mssql.Error{
		Server: "tukpub-0",
		Class:  mssql.Refused,
		Err:    driver.Error{Number: 976},
	}
	p := plan(w.d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSecondary))
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("tukpub-0"), ContainSubstring("publisher.availabilityGroup")))
	g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck), "waiting helps nothing as long as another one is primary")
}

// A secondary that takes readers answers all that is asked: nothing is to be changed there, and no backup made.
func TestPublisherThatIsAReadableSecondary(t *testing.T) {
	for _, group := range []bool{false, true} {
		g := NewWithT(t)
		w := newWorld(declared(group))
		w.settle(t, all)
		o := w.look()
		database := o.Servers[publisher].State.Databases["content"]
		database.LogChain, database.Secondary = false, true
		o.Servers[publisher].State.Databases["content"] = database
		delete(w.o.Database.Publication.Articles, "dbo.article")
		p := plan(w.d, o)
		if group {
			g.Expect(p.Outcome.Reason).NotTo(Equal(v1alpha1.ReasonSecondary), "the group's role says who is primary")
			continue
		}
		g.Expect(p.Steps).To(BeEmpty())
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSecondary))
		g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
		g.Expect(p.Outcome.Message).To(And(ContainSubstring("tukpub-0"), ContainSubstring("publisher.availabilityGroup")))
	}
}
