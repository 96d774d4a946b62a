// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax"
)

func TestOrdinaryStatementsPassThrough(t *testing.T) {
	for _, text := range []string{
		"SELECT * FROM t", "select 1;", "INSERT INTO t (a, b) VALUES (1, N'x')", "UPDATE t SET a = 1 WHERE b = 2",
		"DELETE FROM t WHERE a = 1", "CREATE TABLE t (id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL)",
		"IF 1 = 1 SELECT 1 ELSE SELECT 2", "WHILE @i < 3 BEGIN SET @i += 1 END", "DECLARE @x int = 1; SELECT @x",
		"BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", "EXEC sp_who", "sp_who",
		"sp_helpdb N'master'",
		"exec [sys].sp_datatype_info_100 12", "BEGIN TRAN; COMMIT", "SET NOCOUNT ON", "USE master", "THROW 50001, 'x', 1",
		"WITH c AS (SELECT 1 AS a) SELECT a FROM c", "PRINT 'x'", "RETURN", "CREATE PROCEDURE p @a int AS SELECT @a",
		"", " -- nothing\n", "SELECT a FROM t WITH (NOLOCK) WHERE b IN (1,2)", "DECLARE @t TABLE (a int)",
		"SELECT TOP (10) * FROM a INNER JOIN b ON a.id = b.id ORDER BY a.id OFFSET 5 ROWS FETCH NEXT 5 ROWS ONLY",
		"CREATE PROCEDURE p WITH EXECUTE AS OWNER AS SELECT 1", "SELECT 'GRANT x' AS [CREATE LOGIN]",
		"CREATE TABLE t (a int, PRIMARY KEY (a) WITH (FILLFACTOR = 80)) WITH (DATA_COMPRESSION = PAGE)",
		"CREATE TABLE t (a int); SELECT a FROM t WITH (NOLOCK)",
		"ALTER TABLE t REBUILD PARTITION = ALL WITH (DATA_COMPRESSION = ROW, ONLINE = ON)",
		"SELECT a FROM t WITH (UPDLOCK, HOLDLOCK) OPTION (MAXDOP 1, OPTIMIZE FOR (@p UNKNOWN), USE HINT ('x'))",
		"CREATE TABLE t (a int) INSERT INTO t WITH (TABLOCK) SELECT 1 UPDATE t WITH (ROWLOCK) SET a = 2",
		"SELECT a FROM t OPTION (MERGE UNION, HASH JOIN)", "CREATE TABLE t (a int,)",
		"MERGE t USING s ON t.a = s.a WHEN NOT MATCHED BY SOURCE THEN DELETE;",
		"set implicit_transactions on", "BEGIN SELECT 1 END;", "BEGIN TRY SELECT 1 END TRY BEGIN CATCH END CATCH;",
		"BEGIN REVERT END",
		"BEGIN BEGIN SELECT 1; END; END", "IF @@TRANCOUNT > 0 COMMIT TRAN", "INSERT t DEFAULT VALUES",
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			_, err := syntax.Parse(text)
			g.Expect(err).To(BeNil())
		})
	}
}

func TestLinesAndTexts(t *testing.T) {
	g := NewWithT(t)
	b, err := syntax.Parse("SELECT N'é😀';\n\nCREATE LOGIN a\nWITH PASSWORD = 'x';\nSELECT 2;\nDROP LOGIN [b é]")
	g.Expect(err).To(BeNil())
	g.Expect(b.Statements).To(HaveLen(4))
	g.Expect(b.Statements[0].Text).To(Equal("SELECT N'é😀'"))
	g.Expect(b.Statements[1].Line).To(BeEquivalentTo(3))
	g.Expect(b.Statements[1].Text).To(Equal("CREATE LOGIN a\nWITH PASSWORD = 'x'"))
	g.Expect(b.Statements[2].Line).To(BeEquivalentTo(5))
	g.Expect(b.Statements[2].Text).To(Equal("SELECT 2"))
	g.Expect(b.Statements[3].Text).To(Equal("DROP LOGIN [b é]"))
	g.Expect(b.Statements[3].Node).To(BeAssignableToTypeOf(&syntax.DropLogin{}))
	g.Expect(syntax.IsOwn(b.Statements[3].Node)).To(BeTrue())
	g.Expect(syntax.IsOwn(b.Statements[0].Node)).To(BeFalse())
}

func TestTextsAroundWhatIsWrittenOut(t *testing.T) {
	g := NewWithT(t)
	b, err := syntax.Parse("sp_who 'é'; SELECT .5, N'😀', -.25; REVERT; SELECT .5 AS b")
	g.Expect(err).To(BeNil())
	var texts []string
	for _, s := range b.Statements {
		texts = append(texts, s.Text)
	}
	g.Expect(texts).To(Equal([]string{"sp_who 'é'", "SELECT .5, N'😀', -.25", "REVERT", "SELECT .5 AS b"}))
	_, err = syntax.Parse("SELECT .5,\n.5 x y z")
	g.Expect(err).NotTo(BeNil())
	g.Expect(err.Line).To(BeEquivalentTo(2))
}

func TestOwnStatementsStandInsideOthers(t *testing.T) {
	g := NewWithT(t)
	b, err := syntax.Parse(`IF NOT EXISTS (SELECT 1 FROM sys.sql_logins WHERE name = N'a')
		CREATE LOGIN a WITH PASSWORD = N'x'
	ELSE BEGIN
		ALTER LOGIN a ENABLE
		BEGIN TRY REVERT; KILL 5 END TRY BEGIN CATCH EXECUTE AS LOGIN = 'sa' END CATCH
	END`)
	g.Expect(err).To(BeNil())
	g.Expect(b.Statements).To(HaveLen(1))
	branch := b.Statements[0].Node.(*ast.IfStatement)
	g.Expect(branch.ThenStatement).To(BeAssignableToTypeOf(&syntax.CreateLogin{}))
	g.Expect(b.Statement(branch.ThenStatement).Line).To(BeEquivalentTo(2))
	inner := branch.ElseStatement.(*ast.BeginEndBlockStatement).StatementList.Statements
	g.Expect(inner[0]).To(BeAssignableToTypeOf(&syntax.AlterLogin{}))
	try := inner[1].(*ast.TryCatchStatement)
	g.Expect(try.TryStatements.Statements[0]).To(BeAssignableToTypeOf(&syntax.Revert{}))
	g.Expect(try.TryStatements.Statements[1]).To(BeAssignableToTypeOf(&syntax.Kill{}))
	g.Expect(try.CatchStatements.Statements[0]).To(BeAssignableToTypeOf(&syntax.ExecuteAs{}))
}

func TestRefusedWithNumberAndLine(t *testing.T) {
	for _, c := range []struct {
		text   string
		number int32
		line   int32
		near   string
	}{
		{"SELECT * FRM t", 102, 1, "t"},
		{"SELECT 1\nSELEC 2", 102, 2, "2"},
		{"SELECT 1;\nsp_who", 102, 2, "sp_who"},
		{"SELECT 'abc", 105, 1, "abc"},
		{"SELECT 1 /* x", 113, 1, ""},
		{"SELECT 1;\nCREATE VIEW v AS SELECT 1 AS a", 111, 2, "CREATE VIEW"},
		{"SELECT 1\nGO\nSELECT 2", 102, 2, "GO"},
		{"SELECT * FROM", 102, 1, "FROM"},
		{"SELECT 1\nFROM t WHERE", 102, 2, "WHERE"},
		{"CREATE LOGIN a WITH PASSWORD = 'x', NOTHING = 1", 155, 1, "NOTHING"},
		{"SELECT 1 FROM t WHERE;", 102, 1, ";"},
		{"SELECT a FROM (SELECT a FROM) AS x", 102, 1, ")"},
		{"SELECT a AS FROM t", 156, 1, "FROM"},
		{"BEGIN\nEND", 156, 2, "END"},
		{"CREATE LOGIN a", 102, 1, "a"},
		{"CREATE LOGIN a\nWITH\nFROM", 156, 3, "FROM"},
		{"DROP LOGIN a b", 102, 1, "b"},
		{"GRANT NOTHING TO a", 102, 1, "NOTHING"},
		{"SELECT * FROM WHERE a = 1", 156, 1, "WHERE"},
		{"SELECT a, FROM t", 156, 1, "FROM"},
		{"CREATE TABLE t (a int)\nWITH (NONSENSE = 1)", 155, 2, "NONSENSE"},
		{"CREATE INDEX i ON t (a) WITH (ONLINE = ON, NONSENSE = 1)", 155, 1, "NONSENSE"},
		{"ALTER TABLE t REBUILD WITH (NONSENSE = PAGE)", 155, 1, "NONSENSE"},
		{"SELECT a FROM t OPTION (RECOMPILE, NONSENSE)", 102, 1, "NONSENSE"},
		{"ALTER TABLE t ADD CONSTRAINT x PRIMARY (a)", 102, 1, "("},
		{"CREATE TABLE t (a int CONSTRAINT)", 102, 1, ")"},
		{"CREATE VIEW v\nSELECT 1", 156, 2, "SELECT"},
		{"BEGIN\nSELECT 1", 102, 2, "1"},
		{"BEGIN TRY SELECT 1 END TRY", 102, 1, "TRY"},
		{"IF 1=1 BEGIN REVERT", 102, 1, "REVERT"},
		{"CREATE TABLE t (a int) x y z", 102, 1, "x"},
		{"CREATE TABLE t (a int nonsense here)", 102, 1, ""},
		{"ALTER DATABASE d\nADD FILEGROUP g CONTAINS FILESTREAM", 40517, 2, "FILESTREAM"},
		{"ALTER DATABASE d MODIFY FILEGROUP g\nNONSENSE", 102, 2, "NONSENSE"},
		{"ALTER DATABASE d MODIFY FILEGROUP\nPRIMARY DEFAULT", 156, 2, "PRIMARY"},
		{"DROP DATABASE ENCRYPTION KEY", 40517, 1, "encryption key"},
		{"BACKUP DATABASE d\nTO DISK = 'a' MIRROR TO DISK = 'b' WITH FORMAT", 40517, 2, "MIRROR TO"},
		{"BACKUP DATABASE d FILEGROUP = 'g' TO DISK = 'a'", 40517, 1, "single files"},
		{"RESTORE DATABASE d FILE = 'f' FROM DISK = 'a'", 40517, 1, "single files"},
		{"RESTORE DATABASE d FROM DATABASE_SNAPSHOT = 's'", 40517, 1, "DATABASE_SNAPSHOT"},
		{"BACKUP DATABASE d TO DISK = 'a' WITH COMPRESSION,\nENCRYPTION (ALGORITHM = AES_256, SERVER CERTIFICATE = c)", 40517,
			2, "BACKUP WITH ENCRYPTION"},
		{"BACKUP DATABASE d TO URL = 'https://a/b' WITH CREDENTIAL = 'c'", 40517, 1, "BACKUP WITH CREDENTIAL"},
		{"BACKUP LOG d TO URL = 'https://a/b' WITH FILE_SNAPSHOT", 40517, 1, "BACKUP WITH FILE_SNAPSHOT"},
		{"RESTORE DATABASE d FROM URL = 'https://a/b' WITH CREDENTIAL = 'c', REPLACE", 40517, 1, "RESTORE WITH CREDENTIAL"},
		{"RESTORE DATABASE d FROM DISK = 'a' WITH PARTIAL, NORECOVERY", 40517, 1, "RESTORE WITH PARTIAL"},
		{"BACKUP SERVICE MASTER KEY TO FILE = 'a' ENCRYPTION BY PASSWORD = 'b'", 40517, 1, "BACKUP SERVICE MASTER KEY"},
		{"RESTORE SERVICE MASTER KEY FROM FILE = 'a' DECRYPTION BY PASSWORD = 'b' FORCE", 40517, 1,
			"RESTORE SERVICE MASTER KEY"},
		{"ALTER RESOURCE GOVERNOR\nRECONFIGURE", 40517, 1, "ALTER RESOURCE GOVERNOR"},
		{"ALTER RESOURCE GOVERNOR DISABLE", 40517, 1, "ALTER RESOURCE GOVERNOR"},
		{"CREATE ENDPOINT e STATE = STARTED AS TCP (LISTENER_PORT = 4022)\nFOR SERVICE_BROKER (AUTHENTICATION = WINDOWS)",
			40517, 2, "ENDPOINT FOR SERVICE_BROKER"},
		{"DROP DATABASE AUDIT SPECIFICATION s", 40517, 1, "DROP DATABASE AUDIT SPECIFICATION"},
		{"ALTER SERVER AUDIT a\nREMOVE WHERE", 40517, 1, "ALTER SERVER AUDIT"},
		{"CREATE SERVER AUDIT a TO FILE (FILEPATH = 'x') WITH (QUEUE_DELAY = 1000, ON_FAILURE = SHUTDOWN)", 40517, 1,
			"CREATE SERVER AUDIT"},
		{"DROP SIGNATURE FROM p BY CERTIFICATE c", 40517, 1, "DROP SIGNATURE"},
		{"ALTER QUEUE q WITH ACTIVATION (DROP)", 40517, 1, "ALTER QUEUE"},
		{"CREATE FULLTEXT INDEX ON t (a TYPE COLUMN b LANGUAGE 2057) KEY INDEX i", 40517, 1, "CREATE FULLTEXT INDEX"},
		{"CREATE SELECTIVE XML INDEX i ON t (x) FOR (p = '/a/b')", 40517, 1, "CREATE SELECTIVE XML INDEX"},
		{"ALTER TABLE t\nALTER COLUMN a varchar(9) MASKED WITH (FUNCTION = 'default()')", 40517, 2, "MASKED"},
		{"CREATE TABLE t (a varchar(9) MASKED WITH (FUNCTION = 'email()') NULL)", 40517, 1, "MASKED"},
		{"CREATE TABLE t (a int NOT NULL,\nCONSTRAINT k PRIMARY KEY NONCLUSTERED HASH (a) WITH (BUCKET_COUNT = 100)) WITH " +
			"(MEMORY_OPTIMIZED = ON)", 40517, 2, "hash index"},
		{"EXECUTE ('SELECT @@SERVERNAME') AT DATA_SOURCE d", 40517, 1, "AT DATA_SOURCE"},
		{"CREATE LOGIN l FROM ASYMMETRIC KEY k", 40517, 1, "FROM ASYMMETRIC KEY"},
		{"CREATE LOGIN [l] FROM EXTERNAL PROVIDER", 40517, 1, "FROM EXTERNAL PROVIDER"},
		{"CREATE USER [u] FROM EXTERNAL PROVIDER", 40517, 1, "FROM EXTERNAL PROVIDER"},
		{"ALTER LOGIN l ADD CREDENTIAL c", 40517, 1, "CREDENTIAL"},
		{"ALTER DATABASE d ADD FILE (NAME = a) TO FILEGROUP", 102, 1, "FILEGROUP"},
		{"CREATE DATABASE d ON (NAME = a, FILENAME = 'x'), FILEGROUP g CONTAINS MEMORY_OPTIMIZED_DATA (NAME = b, " +
			"FILENAME = 'y')", 40517, 1, "memory-optimized"},
		{"ALTER DATABASE d SET CHANGE_TRACKING = ON", 40517, 1, "CHANGE_TRACKING"},
		{"ALTER DATABASE d SET QUERY_STORE = ON (OPERATION_MODE = OFF)", 156, 1, "OFF"},
		{"UPDATE STATISTICS t s WITH\nNONSENSE", 155, 2, "NONSENSE"},
		{"CREATE STATISTICS s ON t (a) WITH SAMPLE 5", 102, 1, "5"},
	} {
		t.Run(c.text, func(t *testing.T) {
			g := NewWithT(t)
			_, err := syntax.Parse(c.text)
			g.Expect(err).NotTo(BeNil())
			g.Expect(err.Number).To(Equal(c.number), err.Message)
			g.Expect(err.Line).To(Equal(c.line), err.Message)
			g.Expect(err.Message).To(ContainSubstring(c.near))
		})
	}
}
