// SPDX-License-Identifier: Apache-2.0

//go:build integration

package mssql_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// A login that is logged in is not dropped (15434); once its sessions, which an engine tells by its name, are ended, it
// is.
func TestALoginIsDroppedOnceItsSessionsHaveEnded(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	master := open(t, e)
	login := credentials.RoleOperator.Login()
	g.Expect(master.Exec(t.Context(),
		tsql.CreateLogin(tsql.Login{Name: login, SID: credentials.SID("web", login),
			Password: string(e.Access.Passwords[credentials.RoleOperator.Key()])}))).
		To(Succeed())
	held, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleOperator))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(held.Ping(t.Context())).To(Succeed())
	g.Expect(master.Exec(t.Context(), tsql.DropLogin(login))).To(MatchError(ContainSubstring("15434")))
	sessions, err := mssql.ReadSessions(t.Context(), master, tsql.LoginSessions(login))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sessions).NotTo(BeEmpty())
	for _, id := range sessions {
		g.Expect(master.Exec(t.Context(), tsql.EndLoginSession("sa", id))).To(Succeed())
	}
	g.Expect(held.Ping(t.Context())).To(Succeed(), "a session that is another login's stays")
	for _, id := range sessions {
		g.Expect(master.Exec(t.Context(), tsql.EndLoginSession(login, id))).To(Succeed())
	}
	// KILL does not wait for the session's end.
	g.Eventually(func() error { return master.Exec(t.Context(), tsql.DropLogin(login)) }, "90s", "50ms").Should(Succeed())
}
