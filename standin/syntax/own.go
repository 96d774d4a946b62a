// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// family parses one family of statements from its first word on. It returns nil, without having consumed anything, for
// statements that aren't its own.
type family func(p *parser) ast.Statement

// families by the first word of their statements. All of these words are reserved, so that outside of quotes they begin
// a statement or belong to one.
var families = map[string][]family{
	"CREATE": {parseAvailabilityGroup, parseEndpoint, parseCertificate, parseMasterKey, parseLogin, parseUser,
		parseRole, parseDatabase},
	"ALTER": {
		parseAvailabilityGroup,
		parseEndpoint,
		parseEventSession,
		parseCertificate,
		parseMasterKey,
		parseLogin,
		parseUser,
		parseRole,
		parseAuthorization,
		parseDatabase,
	},
	"DROP": {parseAvailabilityGroup, parseEndpoint, parseCertificate, parseMasterKey, parseLogin, parseUser,
		parseRole, parseDatabase},
	"BACKUP":      {parseCertificate, parseMasterKey, parseBackup},
	"RESTORE":     {parseMasterKey, parseRestore},
	"OPEN":        {parseMasterKey},
	"CLOSE":       {parseMasterKey},
	"GRANT":       {parsePermission},
	"DENY":        {parsePermission},
	"REVOKE":      {parsePermission},
	"EXECUTE":     {parseExecuteAs},
	"EXEC":        {parseExecuteAs},
	"REVERT":      {parseRevert},
	"KILL":        {parseServerControl},
	"CHECKPOINT":  {parseServerControl},
	"SHUTDOWN":    {parseServerControl},
	"RECONFIGURE": {parseServerControl},
	"WAITFOR":     {parseWaitFor},
}

// replaceOwn parses this package's statements out of a batch. It returns the text with a placeholder, of the same
// length in UTF-16 code units and lines, for each, the nodes by the offset of their placeholders, and which tokens are
// theirs: all from one that is malformed on.
func replaceOwn(text string, tokens []token.Token) (string, map[int]ast.Statement, []bool, *sqlerr.Error) {
	nodes := map[int]ast.Statement{}
	inside := make([]bool, len(tokens))
	var out strings.Builder
	copied, unitsBefore := 0, 0
	p := &parser{tokens: tokens}
	for p.peek().Kind != token.End {
		start := p.at
		node, err := p.ownStatement()
		if err != nil {
			for i := start; i < len(inside); i++ {
				inside[i] = true
			}
			return "", nil, inside, err
		}
		if node == nil {
			p.at = start + 1
			continue
		}
		for i := start; i < p.at; i++ {
			inside[i] = true
		}
		from, to := tokens[start].Pos, tokens[p.at-1].End
		out.WriteString(text[copied:from])
		unitsBefore += units(text[copied:from])
		span := text[from:to]
		length := units(span)
		fragment(node).SetSpan(unitsBefore, length, int(tokens[start].Line), 1)
		nodes[unitsBefore] = node
		out.WriteString(blanked(span, length))
		unitsBefore += length
		copied = to
	}
	if copied == 0 {
		return text, nodes, inside, nil
	}
	out.WriteString(text[copied:])
	return out.String(), nodes, inside, nil
}

// ownStatement parses one of this package's statements if it begins here.
func (p *parser) ownStatement() (node ast.Statement, err *sqlerr.Error) {
	t := p.peek()
	if t.Kind != token.Word || !t.Reserved || t.Is("DROP") && token.OfAlterTable(p.tokens, p.at) {
		return nil, nil
	}
	for _, parse := range families[t.Fold] {
		start := p.at
		if err = attempt(func() { node = parse(p) }); err != nil || node != nil {
			return node, err
		}
		p.at = start
	}
	return nil, nil
}

// blanked is the placeholder followed by a semicolon where there's room, then blanks; line ends stay.
func blanked(span string, length int) string {
	head := placeholder
	if length > len(placeholder) {
		head += ";"
	}
	lines := strings.Count(span, "\n")
	if lines > length-len(head) {
		lines = length - len(head)
	}
	return head + strings.Repeat(" ", length-len(head)-lines) + strings.Repeat("\n", lines)
}
