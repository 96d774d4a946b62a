// SPDX-License-Identifier: Apache-2.0

package login

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// A server that nobody expects back keeps no login from going; one that is only silent does, and its condition says how
// to say so.
func TestDeletionWithoutAServer(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	o := whole(d)
	g.Expect(planDelete(d, o).Steps).NotTo(BeEmpty())
	// It is shut out, and its user is gone.
	o.Servers["tukpub"].Login.Disabled, o.Users["Content"] = true, User{}
	secrets := o.Secrets
	o.Secrets = nil
	o.Servers["quisec"] = Server{Err: errMute}
	g.Expect(planDelete(d, o)).
		To(And(HaveField("Done", false), HaveField("Outcome.Message", ContainSubstring("delete SQLServer quisec"))))
	d.Gone = sites.GoneFor(map[v1alpha1.ServerName]string{"tukpub": "", "quisec": "Site quincy is declared lost"})
	p := planDelete(d, o)
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(p.Steps).To(HaveLen(1), "all but the login there")

	o.Secrets = secrets
	for server := range o.Servers {
		o.Servers[server] = Server{Err: errMute}
	}
	for database := range o.Users {
		o.Users[database] = User{Err: errMute}
	}
	g.Expect(planDelete(d, o).Done).To(BeFalse(), "one of them may answer again")
	d.Gone = sites.GoneFor(
		map[v1alpha1.ServerName]string{
			"tukpub": "SQLServer tukpub is being deleted",
			"quisec": "Site quincy is declared lost",
		},
	)
	p = planDelete(d, o)
	g.Expect(p.Steps).To(And(HaveLen(2), HaveEach(BeAssignableToTypeOf(DropSecret{}))))
	o.Secrets = nil
	p = planDelete(d, o)
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(p.Steps).To(BeEmpty())
}
