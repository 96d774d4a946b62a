// SPDX-License-Identifier: Apache-2.0

//go:build integration

package mssql_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// A statement that takes long holds up its sender for a few seconds, is not sent twice, also not by the next manager,
// and its outcome is told once.
func TestAStatementThatTakesLongGoesOnByItself(t *testing.T) {
	e := engine.Start(t, "web", "tukpub")
	var sent atomic.Int32
	connect := func() *mssql.Connector {
		c := mssql.NewConnector(mssql.Options{
			Access: mssql.AccessFunc(func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) {
				return e.Access, nil
			}),
			Address:   func(mssql.Target) string { return e.Address },
			Executing: func(mssql.Target, tsql.Statement) func(error) { sent.Add(1); return func(error) {} },
		})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	long := func(text, of string) tsql.Statement {
		return tsql.Statement{Text: text, Long: true, Reason: "wait", Task: tsql.Task{Command: "WAITFOR", Of: of}}
	}
	target := e.Target(credentials.RoleSA)
	underWay := func(err error) *reconcile.UnderWay {
		var u *reconcile.UnderWay
		errors.As(err, &u)
		return u
	}

	t.Run("and its outcome is told at a later call", func(t *testing.T) {
		g, c := NewWithT(t), connect()
		before, begin := sent.Load(), time.Now()
		wait := long("WAITFOR DELAY '00:00:25'", "success")
		u := underWay(c.ExecLong(t.Context(), "a", target, wait))
		g.Expect(u).NotTo(BeNil())
		g.Expect(time.Since(begin)).To(BeNumerically("<", 20*time.Second))
		g.Expect(u.Since).To(BeTemporally("~", begin, 15*time.Second))
		g.Expect(u.Percent).To(BeZero(), "the engine shows the statement")
		g.Expect(u.Error()).To(HavePrefix("wait on server tukpub-0 goes on since "))

		other := connect()
		g.Expect(underWay(other.ExecLong(t.Context(), "a", target, wait))).NotTo(BeNil(),
			"the next manager sees by the engine that it goes on")
		g.Eventually(func() error { return c.ExecLong(t.Context(), "a", target, wait) }, "60s", "300ms").Should(Succeed())
		g.Expect(sent.Load()-before).To(Equal(int32(1)), "it was sent once")
	})

	t.Run("and is seen to go on once the pools of its server were closed", func(t *testing.T) {
		g, c := NewWithT(t), connect()
		looks := c.Looks(target, "WAITFOR")
		wait := long("WAITFOR DELAY '00:00:10'", "forgotten")
		g.Expect(underWay(c.ExecLong(t.Context(), "c", target, wait))).NotTo(BeNil())
		g.Eventually(func() string { return looks(t.Context()) }, "10s", "100ms").Should(Equal("[0]"))
		c.Forget("web", "tukpub")
		// They are closed beside.
		g.Consistently(func() string { return looks(t.Context()) }, "2s", "100ms").Should(Equal("[0]"))
		g.Eventually(func() error { return c.ExecLong(t.Context(), "c", target, wait) }, "60s", "300ms").Should(Succeed())
		g.Expect(looks(t.Context())).To(Equal("[]"))
	})

	t.Run("or at once where it was quick", func(t *testing.T) {
		g, c := NewWithT(t), connect()
		g.Expect(c.ExecLong(t.Context(), "a", target, long("SELECT 1", "quick"))).To(Succeed())
		before := sent.Load()
		g.Expect(c.ExecLong(t.Context(), "a", target, long("SELECT 1", "quick"))).To(Succeed())
		g.Expect(sent.Load()-before).To(Equal(int32(1)), "what is asked for again is done again")
	})

	t.Run("and so is its failure", func(t *testing.T) {
		g, c := NewWithT(t), connect()
		fail := long("WAITFOR DELAY '00:00:15' SELECT * FROM nowhere", "failure")
		g.Expect(underWay(c.ExecLong(t.Context(), "b", target, fail))).NotTo(BeNil())
		before := sent.Load()
		var err error
		g.Eventually(func() *reconcile.UnderWay {
			err = c.ExecLong(t.Context(), "b", target, fail)
			return underWay(err)
		}, "60s", "300ms").Should(BeNil())
		g.Expect(mssql.Number(err)).To(Equal(int32(208)))
		g.Expect(sent.Load()).To(Equal(before))
	})
}
