// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// TestFreeTDS is another implementation of the protocol: it connects, inserts with parameters and reads back.
// By [MS-TDS] 2.2.1.
func TestFreeTDS(t *testing.T) {
	program, err := exec.LookPath("tsql")
	if err != nil {
		if os.Getenv("GEOSQL_REQUIRE_TSQL") == "1" {
			t.Fatal("tsql is required and not installed: apt-get install freetds-bin")
		}
		t.Skip("tsql is not installed (Debian package freetds-bin)")
	}
	g := NewWithT(t)
	db := newDatabase(t)
	database := value(t, db, "SELECT DB_NAME()").(string)
	host, port, err := net.SplitHostPort(shared.address)
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	cmd := exec.CommandContext(
		ctx,
		program,
		"-H",
		host,
		"-p",
		port,
		"-U",
		shared.user,
		"-P",
		shared.password,
		"-D",
		database,
		"-J",
		"UTF-8",
	)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.Stdin = strings.NewReader(
		`CREATE TABLE t (id int PRIMARY KEY, name nvarchar(40), amount decimal(10,2), at datetime2(3))
go
EXEC sp_executesql N'INSERT INTO t VALUES (@id, @name, @amount, @at)', N'@id int, @name nvarchar(40), @amount decimal(10,2), @at datetime2(3)', @id = 7, @name = N'grüße', @amount = 12.5, @at = '2026-11-20T09:36:20.125'
go
SELECT 'found', id, name, amount FROM t
go
INSERT INTO t (id) VALUES (7)
go
exit
`,
	)
	out, err := cmd.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	g.Expect(string(out)).To(ContainSubstring("found\t7\tgrüße\t12.50"))
	g.Expect(string(out)).To(ContainSubstring("Msg 2627 (severity 14, state 1)"))
	g.Expect(value(t, db, "SELECT name FROM t WHERE at = '2026-11-20T09:36:20.125'")).To(Equal("grüße"))
}

// TestBulkLoad goes by [MS-TDS] 2.2.6.1.
func TestBulkLoad(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(
		t,
		db,
		"CREATE TABLE t (id int PRIMARY KEY, name nvarchar(100) NULL, amount decimal(12,3), at datetime2(7), body "+
			"varbinary(max), flag bit)",
	)
	load := func(rows, from int) (int64, error) {
		tx, err := db.Begin()
		if err != nil {
			return 0, err
		}
		defer tx.Rollback()
		stmt, err := tx.Prepare(mssql.CopyIn("t", mssql.BulkOptions{}, "id", "name", "amount", "at", "body", "flag"))
		if err != nil {
			return 0, err
		}
		for i := from; i < from+rows; i++ {
			var name any = fmt.Sprintf("näme %d", i)
			if i%10 == 0 {
				name = nil
			}
			if _, err := stmt.Exec(i, name, float64(i)/8, at(2026, 1, 1, 0, 0, i%60, 0), []byte{byte(i)}, i%2 == 0); err != nil {
				return 0, err
			}
		}
		result, err := stmt.Exec()
		if err != nil {
			return 0, err
		}
		if err := stmt.Close(); err != nil {
			return 0, err
		}
		n, _ := result.RowsAffected()
		return n, tx.Commit()
	}
	n, err := load(5000, 1)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n).To(Equal(int64(5000)))
	g.Expect(query(t, db, "SELECT COUNT(*), COUNT(name), SUM(CAST(flag AS int)) FROM t")).
		To(Equal([][]any{{int64(5000), int64(4500), int64(2500)}}))
	g.Expect(query(t, db, "SELECT name, amount, at, body FROM t WHERE id = 13")).
		To(Equal([][]any{{"näme 13", "1.625", at(2026, 1, 1, 0, 0, 13, 0), []byte{13}}}))
	_, err = load(10, 4995)
	g.Expect(err).To(HaveOccurred(), "a row that is there already")
	g.Expect(value(t, db, "SELECT COUNT(*) FROM t")).To(Equal(int64(5000)))
}
