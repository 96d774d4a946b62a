// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"
	"unicode/utf8"

	"geosql.dev/standin/syntax/token"
)

// offsets translates positions as teesql counts them (UTF-16 code units of the text it was given) to bytes of the
// batch.
type offsets struct {
	text  string
	ascii bool
	bytes []int // by code unit, when the text isn't all ASCII
	// inserted are the places where teesql's text has more than the batch.
	inserted []insertion
}

// insertion is text in the place of replaced code units from a byte of the batch on: length code units at unit of
// teesql's text.
type insertion struct{ unit, byte, length, replaced int }

func newOffsets(text string) *offsets {
	o := &offsets{text: text, ascii: true}
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			o.ascii = false
			break
		}
	}
	if o.ascii {
		return o
	}
	for i, r := range text {
		o.bytes = append(o.bytes, i)
		if r > 0xFFFF {
			o.bytes = append(o.bytes, i)
		}
	}
	o.bytes = append(o.bytes, len(text))
	return o
}

// amend writes out what teesql wants written: EXECUTE before a batch that begins with a procedure's name, the zero
// before a decimal point, brackets around words that only teesql takes for keywords. source has the batch's code units,
// if not its bytes, up to each place.
func (o *offsets) amend(source string, tokens []token.Token, inside []bool, implicit bool) string {
	if implicit {
		o.inserted = append(o.inserted, insertion{length: len(implicitExecute)})
	}
	var out strings.Builder
	if implicit {
		out.WriteString(implicitExecute)
	}
	copied, added := 0, out.Len()
	replace := func(pos, end int, text string) {
		unit, replaced := units(o.text[:pos]), units(o.text[pos:end])
		at := byteOfUnit(source, unit)
		out.WriteString(source[copied:at])
		out.WriteString(text)
		if copied = at; replaced > 0 {
			copied = byteOfUnit(source, unit+replaced)
		}
		o.inserted = append(o.inserted, insertion{unit + added, pos, units(text), replaced})
		added += units(text) - replaced
	}
	insert := func(pos int, text string) { replace(pos, pos, text) }
	before, closing := map[int]string{}, map[int]string{}
	wrapCollations(tokens, inside, before, closing)
	wrapParentheses(tokens, inside, before, closing)
	wrapQuantifiers(tokens, inside, before, closing)
	wrapVariables(tokens, inside, before, closing)
	wrapGroups(tokens, inside, before, closing)
	wrapAssigned(tokens, inside, before, closing)
	namesOfVariables(tokens, inside, before)
	partHints(tokens, inside, before, closing)
	endPartitions(tokens, inside, closing)
	instead := map[int]string{}
	aliasBeforeHints(tokens, inside, before, instead)
	optionBehindFor(tokens, inside, before, instead)
	namedByVariable(tokens, inside, before)
	withoutTables(tokens, inside, before)
	beforeLabels(tokens, inside, before)
	aliasOfBulk(tokens, inside, before)
	tableOfIndex(tokens, inside, before, instead)
	notNullOfIdentity(tokens, inside, instead)
	checksAdded(tokens, inside, instead)
	columnsOfChange(tokens, inside, instead)
	currentOf(tokens, inside, instead)
	placesOfKeys(tokens, inside, instead)
	switchesOfKeys(tokens, inside, instead)
	statisticsValues(tokens, inside, instead)
	degreeOfDBCC(tokens, inside, instead)
	poolOfDBCC(tokens, inside, instead)
	withoutModuleOptions(tokens, instead)
	emptyBody(tokens, before, instead)
	partsLeftOut(tokens, instead)
	usualSpellings(o.text, tokens, inside, instead)
	if altersTrigger(tokens) {
		instead[0] = "CREATE"
	}
	for i, t := range tokens {
		if text := before[i]; text != "" {
			insert(t.Pos, text)
		}
		if text, ok := instead[i]; ok {
			replace(t.Pos, t.End, text)
			continue
		}
		switch {
		case inside[i]:
		case t.Kind == token.String && t.Text[0] == '"':
			replace(t.Pos, t.End, stringLiteral(t.Value))
		case (t.Kind == token.String || t.Kind == token.Binary) && token.Continued(t.Text) != t.Text:
			// The ends of lines follow the constant, so that what is behind it has the lines of the batch.
			whole := token.Continued(t.Text)
			replace(t.Pos, t.End, whole+strings.Repeat("\n", strings.Count(t.Text, "\n")-strings.Count(whole, "\n")))
		case addsUnnamed(tokens, i):
			insert(t.Pos, "CONSTRAINT ["+UnnamedConstraint+"] ")
		case t.Is("USING") && tokens[i+1].Is("(") && tokens[i+2].Is("VALUES"):
			if end := endOfDerived(tokens, i+1); end > 0 {
				insert(tokens[i+1].Pos, "(")
				closing[end] += ")"
			}
		case t.Kind == token.Number && t.Text[0] == '.':
			insert(t.Pos, "0")
		case t.Kind == token.Word && isPlainName(tokens, i):
			insert(t.Pos, "[")
			insert(t.End, "]")
		case t.Is("THROW") && tokens[i+1].Is("END"):
			insert(t.End, ";")
		}
		if text := closing[i]; text != "" {
			insert(t.End, text)
		}
	}
	if len(o.inserted) == 0 {
		return source
	}
	out.WriteString(source[copied:])
	return out.String()
}

// UnnamedConstraint is the name that Parse gives a constraint of ALTER TABLE ... ADD that has none: teesql would take
// its first word for a column.
const UnnamedConstraint = "unnamed$"

// addsUnnamed tells whether token i begins a constraint without a name in the list behind ALTER TABLE name [WITH CHECK]
// ADD.
func addsUnnamed(tokens []token.Token, i int) bool {
	if i < 3 || i+1 >= len(tokens) || !tokens[i-1].Is("ADD") && !tokens[i-1].Is(",") {
		return false
	}
	if !beginsConstraint(tokens, i) {
		return false
	}
	return tokens[i-1].Is("ADD") || inListOfADD(tokens, i-1)
}

// inListOfADD tells whether the comma at token at parts what one ADD adds.
func inListOfADD(tokens []token.Token, at int) bool {
	depth := 0
	for at--; at >= 0; at-- {
		switch t := tokens[at]; {
		case t.Is(")"):
			depth++
		case t.Is("("):
			if depth--; depth < 0 {
				return false
			}
		case depth > 0:
		case t.Is("ADD"):
			return true
		case t.IsOneOf(";", "EXEC", "EXECUTE", "SELECT", "VALUES", "DECLARE"):
			return false
		}
	}
	return false
}

// beginsConstraint tells whether a constraint without a name begins at token i.
func beginsConstraint(tokens []token.Token, i int) bool {
	switch t, next := tokens[i], tokens[i+1]; {
	case t.Is("PRIMARY"), t.Is("FOREIGN"):
		if at := i + 2; next.Is("KEY") && at+1 < len(tokens) {
			return tokens[at].Is("(") || (tokens[at].Is("CLUSTERED") || tokens[at].Is("NONCLUSTERED")) && tokens[at+1].Is("(")
		}
	case t.Is("UNIQUE"):
		return next.Is("(") || next.Is("CLUSTERED") || next.Is("NONCLUSTERED")
	case t.Is("DEFAULT"):
		return true
	}
	return false
}

// endOfDerived is the last token of a derived table (...) AS name (columns) that begins with the parenthesis at token
// open; 0 when it is not closed or has no name.
func endOfDerived(tokens []token.Token, open int) int {
	i := token.ClosingParenthesis(tokens, open) + 1
	if i <= 1 {
		return 0
	}
	if tokens[i].Is("AS") {
		i++
	}
	if tokens[i].Kind != token.Word && tokens[i].Kind != token.Quoted {
		return 0
	}
	if tokens[i+1].Is("(") {
		return max(token.ClosingParenthesis(tokens, i+1), 0)
	}
	return i
}

// byteOfUnit is the byte where a code unit of s begins.
func byteOfUnit(s string, unit int) int {
	n := 0
	for i, r := range s {
		if n >= unit {
			return i
		}
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return len(s)
}

// original is the unit of the batch that a unit of teesql's text stands for.
func (o *offsets) original(unit int) int {
	less := 0
	for _, in := range o.inserted {
		if unit >= in.unit+in.length {
			less += in.length - in.replaced
		} else if unit > in.unit {
			less += max(unit-in.unit-in.replaced, 0)
		}
	}
	return unit - less
}

// sourceByte is, for a batch of ASCII, the byte of teesql's text that a byte of the batch became; for others it is
// close.
func (o *offsets) sourceByte(pos int) int {
	at := pos
	for _, in := range o.inserted {
		if in.byte+in.replaced <= pos {
			at += in.length - in.replaced
		}
	}
	return at
}

func (o *offsets) byteAt(unit int) int {
	unit = max(o.original(unit), 0)
	if o.ascii {
		return min(unit, len(o.text))
	}
	return o.bytes[min(unit, len(o.bytes)-1)]
}

func (o *offsets) slice(start, end int) string {
	from, to := o.byteAt(start), o.byteAt(end)
	if to < from {
		return ""
	}
	return o.text[from:to]
}

// units counts the UTF-16 code units of s.
func units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
