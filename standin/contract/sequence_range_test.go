// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// rangeOf calls sp_sequence_get_range for a number of values and shows all that it gives back.
func rangeOf(sequence, size string) string {
	return "DECLARE @f sql_variant, @l sql_variant, @c int, @i sql_variant, @n sql_variant, @x sql_variant, @r int; " +
		"EXEC @r = sys.sp_sequence_get_range @sequence_name = N'" + sequence + "', @range_size = " + size +
		", @range_first_value = @f OUTPUT, @range_last_value = @l OUTPUT, " +
		"@range_cycle_count = @c OUTPUT, @sequence_increment = @i OUTPUT, @sequence_min_value = @n OUTPUT, " +
		"@sequence_max_value = @x OUTPUT; " +
		"SELECT CAST(@f AS bigint), CAST(@l AS bigint), @c, CAST(@i AS int), CAST(@n AS bigint), CAST(@x AS bigint), @r"
}

// TestRangesOfSequences goes by
// docs/relational-databases/system-stored-procedures/sp-sequence-get-range-transact-sql.md.
func TestRangesOfSequences(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	converse(t, connection(t, db), []say{
		{"CREATE SCHEMA Test", "ok"},
		{"CREATE SEQUENCE Test.RangeSeq AS int START WITH 1 INCREMENT BY 1 MINVALUE 1 MAXVALUE 25 CYCLE CACHE 10", "ok"},
		{
			"DECLARE @v sql_variant; EXEC sys.sp_sequence_get_range @sequence_name = N'Test.RangeSeq', @range_size = 4, " +
				"@range_first_value = @v OUTPUT; SELECT @v, SQL_VARIANT_PROPERTY(@v, 'BaseType')",
			"1 int",
		},
		{rangeOf("Test.RangeSeq", "5"), "5 9 0 1 1 25 0"},
		{"SELECT NEXT VALUE FOR Test.RangeSeq", "10"},
		{rangeOf("Test.RangeSeq", "75"), "11 10 3 1 1 25 0"},
		{"SELECT current_value, last_used_value FROM sys.sequences", "10 10"},
		{"CREATE SEQUENCE dbo.down AS smallint START WITH 7 INCREMENT BY -3 MINVALUE -5 MAXVALUE 10", "ok"},
		{rangeOf("down", "2"), "7 4 0 -3 -5 10 0"},
		{rangeOf("down", "4"), "!11732/16"},
		{rangeOf("down", "3"), "1 -5 0 -3 -5 10 0"},
		{rangeOf("down", "1"), "!11732/16"},
		{"SELECT is_exhausted, current_value, last_used_value FROM sys.sequences WHERE name = 'down'", "true -5 -5"},
		{"SELECT NEXT VALUE FOR dbo.down", "!11728/16"},
		{"ALTER SEQUENCE dbo.down CYCLE", "ok"},
		{rangeOf("down", "1000001"), "10 -2 166667 -3 -5 10 0"},
		{"CREATE SEQUENCE dbo.wide", "ok"},
		{
			"DECLARE @a sql_variant, @b sql_variant; EXEC sp_sequence_get_range 'wide', 9223372036854775807, @a OUTPUT, @b " +
				"OUTPUT; SELECT @a, @b, SQL_VARIANT_PROPERTY(@b, 'BaseType')",
			"-9223372036854775808 -2 bigint",
		},
		{"DECLARE @a sql_variant; EXEC sp_sequence_get_range 'wide', 9223372036854775807, @a OUTPUT; SELECT @a", "-1"},
		{"SELECT NEXT VALUE FOR dbo.wide, is_exhausted FROM sys.sequences WHERE name = 'wide'", "9223372036854775806 false"},
		{"SELECT NEXT VALUE FOR dbo.wide", "9223372036854775807"},
		{"SELECT NEXT VALUE FOR dbo.wide", "!11728/16"},
		{
			"BEGIN TRANSACTION; DECLARE @a sql_variant; EXEC sp_sequence_get_range 'Test.RangeSeq', 3, @a OUTPUT; ROLLBACK; " +
				"SELECT NEXT VALUE FOR Test.RangeSeq",
			"14",
		},
		{"EXEC sp_sequence_get_range 'Test.RangeSeq', 3", "!201/16"},
		{"DECLARE @a int; EXEC sp_sequence_get_range 'Test.RangeSeq', 3, @a OUTPUT", "!257/16"},
		{rangeOf("Test.RangeSeq", "0"), "!11733/16"},
		{rangeOf("Test.RangeSeq", "NULL"), "!11733/16"},
		{rangeOf("Test.none", "1"), "!208/16"},
		{"CREATE TABLE dbo.plain (a int)", "ok"},
		{rangeOf("dbo.plain", "1"), "!208/16"},
		{"SELECT NEXT VALUE FOR Test.RangeSeq", "15"},
	})
	NewWithT(
		t,
	).Expect(messagesOf(t, db, "CREATE SEQUENCE dbo.few MAXVALUE 3 START WITH 1; "+rangeOf("dbo.few", "4"))).
		To(ContainElement(
			"The requested range for sequence object 'few' exceeds the maximum or minimum limit. Retry with a smaller range."))
}

// TestSequencesInTheirView goes by docs/relational-databases/system-catalog-views/sys-sequences-transact-sql.md and
// docs/t-sql/statements/alter-sequence-transact-sql.md (Remarks).
func TestSequencesInTheirView(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	shown := "SELECT current_value, last_used_value, is_cached, cache_size, is_exhausted FROM sys.sequences " +
		"WHERE name = 's'"
	converse(t, connection(t, db), []say{
		{"CREATE SEQUENCE dbo.s AS tinyint START WITH 10 INCREMENT BY 5", "ok"},
		{shown, "10 NULL true NULL false"},
		{"SELECT NEXT VALUE FOR dbo.s", "10"},
		{shown, "10 10 true NULL false"},
		{"ALTER SEQUENCE dbo.s RESTART WITH 100 NO CACHE", "ok"},
		{shown, "100 NULL false NULL false"},
		{"SELECT NEXT VALUE FOR dbo.s", "100"},
		{"ALTER SEQUENCE dbo.s INCREMENT BY 50 CACHE 20", "ok"},
		{shown, "100 100 true 20 false"},
		{"ALTER SEQUENCE dbo.s CYCLE", "ok"},
		{shown, "100 100 true 20 false"},
		{"ALTER SEQUENCE dbo.s NO CYCLE CACHE", "ok"},
		{shown, "100 100 true NULL false"},
		{"SELECT NEXT VALUE FOR dbo.s; SELECT NEXT VALUE FOR dbo.s; SELECT NEXT VALUE FOR dbo.s", "150"},
		{shown, "250 250 true NULL true"},
		{"ALTER SEQUENCE dbo.s MAXVALUE 249", "!11704/16"},
		{"ALTER SEQUENCE dbo.s MINVALUE 20", "!11703/16"},
		{"ALTER SEQUENCE dbo.s MINVALUE 20 RESTART WITH 5", "!11703/16"},
		{"ALTER SEQUENCE dbo.s MINVALUE 20 RESTART WITH 30", "ok"},
		{shown, "30 NULL true NULL false"},
		{"ALTER SEQUENCE dbo.s MAXVALUE 250", "ok"},
		{"SELECT NEXT VALUE FOR dbo.s", "30"},
		{
			"SELECT SQL_VARIANT_PROPERTY(start_value, 'BaseType'), SQL_VARIANT_PROPERTY(last_used_value, 'BaseType'), " +
				"start_value, increment, minimum_value, maximum_value FROM sys.sequences",
			"tinyint tinyint 10 50 20 250",
		},
		{"CREATE SEQUENCE dbo.fresh START WITH 1", "ok"},
		{"ALTER SEQUENCE dbo.fresh MINVALUE 10", "!11704/16"},
		{"CREATE TYPE dbo.small FROM smallint", "ok"},
		{"CREATE SEQUENCE dbo.ofAlias AS dbo.small", "ok"},
		{"SELECT NEXT VALUE FOR dbo.ofAlias; DROP SEQUENCE dbo.ofAlias", "-32768"},
	})
	g := NewWithT(t)
	g.Expect(messagesOf(t, db, "ALTER SEQUENCE dbo.fresh MINVALUE 10")).
		To(Equal([]string{"The current value '1' for sequence object 'fresh' must be between the minimum and maximum " +
			"value of the sequence object."}))
	g.Expect(notices(t, db, "CREATE SEQUENCE dbo.one START WITH 1 CACHE 1")).
		To(Equal([]string{"The cache size for sequence object 'one' has been set to NO CACHE."}))
	g.Expect(notices(t, db, "CREATE SEQUENCE dbo.two START WITH 1 MAXVALUE 10 CACHE 11")).
		To(Equal([]string{"The sequence object 'two' cache size is greater than the number of available values."}))
	g.Expect(notices(t, db, "CREATE SEQUENCE dbo.three START WITH 1 MAXVALUE 10 CACHE 10")).To(BeEmpty())
	g.Expect(notices(t, db, "CREATE SEQUENCE dbo.four START WITH 1 MINVALUE 1 MAXVALUE 10 CYCLE CACHE 11")).To(BeEmpty())
}

// TestRowsThatShareSequences: docs/t-sql/functions/next-value-for-transact-sql.md, Limitations and Restrictions.
func TestRowsThatShareSequences(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE SEQUENCE dbo.s START WITH 1; CREATE SEQUENCE dbo.other START WITH 1; CREATE TABLE two (a bigint DEFAULT " +
				"(NEXT VALUE FOR dbo.s), b bigint)",
			"ok",
		},
		{"INSERT two (b) VALUES (NEXT VALUE FOR dbo.s), (NEXT VALUE FOR dbo.s)", "!11731/16"},
		{"INSERT two (b) VALUES (1), (NEXT VALUE FOR dbo.s + 1)", "!11731/16"},
		{"INSERT two (b) VALUES (NEXT VALUE FOR dbo.s)", "ok"},
		{"INSERT two (a, b) VALUES (DEFAULT, NEXT VALUE FOR dbo.s), (DEFAULT, NEXT VALUE FOR dbo.s)", "ok"},
		{"INSERT two (b) VALUES (NEXT VALUE FOR dbo.other), (NEXT VALUE FOR dbo.other)", "ok"},
		{"SELECT a, b FROM two ORDER BY a", "1 1; 2 2; 3 3; 4 1; 5 2"},
	})
}

// TestPermissionOfSequences: docs/t-sql/functions/next-value-for-transact-sql.md, Permissions: UPDATE on the sequence,
// which a default asks nobody for whose table has the same owner.
func TestPermissionOfSequences(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE SEQUENCE dbo.s START WITH 1; CREATE TABLE rows (a bigint DEFAULT (NEXT VALUE FOR dbo.s), b int); CREATE " +
				"USER drawer WITHOUT LOGIN; GRANT INSERT ON rows TO drawer",
			"ok",
		},
		{"EXECUTE AS USER = 'drawer'; SELECT NEXT VALUE FOR dbo.s", "!229/14"},
		{rangeOf("dbo.s", "1"), "!229/14"},
		{"INSERT rows (b) VALUES (1)", "ok"},
		{"REVERT; GRANT UPDATE ON dbo.s TO drawer; EXECUTE AS USER = 'drawer'; SELECT NEXT VALUE FOR dbo.s", "2"},
		{rangeOf("dbo.s", "2"), "3 4 0 1 -9223372036854775808 9223372036854775807 0"},
	})
}
