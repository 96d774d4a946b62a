// SPDX-License-Identifier: Apache-2.0

package login

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// What was granted on schemas and objects is remembered until it is revoked, of a user that is declared no more too.
func TestGrantsAreRememberedUntilTheyAreRevoked(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	d.Login.Spec.Users[0].Grants = grants
	o := whole(d)
	o.Users["Content"].State.Grants = flat(grants)
	g.Expect(folded(flat(grants))).To(Equal(grants))
	status := reported(d, o, plan(d, o))
	g.Expect(status.Users).To(ConsistOf(HaveField("Grants", grants)))

	d.Login.Status, d.Login.Spec.Users[0].Grants = status, grants[:1]
	g.Expect(reported(d, o, plan(d, o)).Users).To(ConsistOf(HaveField("Grants", grants)), "one is to be revoked yet")
	o.Users["Content"].State.Grants = flat(grants)[:2]
	g.Expect(reported(d, o, plan(d, o)).Users).To(ConsistOf(HaveField("Grants", grants[:1])))

	d.Login.Spec.Users = nil
	state := &mssql.UserState{SID: sid, Grants: append(flat(grants),
		mssql.Grant{On: tsql.Securable{Schema: "dbo"}, Permission: "SELECT"})}
	o.Users = nil
	o.FormerUsers = []FormerUser{{LoginUserStatus: status.Users[0], User: User{State: state}}}
	p := plan(d, o)
	revoked := 0
	for _, s := range p.Steps {
		if x, ok := s.(mssql.Execute); ok {
			g.Expect(x.Describe()).To(ContainSubstring("REVOKE "))
			revoked++
		}
	}
	g.Expect(revoked).To(Equal(3))
	g.Expect(reported(d, o, p).Users).To(ConsistOf(HaveField("Grants", grants)))
	state.Grants, state.Roles, state.Permissions = nil, nil, nil
	g.Expect(reported(d, o, plan(d, o)).Users).To(BeEmpty())
	o.FormerUsers[0].State = &mssql.UserState{SID: otherID, Grants: flat(grants)}
	g.Expect(plan(d, o).Steps).NotTo(ContainElement(BeAssignableToTypeOf(mssql.Execute{})), "it is another's")
}
