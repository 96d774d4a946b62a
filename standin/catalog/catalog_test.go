// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/catalog"
)

func TestProcedureGivesSignatureInAnyCase(t *testing.T) {
	g := NewWithT(t)
	p, ok := catalog.Procedure("SP_AddDistributor")
	g.Expect(ok).To(BeTrue())
	g.Expect(p.Name).To(Equal("sp_adddistributor"))
	g.Expect(p.Parameters[0].Name).To(Equal("@distributor"))
	g.Expect(p.Parameters[0].Required).To(BeTrue())
	g.Expect(p.Parameters[0].Default).To(BeNil())
	heartbeat, ok := p.Parameter("@HEARTBEAT_interval")
	g.Expect(ok).To(BeTrue())
	g.Expect(*heartbeat.Default).To(Equal("10"))
	_, ok = p.Parameter("@nothing")
	g.Expect(ok).To(BeFalse())
	_, ok = catalog.Procedure("sp_nothing")
	g.Expect(ok).To(BeFalse())
}

func TestAllowedValuesAndResultSets(t *testing.T) {
	g := NewWithT(t)
	p, _ := catalog.Procedure("sp_addpullsubscription")
	independent, ok := p.Parameter("@independent_agent")
	g.Expect(ok).To(BeTrue())
	g.Expect(independent.Allowed).To(ConsistOf("true", "false"))
	pending, _ := catalog.Procedure("sp_replmonitorsubscriptionpendingcmds")
	g.Expect(pending.ResultSets).To(HaveLen(1))
	g.Expect(pending.ResultSets[0][0].Name).To(Equal("pendingcmdcount"))
}

func TestEveryEntryIsUsable(t *testing.T) {
	g := NewWithT(t)
	g.Expect(len(catalog.Procedures())).To(BeNumerically(">", 100))
	for _, p := range catalog.Procedures() {
		g.Expect(p.Doc).NotTo(BeEmpty(), p.Name)
		for _, param := range p.Parameters {
			g.Expect(strings.HasPrefix(param.Name, "@")).To(BeTrue(), "%s %s", p.Name, param.Name)
		}
	}
	g.Expect(len(catalog.Views())).To(BeNumerically(">", 40))
	for _, v := range catalog.Views() {
		g.Expect(v.Columns).NotTo(BeEmpty(), v.Name)
		for _, c := range v.Columns {
			g.Expect(c.Type).NotTo(BeEmpty(), "%s.%s", v.Name, c.Name)
		}
	}
	g.Expect(len(catalog.ReplicationTables())).To(BeNumerically(">", 40))
	for _, e := range catalog.Errors() {
		g.Expect(e.Severity).To(BeNumerically("<=", 25), "%d", e.Number)
	}
}

func TestViewTableErrorAgentAndDDL(t *testing.T) {
	g := NewWithT(t)
	v, ok := catalog.View("SYS.Certificates")
	g.Expect(ok).To(BeTrue())
	g.Expect(v.Name).To(Equal("sys.certificates"))
	table, ok := catalog.ReplicationTable("msdistribution_agents")
	g.Expect(ok).To(BeTrue())
	g.Expect(table.Name).To(Equal("MSdistribution_agents"))
	e, ok := catalog.Error(18456)
	g.Expect(ok).To(BeTrue())
	g.Expect(e.Severity).To(BeEquivalentTo(14))
	a, ok := catalog.AgentParameters("Distrib")
	g.Expect(ok).To(BeTrue())
	streams, ok := a.Parameter("-subscriptionstreams")
	g.Expect(ok).To(BeTrue())
	g.Expect(streams.Required).To(BeFalse())
	_, ok = catalog.DDL("AVAILABILITY_GROUP")
	g.Expect(ok).To(BeTrue())
}
