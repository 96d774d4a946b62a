// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/engine"
)

// TestKillWaitsForTheSession: KILL ends when the session is gone, so that its login can be dropped by the next
// statement, as tools that manage logins do (docs/t-sql/language-elements/kill-transact-sql.md,
// docs/t-sql/statements/drop-login-transact-sql.md: no login that is logged in).
func TestKillWaitsForTheSession(t *testing.T) {
	g := NewWithT(t)
	told := make(chan int, 1)
	s := newServer(t, func(c *engine.Config) { c.KillSession = func(spid int) bool { told <- spid; return true } })
	admin, victim := s.conn("master"), s.conn("master")
	var id int
	g.Expect(victim.QueryRowContext(context.Background(), "SELECT @@SPID").Scan(&id)).To(Succeed())
	ended := make(chan error, 1)
	go func() {
		_, err := admin.ExecContext(context.Background(), fmt.Sprintf("KILL %d", id))
		ended <- err
	}()
	g.Eventually(told, 10*time.Second).Should(Receive(Equal(id)))
	g.Consistently(ended, 200*time.Millisecond).ShouldNot(Receive(), "the session is still there")
	victim.end()
	g.Eventually(ended, 10*time.Second).Should(Receive(BeNil()))
}
