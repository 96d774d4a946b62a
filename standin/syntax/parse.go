// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	teeparser "github.com/sqlc-dev/teesql/parser"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/fault"
	"geosql.dev/standin/syntax/token"
)

// placeholder stands in the text given to teesql where one of this package's statements was; it is the shortest of
// them.
const placeholder = "REVERT"

// implicitExecute is put before a batch that begins with a procedure's name.
const implicitExecute = "EXEC "

// Parse parses a whole batch. Nothing of a batch that has an error is to be run. Errors carry the line in the batch:
// 102 and 156 near a token, 103 and 1038 names, 105 and 113 open quotes and comments, 111 a statement that must begin
// its batch, 155 and 1039 options, 319 and 336 a WITH without a semicolon before it.
//
// Double quotes are those of names, as with QUOTED_IDENTIFIER ON.
func Parse(text string) (*Batch, *sqlerr.Error) { return ParseQuoted(text, true) }

// ParseQuoted is Parse with the setting of QUOTED_IDENTIFIER that the batch begins with; a SET QUOTED_IDENTIFIER
// outside of a module counts from its place on (docs/t-sql/statements/set-quoted-identifier-transact-sql.md).
func ParseQuoted(text string, quotedIdentifier bool) (batch *Batch, err *sqlerr.Error) {
	tokens, err := token.Split(text, quotedIdentifier)
	if err != nil {
		return nil, err
	}
	batch, err = parseTokens(text, tokens, mayBeMisplaced(tokens))
	return batch, inModule(err, tokens)
}

// ParseStored parses a query that was made of an expression which a table keeps. Its parts were judged where the
// table's definition has them, and they stand elsewhere now: NEWSEQUENTIALID is refused in every query.
func ParseStored(text string) (*Batch, *sqlerr.Error) {
	tokens, err := token.Split(text, true)
	if err != nil {
		return nil, err
	}
	return parseTokens(text, tokens, false)
}

func parseTokens(text string, tokens []token.Token, judgePlaces bool) (batch *Batch, err *sqlerr.Error) {
	defer func() {
		if r := recover(); r != nil {
			// A defect here refuses the batch and leaves the connection.
			batch, err = nil, token.Near(tokens, len(tokens)-1)
		}
	}()
	if err := tooDeep(tokens); err != nil {
		return nil, err
	}
	source, nodes, inside, err := judged(text, tokens)
	if err != nil {
		return nil, err
	}
	o := newOffsets(text)
	implicit := token.StartsWithProcedureName(tokens)
	amended := o.amend(source, tokens, inside, implicit)
	source, body := o.splitView(amended, tokens)
	source, returned, err := o.splitReturns(source, tokens)
	if err != nil {
		return nil, err
	}
	script, err := parseOrdinary(source, o, tokens)
	if err != nil {
		err = fault.Earlier(o.faultOfBody(source, body, tokens), err)
	}
	if err = fault.Earlier(err, blocks(tokens, inside)); err != nil {
		return nil, err
	}
	returns(script, returned)
	if body == "" {
		err = o.judgeView(source, tokens)
	} else {
		err = joinView(script, body, o, tokens)
	}
	if err == nil {
		err = o.judgeChecks(amended, tokens, inside)
	}
	if err != nil {
		return nil, err
	}
	if err := unbalanced(tokens); err != nil {
		return nil, err
	}
	batch = &Batch{Text: text, offsets: o, tokens: tokens}
	if len(script.Batches) > 1 {
		return nil, nearWord(tokens, "GO")
	}
	if len(script.Batches) == 0 {
		return batch, nil
	}
	list := script.Batches[0].Statements
	if altersTrigger(tokens) && len(list) > 0 {
		if n, ok := list[0].(*ast.CreateTriggerStatement); ok {
			list[0] = alterTrigger(n)
		}
	}
	f := &finisher{batch: batch, tokens: tokens, nodes: nodes, implicit: implicit, mayBeMisplaced: judgePlaces}
	list = f.schemaElements(list)
	f.list(list, true)
	if f.err != nil {
		return nil, f.err
	}
	if len(f.nodes) > 0 {
		return nil, firstLost(f.nodes, tokens)
	}
	if len(list) == 1 {
		batch.alone = list[0]
	}
	for _, node := range list {
		batch.Statements = append(batch.Statements, batch.statement(node))
	}
	return batch, nil
}

// Statement gives the line and text of a node of the batch, at whatever depth.
func (b *Batch) Statement(node ast.Statement) Statement { return b.statement(node) }

func (b *Batch) statement(node ast.Statement) Statement {
	s := Statement{Node: node, Line: Line(node)}
	if f := fragment(node); f != nil && f.HasSpan() {
		s.Text, s.Terminated = withoutTerminator(b.offsets.slice(f.StartOffset, f.EndOffset()))
		if b.alone != nil && node == b.alone {
			from := b.offsets.byteAt(f.StartOffset)
			s.Before, s.After = b.Text[:from], b.Text[from+len(s.Text):]
		}
	}
	return s
}

// TextOf is the source text of any node of the batch that has a position, empty for others. Strings in double quotes
// have single ones, so that the text means the same under every setting.
func (b *Batch) TextOf(node any) string {
	if f := fragment(node); f != nil && f.HasSpan() {
		return b.withSingleQuotes(b.offsets.byteAt(f.StartOffset), b.offsets.byteAt(f.EndOffset()))
	}
	return ""
}

// Around is the source text of a node before and after a part of it; ok is false when one of them has no position.
func (b *Batch) Around(node, part any) (before, after string, ok bool) {
	n, p := fragment(node), fragment(part)
	if n == nil || p == nil || !n.HasSpan() || !p.HasSpan() || p.StartOffset < n.StartOffset ||
		p.EndOffset() > n.EndOffset() {
		return "", "", false
	}
	after, _ = withoutTerminator(b.offsets.slice(p.EndOffset(), n.EndOffset()))
	return b.offsets.slice(n.StartOffset, p.StartOffset), after, true
}

// withoutTerminator is a statement's text without the semicolons and blanks at its end.
func withoutTerminator(text string) (trimmed string, terminated bool) {
	trimmed = strings.TrimRight(text, "; \t\r\n")
	return trimmed, strings.Contains(text[len(trimmed):], ";")
}

// Line is the line of its batch where a node begins, from 1; 0 for a node without a position.
func Line(node any) int32 {
	if f := fragment(node); f != nil {
		return int32(f.StartLine)
	}
	return 0
}

func fragment(node any) *ast.Fragment {
	if n, ok := node.(interface{ Frag() *ast.Fragment }); ok {
		return n.Frag()
	}
	return nil
}

// parseOrdinary runs teesql and turns its errors (and panics, which malformed text must not reach a client with) into
// SQL Server's.
func parseOrdinary(source string, o *offsets, tokens []token.Token) (*ast.Script, *sqlerr.Error) {
	script, message := teesql(source)
	if message == "" {
		return script, arrange(script, source, tokens)
	}
	return nil, nearFailure(source, o, message, tokens)
}

func teesql(source string) (script *ast.Script, message string) {
	defer func() {
		if r := recover(); r != nil {
			script, message = nil, fmt.Sprintf("panic: %v", r)
		}
	}()
	script, err := teeparser.Parse(context.Background(), strings.NewReader(source))
	if err != nil {
		return nil, err.Error()
	}
	return script, ""
}

// nearFailure finds the token that teesql stopped at: its errors give no position, so it is the last token of the
// shortest prefix of the text that fails with the very same message.
func nearFailure(source string, o *offsets, message string, tokens []token.Token) *sqlerr.Error {
	last := len(tokens) - 1
	n := sort.Search(last, func(i int) bool {
		_, m := teesql(source[:min(o.sourceByte(tokens[i].End), len(source))])
		return m == message
	})
	if strings.HasSuffix(message, " ") {
		n = last // the text ended; shorter ones say the same where they end
	}
	if !notACondition(message) {
		if n < last && missesNext(source[:min(o.sourceByte(tokens[n].End), len(source))], message) {
			n++
		}
		if err := fault.UnknownHint(tokens, n); err != nil {
			return err
		}
		return token.Near(tokens, n)
	}
	at := tokens[n]
	if strings.HasPrefix(message, "scalar") {
		at = tokens[min(n+1, last)]
	}
	if at.Kind == token.End && n > 0 {
		at = tokens[last-1]
	}
	err := sqlerr.New(4145, 1, at.Text).At(at.Line)
	err.Offset = at.Pos + 1
	return err
}

// missesNext tells whether a text that teesql refuses with a message goes on with something else: then it is the token
// after it that may not be there.
func missesNext(text, message string) bool {
	for _, more := range []string{" x", " (", " ON", " JOIN", " COLUMN", " AS", " RETURNS int"} {
		if _, m := teesql(text + more); m != message {
			return true
		}
	}
	return false
}

func nearWord(tokens []token.Token, word string) *sqlerr.Error {
	for i, t := range tokens {
		if t.Is(word) {
			return token.Near(tokens, i)
		}
	}
	return token.Near(tokens, 0)
}

// firstLost is the error for a statement of this package in a place where none may stand.
func firstLost(nodes map[int]ast.Statement, tokens []token.Token) *sqlerr.Error {
	first := -1
	for _, node := range nodes {
		if line := int(Line(node)); first < 0 || line < first {
			first = line
		}
	}
	for i, t := range tokens {
		if int(t.Line) == first {
			return token.Near(tokens, i)
		}
	}
	return token.Near(tokens, 0)
}
