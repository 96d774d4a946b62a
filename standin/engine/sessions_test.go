// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/security"
)

// Sessions are shown to each other while they work. The race detector is what tells (make test-race).
func TestSessionsAreShownWhileTheyWork(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t, func(c *engine.Config) {
		c.Extensions = append(c.Extensions, security.New(security.Options{SAPassword: c.SAPassword}))
	})
	shown, shows := s.conn("master"), s.conn("master")
	works, stop := make(chan error, 1), make(chan struct{})
	go func() {
		for {
			if _, err := shown.ExecContext(context.Background(), "SELECT 1"); err != nil {
				works <- err
				return
			}
			select {
			case <-stop:
				works <- nil
				return
			default:
			}
		}
	}()
	for range 20 {
		g.Expect(shows.one("SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE login_name = 'sa' AND is_user_process = 1")).
			To(Equal(int64(2)))
		shows.exec("EXEC sp_who")
	}
	close(stop)
	g.Expect(<-works).NotTo(HaveOccurred())
}

// The last error that a session was told stays shown, also to others, until the next one; what it caught is not told.
func TestTheLastErrorOfASessionIsShown(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t, func(c *engine.Config) {
		c.Extensions = append(c.Extensions, security.New(security.Options{SAPassword: c.SAPassword}))
	})
	failing, shows := s.conn("master"), s.conn("master")
	shown := func() any {
		t.Helper()
		return shows.one(
			"SELECT MAX(prev_error) FROM sys.dm_exec_sessions WHERE is_user_process = 1 AND session_id <> @@SPID")
	}
	failing.exec("BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH SELECT 1 END CATCH")
	g.Expect(shown()).To(Equal(int64(0)))
	_, err := failing.ExecContext(t.Context(), "SELECT * FROM dbo.Missing")
	g.Expect(err).To(HaveOccurred())
	failing.exec("SELECT 1")
	g.Expect(shown()).To(Equal(int64(208)))
}
