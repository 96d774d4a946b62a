// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/syntax"
)

// TestNestingIsBounded: what is nested too deeply is error 191, and what is merely long is not.
func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	times := strings.Repeat
	const many = 50_000
	for name, text := range map[string]string{
		"parentheses": "SELECT " + times("(", many) + "1" + times(")", many), "open parentheses": "SELECT " +
			times("(", many), "conditions": "SELECT 1 WHERE " + times("(", many) + "1=1" + times(")", many),
		"subqueries": "SELECT " + times("(SELECT ", many) + "1" + times(")", many), "derived tables": "SELECT 1 FROM " +
			times("(SELECT 1 AS a FROM ", many) + "t" + times(") AS d", many),
		"functions": "SELECT " + times("ABS(", many) + "1" + times(")", many), "CASE": "SELECT " +
			times("CASE WHEN 1=1 THEN ", many) + "1" + times(" END", many),
		"NOT": "SELECT 1 WHERE " + times("NOT ", many) + "1=1", "signs": "SELECT " + times("- ", many) + "1",
		"tildes": "SELECT " + times("~", many) + "1",
		"BEGIN":  times("BEGIN ", many) + "SELECT 1 " + times("END ", many), "IF": times("IF 1=1 ", many) + "SELECT 1",
		"WHILE": times("WHILE 1=1 ", many) + "BREAK",
		"ELSE":  times("IF 1=0 SELECT 1 ELSE ", many) + "SELECT 2", "IF and BEGIN": times("IF 1=1 BEGIN ", many) +
			"SELECT 1" +
			times(" END", many),
		"sums": "SELECT 1" + times("+1", many), "AND": "SELECT 1 WHERE 1=1" + times(" AND 1=1", many), "UNION": "SELECT 1" +
			times(" UNION ALL SELECT 1", many),
		"COLLATE": "SELECT 'a'" + times(" COLLATE Latin1_General_CI_AS", many), "signs and parentheses": "SELECT " +
			times("-(", many) + "1" + times(")", many),
		"IF twice": times("IF 1=0 IF 1=0 SELECT 1 ELSE ", many), "IF UPDATE": "CREATE TRIGGER r ON t AFTER UPDATE AS " +
			times("IF UPDATE(a) ", many) + "RETURN",
		"joins": "SELECT 1 FROM " + times("(", many) + "t" + times(")", many),
	} {
		_, err := syntax.Parse(text)
		if err == nil || err.Number != 191 {
			t.Errorf("%s: %v", name, err)
		}
	}
	const some = 1500
	for name, text := range map[string]string{
		"list": "SELECT 1 WHERE 1 IN (1" + times(",-1", some) + ")", "statements": times("SELECT -1 UNION SELECT (2) ", some),
		"conditions":   times("IF 1=1 SELECT 1 ", some),
		"else":         times("IF 1=1 SELECT 1 ELSE SELECT 2 ", some),
		"blocks":       times("IF 1=1 BEGIN SELECT 1 END ELSE BEGIN SELECT CASE 1 WHEN 1 THEN 1 ELSE 2 END END ", some),
		"collations":   "SELECT 'a' COLLATE Latin1_General_CI_AS" + times(", 'a' COLLATE Latin1_General_CI_AS", some),
		"AND":          "SELECT 1 WHERE 1=1" + times(" AND NOT 1=2", some),
		"values":       "INSERT t VALUES (1)" + times(", (CASE 1 WHEN 1 THEN -1 ELSE 2 END)", some),
		"transactions": times("BEGIN TRAN COMMIT ", some), "loops": times("WHILE 1=1 BREAK ", some),
		"differences": "SELECT 1" + times(" -(1)", some), "drops": times("DROP TABLE IF EXISTS t ", some),
	} {
		_, err := syntax.Parse(text)
		NewWithT(t).Expect(err).To(BeNil(), name)
	}
}
