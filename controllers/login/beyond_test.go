// SPDX-License-Identifier: Apache-2.0

package login

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// crowded is a Login with former users whose databases do not answer, as many as the record takes less room.
func crowded(room int) (Desired, Observed) {
	d := declared()
	o := whole(d)
	for i := range maxUsers - room {
		was := v1alpha1.LoginUserStatus{Database: v1alpha1.DatabaseName(fmt.Sprint("Former", i)), Name: "app",
			Roles: []v1alpha1.RoleName{"db_owner"}}
		d.Login.Status.Users = append(d.Login.Status.Users, was)
		d.Databases = append(d.Databases, string(was.Database))
		o.FormerUsers = append(o.FormerUsers, FormerUser{LoginUserStatus: was, User: User{Err: errMute}})
	}
	return d, o
}

// What was granted is never forgotten for want of room: what could not be remembered is not granted, and the condition
// says so.
func TestNothingIsGrantedThatCannotBeRemembered(t *testing.T) {
	g := NewWithT(t)
	d, o := crowded(1)
	o.Users["Content"] = User{}
	g.Expect(plan(d, o).Steps).NotTo(BeEmpty(), "there is room for it")
	g.Expect(recordUsers(d, o, reconcile.Plan{})).To(HaveLen(maxUsers))

	d, o = crowded(0)
	o.Users["Content"] = User{}
	p := plan(d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonLoginUnknown),
		HaveField("Message", ContainSubstring("database Content: its user is made once status, which remembers 64 users"))))
	g.Expect(recordUsers(d, o, reconcile.Plan{})).To(Equal(d.Login.Status.Users), "nobody is forgotten")

	o.FormerUsers[7].User = User{State: &mssql.UserState{SID: sid}}
	g.Expect(plan(d, o).Steps).NotTo(BeEmpty(), "one is rid of what it had")
	g.Expect(recordUsers(d, o, reconcile.Plan{})).
		To(And(HaveLen(maxUsers), ContainElement(HaveField("Database", v1alpha1.DatabaseName("Content")))))
}

// A record that the API server would refuse were none.
func TestTheRecordOfRolesFits(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	o := whole(d)
	o.Users["Content"] = User{Err: errMute}
	was := v1alpha1.LoginUserStatus{Database: "Content", Name: "app"}
	for i := range maxRoles - 1 {
		was.Roles = append(was.Roles, v1alpha1.RoleName(fmt.Sprint("former", i)))
	}
	d.Login.Status.Users = []v1alpha1.LoginUserStatus{was}
	record := recordUsers(d, o, reconcile.Plan{})
	g.Expect(record[0].Roles).To(HaveLen(maxRoles))
	g.Expect(record[0].Roles).To(ContainElements(was.Roles))
}

// A login that is dropped leaves nobody with what it was granted: its SID comes again with its name.
func TestADeletionTakesFromFormerUsersWhatTheyWereGranted(t *testing.T) {
	g := NewWithT(t)
	d, o := crowded(maxUsers - 2)
	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	for name := range o.Servers {
		s := o.Servers[name]
		s.Login.Disabled = true
		o.Servers[name] = s
	}
	o.Secrets, o.Users["Content"] = nil, User{}
	state := &mssql.UserState{SID: sid, Roles: []string{"db_owner"}}
	o.FormerUsers[0].User = User{State: state}
	p := planDelete(d, o)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Steps).To(HaveExactElements(HaveField("Statement.Text", ContainSubstring("DROP MEMBER [app]"))))
	g.Expect(p.Outcome.Message).To(ContainSubstring("former user app of database Former1: no answer"))

	state.Roles = nil
	p = planDelete(d, o)
	g.Expect(p.Steps).To(BeEmpty(), "the login stays while one is not known")
	g.Expect(p.Done).To(BeFalse())

	o.FormerUsers[1].User, o.FormerUsers[1].Outside = User{}, true
	p = planDelete(d, o)
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(p.Left).To(ConsistOf(ContainSubstring("what user app was granted in database Former1")))
}
