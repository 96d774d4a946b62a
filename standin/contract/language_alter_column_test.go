// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestColumnsThatMayBeAltered goes through what ALTER COLUMN may not change, and what of it is allowed all the same
// (docs/t-sql/statements/alter-table-transact-sql.md, ALTER COLUMN).
func TestColumnsThatMayBeAltered(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	const held = "!5074/16/1"
	converse(t, db, []say{
		{
			`CREATE TABLE t (k varchar(10) NOT NULL CONSTRAINT pk PRIMARY KEY, u varchar(10) CONSTRAINT uq UNIQUE, n int CONSTRAINT un UNIQUE, c varchar(10) CONSTRAINT ck CHECK (c > ''), e decimal(10, 2) CONSTRAINT ce CHECK (e > 0),
			d varchar(10) NOT NULL CONSTRAINT df DEFAULT 'abcde', p decimal(10, 2) CONSTRAINT dp DEFAULT 1, i varchar(10), x decimal(10, 2), y int, z date)`,
			"",
		},
		{"CREATE INDEX ix ON t (i); CREATE INDEX ix2 ON t (x) INCLUDE (y); INSERT t (k) VALUES ('a')", ""},
		// keys
		{
			"ALTER TABLE t ALTER COLUMN k varchar(20) NOT NULL",
			held,
		}, {"ALTER TABLE t ALTER COLUMN k varchar(10) NULL", held}, {"ALTER TABLE t ALTER COLUMN k varchar(10) NOT NULL", ""},
		{
			"ALTER TABLE t ALTER COLUMN u varchar(20)",
			"",
		}, {"ALTER TABLE t ALTER COLUMN u varchar(5)", held}, {"ALTER TABLE t ALTER COLUMN n bigint", held},
		// indexes
		{
			"ALTER TABLE t ALTER COLUMN i varchar(20)",
			"",
		}, {"ALTER TABLE t ALTER COLUMN i varchar(19)", held}, {"ALTER TABLE t ALTER COLUMN x decimal(12, 2)", held},
		{"ALTER TABLE t ALTER COLUMN y bigint", held},
		// checks and defaults
		{
			"ALTER TABLE t ALTER COLUMN c varchar(5)",
			"",
		}, {"ALTER TABLE t ALTER COLUMN c nvarchar(5)", held}, {"ALTER TABLE t ALTER COLUMN e decimal(12, 2)", held},
		{"ALTER TABLE t ALTER COLUMN e decimal(10, 2) NOT NULL", "!515/16"},
		{
			"ALTER TABLE t ALTER COLUMN d varchar(5) NOT NULL",
			"",
		}, {"ALTER TABLE t ALTER COLUMN d varchar(4) NOT NULL", "!2628/16"},
		{"ALTER TABLE t ALTER COLUMN d nvarchar(10)", held},
		{"ALTER TABLE t ALTER COLUMN p decimal(12, 4)", ""}, {"ALTER TABLE t ALTER COLUMN p int", held},
		// types
		{
			"DELETE t; ALTER TABLE t ALTER COLUMN z float",
			"!206/16/2",
		}, {"ALTER TABLE t ALTER COLUMN i varbinary(20)", held},
		{"DROP INDEX ix ON t; ALTER TABLE t ALTER COLUMN i varbinary(20)", "!257/16/3"},
		{"BEGIN TRY ALTER TABLE t DROP COLUMN x END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", "4922"},
	})
}
