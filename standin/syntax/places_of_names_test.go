// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax"
)

// wordsOfTheParser are the words that teesql's lexer knows as keywords, or its parser in some places of names, and that
// are not among T-SQL's reserved ones (docs/t-sql/language-elements/reserved-keywords-transact-sql.md).
var wordsOfTheParser = strings.Fields(
	`ASYMMETRIC CALLER CATCH CERTIFICATE CONVERSATION COOKIE CREDENTIAL CUBE DECRYPTION DELAY DIALOG ENCRYPTION FAST
	FILESTREAM GET JOB LANGUAGE LOGIN MASTER MAXDOP MESSAGE MOVE NORESET NOREVERT NOTIFICATION NOWAIT OVERRIDE PASSWORD QUERY RECEIVE RETURNS ROLLUP
	SCOPED SEND STATS STATUSONLY SUBSCRIPTION SYMMETRIC THROW TIES TIME TRY TYPE WORK CONNECTION IGNORE PERIOD RANGE RESPECT ROWS`,
)

// placesOfNames are statements with a name, written %, in every place that has one.
var placesOfNames = []string{
	"SELECT 1 FROM t %", "SELECT 1 FROM t AS %", "SELECT 1 FROM dbo.f(1) %", "SELECT 1 FROM (SELECT 1 AS a) %",
	"SELECT 1 FROM (SELECT 1 AS a) AS % (a)",
	"SELECT 1 FROM (SELECT 1 AS a) % (a)", "SELECT 1 FROM (VALUES (1)) AS v (%)", "SELECT a % FROM t",
	"SELECT a AS % FROM t", "SELECT 1 %", "SELECT 'a' %, 2 AS %",
	"SELECT COUNT(*) % FROM t", "SELECT CASE WHEN 1 = 1 THEN 2 END % FROM t", "SELECT CASE a WHEN 1 THEN 2 END AS %, 3",
	"SELECT % = 1", "SELECT 1 AS a, % = 2",
	"SELECT % = a FROM t", "SELECT DISTINCT % FROM t", "SELECT TOP (1) % FROM t", "SELECT % INTO % FROM %",
	"SELECT %, % a, % AS b FROM t", "SELECT a, %, b FROM t",
	"SELECT %.% FROM %", "SELECT %.a FROM t AS %", "SELECT dbo.%.a, %.t.a, %.* FROM dbo.%, %.t", "SELECT % FROM t",
	"SELECT 1 FROM dbo.%", "SELECT 1 FROM %",
	"SELECT 1 FROM %.t", "SELECT 1 FROM %.dbo.t", "SELECT 1 FROM %..t", "SELECT 1 FROM t, %", "SELECT 1 FROM % AS x, % y",
	"SELECT 1 FROM % WITH (NOLOCK)", "SELECT 1 FROM t AS % WITH (NOLOCK)",
	"SELECT x.% FROM t AS x WHERE x.% = 1 ORDER BY %", "SELECT a FROM t ORDER BY % DESC, a, %",
	"SELECT a FROM t ORDER BY % OFFSET 1 ROWS", "SELECT a FROM t WHERE % = 1", "SELECT a FROM t WHERE 1 = %",
	"SELECT a FROM t WHERE (% = 1 OR (%) > 2)", "SELECT a FROM t WHERE % IN (1) AND % BETWEEN % AND % OR % LIKE 'a'",
	"SELECT a FROM t GROUP BY %", "SELECT SUM(a) OVER (PARTITION BY a, % ORDER BY a, %) FROM t",
	"SELECT * FROM t WITH (INDEX (a, %))", "SELECT * FROM t WITH (INDEX = %)", "CREATE VIEW v (%) AS SELECT 1",
	"ALTER SEQUENCE % RESTART WITH 1", "OPEN GLOBAL %", "SELECT a FROM t GROUP BY a, % HAVING MAX(%) > 1",
	"SELECT a FROM t WHERE a = 1 AND % = 2", "SELECT a FROM t WHERE % IS NULL", "SELECT a FROM t WHERE NOT % = 2",
	"SELECT a + %, % + 1, -%, a * %, % * a FROM t",
	"SELECT MAX(%), ISNULL(%, 1), ISNULL(1, %), dbo.%(1), %.f(%) FROM t", "SELECT CAST(% AS int), CONVERT(int, %) FROM t",
	"SELECT CASE WHEN % = 1 THEN % ELSE % END FROM t", "SELECT CASE % WHEN 1 THEN 2 END FROM t",
	"SELECT a FROM t WHERE a IN (SELECT % FROM u)", "SELECT SUM(a) OVER (PARTITION BY % ORDER BY %) FROM t",
	"SELECT 1 FROM t JOIN u % ON %.a = t.a", "SELECT 1 FROM t JOIN % ON % = 1",
	"SELECT 1 FROM t LEFT JOIN dbo.% x ON x.% = t.%",
	"SELECT 1 FROM t CROSS APPLY dbo.%(t.%) AS %", "SELECT 1 FROM t CROSS JOIN %",
	"SELECT 1 FROM t UNION SELECT % FROM % ORDER BY 1", "SELECT a FROM OPENJSON(@j) WITH (% int, b int '$.b')",
	"SELECT * FROM t PIVOT (SUM(%) FOR % IN ([1])) AS %", "SELECT % FROM t FOR XML PATH",
	"SELECT % COLLATE Latin1_General_BIN2 FROM t",
	"WITH % AS (SELECT 1 AS a) SELECT a FROM %", "WITH % (a) AS (SELECT 1) SELECT a FROM %",
	"WITH a AS (SELECT 1 AS a), % AS (SELECT 1 AS a) SELECT a FROM %",
	"WITH a AS (SELECT 1 AS a), % (a) AS (SELECT 1) SELECT a FROM %",
	"WITH c (%) AS (SELECT 1) SELECT % FROM c", "UPDATE t SET % = 1", "UPDATE t SET a = 1, % = % + 1, t.% = 2 WHERE % = 1",
	"UPDATE % SET a = 1", "UPDATE % SET % = 1 FROM t AS %", "UPDATE t SET % += 1 OUTPUT inserted.%, deleted.% AS %",
	"INSERT t (%) VALUES (1)", "INSERT INTO t (a, %, b) VALUES (1, 2, 3)", "INSERT % VALUES (1)",
	"INSERT INTO % (%) SELECT % FROM %", "INSERT INTO dbo.% (a) OUTPUT inserted.% VALUES (1)", "INSERT % EXEC %",
	"INSERT INTO % DEFAULT VALUES",
	"DELETE %", "DELETE FROM % WHERE a = 1", "DELETE % FROM t AS % WHERE %.% = 1",
	"MERGE t AS % USING u ON %.a = u.a WHEN MATCHED THEN DELETE;",
	"MERGE INTO % USING % AS s ON s.% = 1 WHEN MATCHED THEN UPDATE SET % = s.% WHEN NOT MATCHED THEN INSERT (%) " +
		"VALUES (s.%);", "TRUNCATE TABLE %",
	"CREATE TABLE t (% int)", "CREATE TABLE t (a int, % nvarchar(10) NOT NULL, b int)", "CREATE TABLE % (a int)",
	"CREATE TABLE dbo.% (% int)", "CREATE TABLE %.t (a int)", "CREATE TABLE t (a int CONSTRAINT % PRIMARY KEY)",
	"CREATE TABLE t (a int, % int, CONSTRAINT % PRIMARY KEY (a, %), UNIQUE (%), CHECK (% > 1), FOREIGN KEY (%) " +
		"REFERENCES % (%))", "CREATE TABLE t (% AS a + 1, a int)", "CREATE TABLE t (a %)", "CREATE TABLE t (a dbo.%)",
	"CREATE TABLE t (a int DEFAULT 1, INDEX % (%))",
	"DECLARE @t TABLE (% int)", "DECLARE @t dbo.%", "DECLARE @t %", "ALTER TABLE t ADD % int",
	"ALTER TABLE t ADD a int, % int", "ALTER TABLE t ALTER COLUMN % int", "ALTER TABLE t DROP COLUMN %",
	"ALTER TABLE t DROP CONSTRAINT %", "ALTER TABLE t DROP %", "ALTER TABLE dbo.t DROP %, COLUMN a",
	"ALTER TABLE t DROP COLUMN a, %", "ALTER TABLE % ADD a int",
	"ALTER TABLE t ADD CONSTRAINT % CHECK (% > 1)", "ALTER TABLE t ADD CONSTRAINT a FOREIGN KEY (%) REFERENCES % (%)",
	"ALTER TABLE t ADD CONSTRAINT a DEFAULT 1 FOR %", "ALTER TABLE t NOCHECK CONSTRAINT %",
	"ALTER TABLE t DISABLE TRIGGER %", "DROP TABLE %", "DROP TABLE IF EXISTS a, %",
	"CREATE INDEX % ON t (%)", "CREATE UNIQUE CLUSTERED INDEX % ON % (a, % DESC) INCLUDE (%)",
	"CREATE INDEX i ON t (a) INCLUDE (a, %) WHERE % = 1", "DROP INDEX % ON %", "ALTER INDEX % ON % REBUILD",
	"CREATE STATISTICS % ON % (%)", "UPDATE STATISTICS %", "DROP STATISTICS %.%",
	"EXEC %", "EXEC dbo.% 1", "EXEC % @a = 1", "EXEC %.p", "EXEC @r = %", "EXEC p %", "EXEC p @a = %", "EXECUTE % 1, 2",
	"CREATE PROCEDURE % AS SELECT 1", "CREATE PROCEDURE dbo.% @a int AS SELECT % FROM %",
	"CREATE PROCEDURE p @a % AS SELECT 1", "CREATE PROCEDURE p @a dbo.% READONLY AS SELECT 1 AS %",
	"ALTER PROCEDURE % AS SELECT 1", "DROP PROCEDURE %", "CREATE VIEW % AS SELECT 1 AS %",
	"CREATE VIEW v (%, a) AS SELECT 1, 2", "ALTER VIEW % AS SELECT % FROM t", "DROP VIEW %",
	"CREATE FUNCTION % (@a int) RETURNS int AS BEGIN RETURN @a END",
	"CREATE FUNCTION dbo.% () RETURNS % AS BEGIN RETURN 1 END",
	"CREATE FUNCTION f () RETURNS TABLE AS RETURN SELECT % FROM %",
	"CREATE FUNCTION f () RETURNS @t TABLE (% int, a int) AS BEGIN INSERT @t (%) SELECT % FROM %; RETURN END",
	"DROP FUNCTION %", "CREATE TRIGGER % ON t AFTER INSERT AS SELECT % FROM inserted",
	"CREATE TRIGGER g ON % AFTER INSERT AS SELECT 1", "DROP TRIGGER %", "DISABLE TRIGGER % ON %",
	"CREATE SCHEMA %", "CREATE SCHEMA % AUTHORIZATION %", "DROP SCHEMA %", "ALTER SCHEMA % TRANSFER dbo.%",
	"CREATE SYNONYM % FOR %", "CREATE SYNONYM dbo.% FOR x.dbo.%", "DROP SYNONYM %", "CREATE SEQUENCE % AS int",
	"SELECT NEXT VALUE FOR %", "DROP SEQUENCE %", "CREATE TYPE % FROM int", "CREATE TYPE dbo.% AS TABLE (% int)",
	"DROP TYPE %",
	"USE %", "SAVE TRANSACTION %", "BEGIN TRANSACTION %", "BEGIN TRAN %; COMMIT TRAN %", "ROLLBACK TRANSACTION %",
	"DECLARE % CURSOR FOR SELECT % FROM %", "OPEN %; FETCH NEXT FROM % INTO @a; CLOSE %; DEALLOCATE %",
	"DELETE t WHERE CURRENT OF %", "IF EXISTS (SELECT % FROM %) SELECT %",
	"BEGIN TRY SELECT % FROM % END TRY BEGIN CATCH SELECT 1 % END CATCH",
	"BEGIN SELECT CASE WHEN 1 = 1 THEN 2 END % FROM t END",
	"BEGIN TRY SELECT CASE WHEN 1 = 1 THEN 2 END % FROM t END TRY BEGIN CATCH SELECT 1 END CATCH",
	"SELECT 1 FROM a WITH (NOLOCK), %", "SELECT 1 FROM a WITH (NOLOCK), % WITH (NOLOCK)", "SET @a = (SELECT % FROM t)",
	"RETURN %", "SET IDENTITY_INSERT % ON", "GRANT SELECT ON % TO %", "GRANT SELECT ON dbo.% TO a",
	"GRANT SELECT ON SCHEMA::% TO a", "DENY SELECT ON t (%) TO a",
	"CREATE DATABASE %", "DROP DATABASE %", "ALTER DATABASE % SET RECOVERY FULL", "CREATE LOGIN % WITH PASSWORD = 'x'",
	"CREATE USER % FOR LOGIN %", "CREATE ROLE %", "ALTER ROLE % ADD MEMBER %", "DROP USER %",
	"BACKUP DATABASE % TO DISK = 'a'",
	"SELECT a.value('.', 'int') % FROM t",
	"SELECT %.value('.', 'int'), t.%.value('.', 'int') FROM t CROSS APPLY %.nodes('/a') AS % (%)",
	"UPDATE t SET %.modify('delete /a')", "SELECT %\n FROM % GROUP BY % ORDER BY %;",
	"CREATE PARTITION FUNCTION % (int) AS RANGE FOR VALUES (1)", "CREATE PARTITION SCHEME % AS PARTITION % ALL TO (%)",
	"CREATE TABLE t (a int) ON %", "CREATE TABLE t (a int) ON % (a)",
}

func TestEveryWordThatIsNotReservedIsANameEverywhere(t *testing.T) {
	const other = "Qqzx" // a word of no grammar
	for _, place := range placesOfNames {
		want := outcome(strings.ReplaceAll(place, "%", other))
		if strings.HasPrefix(want, "Msg") {
			t.Errorf("%s\n\thas %s", place, want)
		}
		for _, word := range wordsOfTheParser {
			bare, bracketed := outcome(strings.ReplaceAll(place, "%", word)),
				outcome(strings.ReplaceAll(place, "%", "["+word+"]"))
			if bare != bracketed || word != "TIME" && bare != strings.ReplaceAll(want, other, word) { // TIME is also a type
				t.Errorf(
					"%s\n\thas %s\n\tand %s in brackets\n\tand %s for another name",
					strings.ReplaceAll(place, "%", word),
					bare,
					bracketed,
					want,
				)
			}
		}
	}
}

func TestLabelsMayHaveTheNamesOfStatements(t *testing.T) {
	for _, word := range append([]string{"COPY", "RENAME", "ENABLE", "DISABLE"}, wordsOfTheParser...) {
		for _, place := range []string{"GOTO % %:", "SELECT 1 %: SELECT 2", "SELECT 1\n%:\nSELECT 2",
			"WHILE 1 = 1 BEGIN GOTO % END %: RETURN"} {
			got, want := outcome(strings.ReplaceAll(place, "%", word)),
				strings.ReplaceAll(outcome(strings.ReplaceAll(place, "%", "Qqzx")), "Qqzx", word)
			if got != want || strings.HasPrefix(want, "Msg") {
				t.Errorf("%s of %s\n\thas %s\n\tand %s for another name", place, word, got, want)
			}
		}
	}
}

// A batch may begin with the name of the procedure that it calls
// (docs/t-sql/language-elements/execute-transact-sql.md), whatever that is called.
func TestEveryWordThatIsNotReservedIsAProcedureAtTheBeginOfABatch(t *testing.T) {
	for _, word := range append([]string{"ENABLE", "DISABLE"}, wordsOfTheParser...) {
		for _, place := range []string{"%", "% 1", "% 'a', 2", "% @a = 1", "% @a = @b OUTPUT; SELECT 1", "% @a", "% b",
			"%.p 1", "%..p", "%;\nSELECT 1"} {
			if word == "THROW" && slices.Contains([]string{"%", "% 1", "% @a", "%;\nSELECT 1"}, place) {
				continue
			}
			bare, bracketed := strings.ReplaceAll(place, "%", word), strings.ReplaceAll(place, "%", "["+word+"]")
			if got, want := outcome(bare), outcome(bracketed); got != want || strings.HasPrefix(want, "Msg") {
				t.Errorf("%s\n\thas %s\n\tand %s in brackets", bare, got, want)
			}
		}
	}
}

// outcome is what Parse makes of a text: its statements without their positions and the quotes of their names, or the
// error.
func outcome(text string) string {
	batch, err := syntax.Parse(text)
	if err != nil {
		return fmt.Sprintf("Msg %d, Level %d, State %d, Line %d: %s", err.Number, err.Class, err.State, err.Line, err.Message)
	}
	var out strings.Builder
	for _, s := range batch.Statements {
		meaning(&out, reflect.ValueOf(s.Node))
	}
	return out.String()
}

func meaning(out *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			meaning(out, v.Elem())
		}
	case reflect.Slice:
		out.WriteString("[")
		for i := range v.Len() {
			meaning(out, v.Index(i))
			out.WriteString(" ")
		}
		out.WriteString("]")
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[ast.Fragment]() {
			return
		}
		out.WriteString(v.Type().Name() + "{")
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "QuoteType" && !v.Field(i).IsZero() {
				out.WriteString(name + ":")
				meaning(out, v.Field(i))
				out.WriteString(" ")
			}
		}
		out.WriteString("}")
	default:
		fmt.Fprint(out, v)
	}
}

// Words that are names elsewhere keep their meaning where the grammar has them.
func TestWordsThatAreNotReservedAreKeywordsInTheirPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT fast, maxdop FROM fast OPTION (FAST 10, MAXDOP 2)":                                            "HintKind:Fast",
		"SELECT maxdop AS fast FROM t OPTION (MAXDOP 2)":                                                      "HintKind:MaxDop",
		"SELECT TOP 1 WITH TIES ties FROM t ORDER BY ties":                                                    "WithTies:true",
		"SELECT TOP (1) PERCENT WITH TIES (ties) FROM t ORDER BY ties":                                        "WithTies:true",
		"SELECT cube FROM t GROUP BY cube WITH CUBE":                                                          "GroupByOption:Cube",
		"SELECT rollup FROM t GROUP BY rollup WITH ROLLUP":                                                    "GroupByOption:Rollup",
		"SELECT rollup, cube FROM t GROUP BY ROLLUP (rollup, cube)":                                           "RollupGroupingSpecification",
		"SELECT cube, a FROM t GROUP BY GROUPING SETS (CUBE (cube, a), a)":                                    "CubeGroupingSpecification",
		"SELECT try FROM t BEGIN TRY SELECT CASE 1 WHEN 1 THEN 2 END try END TRY BEGIN CATCH END CATCH":       "TryCatchStatement",
		"SELECT throw FROM throw; THROW 50000, 'a', 1":                                                        "ThrowStatement",
		"IF 1 = 1 THROW 50000, 'a', 1 ELSE THROW":                                                             "ElseStatement:ThrowStatement",
		"CREATE PROCEDURE throw AS THROW 50000, 'a', 1":                                                       "ThrowStatement",
		"RAISERROR ('a', 1, 1) WITH LOG, NOWAIT":                                                              "NoWait",
		"SELECT nowait FROM t (NOWAIT)":                                                                       "HintKind:NoWait",
		"SELECT nowait FROM t AS nowait WITH (NOWAIT, NOLOCK)":                                                "HintKind:NoWait",
		"SEND ON CONVERSATION @h MESSAGE TYPE [a] (@b)":                                                       "SEND ON CONVERSATION is not supported",
		"GET CONVERSATION GROUP @g FROM q":                                                                    "GetConversationGroupStatement",
		"DROP INDEX i ON t WITH (ONLINE = ON, MOVE TO move)":                                                  "MoveToDropIndexOption",
		"ALTER TABLE t DROP CONSTRAINT move WITH (MOVE TO move)":                                              "MoveTo",
		"DBCC CHECKDB (query, NOINDEX) WITH PHYSICAL_ONLY, MAXDOP = 2":                                        "OptionKind:MAXDOP",
		"ALTER TABLE t ALTER COLUMN filestream varbinary(max) SPARSE FILESTREAM NULL":                         "FileStream",
		"CREATE TABLE t (filestream varbinary(max) SPARSE FILESTREAM)":                                        "IsFileStream",
		"DBCC SHOWCONTIG (fast, fast) WITH FAST":                                                              "OptionKind:Fast",
		"DBCC SHOWCONTIG (fast, fast) WITH TABLERESULTS, FAST":                                                "OptionKind:Fast",
		"CREATE BROKER PRIORITY conversation FOR CONVERSATION SET (PRIORITY_LEVEL = 5)":                       "PriorityLevel",
		"BEGIN DIALOG @h FROM SERVICE a TO SERVICE 'b' WITH RELATED_CONVERSATION = @r, ENCRYPTION = ON":       "BeginDialogStatement",
		"END CONVERSATION '4fb5ff1c-3c70-4aeb-8d53-1d0a5a0d4c11' WITH CLEANUP":                                "EndConversationStatement",
		"RECEIVE @v = CASE WHEN receive = 'X' THEN receive ELSE NULL END FROM receive":                        "ReceiveStatement",
		"EXEC p WITH RESULT SETS (AS TYPE dbo.type, AS OBJECT type, AS TYPE type)":                            "ResultSetType:Type",
		"OPEN SYMMETRIC KEY password DECRYPTION BY PASSWORD = 'p'":                                            "OpenSymmetricKeyStatement",
		"OPEN SYMMETRIC KEY k DECRYPTION BY CERTIFICATE password WITH PASSWORD = 'p'":                         "OpenSymmetricKeyStatement",
		"ALTER SYMMETRIC KEY k ADD ENCRYPTION BY PASSWORD = 'p'":                                              "AlterSymmetricKeyStatement",
		"CREATE ASYMMETRIC KEY password WITH ALGORITHM = RSA_2048 ENCRYPTION BY PASSWORD = 'p'":               "CreateAsymmetricKeyStatement",
		"CREATE SYMMETRIC KEY password WITH ALGORITHM = AES_256 ENCRYPTION BY PASSWORD = 'p'":                 "CryptoMechanismType:Password",
		"CREATE APPLICATION ROLE password WITH PASSWORD = 'p', DEFAULT_SCHEMA = password":                     "OptionKind:Password",
		"ALTER FULLTEXT STOPLIST language ADD 'a' LANGUAGE [English]":                                         "AlterFullTextStopListStatement",
		"THROW\nTHROW 50000, 'a', 1":                                                                          "ThrowStatement",
		"MOVE CONVERSATION @h TO @g":                                                                          "MoveConversationStatement",
		"RECEIVE TOP (1) @h = conversation_handle FROM receive":                                               "ReceiveStatement",
		"THROW @number, @text, 1":                                                                             "ThrowStatement",
		"THROW; SELECT 1":                                                                                     "ThrowStatement",
		"END CONVERSATION @h":                                                                                 "EndConversationStatement",
		"BEGIN DIALOG CONVERSATION @h FROM SERVICE a TO SERVICE 'b' ON CONTRACT c WITH ENCRYPTION = OFF":      "BeginDialogStatement",
		"SELECT 1; RECEIVE TOP (1) * FROM receive":                                                            "ReceiveStatement",
		"CREATE MESSAGE TYPE message VALIDATION = NONE":                                                       "CreateMessageTypeStatement",
		"CREATE SYMMETRIC KEY symmetric WITH ALGORITHM = AES_256 ENCRYPTION BY CERTIFICATE certificate":       "CreateSymmetricKeyStatement",
		"OPEN SYMMETRIC KEY k DECRYPTION BY CERTIFICATE certificate":                                          "OpenSymmetricKeyStatement",
		"CLOSE ALL SYMMETRIC KEYS":                                                                            "CloseSymmetricKeyStatement",
		"CREATE CREDENTIAL credential WITH IDENTITY = 'a', SECRET = 'b'":                                      "CreateCredentialStatement",
		"CREATE TABLE t (time time(3), filestream varbinary(max) FILESTREAM)":                                 "IsFileStream",
		"SELECT time AT TIME ZONE 'UTC' FROM t":                                                               "AtTimeZoneCall",
		"CREATE FUNCTION returns (@a int) RETURNS int WITH RETURNS NULL ON NULL INPUT AS BEGIN RETURN @a END": "ScalarFunctionReturnType",
		"CREATE TABLE t (period int, a datetime2 GENERATED ALWAYS AS ROW START, b datetime2 GENERATED ALWAYS AS ROW END, " +
			"PERIOD FOR SYSTEM_TIME (a, b))": "SystemTimePeriodDefinition",
		"CREATE TABLE connection (connection int, CONSTRAINT connection CONNECTION (a TO b)) AS EDGE": "GraphConnectionConstraintDefinition",
		"SELECT FIRST_VALUE(a) IGNORE NULLS OVER (ORDER BY a) ignore FROM t":                          "IgnoreRespectNulls",
		"SELECT SUM(a) OVER (PARTITION BY rows ORDER BY rows ROWS UNBOUNDED PRECEDING) FROM t":        "WindowFrameType:Rows",
		"ALTER TABLE period DROP PERIOD FOR SYSTEM_TIME":                                              "TableElementType:Period",
		"SELECT a FROM t ORDER BY rows OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY":                          "OffsetClause",
		"SET STATISTICS TIME ON":     "SetStatisticsStatement",
		"SET STATISTICS IO, TIME ON": "SetStatisticsStatement",
		"COMMIT WORK":                "CommitTransactionStatement",
		"WITH encryption AS (SELECT 1 AS a), cube (a) AS (SELECT 1) SELECT a FROM cube GROUP BY CUBE (a)": "CubeGroupingSpecification",
	} {
		if got := outcome(text); !strings.Contains(got, want) {
			t.Errorf("%s\n\thas %s\n\tand lacks %s", text, got, want)
		}
	}
}

func TestDelimitersComeOffOnce(t *testing.T) {
	for text, want := range map[string]string{`EXEC p "[dbo].[t]"`: "Value:[dbo].[t]", "EXEC p [[a]]]": "Value:[a]",
		"BEGIN TRANSACTION [[a]]]": "Value:[a]", "SELECT 1 AS [[a]]]": "Value:[a]"} {
		if got := outcome(text); !strings.Contains(got, want) {
			t.Errorf("%s\n\thas %s\n\tand lacks %s", text, got, want)
		}
	}
}
