// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestConstraintsOfTheMoment: what a CHECK constraint may ask for besides the row, as those of the sample databases Northwind
// (BirthDate < getdate()) and AdventureWorks do. docs/relational-databases/tables/unique-constraints-and-check-constraints.md.
func TestConstraintsOfTheMoment(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{`CREATE TABLE people (
	id int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
	boss int NULL CONSTRAINT fk_boss REFERENCES people (id),
	born datetime NULL CONSTRAINT ck_born CHECK (born < GETDATE()),
	hired date NOT NULL CONSTRAINT ck_hired CHECK (hired BETWEEN '1996-07-01' AND DATEADD(DAY, 1, GETDATE())),
	by_whom sysname NOT NULL CONSTRAINT df_whom DEFAULT CURRENT_USER CONSTRAINT ck_whom CHECK (by_whom = USER_NAME() AND by_whom = CURRENT_USER),
	login sysname NOT NULL CONSTRAINT ck_login CHECK (login = SYSTEM_USER))`, "ok"},
		{"INSERT people (boss, born, hired, login) VALUES (NULL, '1960-05-29', SYSDATETIME(), SYSTEM_USER), (1, NULL, '2001-01-01', SYSTEM_USER)", "ok"},
		{"INSERT people (born, hired, login) VALUES (DATEADD(year, 1, GETDATE()), '2001-01-01', SYSTEM_USER)", "!547/16"},
		{"UPDATE people SET hired = DATEADD(day, 2, GETDATE()) WHERE id = 2", "!547/16"},
		{"UPDATE people SET login = N'nobody' WHERE id = 2", "!547/16"},
		{"ALTER TABLE people WITH CHECK ADD CONSTRAINT ck_old CHECK (hired < DATEADD(YEAR, -1, SYSUTCDATETIME()))", "!547/16"},
		{"ALTER TABLE people WITH NOCHECK ADD CONSTRAINT ck_old CHECK (hired < DATEADD(YEAR, -1, SYSUTCDATETIME()))", "ok"},
		{"UPDATE people SET born = '1961-01-01' WHERE id = 1", "!547/16"},
		{"SELECT id, by_whom FROM people WHERE born IS NULL", "2 dbo"},
		{"CREATE INDEX recent ON people (born) WHERE born > GETDATE()", "!10735"},
	})
}

// TestObjectsOfLongAgo: docs/relational-databases/system-compatibility-views/sys-sysobjects-transact-sql.md. The scripts of Northwind
// and pubs ask for sysstat, whose bits the page calls internal: they tell views (2), tables (3) and procedures (4) apart.
func TestObjectsOfLongAgo(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE orders (id int CONSTRAINT pk_orders PRIMARY KEY)", "ok"},
		{"CREATE VIEW looking AS SELECT id FROM orders", "ok"},
		{"CREATE PROCEDURE doing AS SELECT 1 AS one", "ok"},
		{"SELECT name, xtype, type, sysstat & 0xf FROM sysobjects WHERE name IN ('orders', 'looking', 'doing') ORDER BY name", "doing P  P  4; looking V  V  2; orders U  U  3"},
		{"SELECT xtype, type, schema_ver, OBJECT_NAME(parent_obj) FROM sysobjects WHERE name = 'pk_orders'", "PK K  0 orders"},
		{`if exists (select * from sysobjects where id = object_id('dbo.looking') and sysstat & 0xf = 2)
	drop view "dbo"."looking"`, "ok"},
		{"SELECT OBJECT_ID('looking')", "NULL"},
		{"SELECT CASE WHEN CONVERT(datetime, SERVERPROPERTY('ResourceLastUpdateDateTime')) <= GETDATE() THEN 'earlier' END", "earlier"},
	})
}

// TestDataFilesOfAllColumns: docs/tools/bcp-utility.md, "Computed columns and timestamp columns": the values in the file are ignored.
func TestDataFilesOfAllColumns(t *testing.T) {
	t.Parallel()
	ownProcess(t)
	db := connection(t, newDatabase(t))
	path := filepath.Join(t.TempDir(), "rows.txt")
	NewWithT(t).Expect(os.WriteFile(path, []byte("1\t3\t\t0000000000000001\tE610AB\n2\t4\t999\t\t0x01\n"), 0o644)).To(Succeed())
	converse(t, db, []say{
		{"CREATE TABLE lines (id int NOT NULL, quantity int NOT NULL, total AS quantity * 2, stamp rowversion, place varbinary(10) NULL)", "ok"},
		{fmt.Sprintf(`BULK INSERT lines FROM '%s' WITH (FIELDTERMINATOR = '\t', ROWTERMINATOR = '0x0a', TABLOCK)`, path), "ok"},
		{"SELECT id, total, place FROM lines ORDER BY id", "1 6 0xE610AB; 2 8 0x01"},
	})
}
