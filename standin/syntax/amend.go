// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"
)

// aliasBeforeHints writes the alias of MERGE's target in front of its table hints: teesql knows no other order, SQL
// Server only that of MERGE INTO t WITH (HOLDLOCK) AS a (docs/t-sql/statements/merge-transact-sql.md, Syntax).
func aliasBeforeHints(tokens []token, inside []bool, before, instead map[int]string) {
	for i := range tokens {
		if inside[i] || !tokens[i].is("MERGE") {
			continue
		}
		with := afterMergeName(tokens, i)
		if with+2 >= len(tokens) || !tokens[with].is("WITH") || !tokens[with+1].is("(") {
			continue
		}
		at := closingParenthesis(tokens, with+1) + 1
		if at < 1 || at+1 >= len(tokens) {
			continue
		}
		as := at
		if tokens[at].is("AS") {
			at++
		}
		if t := tokens[at]; t.kind != tokenQuoted && (t.kind != tokenWord || t.reserved || t.is("USING")) {
			continue
		}
		before[with] += "AS " + tokens[at].text + " "
		instead[as], instead[at] = "", ""
	}
}

// optionBehindFor writes OPTION (...) behind a FOR XML or FOR JSON that follows it: teesql knows the order of the
// grammar alone (docs/t-sql/queries/select-transact-sql.md, Syntax), which SQL Server does not insist on.
func optionBehindFor(tokens []token, inside []bool, before, instead map[int]string) {
	for i := range tokens {
		if inside[i] || !tokens[i].is("OPTION") || i+1 >= len(tokens) || !tokens[i+1].is("(") {
			continue
		}
		end := closingParenthesis(tokens, i+1)
		if end < 0 || end+3 >= len(tokens) || !tokens[end+1].is("FOR") || !tokens[end+2].isOneOf("XML", "JSON") {
			continue
		}
		at := end + 3
		for ; at < len(tokens); at++ {
			if at+1 < len(tokens) && tokens[at+1].is("(") {
				at = closingParenthesis(tokens, at+1)
			}
			if at < 0 || at+1 >= len(tokens) || !tokens[at+1].is(",") {
				break
			}
			at++
		}
		if at < 0 || at+1 >= len(tokens) {
			continue
		}
		hints := ""
		for j := i; j <= end; j++ {
			hints += tokens[j].text + " "
			instead[j] = ""
		}
		before[at+1] += " " + hints
	}
}

// afterMergeName is the token after MERGE [TOP (n) [PERCENT]] [INTO] name; it may be beyond the last one.
func afterMergeName(tokens []token, at int) int {
	last := len(tokens) - 1
	token := func(i int) token { return tokens[min(i, last)] }
	at++
	if token(at).is("TOP") {
		if at++; token(at).is("(") {
			at = max(closingParenthesis(tokens, min(at, last)), at) + 1
		}
		if token(at).is("PERCENT") {
			at++
		}
	}
	if token(at).is("INTO") {
		at++
	}
	for at++; token(at).is("."); {
		at += 2
	}
	return at
}

// tableOfIndex turns DROP INDEX schema.table.index, the old form, into DROP INDEX index ON schema.table: teesql reads
// no more than two parts.
func tableOfIndex(tokens []token, inside []bool, before, instead map[int]string) {
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].is("DROP") || !tokens[i+1].is("INDEX") {
			continue
		}
		at := i + 2
		if tokens[at].is("IF") {
			at += 2
		}
		for at < len(tokens) && isName(tokens[at]) {
			end := at
			for end+2 < len(tokens) && tokens[end+1].is(".") && isName(tokens[end+2]) {
				end += 2
			}
			if end-at >= 4 {
				before[at] += tokens[end].text + " ON "
				instead[end-1], instead[end] = "", ""
			}
			if end+1 >= len(tokens) || !tokens[end+1].is(",") {
				break
			}
			at = end + 2
		}
	}
}

// notNullOfIdentity leaves out NOT NULL behind IDENTITY, which an identity column is anyway: behind a constraint
// (PRIMARY KEY IDENTITY NOT NULL) teesql looks there for NOT FOR REPLICATION alone, and keeps NULL.
func notNullOfIdentity(tokens []token, inside []bool, instead map[int]string) {
	for i := range tokens {
		if inside[i] || !tokens[i].is("IDENTITY") {
			continue
		}
		at := i + 1
		if at < len(tokens) && tokens[at].is("(") {
			if at = closingParenthesis(tokens, at) + 1; at < 1 {
				continue
			}
		}
		if at+1 < len(tokens) && tokens[at].is("NOT") && tokens[at+1].is("NULL") {
			instead[at], instead[at+1] = "", ""
		}
	}
}

// checksAdded leaves out NOT FOR REPLICATION behind the CHECK of a table in ALTER TABLE ADD, where teesql does not read
// it.
func checksAdded(tokens []token, inside []bool, instead map[int]string) {
	for i := 1; i+4 < len(tokens); i++ {
		if inside[i] || !tokens[i].is("CHECK") || !tokens[i+1].is("NOT") || !tokens[i+2].is("FOR") ||
			!tokens[i+3].is("REPLICATION") {
			continue
		}
		before := i - 1
		if i > 2 && tokens[i-2].is("CONSTRAINT") {
			before = i - 3
		}
		if tokens[before].is("ADD") || tokens[before].is(",") && inListOfADD(tokens, before) {
			instead[i+1], instead[i+2], instead[i+3] = "", "", ""
		}
	}
}

// notForReplication notes what checksAdded has left out.
func (f *finisher) notForReplication(n *ast.AlterTableAddTableElementStatement) {
	for _, c := range n.Definition.TableConstraints {
		check, ok := c.(*ast.CheckConstraintDefinition)
		if !ok {
			continue
		}
		at := f.tokenOf(check.CheckCondition) - 1
		for at > 0 && f.tokens[at].is("(") {
			at--
		}
		check.NotForReplication = check.NotForReplication || at > 0 && f.tokens[at].is("REPLICATION")
	}
}

func isName(t token) bool {
	return t.kind == tokenQuoted || t.kind == tokenWord && !t.reserved
}

// columnMark parts the name of a data modification in a FROM clause from the names of its columns, which teesql does
// not read: FROM (MERGE ... OUTPUT ...) AS c (a, b) is given to it as AS [c,,a,,b] with marks for commas.
const columnMark = "\x1f"

func columnsOfChange(tokens []token, inside []bool, instead map[int]string) {
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].is("(") || i == 0 || !tokens[i-1].is("FROM") || !changesData(tokens[i+1]) {
			continue
		}
		at := closingParenthesis(tokens, i) + 1
		if at < 1 {
			continue
		}
		if tokens[at].is("AS") {
			at++
		}
		if !isName(tokens[at]) || at+1 >= len(tokens) || !tokens[at+1].is("(") {
			continue
		}
		end := closingParenthesis(tokens, at+1)
		if end < 0 {
			continue
		}
		name := tokens[at].value
		for j := at + 1; j <= end; j++ {
			if isName(tokens[j]) {
				name += columnMark + tokens[j].value
			}
			instead[j] = ""
		}
		instead[at] = "[" + strings.ReplaceAll(name, "]", "]]") + "]"
	}
}

func changesData(t token) bool {
	return t.is("INSERT") || t.is("UPDATE") || t.is("DELETE") || t.is("MERGE")
}

// ChangeAlias is the name of a data modification in a FROM clause, and those of its columns when they are listed.
func ChangeAlias(n *ast.DataModificationTableReference) (string, []string) {
	if n.Alias == nil {
		return "", nil
	}
	parts := strings.Split(n.Alias.Value, columnMark)
	return parts[0], parts[1:]
}

// CurrentFunction is the name of the function that Parse makes of WHERE CURRENT OF [GLOBAL] cursor, which teesql reads
// in DELETE only: [current$](N'cursor') = 1, or N'GLOBAL cursor'.
const CurrentFunction = "current$"

func currentOf(tokens []token, inside []bool, instead map[int]string) {
	for i := 1; i+2 < len(tokens); i++ {
		if inside[i] || !tokens[i-1].is("WHERE") || !tokens[i].is("CURRENT") || !tokens[i+1].is("OF") {
			continue
		}
		at, global := i+2, ""
		if tokens[at].is("GLOBAL") && isName(tokens[at+1]) {
			at, global = at+1, "GLOBAL "
		}
		if !isName(tokens[at]) && tokens[at].kind != tokenVariable {
			continue
		}
		name := tokens[at].value
		if tokens[at].kind == tokenVariable {
			name = tokens[at].text
		}
		for j := i; j < at; j++ {
			instead[j] = ""
		}
		instead[at] = "[" + CurrentFunction + "](N" + stringLiteral(global+name) + ") = 1"
	}
}

// UnwantedStatus is the variable that Parse has a procedure's status put into where the statement names none: no
// variable of that name exists.
const UnwantedStatus = "@__unwanted_status"

// namedByVariable writes EXEC @status = @name argument for EXEC @name argument: teesql knows arguments of a procedure
// that a variable names in the former alone (docs/t-sql/language-elements/execute-transact-sql.md, @module_name_var).
func namedByVariable(tokens []token, inside []bool, before map[int]string) {
	for i := 0; i+2 < len(tokens); i++ {
		if inside[i] || !tokens[i].isOneOf("EXEC", "EXECUTE") || tokens[i+1].kind != tokenVariable {
			continue
		}
		switch next := tokens[i+2]; {
		case next.kind == tokenString,
			next.kind == tokenInteger,
			next.kind == tokenVariable,
			next.is("NULL"),
			next.is("DEFAULT"),
			next.is("-"),
			next.kind != tokenWord && next.text != "" && strings.ContainsRune("0123456789$.", rune(next.text[0])):
			before[i+1] += UnwantedStatus + " = "
		}
	}
}

// withoutTables writes a condition before the FOR JSON and FOR XML of a query that has no FROM clause: teesql takes FOR
// for the name of its last column there.
func withoutTables(tokens []token, inside []bool, before map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].is("FOR") || !tokens[i+1].isOneOf("JSON", "XML") {
			continue
		}
		depth := 0
	back:
		for at := i - 1; at >= 0; at-- {
			switch t := tokens[at]; {
			case t.is(")"):
				depth++
			case t.is("(") && depth == 0, t.is(";"):
				break back
			case t.is("("):
				depth--
			case depth > 0:
			case t.is("SELECT"):
				before[i] += "WHERE 1 = 1 "
				break back
			case t.isOneOf("FROM", "WHERE", "ORDER", "GROUP", "HAVING", "UNION"):
				break back
			}
		}
	}
}

// emptyBody writes RETURN for the body of a procedure that has none, and leaves out semicolons before the first
// statement of one.
func emptyBody(tokens []token, before, instead map[int]string) {
	at := moduleBody(tokens, "PROCEDURE")
	if at == 0 {
		return
	}
	for ; tokens[at].is(";"); at++ {
		instead[at] = ""
	}
	if tokens[at].kind == tokenEnd {
		before[at] += " RETURN"
	}
}

// partsLeftOut leaves out the dots before the name of a function that a batch defines, which stand for the schema and
// the database.
func partsLeftOut(tokens []token, instead map[int]string) {
	at, kind := moduleName(tokens)
	for ; kind == "FUNCTION" && tokens[at].is("."); at++ {
		instead[at] = ""
	}
}
