// SPDX-License-Identifier: Apache-2.0

//go:build integration

package mssql_test

import (
	"context"
	"database/sql"
	"net"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

func statement(text string, args ...sql.NamedArg) tsql.Statement {
	return tsql.Statement{Text: text, Args: args}
}

func open(t *testing.T, e *engine.Engine) *mssql.DB {
	t.Helper()
	db, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return db
}

func TestConnector(t *testing.T) {
	e := engine.Start(t, "web", "tukpub")

	t.Run("reads the instance over verified TLS", func(t *testing.T) {
		g := NewWithT(t)
		i, err := mssql.ReadInstance(t.Context(), open(t, e))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.ToLower(i.ServerName)).To(Equal("tukpub-0"))
		g.Expect(strings.ToLower(i.NetworkName)).To(Equal("tukpub-0"))
		g.Expect(i.ProductVersion).To(HavePrefix("16."))
		g.Expect(i.Engine).NotTo(ContainSubstring("\n"))
		g.Expect(i.Started).To(BeTemporally("~", time.Now(), time.Minute))
	})

	t.Run("takes no certificate of another CA or for another name", func(t *testing.T) {
		g := NewWithT(t)
		other, err := credentials.NewAuthority(time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		untrusting := connector(t, e.Address, mssql.Access{Passwords: e.Access.Passwords, CA: other.PEM()})
		err = ping(t, untrusting, "tukpub")
		g.Expect(mssql.Is(err, mssql.Untrusted)).To(BeTrue(), "%v", err)
		mistaken := connector(t, e.Address, e.Access)
		err = ping(t, mistaken, "quisec")
		g.Expect(mssql.Is(err, mssql.Untrusted)).To(BeTrue(), "%v", err)
		g.Expect(err).To(MatchError(ContainSubstring("quisec-0")))
		abroad, err := connector(t, e.Address, e.Access).Open(t.Context(), mssql.Target{Namespace: "evil", Server: "tukpub",
			Role: credentials.RoleSA})
		g.Expect(err).NotTo(HaveOccurred())
		_, err = mssql.ReadInstance(t.Context(), abroad)
		g.Expect(mssql.Is(err, mssql.Untrusted)).To(BeTrue(), "%v", err)
		g.Expect(err).To(MatchError(ContainSubstring("not that of tukpub-0 in namespace evil")))
	})

	t.Run("tells a wrong password, and shows none", func(t *testing.T) {
		g := NewWithT(t)
		wrong := credentials.Passwords{credentials.KeySA: []byte("Not-the-0ne")}
		err := ping(t, connector(t, e.Address, mssql.Access{Passwords: wrong, CA: e.Access.CA}), "tukpub")
		g.Expect(mssql.Is(err, mssql.LoginFailed)).To(BeTrue(), "%v", err)
		g.Expect(mssql.Number(err)).To(Equal(int32(18456)))
		g.Expect(err.Error()).To(ContainSubstring("log in as sa on server tukpub-0"))
		g.Expect(err.Error()).NotTo(ContainSubstring("Not-the-0ne"))
	})

	t.Run("a changed password makes a new pool", func(t *testing.T) {
		g := NewWithT(t)
		access := mssql.Access{Passwords: credentials.Passwords{credentials.KeySA: []byte("Not-the-0ne")}, CA: e.Access.CA}
		c := mssql.NewConnector(mssql.Options{
			Access: mssql.AccessFunc(
				func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) { return access, nil },
			),
			Address: func(mssql.Target) string { return e.Address },
		})
		defer c.Close()
		g.Expect(ping(t, c, "tukpub")).NotTo(Succeed())
		access.Passwords = e.Access.Passwords
		g.Expect(ping(t, c, "tukpub")).To(Succeed())
		first, err := c.Open(t.Context(), e.Target(credentials.RoleSA))
		g.Expect(err).NotTo(HaveOccurred())
		second, err := c.Open(t.Context(), e.Target(credentials.RoleSA))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(second).To(BeIdenticalTo(first), "nothing changed, so the pool stays")
		c.Forget("web", "tukpub")
		g.Eventually(func() error { return first.Ping(t.Context()) }, "60s").ShouldNot(Succeed())
	})

	t.Run("credentials that are refused are read again", func(t *testing.T) {
		g := NewWithT(t)
		reads := 0
		access := mssql.Access{Passwords: credentials.Passwords{credentials.KeySA: []byte("Not-the-0ne")}, CA: e.Access.CA}
		c := mssql.NewConnector(mssql.Options{
			Access: mssql.AccessFunc(
				func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) { reads++; return access, nil },
			),
			AccessFor: time.Hour,
			Address:   func(mssql.Target) string { return e.Address },
		})
		defer c.Close()
		g.Expect(ping(t, c, "tukpub")).NotTo(Succeed())
		access.Passwords = e.Access.Passwords
		g.Expect(ping(t, c, "tukpub")).To(Succeed(), "another password was read after the refusal")
		for range 3 {
			g.Expect(ping(t, c, "tukpub")).To(Succeed())
		}
		g.Expect(reads).To(Equal(2))
		other, err := credentials.NewAuthority(time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		c.Keep("web", "tukpub", mssql.Access{Passwords: e.Access.Passwords, CA: other.PEM()}, time.Now())
		g.Expect(mssql.Is(ping(t, c, "tukpub"), mssql.Untrusted)).To(BeTrue())
		g.Expect(ping(t, c, "tukpub")).To(Succeed(), "a CA that the server's certificate is not of is read again, too")
	})

	t.Run("classes of errors", func(t *testing.T) {
		g := NewWithT(t)
		db := open(t, e)
		err := db.Exec(t.Context(), statement("SELECT * FROM nowhere"))
		g.Expect(mssql.Is(err, mssql.Refused)).To(BeTrue(), "%v", err)
		g.Expect(mssql.Number(err)).To(Equal(int32(208)))
		g.Expect(mssql.HasNumber(err, 207, 208)).To(BeTrue())
		g.Expect(mssql.HasNumber(err, 207)).To(BeFalse())
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err = db.Exec(ctx, statement("WAITFOR DELAY '00:00:20'"))
		g.Expect(mssql.Is(err, mssql.Unknown)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(ContainSubstring("outcome unknown"))
		g.Expect(db.Ping(t.Context())).To(Succeed(), "the pool outlives a cancelled statement")
	})

	t.Run("a session keeps its state", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(open(t, e).Session(t.Context(), func(s *mssql.Session) error {
			if err := s.Exec(t.Context(),
				statement("EXEC sp_set_session_context @key = N'external_cluster', @value = N'yes'")); err != nil {
				return err
			}
			var value string
			err := s.Query(
				t.Context(),
				statement("SELECT CAST(SESSION_CONTEXT(N'external_cluster') AS nvarchar(10))"),
				func(r mssql.Row) error { return r.Scan(&value) },
			)
			g.Expect(value).To(Equal("yes"))
			return err
		})).To(Succeed())
	})

	t.Run("parameters", func(t *testing.T) {
		g := NewWithT(t)
		var got string
		g.Expect(open(t, e).Query(t.Context(), statement("SELECT @a + N'!'", sql.Named("a", "it's")),
			func(r mssql.Row) error { return r.Scan(&got) })).
			To(Succeed())
		g.Expect(got).To(Equal("it's!"))
	})

	t.Run("an engine that restarts is found again", func(t *testing.T) {
		g := NewWithT(t)
		db := open(t, e)
		g.Expect(db.Ping(t.Context())).To(Succeed())
		e.Kill(t)
		err := db.Exec(t.Context(), tsql.Alive())
		g.Expect(err).To(HaveOccurred())
		g.Expect(mssql.Is(err, mssql.Unreachable) || mssql.Is(err, mssql.Unknown)).To(BeTrue(), "%v", err)
		g.Eventually(func() bool { return mssql.Is(db.Exec(t.Context(), tsql.Alive()), mssql.Unreachable) }, "60s").
			Should(BeTrue())
		e.Launch(t)
		g.Expect(db.Exec(t.Context(), tsql.Alive())).To(Succeed())

		// What only reads is asked again: nobody hears of a restart in between.
		e.Kill(t)
		e.Launch(t)
		name := ""
		g.Expect(db.Query(t.Context(), tsql.Alive(), func(r mssql.Row) error { return r.Scan(&name) })).To(Succeed())
		g.Expect(strings.ToLower(name)).To(Equal("tukpub-0"))
		e.Kill(t)
		e.Launch(t)
		g.Expect(db.Ping(t.Context())).To(Succeed())
	})

	t.Run("a frozen engine is unknown, not failed, within the deadline", func(t *testing.T) {
		g := NewWithT(t)
		db := open(t, e)
		g.Expect(db.Ping(t.Context())).To(Succeed())
		e.Freeze()
		defer e.Thaw()
		began := time.Now()
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			err := db.Exec(ctx, tsql.Alive())
			cancel()
			g.Expect(mssql.Is(err, mssql.Unknown)).To(BeTrue(), "%v", err)
		}
		g.Expect(time.Since(began)).To(BeNumerically("<", 12*time.Second), "two deadlines and two graces")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		g.Expect(mssql.Is(mssql.Prelogin(ctx, e.Address), mssql.Unknown)).To(BeTrue())
	})
}

func TestPrelogin(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_ = conn.Close()
		}
	}()
	err = mssql.Prelogin(t.Context(), listener.Addr().String())
	g.Expect(mssql.Is(err, mssql.Refused) || mssql.Is(err, mssql.Unknown)).To(BeTrue(), "%v", err)
	g.Expect(listener.Close()).To(Succeed())
	err = mssql.Prelogin(t.Context(), listener.Addr().String())
	g.Expect(mssql.Is(err, mssql.Unreachable)).To(BeTrue(), "%v", err)
}

func connector(t *testing.T, address string, access mssql.Access) *mssql.Connector {
	t.Helper()
	c := mssql.NewConnector(mssql.Options{
		Access: mssql.AccessFunc(
			func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) { return access, nil },
		),
		Address: func(mssql.Target) string { return address },
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func ping(t *testing.T, c *mssql.Connector, server v1alpha1.ServerName) error {
	t.Helper()
	db, err := c.Open(t.Context(), mssql.Target{Namespace: "web", Server: server, Role: credentials.RoleSA})
	if err != nil {
		return err
	}
	return db.Ping(t.Context())
}
