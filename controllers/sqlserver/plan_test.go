// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/mssql/credentials"
)

func TestPlanCreatesAServer(t *testing.T) {
	g := NewWithT(t)
	s := server()
	s.Spec.TempDBFiles = ptr.To[int32](4)
	e := newEnviron(t, declared(s, Surroundings{}))
	p, done := e.settle(t, 100)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
	g.Expect(waits(p).Why).To(BeEmpty())
	g.Expect(done[0]).To(HavePrefix("agree on the passwords"))
	g.Expect(strings.Join(done, "\n")).To(ContainSubstring("restart pod tukpub-0: tempdb moves to its volume"))
	for _, d := range done {
		g.Expect(d).NotTo(ContainSubstring(e.o.SitePasswords.Of(credentials.RoleAgent)), "a description shows no password")
	}
	g.Expect(e.o.Engine.TempDB).To(HaveLen(5))
	g.Expect(e.o.Engine.Sysadmins).To(BeEmpty(), "a server that does not replicate has no sysadmin of ours")
	g.Expect(e.o.Engine.Permissions["geosql_agent"]).
		To(ConsistOf("CONNECT SQL", "VIEW SERVER STATE", "VIEW SERVER PERFORMANCE STATE",
			"VIEW ANY DEFINITION", "ALTER ANY AVAILABILITY GROUP", "ALTER ANY DATABASE", "ALTER ANY CONNECTION",
			"ALTER ANY ENDPOINT"))
	g.Expect(e.o.Engine.Permissions["geosql_replication"]).To(ConsistOf("CONNECT SQL"))
}

// The end is the same when the manager dies after each single step.
func TestPlanSurvivesAnEndAfterEachStep(t *testing.T) {
	g := NewWithT(t)
	whole, single := newEnviron(t, declared(server(), Surroundings{})), newEnviron(t, declared(server(), Surroundings{}))
	_, a := whole.settle(t, 100)
	p, b := single.settle(t, 1)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue))
	g.Expect(b).To(Equal(a))
	g.Expect(single.o.Engine.Permissions).To(Equal(whole.o.Engine.Permissions))
}

func issued(t *testing.T, names ...string) map[string][]byte {
	t.Helper()
	return issuedAt(t, start, names...)
}

func must(d placement.Decision, err error) placement.Decision {
	if err != nil {
		panic(err)
	}
	return d
}
