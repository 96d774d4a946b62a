// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"
	"unicode/utf8"
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
func (o *offsets) amend(source string, tokens []token, inside []bool, implicit bool) string {
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
			insert(t.pos, text)
		}
		if text, ok := instead[i]; ok {
			replace(t.pos, t.end, text)
			continue
		}
		switch {
		case inside[i]:
		case t.kind == tokenString && t.text[0] == '"':
			replace(t.pos, t.end, stringLiteral(t.value))
		case (t.kind == tokenString || t.kind == tokenBinary) && continued(t.text) != t.text:
			// The ends of lines follow the constant, so that what is behind it has the lines of the batch.
			replace(
				t.pos,
				t.end,
				continued(t.text)+strings.Repeat("\n", strings.Count(t.text, "\n")-strings.Count(continued(t.text), "\n")),
			)
		case addsUnnamed(tokens, i):
			insert(t.pos, "CONSTRAINT ["+UnnamedConstraint+"] ")
		case t.is("USING") && tokens[i+1].is("(") && tokens[i+2].is("VALUES"):
			if end := endOfDerived(tokens, i+1); end > 0 {
				insert(tokens[i+1].pos, "(")
				closing[end] += ")"
			}
		case t.kind == tokenNumber && t.text[0] == '.':
			insert(t.pos, "0")
		case t.kind == tokenWord && isPlainName(tokens, i):
			insert(t.pos, "[")
			insert(t.end, "]")
		case t.is("THROW") && tokens[i+1].is("END"):
			insert(t.end, ";")
		}
		if text := closing[i]; text != "" {
			insert(t.end, text)
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
func addsUnnamed(tokens []token, i int) bool {
	if i < 3 || i+1 >= len(tokens) || !tokens[i-1].is("ADD") && !tokens[i-1].is(",") {
		return false
	}
	if !beginsConstraint(tokens, i) {
		return false
	}
	return tokens[i-1].is("ADD") || inListOfADD(tokens, i-1)
}

// inListOfADD tells whether the comma at token at parts what one ADD adds.
func inListOfADD(tokens []token, at int) bool {
	depth := 0
	for at--; at >= 0; at-- {
		switch t := tokens[at]; {
		case t.is(")"):
			depth++
		case t.is("("):
			if depth--; depth < 0 {
				return false
			}
		case depth > 0:
		case t.is("ADD"):
			return true
		case t.isOneOf(";", "EXEC", "EXECUTE", "SELECT", "VALUES", "DECLARE"):
			return false
		}
	}
	return false
}

// beginsConstraint tells whether a constraint without a name begins at token i.
func beginsConstraint(tokens []token, i int) bool {
	switch t, next := tokens[i], tokens[i+1]; {
	case t.is("PRIMARY"), t.is("FOREIGN"):
		if at := i + 2; next.is("KEY") && at+1 < len(tokens) {
			return tokens[at].is("(") || (tokens[at].is("CLUSTERED") || tokens[at].is("NONCLUSTERED")) && tokens[at+1].is("(")
		}
	case t.is("UNIQUE"):
		return next.is("(") || next.is("CLUSTERED") || next.is("NONCLUSTERED")
	case t.is("DEFAULT"):
		return true
	}
	return false
}

// endOfDerived is the last token of a derived table (...) AS name (columns) that begins with the parenthesis at token
// open; 0 when it is not closed or has no name.
func endOfDerived(tokens []token, open int) int {
	i := closingParenthesis(tokens, open) + 1
	if i <= 1 {
		return 0
	}
	if tokens[i].is("AS") {
		i++
	}
	if tokens[i].kind != tokenWord && tokens[i].kind != tokenQuoted {
		return 0
	}
	if tokens[i+1].is("(") {
		return max(closingParenthesis(tokens, i+1), 0)
	}
	return i
}

// closingParenthesis is the token that closes the parenthesis at token open, -1 when none does.
func closingParenthesis(tokens []token, open int) int {
	depth := 0
	for i := open; i < len(tokens); i++ {
		switch {
		case tokens[i].is("("):
			depth++
		case tokens[i].is(")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
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
