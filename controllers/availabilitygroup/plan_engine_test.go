// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// Express takes part as a configuration-only replica, whose endpoint has no other role than WITNESS.
func TestAnExpressReplicaHasAWitnessEndpoint(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.d.Express = map[v1alpha1.ServerName]bool{"dubcfg": true}
	e.settle(everything)
	for server, role := range map[string]string{"dubcfg": "ROLE = WITNESS)", "tukpub": "ROLE = ALL)",
		"quisec": "ROLE = ALL)"} {
		g.Expect(e.done).
			To(ContainElement(And(ContainSubstring("on "+server+"-0"), ContainSubstring("CREATE ENDPOINT"),
				ContainSubstring(role))))
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
