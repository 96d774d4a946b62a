// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// What the operator's login may do by its grants is done as that login: it goes on where sa is disabled.
func TestWhatTakesNoAdministratorIsDoneWithoutOne(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.servers["quisec"].mirroring.Endpoint.State = "STOPPED"
	p := plan(e.d, e.observe())
	g.Expect(p.Steps).To(HaveLen(1))
	g.Expect(p.Steps[0]).To(And(HaveField("Role", credentials.RoleOperator),
		HaveField("Statement.Text", ContainSubstring("STATE = STARTED"))))

	var prepared reconcile.Plan
	prepare(&prepared, "tukpub", mssql.Database{Name: "Content", Owner: "sa", RecoveryModel: "SIMPLE"}, e.now)
	g.Expect(prepared.Steps).To(HaveExactElements(
		And(HaveField("Role", credentials.RoleOperator), HaveField("Statement.Text", ContainSubstring("SET RECOVERY FULL"))),
		And(HaveField("Role", credentials.RoleSA), HaveField("Statement.Text", ContainSubstring("BACKUP DATABASE")))))
}
