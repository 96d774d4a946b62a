// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax/token"
)

// aliasBeforeHints writes the alias of MERGE's target in front of its table hints: teesql knows no other order, SQL
// Server only that of MERGE INTO t WITH (HOLDLOCK) AS a (docs/t-sql/statements/merge-transact-sql.md, Syntax).
func aliasBeforeHints(tokens []token.Token, inside []bool, before, instead map[int]string) {
	for i := range tokens {
		if inside[i] || !tokens[i].Is("MERGE") {
			continue
		}
		with := afterMergeName(tokens, i)
		if with+2 >= len(tokens) || !tokens[with].Is("WITH") || !tokens[with+1].Is("(") {
			continue
		}
		at := token.ClosingParenthesis(tokens, with+1) + 1
		if at < 1 || at+1 >= len(tokens) {
			continue
		}
		as := at
		if tokens[at].Is("AS") {
			at++
		}
		if t := tokens[at]; t.Kind != token.Quoted && (t.Kind != token.Word || t.Reserved || t.Is("USING")) {
			continue
		}
		before[with] += "AS " + tokens[at].Text + " "
		instead[as], instead[at] = "", ""
	}
}

// optionBehindFor writes OPTION (...) behind a FOR XML or FOR JSON that follows it: teesql knows the order of the
// grammar alone (docs/t-sql/queries/select-transact-sql.md, Syntax), which SQL Server does not insist on.
func optionBehindFor(tokens []token.Token, inside []bool, before, instead map[int]string) {
	for i := range tokens {
		if inside[i] || !tokens[i].Is("OPTION") || i+1 >= len(tokens) || !tokens[i+1].Is("(") {
			continue
		}
		end := token.ClosingParenthesis(tokens, i+1)
		if end < 0 || end+3 >= len(tokens) || !tokens[end+1].Is("FOR") || !tokens[end+2].IsOneOf("XML", "JSON") {
			continue
		}
		at := end + 3
		for ; at < len(tokens); at++ {
			if at+1 < len(tokens) && tokens[at+1].Is("(") {
				at = token.ClosingParenthesis(tokens, at+1)
			}
			if at < 0 || at+1 >= len(tokens) || !tokens[at+1].Is(",") {
				break
			}
			at++
		}
		if at < 0 || at+1 >= len(tokens) {
			continue
		}
		hints := ""
		for j := i; j <= end; j++ {
			hints += tokens[j].Text + " "
			instead[j] = ""
		}
		before[at+1] += " " + hints
	}
}

// afterMergeName is the token after MERGE [TOP (n) [PERCENT]] [INTO] name; it may be beyond the last one.
func afterMergeName(tokens []token.Token, at int) int {
	last := len(tokens) - 1
	peek := func(i int) token.Token { return tokens[min(i, last)] }
	at++
	if peek(at).Is("TOP") {
		if at++; peek(at).Is("(") {
			at = max(token.ClosingParenthesis(tokens, min(at, last)), at) + 1
		}
		if peek(at).Is("PERCENT") {
			at++
		}
	}
	if peek(at).Is("INTO") {
		at++
	}
	for at++; peek(at).Is("."); {
		at += 2
	}
	return at
}

// tableOfIndex turns DROP INDEX schema.table.index, the old form, into DROP INDEX index ON schema.table: teesql reads
// no more than two parts.
func tableOfIndex(tokens []token.Token, inside []bool, before, instead map[int]string) {
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].Is("DROP") || !tokens[i+1].Is("INDEX") {
			continue
		}
		at := i + 2
		if tokens[at].Is("IF") {
			at += 2
		}
		for at < len(tokens) && token.IsName(tokens[at]) {
			end := at
			for end+2 < len(tokens) && tokens[end+1].Is(".") && token.IsName(tokens[end+2]) {
				end += 2
			}
			if end-at >= 4 {
				before[at] += tokens[end].Text + " ON "
				instead[end-1], instead[end] = "", ""
			}
			if end+1 >= len(tokens) || !tokens[end+1].Is(",") {
				break
			}
			at = end + 2
		}
	}
}

// notNullOfIdentity leaves out NOT NULL behind IDENTITY, which an identity column is anyway: behind a constraint
// (PRIMARY KEY IDENTITY NOT NULL) teesql looks there for NOT FOR REPLICATION alone, and keeps NULL.
func notNullOfIdentity(tokens []token.Token, inside []bool, instead map[int]string) {
	for i := range tokens {
		if inside[i] || !tokens[i].Is("IDENTITY") {
			continue
		}
		at := i + 1
		if at < len(tokens) && tokens[at].Is("(") {
			if at = token.ClosingParenthesis(tokens, at) + 1; at < 1 {
				continue
			}
		}
		if at+1 < len(tokens) && tokens[at].Is("NOT") && tokens[at+1].Is("NULL") {
			instead[at], instead[at+1] = "", ""
		}
	}
}

// checksAdded leaves out NOT FOR REPLICATION behind the CHECK of a table in ALTER TABLE ADD, where teesql does not read
// it.
func checksAdded(tokens []token.Token, inside []bool, instead map[int]string) {
	for i := 1; i+4 < len(tokens); i++ {
		if inside[i] || !tokens[i].Is("CHECK") || !tokens[i+1].Is("NOT") || !tokens[i+2].Is("FOR") ||
			!tokens[i+3].Is("REPLICATION") {
			continue
		}
		before := i - 1
		if i > 2 && tokens[i-2].Is("CONSTRAINT") {
			before = i - 3
		}
		if tokens[before].Is("ADD") || tokens[before].Is(",") && inListOfADD(tokens, before) {
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
		for at > 0 && f.tokens[at].Is("(") {
			at--
		}
		check.NotForReplication = check.NotForReplication || at > 0 && f.tokens[at].Is("REPLICATION")
	}
}

// columnMark parts the name of a data modification in a FROM clause from the names of its columns, which teesql does
// not read: FROM (MERGE ... OUTPUT ...) AS c (a, b) is given to it as AS [c,,a,,b] with marks for commas.
const columnMark = "\x1f"

func columnsOfChange(tokens []token.Token, inside []bool, instead map[int]string) {
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].Is("(") || i == 0 || !tokens[i-1].Is("FROM") || !changesData(tokens[i+1]) {
			continue
		}
		at := token.ClosingParenthesis(tokens, i) + 1
		if at < 1 {
			continue
		}
		if tokens[at].Is("AS") {
			at++
		}
		if !token.IsName(tokens[at]) || at+1 >= len(tokens) || !tokens[at+1].Is("(") {
			continue
		}
		end := token.ClosingParenthesis(tokens, at+1)
		if end < 0 {
			continue
		}
		name := tokens[at].Value
		for j := at + 1; j <= end; j++ {
			if token.IsName(tokens[j]) {
				name += columnMark + tokens[j].Value
			}
			instead[j] = ""
		}
		instead[at] = "[" + strings.ReplaceAll(name, "]", "]]") + "]"
	}
}

func changesData(t token.Token) bool {
	return t.Is("INSERT") || t.Is("UPDATE") || t.Is("DELETE") || t.Is("MERGE")
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

func currentOf(tokens []token.Token, inside []bool, instead map[int]string) {
	for i := 1; i+2 < len(tokens); i++ {
		if inside[i] || !tokens[i-1].Is("WHERE") || !tokens[i].Is("CURRENT") || !tokens[i+1].Is("OF") {
			continue
		}
		at, global := i+2, ""
		if tokens[at].Is("GLOBAL") && token.IsName(tokens[at+1]) {
			at, global = at+1, "GLOBAL "
		}
		if !token.IsName(tokens[at]) && tokens[at].Kind != token.Variable {
			continue
		}
		name := tokens[at].Value
		if tokens[at].Kind == token.Variable {
			name = tokens[at].Text
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
func namedByVariable(tokens []token.Token, inside []bool, before map[int]string) {
	for i := 0; i+2 < len(tokens); i++ {
		if inside[i] || !tokens[i].IsOneOf("EXEC", "EXECUTE") || tokens[i+1].Kind != token.Variable {
			continue
		}
		switch next := tokens[i+2]; {
		case next.Kind == token.String,
			next.Kind == token.Integer,
			next.Kind == token.Variable,
			next.Is("NULL"),
			next.Is("DEFAULT"),
			next.Is("-"),
			next.Kind != token.Word && next.Text != "" && strings.ContainsRune("0123456789$.", rune(next.Text[0])):
			before[i+1] += UnwantedStatus + " = "
		}
	}
}

// withoutTables writes a condition before the FOR JSON and FOR XML of a query that has no FROM clause: teesql takes FOR
// for the name of its last column there.
func withoutTables(tokens []token.Token, inside []bool, before map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].Is("FOR") || !tokens[i+1].IsOneOf("JSON", "XML") {
			continue
		}
		depth := 0
	back:
		for at := i - 1; at >= 0; at-- {
			switch t := tokens[at]; {
			case t.Is(")"):
				depth++
			case t.Is("(") && depth == 0, t.Is(";"):
				break back
			case t.Is("("):
				depth--
			case depth > 0:
			case t.Is("SELECT"):
				before[i] += "WHERE 1 = 1 "
				break back
			case t.IsOneOf("FROM", "WHERE", "ORDER", "GROUP", "HAVING", "UNION"):
				break back
			}
		}
	}
}

// emptyBody writes RETURN for the body of a procedure that has none, and leaves out semicolons before the first
// statement of one.
func emptyBody(tokens []token.Token, before, instead map[int]string) {
	at := token.ModuleBody(tokens, "PROCEDURE")
	if at == 0 {
		return
	}
	for ; tokens[at].Is(";"); at++ {
		instead[at] = ""
	}
	if tokens[at].Kind == token.End {
		before[at] += " RETURN"
	}
}

// partsLeftOut leaves out the dots before the name of a function that a batch defines, which stand for the schema and
// the database.
func partsLeftOut(tokens []token.Token, instead map[int]string) {
	at, kind := token.ModuleName(tokens)
	for ; kind == "FUNCTION" && tokens[at].Is("."); at++ {
		instead[at] = ""
	}
}
