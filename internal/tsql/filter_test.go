// SPDX-License-Identifier: Apache-2.0

package tsql_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/tsql"
)

// A filter is one condition. Whatever could end the statement into which the engine puts it is refused, and nothing
// that is only a name or a text.
func TestAFilterIsOneCondition(t *testing.T) {
	for clause, refused := range map[string]string{
		"Region = N'EU'":                                       "",
		"[Drop] = 1 AND \"Exec\" > 2":                          "",
		"Note <> N'; DROP TABLE dbo.Orders --'":                "",
		"Name = 'O''Brien; GO' OR [a]];b] = 1":                 "",
		"(a = 1 OR (b = 2)) AND c IN (1, 2, 3)":                "",
		"CASE WHEN a > 0 THEN 1 ELSE 0 END = 1":                "",
		"EXISTS (SELECT 1 FROM dbo.Sites AS s WHERE s.Id = x)": "",
		"Updated >= '2026-01-01' AND Dropped = 0":              "",
		"Größe > 5 AND SetName LIKE N'%[_]%'":                  "",
		"a BETWEEN -1 AND 5 - 3":                               "",
		"1 = 1; DROP TABLE dbo.Orders":                         "semicolon",
		"1 = 1) DROP TABLE dbo.Orders --":                      "not opened",
		"1 = 1 DROP TABLE dbo.Orders":                          "DROP is not part",
		"1 = 1DROP TABLE dbo.Orders":                           "DROP is not part",
		"a1 = 0x1F OR b = 1e5":                                 "",
		"1 = 1 eXeC sp_who":                                    "eXeC is not part",
		"1 = 1 -- and no more":                                 "comment",
		"1 /* = 1":                                             "comment",
		"1 = 1 */ + 1":                                         "comment",
		"(1 = 1":                                               "not closed",
		"1 = 1 UNION ALL SELECT 2":                             "UNION is not part",
		"a = 'x":                                               "does not end",
		"[a = 1":                                               "does not end",
		"\"a = 1":                                              "does not end",
		"a = 'x''":                                             "does not end",
		"a = @@SPID":                                           "no variables",
		"1 = 1\nGO\nSHUTDOWN":                                  "GO is not part",
		"a IN (SELECT 1 FROM OPENROWSET(BULK N'/etc/passwd', SINGLE_CLOB) AS x)": "OPENROWSET is not part",
		"1 = 1\x00": "has no place",
	} {
		g := NewWithT(t)
		err := tsql.CheckFilter(clause)
		if refused == "" {
			g.Expect(err).NotTo(HaveOccurred(), clause)
			continue
		}
		g.Expect(err).To(MatchError(ContainSubstring(refused)), clause)
	}
	g := NewWithT(t)
	g.Expect(tsql.CheckFilter(strings.Repeat("(", 1000) + strings.Repeat(")", 1000))).To(Succeed())
}
