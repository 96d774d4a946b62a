// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"testing"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// What has become of sa is told when it is so, and as what it is: it shows otherwise only when a certificate is to be
// renewed, say.
func TestWhatHasBecomeOfSAIsTold(t *testing.T) {
	refused := func(number int32) func(*environ) {
		return func(e *environ) {
			e.o.Engine.Refused[credentials.RoleSA] = &mssql.Error{Class: mssql.LoginFailed, Err: driver.Error{Number: number}}
		}
	}
	for name, c := range map[string]struct {
		change func(*environ)
		says   string
	}{
		"it is well": {func(*environ) {}, ""},
		"disabled, which open connections do not show": {func(
			e *environ) {
			e.o.Engine.Logins["sa"] = mssql.Login{SID: []byte{1}, Disabled: true}
		}, "login sa is disabled: ALTER LOGIN [sa] ENABLE"},
		"renamed": {func(e *environ) {
			delete(e.o.Engine.Logins, "sa")
			e.o.Engine.Logins["root39"] = mssql.Login{SID: []byte{1}}
		}, "the system administrator is named root39, not sa: ALTER LOGIN [root39] WITH NAME = [sa]"},
		"disabled":         {refused(18470), "login sa is disabled"},
		"locked out":       {refused(18486), "login sa is locked out"},
		"expired":          {refused(18487), "has expired"},
		"must change":      {refused(18488), "must be changed"},
		"a logon trigger":  {refused(17892), "a logon trigger"},
		"another password": {refused(18456), "put the right sa-password into the Secret"},
		"what is not known": {func(e *environ) { e.o.Engine.Refused[credentials.RoleSA] = errors.New("no") },
			"put the right sa-password into the Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			c.change(e)
			p := plan(e.d, e.o)
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "the server serves")
			told := administeredCondition(e.d, e.o)
			if c.says == "" {
				g.Expect(told).
					To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonAdministratorUsable)))
				return
			}
			g.Expect(told).
				To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonAdministratorShut),
					HaveField("Message", ContainSubstring(c.says))))
		})
	}
	g := NewWithT(t)
	g.Expect(administeredCondition(Desired{}, Observed{})).To(BeNil(), "nobody was asked")
	g.Expect(administeredCondition(Desired{}, Observed{Engine: Engine{Asked: true, Err: errors.New("no answer")}})).
		To(BeNil())
}

// What was taken away from the operator's own logins by hand is given back, also what was denied, and sa is needed for
// it.
func TestWhatWasTakenFromTheOperatorsLoginsIsGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*environ)
		step   string
	}{
		"it may not connect": {func(e *environ) {
			e.o.Engine.Permissions["geosql_agent"] =
				e.o.Engine.Permissions["geosql_agent"][1:]
		}, "GRANT CONNECT SQL TO [geosql_agent]"},
		"it is denied to connect": {func(e *environ) { e.o.Engine.Denied["geosql_replication"] = []string{"CONNECT SQL"} },
			"GRANT CONNECT SQL TO [geosql_replication]"},
		"a grant is denied": {func(e *environ) { e.o.Engine.Denied["geosql_operator"] = []string{"ALTER ANY DATABASE"} },
			"GRANT ALTER ANY DATABASE TO [geosql_operator]"},
		"it was locked out": {func(e *environ) {
			e.o.Engine.Refused[credentials.RoleOperator] = &mssql.Error{Class: mssql.LoginFailed,
				Err: driver.Error{Number: 18486}}
		}, "ALTER LOGIN [geosql_operator] WITH PASSWORD = N'***' UNLOCK"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			c.change(e)
			p := plan(e.d, e.o)
			g.Expect(p.Steps).To(HaveLen(1))
			g.Expect(p.Steps[0].Describe()).To(ContainSubstring(c.step))
			e.o.Engine.Logins["sa"] = mssql.Login{SID: []byte{1}, Disabled: true}
			p = plan(e.d, e.o)
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome).
				To(And(HaveField("Reason", v1alpha1.ReasonLoginFailed),
					HaveField("Message", ContainSubstring("that takes sa: login sa is disabled: ALTER LOGIN [sa] ENABLE"))))
		})
	}
}
