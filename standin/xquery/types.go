// SPDX-License-Identifier: Apache-2.0

// Package xquery compiles and evaluates what the methods of the xml data type take: XQuery 1.0 as SQL Server has it
// (docs/xquery/xquery-language-reference-sql-server.md), with the static types that its errors speak of. What it does
// not know is an error that names it.
package xquery

import "strings"

// Kind is the type of an item, without how many there are.
type Kind uint8

// The atomic types, and the kinds of nodes.
const (
	// Nothing is the type of the empty sequence.
	Nothing Kind = iota
	UntypedAtomic
	String
	Boolean
	Decimal
	Integer
	Long
	Int
	Short
	Byte
	UnsignedByte
	Float
	Double
	DateTime
	Date
	Time
	Base64Binary
	HexBinary
	// AnyAtomic is an atomic value of one of several types.
	AnyAtomic
	nodeDocument
	nodeElement
	nodeAttribute
	nodeText
	nodeComment
	nodeInstruction
	// nodeAny is a node of any kind.
	nodeAny
	// anyItem is a node or an atomic value.
	anyItem
)

var kindNames = map[Kind]string{
	Nothing:         "empty",
	UntypedAtomic:   "xdt:untypedAtomic",
	String:          "xs:string",
	Boolean:         "xs:boolean",
	Decimal:         "xs:decimal",
	Integer:         "xs:integer",
	Long:            "xs:long",
	Int:             "xs:int",
	Short:           "xs:short",
	Byte:            "xs:byte",
	UnsignedByte:    "xs:unsignedByte",
	Float:           "xs:float",
	Double:          "xs:double",
	DateTime:        "xs:dateTime",
	Date:            "xs:date",
	Time:            "xs:time",
	Base64Binary:    "xs:base64Binary",
	HexBinary:       "xs:hexBinary",
	AnyAtomic:       "xdt:anyAtomicType",
	nodeText:        "text",
	nodeComment:     "comment",
	nodeInstruction: "processing-instruction",
	anyItem:         "item()",
	nodeDocument:    "document { (element(*,xdt:untyped) ? & text ? & comment ? & processing-instruction ?) * }",
	nodeAny:         "(element(*,xdt:untyped) | attribute(*,xdt:untypedAtomic) | text | comment | processing-instruction)",
}

// constructors are the atomic types that a query can cast to, by their names in the namespace xs.
var constructors = map[string]Kind{
	"string":       String,
	"boolean":      Boolean,
	"decimal":      Decimal,
	"integer":      Integer,
	"long":         Long,
	"int":          Int,
	"short":        Short,
	"byte":         Byte,
	"unsignedByte": UnsignedByte,
	"float":        Float,
	"double":       Double,
	"dateTime":     DateTime,
	"date":         Date,
	"time":         Time,
	"base64Binary": Base64Binary,
	"hexBinary":    HexBinary,
}

func (k Kind) isNode() bool     { return k >= nodeDocument && k <= nodeAny }
func (k Kind) isAtomic() bool   { return k >= UntypedAtomic && k <= AnyAtomic }
func (k Kind) isInteger() bool  { return k >= Integer && k <= UnsignedByte }
func (k Kind) isExact() bool    { return k == Decimal || k.isInteger() }
func (k Kind) isFloating() bool { return k == Float || k == Double }
func (k Kind) isNumber() bool   { return k.isExact() || k.isFloating() }

// occurs says how many items there may be: exactly one, or what its bits add.
type occurs uint8

const (
	one  occurs = 0
	zero occurs = 1
	many occurs = 2
)

// Type is the static type of an expression.
type Type struct {
	Kind Kind
	// name is that of elements and attributes, "*" for any.
	name   string
	occurs occurs
	// constructed marks what holds nodes that the query makes.
	constructed bool
}

// One is the type of exactly one value, Optional of one or none.
func One(k Kind) Type { return Type{Kind: k} }

// Optional is the type of one value or none.
func Optional(k Kind) Type { return Type{Kind: k, occurs: zero} }

var emptyType = Type{Kind: Nothing, occurs: zero}

func (t Type) single() bool { return t.Kind == Nothing || t.occurs&many == 0 }

// times is the type when each of several items gives t.
func (t Type) times(o occurs) Type {
	if t.Kind != Nothing {
		t.occurs |= o
	}
	return t
}

// String is the type as messages have it: xdt:untypedAtomic *.
func (t Type) String() string {
	var s string
	switch t.Kind {
	case Nothing:
		return "empty"
	case nodeElement:
		s = "element(" + t.name + ",xdt:untyped)"
	case nodeAttribute:
		s = "attribute(" + t.name + ",xdt:untypedAtomic)"
	default:
		s = kindNames[t.Kind]
	}
	return s + [...]string{"", " ?", " +", " *"}[t.occurs]
}

// atomized is the type of the values of t.
func (t Type) atomized() Type {
	switch t.Kind {
	case nodeComment, nodeInstruction:
		t.Kind = String
	case anyItem:
		t.Kind = AnyAtomic
	default:
		if t.Kind.isNode() {
			t.Kind = UntypedAtomic
		}
	}
	t.name = ""
	return t
}

// either is the type of a value of a or of b.
func either(a, b Type) Type {
	switch {
	case a.Kind == Nothing:
		return b.times(zero)
	case b.Kind == Nothing:
		return a.times(zero)
	}
	out := Type{
		Kind:        common(a.Kind, b.Kind),
		name:        a.name,
		occurs:      a.occurs | b.occurs,
		constructed: a.constructed || b.constructed,
	}
	if a.name != b.name {
		out.name = "*"
	}
	return out
}

// joined is the type of the items of a followed by those of b.
func joined(a, b Type) Type {
	switch {
	case a.Kind == Nothing:
		return b
	case b.Kind == Nothing:
		return a
	}
	out := either(a, b)
	out.occurs = many | a.occurs&b.occurs&zero
	return out
}

func common(a, b Kind) Kind {
	switch {
	case a == b:
		return a
	case a.isNode() && b.isNode():
		return nodeAny
	case a.isExact() && b.isExact():
		if a.isInteger() && b.isInteger() {
			return Integer
		}
		return Decimal
	case a.isAtomic() && b.isAtomic():
		return AnyAtomic
	}
	return anyItem
}

// typeNamed is the atomic type of a name with a prefix.
func typeNamed(prefixURI, local string) (Kind, bool) {
	if strings.HasPrefix(prefixURI, schemaTypes) {
		k, ok := constructors[local]
		return k, ok
	}
	if prefixURI == xpathTypes && local == "untypedAtomic" {
		return UntypedAtomic, true
	}
	return Nothing, false
}
