// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	"geosql.dev/standin/syntax"
)

// FuzzParse gives any text to the parsers: a batch, a declaration of parameters, a type. Nothing may panic or hang, and
// an error must have a number and a line within the text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"SELECT TOP (1) a, b AS [c d] FROM dbo.t AS t INNER JOIN u ON t.id = u.id WHERE a LIKE N'x%' ORDER BY 1 " +
			"OFFSET 1 ROWS",
		"CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = EXTERNAL) FOR DATABASE [d] REPLICA ON N'a' WITH " +
			"(ENDPOINT_URL = N'tcp://a:5022', FAILOVER_MODE = EXTERNAL)",
		"BACKUP DATABASE [d] TO DISK = N'/x' WITH INIT, COMPRESSION, STATS = 10",
		"MERGE t USING s ON t.i = s.i WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (i) VALUES (s.i);",
		"BEGIN TRY THROW 50000, 'x', 1 END TRY BEGIN CATCH PRINT ERROR_MESSAGE() END CATCH",
		"CREATE PROCEDURE p @a int = 1, @b nvarchar(max) OUTPUT AS WHILE @a < 3 SET @a += 1",
		"@p1 int,@p2 nvarchar(20) OUTPUT", "decimal(38, 4)", "/* /* nested */ */ SELECT 'it''s' -- end", "((((((((((",
		"IF 1=1 IF 1=1 IF 1=1 ELSE",
		"ALTER LOGIN [a] WITH PASSWORD = 0x0200 HASHED, SID = 0x01", "\x00\xff\u2028N'",
		"GRANT SELECT ON OBJECT::dbo.t TO u WITH GRANT OPTION",
	} {
		f.Add(text)
	}
	for _, text := range documented {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := syntax.Parse(text)
		if (b == nil) == (err == nil) {
			t.Errorf("neither a batch nor an error, or both: %q", text)
		}
		if err != nil && (err.Number == 0 || err.Line < 0) {
			t.Errorf("error %+v", err)
		}
		if _, err := syntax.ParseParameters(text); err != nil && err.Number == 0 {
			t.Errorf("error %+v", err)
		}
		if _, err := syntax.ParseType(text); err != nil && err.Number == 0 {
			t.Errorf("error %+v", err)
		}
	})
}
