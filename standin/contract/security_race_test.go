// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// Of several sessions that make or rename principals and linked servers at the same moment one gets the name, and the
// others the error that says that it is taken: there are never two of one name.
func TestOneNameForSeveralSessions(t *testing.T) {
	t.Parallel()
	const sessions, rounds = 4, 8
	i := newInstance(t)
	mustExec(t, i.open(t, "master"), `CREATE DATABASE [raced]`)
	db := i.open(t, "raced")
	for name, c := range map[string]struct {
		// prepare and run have the round and the session; run is to fail with number for all sessions but one.
		prepare, run string
		number       int32
		count        string
	}{
		"users": {"", `CREATE USER [a%[1]d] WITHOUT LOGIN`, 15023,
			`SELECT COUNT(*) FROM sys.database_principals WHERE name = N'a%d'`},
		"roles": {"", `CREATE ROLE [b%[1]d]`, 15023,
			`SELECT COUNT(*) FROM sys.database_principals WHERE name = N'b%d'`},
		"renamed users": {`CREATE USER [c%[1]d-%[2]d] WITHOUT LOGIN`, `ALTER USER [c%[1]d-%[2]d] WITH NAME = [c%[1]d]`,
			15023, `SELECT COUNT(*) FROM sys.database_principals WHERE name = N'c%d'`},
		"renamed roles": {`CREATE ROLE [d%[1]d-%[2]d]`, `ALTER ROLE [d%[1]d-%[2]d] WITH NAME = [d%[1]d]`, 15023,
			`SELECT COUNT(*) FROM sys.database_principals WHERE name = N'd%d'`},
		"logins": {"", `CREATE LOGIN [e%[1]d] WITH PASSWORD = N'F1rst-Password'`, 15025,
			`SELECT COUNT(*) FROM sys.server_principals WHERE name = N'e%d'`},
		"server roles": {"", `CREATE SERVER ROLE [f%[1]d]`, 15025,
			`SELECT COUNT(*) FROM sys.server_principals WHERE name = N'f%d'`},
		"renamed logins": {`CREATE LOGIN [g%[1]d-%[2]d] WITH PASSWORD = N'F1rst-Password'`,
			`ALTER LOGIN [g%[1]d-%[2]d] WITH NAME = [g%[1]d]`, 15025,
			`SELECT COUNT(*) FROM sys.server_principals WHERE name = N'g%d'`},
		"renamed server roles": {`CREATE SERVER ROLE [h%[1]d-%[2]d]`, `ALTER SERVER ROLE [h%[1]d-%[2]d] WITH NAME = [h%[1]d]`,
			15025, `SELECT COUNT(*) FROM sys.server_principals WHERE name = N'h%d'`},
		"linked servers": {"", `EXEC sp_addlinkedserver @server = N'i%[1]d'`, 15028,
			`SELECT COUNT(*) FROM sys.servers WHERE name = N'i%d'`},
		"users of one login": {`IF %[2]d = 0 CREATE LOGIN [k%[1]d] WITH PASSWORD = N'F1rst-Password'`,
			`CREATE USER [k%[1]d-%[2]d] FOR LOGIN [k%[1]d]`, 15063,
			`SELECT COUNT(*) FROM sys.database_principals WHERE name LIKE N'k%d-%%'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connections := make([]*sql.Conn, sessions)
			for n := range connections {
				connections[n] = must(db.Conn(t.Context()))
				defer func() { _ = connections[n].Close() }()
			}
			for round := range rounds {
				g := NewWithT(t)
				for n := range sessions {
					if c.prepare != "" {
						mustExec(t, db, fmt.Sprintf(c.prepare, round, n))
					}
				}
				var wg sync.WaitGroup
				begin, failed := make(chan struct{}), make([]error, sessions)
				for n := range sessions {
					text := fmt.Sprintf(c.run, round, n)
					if c.prepare == "" {
						text = fmt.Sprintf(c.run, round)
					}
					wg.Go(func() {
						<-begin
						_, failed[n] = connections[n].ExecContext(context.WithoutCancel(t.Context()), text)
					})
				}
				close(begin)
				wg.Wait()
				won := 0
				for _, err := range failed {
					var e mssql.Error
					if err == nil {
						won++
						continue
					}
					g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
					g.Expect(e.Number).To(Equal(c.number), e.Message)
				}
				g.Expect(won).To(Equal(1), "round %d", round)
				g.Expect(value(t, db, fmt.Sprintf(c.count, round))).To(BeEquivalentTo(1), "round %d", round)
			}
		})
	}
}
