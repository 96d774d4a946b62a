// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
)

// deposed lets everybody in and confirms what was there when it came, and no commit after it: the server has lost its
// role meanwhile.
type deposed struct{ there *storage.LSN }

func (deposed) Admit(bool) error { return nil }
func (d deposed) WaitHardened(_ context.Context, lsn storage.LSN) error {
	if *d.there == (storage.LSN{}) {
		*d.there = lsn
	}
	if d.there.Less(lsn) {
		return sqlerr.New(983, 1, "app")
	}
	return nil
}

// A commit that is in the log and was not confirmed is answered by nothing: an error of the server, whatever the
// reason, would tell the client that it was not done.
func TestCommitsOfUnknownOutcomeAreNotAnswered(t *testing.T) {
	s := newServer(t)
	ctx := context.Background()
	for name, insert := range map[string]func(*conn) error{
		"batched":    func(c *conn) error { _, err := c.ExecContext(ctx, "INSERT INTO dbo.t VALUES (1)"); return err },
		"parameters": func(c *conn) error { _, err := c.ExecContext(ctx, "INSERT INTO dbo.t VALUES (@p1)", 2); return err },
		"answering": func(c *conn) error {
			var id int
			return c.QueryRowContext(ctx, "INSERT INTO dbo.t OUTPUT inserted.id VALUES (@p1)", 3).Scan(&id)
		},
		"trying": func(c *conn) error {
			_, err := c.ExecContext(ctx, "BEGIN TRY INSERT INTO dbo.t VALUES (4) END TRY BEGIN CATCH PRINT 'caught' END CATCH")
			return err
		},
		"committing": func(c *conn) error {
			tx, err := c.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO dbo.t VALUES (5)"); err != nil {
				t.Errorf("before the commit: %v", err)
			}
			return tx.Commit()
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s.conn("master").exec("CREATE DATABASE " + name)
			c := s.conn(name)
			c.exec("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY)")
			database := s.inst.Database(name).Storage()
			database.SetGate(deposed{new(storage.LSN)})
			c.exec("SELECT id FROM dbo.t")
			err := insert(c)
			g.Expect(err).To(HaveOccurred())
			var answered mssql.Error
			g.Expect(errors.As(err, &answered)).To(BeFalse(), "%v", err)
			database.SetGate(nil)
			var n int
			g.Expect(s.conn(name).QueryRowContext(ctx, "SELECT COUNT(*) FROM dbo.t").Scan(&n)).To(Succeed())
			g.Expect(n).To(Equal(1), "it is in the log")
		})
	}
}
