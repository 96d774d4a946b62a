// SPDX-License-Identifier: Apache-2.0

package mssql_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// A server behind a cut link is waited for by one object; the others, and their workers, go on.
func TestAServerThatDoesNotAnswerIsNotAwaitedByEachObject(t *testing.T) {
	authority, err := credentials.NewAuthority(time.Now())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		refused := errors.New("connection refused")
		cut, dials := true, 0
		c := mssql.NewConnector(mssql.Options{
			Access: mssql.AccessFunc(func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) {
				passwords := credentials.Passwords{credentials.KeySA: []byte("Aa1-Aa1-Aa1")}
				return mssql.Access{CA: authority.PEM(), Passwords: passwords}, nil
			}),
			SilentFor: mssql.SilentFor,
			Address:   func(mssql.Target) string { return "10.0.0.1:1433" },
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				dials++
				if !cut {
					return nil, &net.OpError{Op: "dial", Err: refused}
				}
				<-ctx.Done()
				return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
			},
		})
		defer c.Close()
		ask := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			db, err := c.Open(ctx, mssql.Target{Namespace: "web", Server: "tukpub", Role: credentials.RoleSA})
			g.Expect(err).NotTo(HaveOccurred())
			return db.Ping(ctx)
		}
		begin := time.Now()
		g.Expect(ask()).NotTo(Succeed())
		g.Expect(time.Since(begin)).To(BeNumerically(">=", 5*time.Second))
		first, begin := dials, time.Now()
		for range 10 {
			err := ask()
			g.Expect(mssql.Is(err, mssql.Unreachable)).To(BeTrue(), "nothing was sent: %v", err)
		}
		g.Expect(time.Since(begin)).To(BeZero())
		g.Expect(dials).To(Equal(first))

		time.Sleep(mssql.SilentFor)
		cut = false
		for range 3 {
			g.Expect(ask()).To(MatchError(refused), "who refuses answers, and is asked each time")
		}
		g.Expect(dials).To(BeNumerically(">=", first+3))
	})
}
