// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// Express takes part as a configuration-only replica, whose endpoint has no other role than WITNESS.
func TestAnExpressReplicaHasAWitnessEndpoint(t *testing.T) {
	g := NewWithT(t)
	for _, edition := range []v1alpha1.Edition{v1alpha1.EditionExpress, v1alpha1.EditionWeb} {
		e := newEnviron(t, declared())
		e.d.Editions = map[v1alpha1.ServerName]v1alpha1.Edition{"dubcfg": edition}
		e.settle(everything)
		for server, role := range map[string]string{"dubcfg": "ROLE = WITNESS)", "tukpub": "ROLE = ALL)",
			"quisec": "ROLE = ALL)"} {
			g.Expect(e.done).
				To(ContainElement(And(ContainSubstring("on "+server+"-0"), ContainSubstring("CREATE ENDPOINT"),
					ContainSubstring(role))))
		}
	}
}

// A product key does not say which edition it is for: the engine does.
func TestAnEngineThatSaysExpressHasAWitnessEndpoint(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.servers["dubcfg"].mirroring.EngineEdition = mssql.EngineEditionExpress
	e.settle(everything)
	g.Expect(e.done[at(t, e.done, "on dubcfg-0 as sa: create the endpoint")]).To(ContainSubstring("ROLE = WITNESS)"))
}

// Standard takes part in basic groups alone, and so says the engine where a product key was declared.
func TestAGroupOfStandardServersIsBasic(t *testing.T) {
	for name, c := range map[string]struct {
		declared v1alpha1.Edition
		says     int
		basic    bool
	}{
		"Standard, by the declaration":         {declared: v1alpha1.EditionStandard, basic: true},
		"Standard Developer":                   {declared: v1alpha1.EditionStandardDeveloper, basic: true},
		"a product key for Standard":           {declared: "", says: 2, basic: true},
		"a product key for Enterprise":         {declared: "", says: 3},
		"Developer":                            {declared: "Developer", says: 3},
		"Standard was declared, Enterprise is": {declared: v1alpha1.EditionStandard, says: 3},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.d.Editions = map[v1alpha1.ServerName]v1alpha1.Edition{"tukpub": c.declared, "quisec": c.declared}
			e.servers["tukpub"].mirroring.EngineEdition = c.says
			e.settle(everything)
			created := e.done[at(t, e.done, "CREATE AVAILABILITY GROUP")]
			g.Expect(strings.Contains(created, ", BASIC")).To(Equal(c.basic))
		})
	}
}

// The engine's own databases of a contained group are declared by nobody and belong to it.
func TestTheEnginesOwnDatabasesStayInAContainedGroup(t *testing.T) {
	for _, contained := range []bool{true, false} {
		g := NewWithT(t)
		group := declared()
		e := newEnviron(t, group)
		e.settle(everything)
		group.Spec.Contained = contained
		e.group.databases = append(e.group.databases, "content_master", "CONTENT_msdb")
		p := plan(e.d, e.observe())
		g.Expect(strings.Contains(steps(p), "REMOVE DATABASE")).To(Equal(!contained))
	}
}
