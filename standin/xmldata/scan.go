// SPDX-License-Identifier: Apache-2.0

package xmldata

import (
	"strings"
	"unicode/utf8"

	"geosql.dev/standin/sqlerr"
)

// MaxDepth is how many elements may be in each other (docs/t-sql/xml/xml-transact-sql.md, 6335 beyond).
const MaxDepth = 128

// Options say how a text is read.
type Options struct {
	// Preserve keeps white space between tags, as CONVERT with style 1 does.
	Preserve bool
	// Wide is a text of nvarchar, whose declaration cannot ask for an encoding of single bytes, nor can one that is not
	// Wide ask for UTF-16 (9402). Decoded tells that the text comes from bytes, whose encoding was looked at.
	Wide, Decoded bool
}

// scanner reads one text. Errors are kept in err; after one, at is the end of the text.
type scanner struct {
	text    string
	at      int
	options Options
	doc     *Instance
	// open is the innermost element that is not closed yet, or the document.
	open  *Node
	depth int
	// run is the text since the last tag; significant tells that it has more than white space, or was written with
	// references.
	run         []byte
	significant bool
	// preserving is the state of xml:space for each open element.
	preserving []bool
	err        *sqlerr.Error
}

// Parse reads an instance. Errors: 9400 to 9467 for text that is not well-formed, with line and character; 6335 beyond
// MaxDepth; 6359 for a DTD.
func Parse(text string, options Options) (*Instance, *sqlerr.Error) {
	s := &scanner{
		text:       strings.TrimPrefix(text, "\ufeff"),
		options:    options,
		doc:        &Instance{},
		preserving: []bool{options.Preserve},
	}
	s.open = s.node(&Node{Kind: Document})
	s.declaration()
	for s.err == nil && s.at < len(s.text) {
		s.content()
	}
	s.flush()
	if s.err == nil && s.open.Kind != Document {
		s.fail(9400, len(s.text))
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.doc, nil
}

// fail notes an error at the character that ends at a place of the text.
func (s *scanner) fail(number int32, end int) {
	if s.err != nil {
		return
	}
	end = max(0, min(end, len(s.text)))
	line, character := 1, 0
	for _, r := range s.text[:end] {
		switch {
		case r == '\n':
			line, character = line+1, 0
		case r > 0xffff:
			character += 2
		default:
			character++
		}
	}
	s.err = sqlerr.New(number, 1, line, max(character, 1))
	s.at = len(s.text)
}

// failHere is an error at the character that is to be read next, or at the end of the text.
func (s *scanner) failHere(number int32) {
	if s.at >= len(s.text) {
		s.fail(9400, len(s.text))
		return
	}
	_, size := utf8.DecodeRuneInString(s.text[s.at:])
	s.fail(number, s.at+size)
}

func (s *scanner) node(n *Node) *Node {
	n.Order, n.Parent = len(s.doc.Nodes), s.open
	s.doc.Nodes = append(s.doc.Nodes, n)
	return n
}

// below adds a node to what is open.
func (s *scanner) below(n *Node) {
	s.flush()
	if s.err == nil {
		s.open.Children = append(s.open.Children, s.node(n))
	}
}

// flush ends a run of text.
func (s *scanner) flush() {
	run := s.run
	s.run = s.run[:0]
	keep := s.significant || s.preserving[len(s.preserving)-1]
	if s.open.Kind == Document && !s.significant {
		keep = s.options.Preserve
	}
	s.significant = false
	if len(run) == 0 || !keep || s.err != nil {
		return
	}
	if s.depth >= MaxDepth {
		s.err = sqlerr.New(6335, 101)
		return
	}
	s.open.Children = append(s.open.Children, s.node(&Node{Kind: Text, Value: string(run)}))
}

func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.text[s.at:], prefix) }

func (s *scanner) skipSpace() bool {
	from := s.at
	for s.at < len(s.text) && isSpace(s.text[s.at]) {
		s.at++
	}
	return s.at > from
}

// content reads one tag, section or run of characters.
func (s *scanner) content() {
	switch {
	case s.has("</"):
		s.endTag()
	case s.has("<!--"):
		s.comment()
	case s.has("<![CDATA["):
		s.section()
	case s.has("<!DOCTYPE"):
		s.err = sqlerr.New(6359, 1)
	case s.has("<!"):
		s.at += 2
		s.failHere(9422)
	case s.has("<?"):
		s.instruction()
	case s.has("<"):
		s.startTag()
	default:
		s.characters()
	}
}

// characters reads text up to the next tag.
func (s *scanner) characters() {
	for s.err == nil && s.at < len(s.text) && s.text[s.at] != '<' {
		switch c := s.text[s.at]; {
		case c == '&':
			s.run = append(s.run, s.reference()...)
			s.significant = true
		case c == ']' && s.has("]]>"):
			s.fail(9454, s.at+3)
		default:
			if !isSpace(c) {
				s.significant = true
			}
			s.run = s.character(s.run)
		}
	}
}

// character reads one character; the ends of lines become line feeds (XML 1.0, 2.11).
func (s *scanner) character(out []byte) []byte {
	r, size := utf8.DecodeRuneInString(s.text[s.at:])
	if r == utf8.RuneError && size == 1 || !isCharacter(r) {
		s.failHere(9420)
		return out
	}
	if r == '\r' {
		s.at++
		if s.at < len(s.text) && s.text[s.at] == '\n' {
			s.at++
		}
		return append(out, '\n')
	}
	from := s.at
	s.at += size
	return append(out, s.text[from:s.at]...)
}

// charactersTo reads what is before a delimiter, and passes that (9400 when it does not come).
func (s *scanner) charactersTo(delimiter string, out []byte) []byte {
	for s.err == nil && s.at < len(s.text) && !s.has(delimiter) {
		out = s.character(out)
	}
	if s.at >= len(s.text) {
		s.fail(9400, len(s.text))
		return out
	}
	s.at += len(delimiter)
	return out
}

var entities = map[string]string{"amp": "&", "lt": "<", "gt": ">", "quot": `"`, "apos": "'"}

// Entity is what &name; stands for without a declaration (XML 1.0, 4.6); empty for every other name.
func Entity(name string) string { return entities[name] }

// reference reads &name; or &#number;.
func (s *scanner) reference() string {
	s.at++
	if s.has("#") {
		return s.numbered()
	}
	name := s.plainName()
	switch {
	case name == "":
		s.failHere(9421)
	case s.at >= len(s.text) || s.text[s.at] != ';':
		s.failHere(9411)
	case Entity(name) == "":
		s.failHere(9448)
	default:
		s.at++
		return Entity(name)
	}
	return ""
}

func (s *scanner) numbered() string {
	s.at++
	base, wrong := rune(10), int32(9417)
	if s.has("x") {
		s.at++
		base, wrong = 16, 9416
	}
	from, value := s.at, rune(0)
	for s.at < len(s.text) {
		digit := digitOf(s.text[s.at])
		if digit < 0 || digit >= base {
			break
		}
		value = min(value*base+digit, utf8.MaxRune+1)
		s.at++
	}
	switch {
	case s.at == from:
		s.failHere(wrong)
	case s.at >= len(s.text) || s.text[s.at] != ';':
		s.failHere(9411)
	case !isCharacter(value):
		s.failHere(9420)
	default:
		s.at++
		return string(value)
	}
	return ""
}

// digitOf is the value of a hexadecimal digit, -1 for anything else.
func digitOf(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

// plainName reads a name without a colon; empty when there is none.
func (s *scanner) plainName() string {
	from := s.at
	for i, r := range s.text[from:] {
		if i == 0 && !StartsName(r) || !InName(r) {
			return s.text[from:s.at]
		}
		s.at = from + i + utf8.RuneLen(r)
	}
	return s.text[from:s.at]
}

// name reads a name with or without a prefix.
func (s *scanner) name() Name {
	n := Name{Local: s.plainName()}
	if n.Local == "" {
		s.failHere(9455)
		return n
	}
	if s.has(":") {
		s.at++
		n.Prefix, n.Local = n.Local, s.plainName()
		if n.Local == "" {
			s.failHere(9455)
		}
		if s.has(":") {
			s.failHere(9456)
		}
	}
	return n
}

func (s *scanner) comment() {
	s.at += len("<!--")
	text := s.charactersTo("--", nil)
	if !s.has(">") {
		s.failHere(9424)
		return
	}
	s.at++
	s.below(&Node{Kind: Comment, Value: string(text)})
}

func (s *scanner) section() {
	s.at += len("<![CDATA[")
	before := len(s.run)
	s.run = s.charactersTo("]]>", s.run)
	s.significant = s.significant || len(s.run) > before
}

func (s *scanner) instruction() {
	s.at += len("<?")
	target := s.plainName()
	switch {
	case target == "":
		s.failHere(9421)
		return
	case strings.EqualFold(target, "xml"):
		s.fail(9438, s.at)
		return
	case !s.skipSpace() && !s.has("?>"):
		s.failHere(9451)
		return
	}
	data := s.charactersTo("?>", nil)
	s.below(&Node{Kind: Instruction, Name: Name{Local: target}, Value: string(data)})
}
