// SPDX-License-Identifier: Apache-2.0

//go:build integration

package mssql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/engine"
)

// told is a Sink that keeps what it is told, a line for each.
type told struct {
	lines []string
	// message and row are called with each, where they are given.
	message func(mssql.Message)
	row     func() error
}

func (s *told) add(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *told) Columns(columns []mssql.Column) error {
	var all []string
	for _, c := range columns {
		all = append(all, c.Name+" "+c.Type)
	}
	s.add("columns %s", strings.Join(all, ", "))
	return nil
}

func (s *told) Row(values []any) error {
	s.add("row %v", values)
	if s.row != nil {
		return s.row()
	}
	return nil
}

func (s *told) End() error { s.add("end"); return nil }

func (s *told) Affected(rows int64) error { s.add("affected %d", rows); return nil }

func (s *told) Message(m mssql.Message) error {
	s.add("message %d level %d state %d line %d %s: %s", m.Number, m.Level, m.State, m.Line, m.Procedure, m.Text)
	if s.message != nil {
		s.message(m)
	}
	return nil
}

// begun is a batch that says so and then goes on for longer than any test.
const begun = "RAISERROR(N'begun', 0, 1) WITH NOWAIT; WAITFOR DELAY '01:00:00'"

func console(t *testing.T, e *engine.Engine) *mssql.Console {
	t.Helper()
	c, err := e.Connector(t).Console(t.Context(), e.Target(credentials.RoleSA))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// asked is the first value that a console gives to a question.
func asked(t *testing.T, c *mssql.Console, question string) string {
	t.Helper()
	answer := &told{}
	failed, err := c.Execute(t.Context(), question, answer)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(failed).To(BeFalse(), "%v", answer.lines)
	for _, line := range answer.lines {
		if row, is := strings.CutPrefix(line, "row "); is {
			return strings.Trim(row, "[]")
		}
	}
	return ""
}

func TestConsole(t *testing.T) {
	e := engine.Start(t, "web", "tukpub")

	t.Run("tells what a batch answers in its order", func(t *testing.T) {
		g := NewWithT(t)
		answer := &told{}
		failed, err := console(t, e).Execute(t.Context(), "PRINT 'one'\nSELECT 1 AS n, N'x' AS t\n"+
			"RAISERROR(N'two', 16, 3)\nCREATE TABLE #t (i int)\nINSERT INTO #t VALUES (1), (2)\nSELECT i FROM #t WHERE i > 9\n"+
			"PRINT 'three'", answer)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(failed).To(BeTrue())
		g.Expect(answer.lines).To(Equal([]string{
			"message 0 level 0 state 1 line 1 : one",
			"columns n INT, t NVARCHAR", "row [1 x]", "end", "affected 1",
			"message 50000 level 16 state 3 line 3 : two",
			"affected 2",
			"columns i INT", "end", "affected 0",
			"message 0 level 0 state 1 line 7 : three",
		}))
	})
	t.Run("tells of an error that ends a batch, once", func(t *testing.T) {
		g := NewWithT(t)
		answer := &told{}
		failed, err := console(t, e).Execute(t.Context(), "SELECT *\nFROM dbo.nowhere", answer)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(failed).To(BeTrue())
		g.Expect(answer.lines).To(ConsistOf(HavePrefix("message 208 level 16")))
	})
	t.Run("tells more than the driver holds", func(t *testing.T) {
		g := NewWithT(t)
		answer := &told{}
		failed, err := console(t, e).Execute(t.Context(),
			"DECLARE @i int = 0 WHILE @i < 2000 BEGIN PRINT @i SET @i += 1 END SELECT @i", answer)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(failed).To(BeFalse())
		g.Expect(answer.lines).To(HaveLen(2004))
		g.Expect(answer.lines).To(ContainElement("row [2000]"))
	})
	t.Run("is one session", func(t *testing.T) {
		g := NewWithT(t)
		c := console(t, e)
		asked(t, c, "CREATE TABLE #kept (i int); INSERT INTO #kept VALUES (7); BEGIN TRANSACTION; BEGIN TRANSACTION")
		asked(t, c, "USE tempdb")
		state, err := mssql.ReadSessionState(t.Context(), c)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(state).To(Equal(mssql.SessionState{Database: "tempdb", Transactions: 2, Updateability: "READ_WRITE"}))
		g.Expect(asked(t, c, "SELECT i FROM #kept")).To(Equal("7"))
		g.Expect(mssql.ReadLocalRoles(t.Context(), c)).To(BeEmpty())
	})
	t.Run("ends a batch and keeps the session", func(t *testing.T) {
		g := NewWithT(t)
		kept := false
		// The driver gives a session up whose server takes five seconds to confirm, as it may on a busy machine.
		for range 3 {
			c := console(t, e)
			spid := asked(t, c, "SELECT @@SPID")
			ctx, cancel := context.WithCancel(t.Context())
			_, err := c.Execute(ctx, begun, &told{message: func(mssql.Message) { cancel() }})
			cancel()
			g.Expect(mssql.Is(err, mssql.Unknown)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(context.Canceled))
			if _, err := mssql.ReadSessionState(t.Context(), c); err == nil && asked(t, c, "SELECT @@SPID") == spid {
				kept = true
				break
			}
		}
		g.Expect(kept).To(BeTrue())
	})
	t.Run("ends a batch that nobody listens to", func(t *testing.T) {
		g := NewWithT(t)
		c := console(t, e)
		refused := errors.New("nobody reads this")
		_, err := c.Execute(t.Context(), "SELECT name FROM sys.all_objects",
			&told{row: func() error { return refused }})
		g.Expect(err).To(Equal(refused))
		g.Expect(asked(t, c, "SELECT 1")).To(Equal("1"))
	})
	t.Run("says what it was refused", func(t *testing.T) {
		g := NewWithT(t)
		target := e.Target(credentials.RoleSA)
		target.Database = "nowhere"
		_, err := e.Connector(t).Console(t.Context(), target)
		g.Expect(mssql.Is(err, mssql.LoginFailed)).To(BeTrue(), "%v", err)
	})
	t.Run("tells of an error by which the server ends the connection", func(t *testing.T) {
		for name, before := range map[string]string{"alone": "", "after rows": "SELECT name FROM sys.all_objects "} {
			g := NewWithT(t)
			c := console(t, e)
			answer := &told{}
			failed, _ := c.Execute(t.Context(), before+"RAISERROR(N'fatal', 20, 1) WITH LOG", answer)
			g.Expect(failed).To(BeTrue(), name)
			g.Expect(answer.lines).To(ContainElement(And(HavePrefix("message 50000 level 20"), HaveSuffix(": fatal"))), name)
			_, err := c.Execute(t.Context(), "SELECT 1", &told{})
			g.Expect(err).To(HaveOccurred(), name)
			g.Expect(c.Ended()).To(BeTrue(), name)
		}
	})
	t.Run("is aborted", func(t *testing.T) {
		g := NewWithT(t)
		c := console(t, e)
		_, err := c.Execute(t.Context(), begun, &told{message: func(mssql.Message) { c.Abort() }})
		g.Expect(mssql.Is(err, mssql.Unknown)).To(BeTrue(), "%v", err)
		g.Expect(c.Ended()).To(BeTrue())
		_, err = mssql.ReadSessionState(t.Context(), c)
		g.Expect(err).To(HaveOccurred())
	})
}

// A server that ends while a batch is executed leaves its outcome unknown, and nobody waiting. What is sent afterwards
// is known not to have been.
func TestAConsoleIsToldThatItsServerHasEnded(t *testing.T) {
	e := engine.Start(t, "web", "tukpub")
	for name, batch := range map[string]string{
		"within the answer": begun,
		// Nothing has come yet: the driver does not tell of the end.
		"before the answer": "WAITFOR DELAY '01:00:00'",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := console(t, e)
			spid := asked(t, c, "SELECT @@SPID")
			ended := make(chan error, 1)
			go func() {
				_, err := c.Execute(t.Context(), batch, &told{})
				ended <- err
			}()
			watcher := console(t, e)
			g.Eventually(func() string {
				return asked(t, watcher, "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id = "+spid)
			}, time.Minute, 20*time.Millisecond).Should(Equal("1"))
			e.Kill(t)
			var err error
			g.Eventually(ended, time.Minute).Should(Receive(&err))
			g.Expect(mssql.Is(err, mssql.Unknown)).To(BeTrue(), "%v", err)
			g.Expect(c.Ended()).To(BeTrue())
			_, err = c.Execute(t.Context(), "SELECT 1", &told{})
			g.Expect(mssql.Is(err, mssql.Unreachable)).To(BeTrue(), "%v", err)
			e.Launch(t)
		})
	}
}
