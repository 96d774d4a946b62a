// SPDX-License-Identifier: Apache-2.0

package xmldata

import (
	"strings"

	"geosql.dev/standin/sqlerr"
)

// startTag reads a start tag or the tag of an empty element.
func (s *scanner) startTag() {
	s.at++
	n := &Node{Kind: Element, Name: s.name()}
	if s.err != nil {
		return
	}
	s.below(n)
	if s.depth >= MaxDepth {
		s.err = sqlerr.New(6335, 102)
	}
	for s.err == nil {
		spaced := s.skipSpace()
		if s.at >= len(s.text) {
			s.fail(9400, len(s.text))
			return
		}
		empty := s.has("/")
		if !empty && !s.has(">") {
			if !spaced {
				s.failHere(9410)
				return
			}
			s.attribute(n)
			continue
		}
		s.at++
		if empty {
			if !s.has(">") {
				s.failHere(9412)
				return
			}
			s.at++
		}
		s.resolve(n)
		if !empty && s.err == nil {
			s.open = n
			s.depth++
			s.preserving = append(s.preserving, s.space(n))
		}
		return
	}
}

// space is the state of xml:space within an element.
func (s *scanner) space(n *Node) bool {
	for _, a := range n.Attributes {
		if a.Name.Space != XMLSpace || a.Name.Local != "space" {
			continue
		}
		switch a.Value {
		case "preserve":
			return true
		case "default":
			return s.options.Preserve
		}
		s.fail(9463, s.at)
	}
	return s.preserving[len(s.preserving)-1]
}

// attribute reads an attribute, or the declaration of a namespace.
func (s *scanner) attribute(n *Node) {
	name := s.name()
	value := s.assigned()
	if s.err != nil {
		return
	}
	if name.Prefix == "xmlns" || name.Prefix == "" && name.Local == "xmlns" {
		s.declare(n, name, value)
		return
	}
	n.Attributes = append(n.Attributes, &Node{Kind: Attribute, Name: name, Value: value, Parent: n})
}

// assigned reads the equals sign behind a name, and the value in quotes behind that.
func (s *scanner) assigned() string {
	s.skipSpace()
	if !s.has("=") {
		s.failHere(9414)
		return ""
	}
	s.at++
	s.skipSpace()
	if !s.has(`"`) && !s.has("'") {
		s.failHere(9413)
		return ""
	}
	return s.quoted()
}

// quoted reads an attribute's value; white space in it becomes blanks (XML 1.0, 3.3.3).
func (s *scanner) quoted() string {
	quote := s.text[s.at]
	s.at++
	var value []byte
	for s.err == nil {
		if s.at >= len(s.text) {
			s.fail(9400, len(s.text))
			return ""
		}
		switch c := s.text[s.at]; {
		case c == quote:
			s.at++
			return string(value)
		case c == '<':
			s.failHere(9415)
		case c == '&':
			value = append(value, s.reference()...)
		default:
			value = s.character(value)
			if isSpace(c) {
				value[len(value)-1] = ' '
			}
		}
	}
	return ""
}

// declare notes the declaration of a namespace (Namespaces in XML 1.0, section 3).
func (s *scanner) declare(n *Node, name Name, uri string) {
	b := Binding{URI: uri}
	if name.Prefix == "xmlns" {
		b.Prefix = name.Local
	}
	for _, other := range n.Declared {
		if other.Prefix == b.Prefix {
			s.fail(9458, s.at)
		}
	}
	switch {
	case b.Prefix == "xmlns":
		s.fail(9465, s.at)
	case (b.Prefix == "xml") != (uri == XMLSpace):
		s.fail(9464, s.at)
	case uri == DeclarationSpace:
		s.fail(9467, s.at)
	case b.Prefix != "" && uri == "":
		s.fail(9460, s.at)
	}
	if b.Prefix != "xml" {
		n.Declared = append(n.Declared, b)
	}
}

// resolve gives the names of a tag their namespaces, and its attributes their places.
func (s *scanner) resolve(n *Node) {
	uri, ok := n.Resolve(n.Name.Prefix)
	if !ok {
		s.fail(9459, s.at)
	}
	n.Name.Space = uri
	seen := make(map[Name]bool, len(n.Attributes))
	for _, a := range n.Attributes {
		if a.Name.Prefix != "" {
			if a.Name.Space, ok = n.Resolve(a.Name.Prefix); !ok {
				s.fail(9459, s.at)
			}
		}
		key := Name{Space: a.Name.Space, Local: a.Name.Local}
		if seen[key] {
			s.fail(9437, s.at)
		}
		seen[key] = true
		a.Order = len(s.doc.Nodes)
		s.doc.Nodes = append(s.doc.Nodes, a)
	}
	if s.err == nil && s.depth == MaxDepth-1 && len(n.Attributes) > 0 {
		s.err = sqlerr.New(6335, 101)
	}
}

func (s *scanner) endTag() {
	s.at += len("</")
	name := s.name()
	if s.err != nil {
		return
	}
	s.skipSpace()
	if !s.has(">") {
		s.fail(9412, min(s.at+1, len(s.text)))
		return
	}
	s.at++
	if s.open.Kind == Document || s.open.Name.Prefix != name.Prefix || s.open.Name.Local != name.Local {
		s.fail(9436, s.at)
		return
	}
	s.flush()
	s.open = s.open.Parent
	s.depth--
	s.preserving = s.preserving[:len(s.preserving)-1]
}

// declaration reads <?xml version="1.0" encoding="..." standalone="..."?>, which only begins a text.
func (s *scanner) declaration() {
	if !s.has("<?xml") || s.at+5 < len(s.text) && !isSpace(s.text[s.at+5]) {
		return
	}
	s.at += len("<?xml")
	next := 0
	for s.err == nil {
		s.skipSpace()
		if s.has("?>") && next > 0 {
			s.at += len("?>")
			return
		}
		word := s.plainName()
		place := map[string]int{"version": 1, "encoding": 2, "standalone": 3}[word]
		if place <= next || next == 0 && place != 1 {
			s.failHere(9441)
			return
		}
		next = place
		value := s.assigned()
		switch {
		case s.err != nil:
		case word == "version" && value != "1.0", word == "standalone" && value != "yes" && value != "no":
			s.fail(9441, s.at)
		case word == "encoding":
			s.encoding(value)
		}
	}
}

// wideEncodings and narrowEncodings are the encodings that a declaration may name, by whether they are of two bytes.
var wideEncodings = map[string]bool{
	"utf-16":          true,
	"utf-16le":        true,
	"utf-16be":        true,
	"ucs-2":           true,
	"iso-10646-ucs-2": true,
	"unicode":         true,
}

var narrowEncodings = map[string]bool{
	"utf-8":        true,
	"us-ascii":     true,
	"ascii":        true,
	"iso-8859-1":   true,
	"latin1":       true,
	"windows-1252": true,
	"iso-8859-15":  true,
	"windows-1250": true,
	"windows-1251": true,
	"iso-8859-2":   true,
	"utf8":         true,
}

// encoding judges the encoding that a declaration names. The error stands behind the declaration.
func (s *scanner) encoding(name string) {
	name = strings.ToLower(name)
	wide, narrow := wideEncodings[name], narrowEncodings[name]
	end := len(s.text)
	if i := strings.Index(s.text[s.at:], "?>"); i >= 0 {
		end = s.at + i + len("?>")
	}
	switch {
	case !wide && !narrow:
		s.fail(9401, s.at)
	case !s.options.Decoded && wide != s.options.Wide:
		s.fail(9402, end)
	}
}
