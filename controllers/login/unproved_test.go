// SPDX-License-Identifier: Apache-2.0

package login

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// A former primary may lack the database, or have it as it was some time ago. What it says of a user says nothing of
// the one that the new primary has: neither is what was granted there forgotten, nor is the user taken for dropped.
func TestWhatAFormerPrimarySaysIsNoEvidence(t *testing.T) {
	const database = "Content"
	former := func(o *Observed) { o.Leads["content"] = reconcile.Read(false) }
	for name, c := range map[string]struct {
		change func(*Observed)
		user   User
		known  bool
	}{
		"the primary has no such user": {user: User{}, known: true},
		"it has no such database":      {user: User{NoDatabase: true}},
		"it answers 976":               {user: User{Err: &mssql.Error{Err: errMute}}},
		"it is a secondary, with an old state": {change: former,
			user: User{State: &mssql.UserState{SID: sid, Permissions: []string{"CONNECT"}}}},
		"it is a secondary, without the user": {change: former, user: User{}},
		"nobody knows whether it is the primary": {change: func(o *Observed) {
			o.Leads["content"] = reconcile.NotRead[bool](errMute)
		}, user: User{}},
		"nobody has asked whether it is": {change: func(o *Observed) { o.Leads = nil }, user: User{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			observe := func(d Desired) Observed {
				o := whole(d)
				if c.change != nil {
					c.change(&o)
				}
				return o
			}
			d := declared()
			record := recordUsers(d, whole(d), reconcile.Plan{})
			d.Login.Status.Users = record

			withdrawn := declared()
			withdrawn.Login.Status.Users = record
			withdrawn.Login.Spec.Users[0].Roles = withdrawn.Login.Spec.Users[0].Roles[:1]
			o := observe(withdrawn)
			o.Users[database] = c.user
			kept := recordUsers(withdrawn, o, reconcile.Plan{})[0].Roles
			g.Expect(kept).To(HaveLen(map[bool]int{true: 1, false: 2}[c.known]), "roles that were withdrawn")
			if !c.known {
				g.Expect(plan(withdrawn, o).Outcome.Reason).NotTo(Equal(v1alpha1.ReasonLoginReady))
				g.Expect(plan(withdrawn, o).Steps).To(BeEmpty())
			}

			d.Login.Spec.Users = nil
			o = observe(d)
			o.FormerUsers = []FormerUser{{LoginUserStatus: record[0], User: c.user}}
			g.Expect(recordUsers(d, o, reconcile.Plan{})).To(HaveLen(map[bool]int{true: 0, false: 1}[c.known]), "former users")
			g.Expect(plan(d, o).Outcome.Reason == v1alpha1.ReasonLoginReady).To(Equal(c.known))
			g.Expect(plan(d, o).Steps).To(BeEmpty())

			gone := declared()
			gone.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
			o = observe(gone)
			o.Users[database], o.Secrets = c.user, nil
			for _, s := range o.Servers {
				s.Login.Disabled = true
			}
			p := planDelete(gone, o)
			g.Expect(p.Done).To(Equal(c.known), p.Outcome.Message)
			g.Expect(p.Steps).To(HaveLen(map[bool]int{true: 2, false: 0}[c.known]), "the logins go after their users")
		})
	}
}

// A server's own database that is gone takes its user with it.
func TestADatabaseOfAServerAloneNeedsNoPrimary(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	record := recordUsers(d, whole(d), reconcile.Plan{})
	d.Login.Spec.Target, d.Databases = v1alpha1.ServerOrGroup{Server: "tukpub"}, nil
	d.Login.Status.Users, d.Login.Spec.Users = record, nil
	o := whole(d)
	o.Leads = nil
	o.FormerUsers = []FormerUser{{LoginUserStatus: record[0], User: User{NoDatabase: true}}}
	g.Expect(recordUsers(d, o, reconcile.Plan{})).To(BeEmpty())
	g.Expect(plan(d, o).Outcome.Reason).To(Equal(v1alpha1.ReasonLoginReady))
}

// A group that is declared and was never made keeps nobody from a server's own database.
func TestAGroupThatWasNeverMadeProvesNothing(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	primary := &mssql.Group{Role: "PRIMARY"}
	secondary := &mssql.Group{Role: "SECONDARY"}
	g.Expect(d.proves("Content", primary)).To(BeTrue())
	g.Expect(d.proves("Content", secondary)).To(BeFalse())
	g.Expect(d.proves("Content", nil)).To(BeFalse(), "the target is the group")
	d.InGroup = map[string]InGroup{"content": {Group: "articles"}}
	g.Expect(d.proves("Content", nil)).To(BeTrue())
	g.Expect(d.proves("Content", secondary)).To(BeFalse(), "whatever the hub says, the engine has it")
	d.InGroup = map[string]InGroup{"content": {Group: "articles", Made: true}}
	g.Expect(d.proves("Content", nil)).To(BeFalse(), "it was taken out of the group")
}
