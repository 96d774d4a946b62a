// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestMerge follows docs/t-sql/statements/merge-transact-sql.md.
func TestMerge(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE stock (product int NOT NULL CONSTRAINT pk_stock PRIMARY KEY, quantity int NOT NULL CHECK (quantity " +
				">= 0), note varchar(20) NULL, twice AS quantity * 2)",
			"ok",
		},
		{"CREATE TABLE delivery (product int, quantity int)", "ok"},
		{"INSERT stock (product, quantity) VALUES (1, 10), (2, 20), (3, 30)", "ok"},
		{"INSERT delivery VALUES (2, 5), (3, -30), (4, 7)", "ok"},
		{`MERGE INTO stock AS s USING delivery AS d ON s.product = d.product
			WHEN MATCHED AND s.quantity + d.quantity <= 0 THEN DELETE
			WHEN MATCHED THEN UPDATE SET s.quantity = s.quantity + d.quantity, note = 'more'
			WHEN NOT MATCHED BY TARGET THEN INSERT (product, quantity, note) VALUES (d.product, d.quantity, 'new')
			WHEN NOT MATCHED BY SOURCE AND s.quantity >= 10 THEN UPDATE SET note = 'kept'
			OUTPUT $action, deleted.product, deleted.quantity, inserted.product, inserted.twice, d.quantity;`,
			"DELETE 3 30 NULL NULL -30; UPDATE 2 20 2 50 5; INSERT NULL NULL 4 14 7; UPDATE 1 10 1 20 NULL"},
		{"SELECT @@ROWCOUNT", "4"},
		{"SELECT product, quantity, note FROM stock ORDER BY product", "1 10 kept; 2 25 more; 4 7 new"},
		{
			"MERGE stock USING (VALUES (1, 1), (9, 9)) AS v (p, q) ON product = v.p WHEN NOT MATCHED THEN INSERT (product, " +
				"quantity) VALUES (v.p, v.q);",
			"ok",
		},
		{
			"WITH d AS (SELECT product FROM delivery WHERE product = 4) MERGE stock AS s USING d ON d.product = s.product " +
				"WHEN MATCHED THEN DELETE;",
			"ok",
		},
		{"SELECT product FROM stock ORDER BY product", "1; 2; 9"},
		{
			"DECLARE @changes TABLE (what nvarchar(10), product int); MERGE stock AS s USING (SELECT 2 AS p) AS x ON " +
				"s.product = x.p WHEN MATCHED THEN UPDATE SET quantity += 1 OUTPUT $action, inserted.product INTO @changes; " +
				"SELECT what, product FROM @changes",
			"UPDATE 2",
		},
		// A row that two rows of the source match is refused, and nothing has changed.
		{
			"MERGE stock AS s USING (VALUES (1), (1)) AS v (p) ON s.product = v.p WHEN MATCHED THEN UPDATE SET quantity = 0;",
			"!8672/16/1/1",
		},
		{
			"MERGE stock AS s USING (VALUES (5), (6), (9)) AS v (p) ON 1 = 0 WHEN NOT MATCHED THEN INSERT (product, " +
				"quantity) VALUES (v.p, 1);",
			"!2627/14/1/1",
		},
		{
			"MERGE stock AS s USING (VALUES (5), (6)) AS v (p) ON s.product = v.p WHEN NOT MATCHED THEN INSERT (product, " +
				"quantity) VALUES (v.p, 5 - v.p);",
			"!547",
		},
		{"SELECT product, quantity FROM stock ORDER BY product", "1 10; 2 26; 9 9"},
		{"MERGE stock AS s USING delivery AS d ON s.product = d.product WHEN MATCHED THEN DELETE", "!10713/15/1/1"},
		{
			"MERGE stock AS s USING delivery AS d ON s.product = d.product WHEN MATCHED THEN INSERT (product, quantity) " +
				"VALUES (1, 1);",
			"!10711/15/1/1",
		},
		{"MERGE stock AS s USING delivery AS d ON s.product = d.product WHEN NOT MATCHED THEN DELETE;", "!10710/15/1/1"},
		{
			"MERGE stock AS s USING delivery AS d ON s.product = d.product WHEN MATCHED THEN DELETE WHEN MATCHED AND 1 = 1 " +
				"THEN UPDATE SET quantity = 1;",
			"!5324/15/1/1",
		},
		{"MERGE stock AS s delivery AS d ON s.product = d.product WHEN MATCHED THEN DELETE;", "!102/15"},
		{"MERGE stock AS s USING delivery AS d WHEN MATCHED THEN DELETE;", "!156/15"},
		{"MERGE stock AS s USING delivery AS d ON s.product = d.product WHEN MATCHED DELETE;", "!156/15"},
		{"MERGE stock AS s USING delivery AS d ON s.product = d.nothing WHEN MATCHED THEN DELETE;", "!207/16/1/1"},
		{"MERGE nowhere AS s USING delivery AS d ON s.product = d.product WHEN MATCHED THEN DELETE;", "!208/16/1/1"},
		{"SELECT COUNT(*) FROM stock", "3"},
	})
}

// TestKeysAreJudgedAfterTheStatement: a unique key has to hold when the statement ends, not between its rows.
// By docs/relational-databases/tables/primary-and-foreign-key-constraints.md.
func TestKeysAreJudgedAfterTheStatement(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE pair (a int NOT NULL, b int NOT NULL, c varchar(10) NOT NULL CONSTRAINT uq_c UNIQUE, CHECK (a > " +
				"0), PRIMARY KEY (a, b))",
			"ok",
		},
		{"INSERT pair VALUES (1, 1, 'x'), (2, 1, 'y'), (3, 1, 'z')", "ok"},
		{"UPDATE pair SET a = a + 1", "ok"},
		{"UPDATE pair SET a = a - 1 WHERE a > 1", "ok"},
		{"SELECT a, c FROM pair ORDER BY a", "1 x; 2 y; 3 z"},
		{
			"UPDATE pair SET c = CASE c WHEN 'x' THEN 'y' WHEN 'y' THEN 'z' ELSE 'x' END OUTPUT inserted.a, " +
				"deleted.c, inserted.c",
			"1 x y; 2 y z; 3 z x",
		},
		{"UPDATE pair SET c = 'one' WHERE a < 3", "!2627/14/1/1"},
		{"SELECT a, c FROM pair ORDER BY a", "1 y; 2 z; 3 x"},
		{"UPDATE pair SET a = a - 1", "!547/16"},
		{"CREATE TABLE number (n int PRIMARY KEY, next int NULL UNIQUE)", "ok"},
		{"INSERT number VALUES (1, 2), (2, 3), (3, NULL)", "ok"},
		{"UPDATE number SET n = n + 1", "ok"},
		{
			"UPDATE number SET n = CASE n WHEN 2 THEN 4 WHEN 4 THEN 2 ELSE n END, next = CASE next WHEN 2 THEN 3 WHEN " +
				"3 THEN 2 END",
			"ok",
		},
		{"SELECT n, next FROM number ORDER BY n", "2 NULL; 3 2; 4 3"},
		{"UPDATE number SET next = 7", "!2627/14"},
		{"UPDATE m SET n = 5 - m.n FROM number m WHERE m.n IN (2, 3)", "ok"},
		{"SELECT n, next FROM number ORDER BY n", "2 2; 3 NULL; 4 3"},
	})
}

// TestTriggers follows docs/t-sql/statements/create-trigger-transact-sql.md.
func TestTriggers(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE account (id int IDENTITY PRIMARY KEY, owner nvarchar(20) NOT NULL, balance money NOT NULL)", "ok"},
		{
			"CREATE TABLE journal (n int IDENTITY(100, 1), account int, what varchar(10), before money NULL, after money NULL)",
			"ok",
		},
		{`CREATE TRIGGER account_journal ON account AFTER INSERT, UPDATE, DELETE AS
		BEGIN
			SET NOCOUNT ON;
			INSERT journal (account, what, before, after)
			SELECT COALESCE(i.id, d.id), CASE WHEN d.id IS NULL THEN 'insert' WHEN i.id IS NULL THEN 'delete' ELSE 'update' END, d.balance, i.balance
			FROM inserted AS i FULL JOIN deleted AS d ON d.id = i.id ORDER BY 1;
		END`, "ok"},
		{"INSERT account (owner, balance) VALUES (N'Ann', 10), (N'Bob', 20)", "ok"},
		{"SELECT @@IDENTITY, SCOPE_IDENTITY(), @@ROWCOUNT", "101 2 2"},
		{"UPDATE account SET balance = balance * 2", "ok"},
		{"SELECT @@ROWCOUNT", "2"},
		{"DELETE account WHERE owner = N'Bob'", "ok"},
		{
			"SELECT account, what, before, after FROM journal ORDER BY n",
			"1 insert NULL 10.0000; 2 insert NULL 20.0000; 1 update 10.0000 20.0000; 2 update 20.0000 40.0000; 2 delete " +
				"40.0000 NULL",
		},
		{"UPDATE account SET balance = 0 OUTPUT inserted.id", "!334/15/1/1"},
		{
			"DECLARE @out TABLE (id int); UPDATE account SET balance = 1 OUTPUT inserted.id INTO @out; SELECT id FROM @out",
			"1",
		},
		// A trigger that rolls back ends the batch, and the statement has not happened.
		{
			"CREATE TRIGGER no_debt ON account FOR UPDATE AS IF UPDATE(balance) AND EXISTS (SELECT * FROM inserted WHERE " +
				"balance < 0) BEGIN RAISERROR(N'no debts', 16, 1); ROLLBACK TRANSACTION; END",
			"ok",
		},
	})
	// The driver is to read the whole answer, the end of the transaction with it, before it asks again.
	if _, err := db.ExecContext(t.Context(),
		"BEGIN TRANSACTION; UPDATE account SET owner = N'Zoe'; UPDATE account SET balance = -1; DELETE account"); err == nil {
		t.Error("a trigger's ROLLBACK is no error")
	}
	converse(t, db, []say{
		{"SELECT @@TRANCOUNT, owner, balance FROM account", "0 Ann 1.0000"},
		{"UPDATE account SET owner = N'Eve'", "ok"},
		{
			"BEGIN TRY UPDATE account SET balance = -1 END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_PROCEDURE(), " +
				"XACT_STATE() END CATCH",
			"50000 no_debt 0",
		},
		{"IF @@TRANCOUNT > 0 ROLLBACK", "ok"},
		{"DISABLE TRIGGER no_debt ON account", "ok"},
		{
			"SELECT name, is_disabled, is_instead_of_trigger, OBJECT_NAME(parent_id) FROM sys.triggers ORDER BY name",
			"account_journal false false account; no_debt true false account",
		},
		{
			"SELECT e.type_desc FROM sys.trigger_events e JOIN sys.triggers t ON t.object_id = e.object_id WHERE t.name " +
				"= 'no_debt'",
			"UPDATE",
		},
		{"UPDATE account SET balance = -1", "ok"},
		{"ALTER TABLE account ENABLE TRIGGER ALL", "ok"},
		{"BEGIN TRY UPDATE account SET balance = -2 END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", "50000"},
		{"IF @@TRANCOUNT > 0 ROLLBACK", "ok"},
		{"ALTER TRIGGER no_debt ON account AFTER UPDATE AS THROW 50001, 'never', 1", "ok"},
		{
			"BEGIN TRY UPDATE account SET balance = 5 END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_PROCEDURE() END CATCH",
			"50001 no_debt",
		},
		{"IF @@TRANCOUNT > 0 ROLLBACK", "ok"},
		{"SELECT balance FROM account", "-1.0000"},
		{"DROP TRIGGER no_debt", "ok"},
		{
			"MERGE account AS a USING (VALUES (N'Ann', 3), (N'Cid', 4)) AS v (owner, balance) ON a.owner = v.owner WHEN " +
				"MATCHED THEN UPDATE SET balance = v.balance WHEN NOT MATCHED THEN INSERT (owner, balance) VALUES (v.owner, " +
				"v.balance) WHEN NOT MATCHED BY SOURCE THEN DELETE;",
			"ok",
		},
		{"SELECT TOP 2 what, after FROM journal ORDER BY n DESC", "delete NULL; insert 4.0000"},
		{"DROP TRIGGER nothing", "!3701/11/5/1"},
		{"CREATE TRIGGER x ON nowhere AFTER INSERT AS RETURN", "!8197/16/4/1"},
		{"CREATE TRIGGER account_journal ON account AFTER INSERT AS RETURN", "!2714/16/2/1"},
		{"CREATE TRIGGER x ON account AFTER INSERT, INSERT AS RETURN", "!1034/15/1/1"},
		{"SELECT 1; CREATE TRIGGER x ON account AFTER INSERT AS RETURN", "!111/15/1/1"},
		{"DROP TABLE account", "ok"},
		{"SELECT COUNT(*) FROM sys.triggers", "0"},
	})
}
