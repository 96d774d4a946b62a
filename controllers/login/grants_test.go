// SPDX-License-Identifier: Apache-2.0

package login

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// What was granted on schemas and objects is remembered until it is revoked, of a user that is declared no more too.
func TestGrantsAreRememberedUntilTheyAreRevoked(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	d.Login.Spec.Users[0].Grants = grants
	o := whole(d)
	g.Expect(folded(flat(grants))).To(Equal(grants))
	p := plan(d, o)
	g.Expect(p.Steps).To(BeEmpty(), "they are put on record before they are granted")
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonLoginChanging))
	status := reported(d, o, p)
	g.Expect(status.Users).To(ConsistOf(HaveField("Grants", grants)))
	d.Login.Status = status
	g.Expect(plan(d, o).Steps).To(HaveLen(3))
	o.Users["Content"].State.Grants = flat(grants)
	g.Expect(plan(d, o).Steps).To(BeEmpty())
	g.Expect(reported(d, o, plan(d, o)).Users).To(ConsistOf(HaveField("Grants", grants)))

	d.Login.Spec.Users[0].Grants = grants[:1]
	g.Expect(reported(d, o, plan(d, o)).Users).To(ConsistOf(HaveField("Grants", grants)), "one is to be revoked yet")
	o.Users["Content"].State.Grants = flat(grants)[:2]
	g.Expect(reported(d, o, plan(d, o)).Users).To(ConsistOf(HaveField("Grants", grants[:1])))

	d.Login.Spec.Users = nil
	state := &mssql.UserState{SID: sid, Grants: append(flat(grants),
		mssql.Grant{On: tsql.Securable{Schema: "dbo"}, Permission: "SELECT"})}
	o.Users = nil
	o.FormerUsers = []FormerUser{{LoginUserStatus: status.Users[0], User: User{State: state}}}
	p = plan(d, o)
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

// What somebody else has granted is not revoked when it is declared no more, though it was declared meanwhile: neither
// of the user, nor of one that is declared no more itself.
func TestGrantsOfSomebodyElseStay(t *testing.T) {
	update := flat(grants)[2]
	delegated := update
	delegated.Delegated = true
	for name, have := range map[string][]mssql.Grant{
		"before it was declared":            {update},
		"with the grant option":             {delegated},
		"with the grant option, and before": {delegated, update},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := declared()
			d.Login.Spec.Users[0].Grants = grants[1:]
			o := whole(d)
			o.Users["Content"].State.Grants = have
			for range 2 {
				p := plan(d, o)
				g.Expect(p.Steps).To(BeEmpty())
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonLoginReady))
				d.Login.Status = reported(d, o, p)
			}
			g.Expect(d.Login.Status.Users).To(ConsistOf(HaveField("Grants", BeEmpty())))
			d.Login.Spec.Users[0].Grants = nil
			g.Expect(plan(d, o).Steps).To(BeEmpty())

			d.Login.Spec.Users = nil
			former := FormerUser{LoginUserStatus: d.Login.Status.Users[0], User: whole(d).Users["Content"]}
			o.Users, o.FormerUsers = nil, []FormerUser{former}
			o.FormerUsers[0].State.Grants = have
			for _, s := range plan(d, o).Steps {
				g.Expect(s.Describe()).NotTo(ContainSubstring("OBJECT::[dbo].[Article]"))
			}
		})
	}
}

// What the operator granted beside somebody with the grant option goes, and that one's grant stays: REVOKE is not sent
// for it again and again.
func TestTheOperatorRevokesItsOwnGrantAlone(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	d.Login.Status.Users = []v1alpha1.LoginUserStatus{{Database: "Content", Name: "app", Grants: grants[1:]}}
	o := whole(d)
	update := flat(grants)[2]
	delegated := update
	delegated.Delegated = true
	o.Users["Content"].State.Grants = []mssql.Grant{update, delegated}
	g.Expect(plan(d, o).Steps).To(ConsistOf(WithTransform(reconcile.Step.Describe,
		ContainSubstring("REVOKE UPDATE ON OBJECT::[dbo].[Article]"))))
	o.Users["Content"].State.Grants = []mssql.Grant{delegated}
	p := plan(d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(reported(d, o, p).Users).To(ConsistOf(HaveField("Grants", BeEmpty())))
}
