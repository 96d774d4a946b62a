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

// A Secret with the password remains where nobody can look for it any more: the record says at which sites, and the
// deletion says so.
func TestADeletionTellsOfSecretsWhereNobodyCanLook(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	o := whole(d)
	o.Secrets["quincy"] = Secret{}
	p := plan(d, o)
	g.Expect(p.Steps).To(ContainElement(WriteSecret{Place: "quincy", Name: "app-connection"}))
	g.Expect(recordSites(d, o, p)).To(Equal([]v1alpha1.SiteName{"quincy", "tukwila"}))
	d.Login.Status.SecretSites = []v1alpha1.SiteName{"dublin", "gone", "quincy", "tukwila"}
	delete(o.Secrets, "quincy")
	o.Secrets["dublin"] = Secret{Err: errMute}
	const lost = "the site is declared lost"
	o.Unasked = map[v1alpha1.SiteName]string{"quincy": lost, "elsewhere": lost}
	g.Expect(recordSites(d, o, reconcile.Plan{})).To(Equal(d.Login.Status.SecretSites), "unread is not absent")
	o.Secrets["dublin"] = Secret{}
	g.Expect(recordSites(d, o, reconcile.Plan{})).NotTo(ContainElement(v1alpha1.SiteName("dublin")))

	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	o.Secrets, o.Users = map[string]Secret{"": {}, "dublin": {}, "tukwila": {}}, map[string]User{"Content": {}}
	for s := range o.Servers {
		o.Servers[s] = Server{}
	}
	p = planDelete(d, o)
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(p.Left).To(ConsistOf("connection Secret app-connection at site quincy (the site is declared lost)",
		"connection Secret app-connection at site gone (there is no such Site any more)"))
}

// A login of the name that somebody else made: on which servers, what differs and what helps is said, and nothing is
// done to it, neither while the Login is there nor when it goes.
func TestALoginWithAnotherSIDIsToldAndLeftAlone(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	o := whole(d)
	foreign := Server{Login: &mssql.LoginState{SID: otherID, Disabled: true}}
	o.Servers["tukpub"], o.Servers["quisec"] = foreign, foreign
	p := plan(d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonLoginConflict))
	for _, says := range []string{"tukpub-0", "quisec-0", tsql.Binary(otherID), tsql.Binary(sid), "DROP LOGIN [app]",
		"geosql.dev/adopt=true", "Nothing is changed"} {
		g.Expect(p.Outcome.Message).To(ContainSubstring(says))
	}
	g.Expect(reported(d, o, p).SID).To(BeEmpty(), "it can still be taken over")
	d.Login.Status.SID = tsql.Binary(sid)
	g.Expect(plan(d, o).Outcome.Message).NotTo(ContainSubstring("adopt"), "one was made with its own SID")

	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	o.Secrets, o.Users = nil, map[string]User{"Content": {}}
	p = planDelete(d, o)
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Left).To(HaveLen(2))
	g.Expect(p.Left).To(HaveEach(And(ContainSubstring(tsql.Binary(otherID)), ContainSubstring("nothing was changed"))))
}
