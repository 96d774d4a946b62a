// SPDX-License-Identifier: Apache-2.0

package sqlerr

import (
	"maps"
	"strings"
)

// xmlFormats has the texts about the xml data type. Those of XQuery begin with the method that an expression was given
// to.
var xmlFormats = map[int32]string{
	227: "\"%v\" is not a valid function, property, or field.",
	318: "The table (and its columns) returned by a table-valued method need to be aliased.",
	423: "Xml data type methods are not supported in check constraints. Create a scalar user-defined function to wrap " +
		"the method invocation. The error occurred at table \"%v\".",
	435: "Xml data type methods are not supported in computed column definitions. Create a scalar user-defined " +
		"function to wrap the method invocation. The error occurred at column \"%v\", table \"%v\", in the %v statement.",
	493: "The column '%v' that was returned from the nodes() method cannot be used directly. It can only be used with " +
		"one of the four XML data type methods, exist(), nodes(), query(), and value(), or in IS NULL and IS NOT " +
		"NULL checks.",
	2396: "XQuery [%v]: Attribute may not appear outside of an element",
	4148: "XML methods are not allowed in a GROUP BY clause.",
	5302: "Mutator '%v' on '%v' cannot be called on a null value.",
	6602: "The error description is '%v'.",
	6800: "FOR XML AUTO requires at least one table for generating XML tags. Use FOR XML RAW or add a FROM clause with " +
		"a table name.",
	6801: "FOR XML EXPLICIT requires at least three columns, including the tag column, the parent column, and at least " +
		"one data column.",
	6802: "FOR XML EXPLICIT query contains the invalid column name '%v'. Use the TAGNAME!TAGID!ATTRIBUTENAME[!..] " +
		"format where TAGID is a positive integer.",
	6803: "FOR XML EXPLICIT requires the first column to hold positive integers that represent XML tag IDs.",
	6804: "FOR XML EXPLICIT requires the second column to hold NULL or nonnegative integers that represent XML " +
		"parent tag IDs.",
	6806: "Undeclared tag ID %v is used in a FOR XML EXPLICIT query.",
	6833: "Parent tag ID %v is not among the open tags. FOR XML EXPLICIT requires parent tags to be opened first. " +
		"Check the ordering of the result set.",
	6809: "Unnamed column or table names cannot be used as XML identifiers. Name unnamed columns using AS in the " +
		"SELECT statement.",
	6849: "FOR XML PATH error in column '%v' - '//' and leading and trailing '/' are not allowed in simple path " +
		"expressions.",
	6850: "%v name '%v' contains an invalid XML identifier as required by FOR XML; '%v'(0x%v) is the first " +
		"character at fault.",
	6852: "Attribute-centric column '%v' must not come after a non-attribute-centric sibling in XML hierarchy in " +
		"FOR XML PATH.",
	6864: "Row tag omission (empty row tag name) cannot be used with attribute-centric FOR XML serialization.",
	6869: "Attempt to redefine namespace prefix '%v'",
	6871: "Prefix '%v' used in WITH XMLNAMESPACES is reserved and cannot be used as a user-defined prefix.",
	6872: "XML namespace prefix 'xml' can only be associated with the URI http://www.w3.org/XML/1998/namespace. This " +
		"URI cannot be used with other prefixes.",
	6873: "Redefinition of 'xsi' XML namespace prefix is not supported with ELEMENTS XSINIL option of FOR XML.",
	6874: "Empty URI is not allowed in WITH XMLNAMESPACES clause.",
	6305: "XQuery data manipulation expression required in XML data type method.",
	6306: "Invalid XQuery expression passed to XML data type method.",
	6307: "XML well-formedness check: Attribute cannot appear outside of element declaration. Rewrite your XQuery so " +
		"it returns well-formed XML.",
	6308: "XML well-formedness check: Duplicate attribute '%v'. Rewrite your XQuery so it returns well-formed XML.",
	6320: "XQuery: Only nillable elements or text nodes can be updated with empty sequence",
	6325: "XQuery: Replacing the value of a node with an empty sequence is allowed only if '()' is used as the new " +
		"value expression. The new value expression evaluated to an empty sequence but it is not '()'.",
	6335: "XML datatype instance has too many levels of nested nodes. Maximum allowed depth is 128 levels.",
	6354: "Target string size is too small to represent the XML instance.",
	6358: "%v is not a valid style number when converting to XML.",
	6359: "Parsing XML with internal subset DTDs not allowed. Use CONVERT with style option 2 to enable limited " +
		"internal subset DTD support.",
	8113: "Incorrect use of the XML data type method '%v'. A mutator method is expected in this context.",
	8137: "Incorrect use of the XML data type method '%v'. A non-mutator method is expected in this context.",
	8172: "The argument %v of the XML data type method \"%v\" must be a string literal.",
	9500: "The data type '%v' used in the VALUE method is invalid.",
	9501: "XQuery: Unable to resolve sql:variable('%v'). The variable must be declared as a scalar TSQL variable.",
	9519: "XQuery: The name supplied to sql:variable('%v') is not a valid SQL variable name. Variable names must start " +
		"with the '@' symbol followed by at least one character.",
}

// xqueryFormats are those of the static errors of XQuery, without the method that comes before them.
var xqueryFormats = map[int32]string{
	2203: "Only 'http://www.w3.org/2001/XMLSchema#decimal?', 'http://www.w3.org/2001/XMLSchema#boolean?' or 'node()*' " +
		"expressions allowed as predicates, found '%v'",
	2204: "Only 'http://www.w3.org/2001/XMLSchema#boolean?' or 'node()*' expressions allowed in conditions and with " +
		"logical operators, found '%v'",
	2205: "\"%v\" was expected.",
	2206: "Namespace prefix 'xml' can only be associated with the URI 'http://www.w3.org/XML/1998/namespace' and this " +
		"URI cannot be used with other prefixes.",
	2207: "Only non-document nodes can be inserted. Found \"%v\".",
	2209: "Syntax error near '%v'",
	2210: "Heterogeneous sequences are not allowed: found '%v' and '%v'",
	2223: "Syntax error near '%v', expected an identifier.",
	2225: "A string literal was expected",
	2226: "The target of 'insert' must be a single node, found '%v'",
	2227: "The variable '%v' was not found in the scope in which it was referenced.",
	2229: "The name \"%v\" does not denote a namespace.",
	2232: "The name \"%v:%v\" does not denote a defined type.",
	2234: "The operator \"%v\" cannot be applied to \"%v\" and \"%v\" operands.",
	2236: "There are not enough actual arguments in the call to function \"%v\".",
	2238: "Too many arguments in call to function '%v'",
	2240: "The target of 'insert into' must be an element/document node, found '%v'",
	2241: "Variable expected: '$name'",
	2248: "Syntax error near '%v', expected 'as', 'into', 'before' or 'after'.",
	2249: "The target of 'insert before/after' must be an element/PI/comment/text node, found '%v'",
	2256: "Syntax error near '%v', expected a \"node test\".",
	2258: "The position may not be specified when inserting an attribute node, found '%v'",
	2264: "Only non-document nodes may be deleted, found '%v'",
	2272: "'?>' expected",
	2273: "Unterminated CDATA section",
	2294: "'xml' is not allowed as a processing instruction target.",
	2323: "The end tag '%v' doesn't match opening tag '%v' from line %v",
	2359: "The target of '%v' may not be a constructed node",
	2267: "Expected end tag '%v'",
	2274: "Unterminated string constant (started on line %v)",
	2282: "Invalid entity reference",
	2283: "The character '%v' may not be part of an entity reference",
	2285: "Invalid numeric entity reference",
	2337: "The target of 'replace' must be at most one node, found '%v'",
	2340: "Comment started on line %v has no end",
	2342: "Invalid numeric constant.",
	2349: "Attempt to redefine namespace prefix '%v'",
	2351: "Expected 'first' or 'last'",
	2355: "'else' expected",
	2356: "The target of 'replace value of' must be a non-metadata attribute or an element with simple typed " +
		"content, found '%v'",
	2363: "XQuery too complex",
	2364: "Cannot implicitly convert from '%v' to '%v'",
	2365: "Cannot explicitly convert from '%v' to '%v'",
	2370: "No more tokens expected at the end of the XQuery expression. Found '%v'.",
	2371: "'%v' can only be used within a predicate or XPath selector",
	2373: "%v is not supported with constructed XML",
	2374: "A node or set of nodes is required for %v",
	2389: "'%v' requires a singleton (or empty sequence), found operand of type '%v'",
	2392: "'%v::' is not a valid axis",
	2395: "There is no function '%v:%v()'",
	9301: "In this version of the server, 'cast as <type>%v' is not available. Please use the 'cast as <type> ?' syntax.",
	9303: "Syntax error near '%v', expected '%v'.",
	9304: "This version of the server only supports XQuery version '1.0'.",
	9308: "The argument of '%v' must be of a single numeric primitive type or " +
		"'http://www.w3.org/2004/07/xpath-datatypes#untypedAtomic'. Found argument of type '%v'.",
	9310: "The 'with' clause of 'replace value of' cannot contain constructed XML.",
	9313: "This version of the server does not support multiple expressions or expressions mixed with strings in an " +
		"attribute constructor.",
	9315: "Only constant expressions are supported for the name expression of computed element and attribute " +
		"constructors.",
	9316: "Cannot use 'xmlns' in the name expression of computed attribute constructor.",
	9322: "Two consecutive '-' can only appear in a comment constructor if they are used to close the comment ('-->').",
	9324: "Found '}' without matching '{'. If you want to use the characters '{' or '}', you need to escape them as " +
		"'{{' or '}}' respectively.",
	9338: "The value of a namespace declaration attribute must be a string literal. It cannot contain expressions.",
	9319: "Static simple type validation: Invalid simple type value '%v'.",
	9323: "Using ':' in variable names is not supported in this version of the server.",
	9325: "Computed processing instruction constructors are not supported.",
	9326: "Computed comment constructors are not supported.",
	9327: "All prolog entries need to end with ';', found '%v'.",
	9332: "Syntax error near '%v', expected 'where', '(stable) order by' or 'return'.",
	9335: "The XQuery syntax '%v' is not supported.",
	9341: "Syntax error near '%v', expected a step expression.",
	9342: "An XML instance is only supported as the direct source of an insert using sql:column/sql:variable.",
	9344: "The SQL type '%v' is not supported with sql:column() and sql:variable().",
}

// parsingFormats are those of text that is not well-formed, behind its line and character.
var parsingFormats = map[int32]string{
	9400: "unexpected end of input", 9401: "unrecognized encoding", 9402: "unable to switch the encoding",
	9410: "whitespace expected", 9411: "semicolon expected",
	9412: "'>' expected", 9413: "A string literal was expected", 9414: "equal expected",
	9415: "well formed check: no '<' in attribute value", 9416: "hexadecimal digit expected",
	9417: "decimal digit expected", 9420: "illegal xml character", 9421: "illegal name character",
	9422: "incorrect document syntax", 9424: "incorrect comment syntax",
	9436: "end tag does not match start tag", 9437: "duplicate attribute",
	9438: "text/xmldecl not at the beginning of input", 9441: "incorrect xml declaration syntax",
	9448: "well formed check: undeclared entity", 9451: "incorrect processing instruction syntax",
	9454: "no ']]>' in element content", 9455: "illegal qualified name character",
	9456: "multiple colons in qualified name", 9458: "redeclared prefix", 9459: "undeclared prefix",
	9460: "non default namespace with empty uri", 9463: "xml:space has a non-legal value",
	9464: "XML namespace prefix 'xml' can only be associated with the URI http://www.w3.org/XML/1998/namespace. This " +
		"URI cannot be used with other prefixes.",
	9465: "XML namespace prefix 'xmlns' is reserved for use by XML.",
	9467: "xmlns namespace URI (https://www.w3.org/2000/xmlns/) is reserved and must not be used.",
}

func init() {
	maps.Copy(formats, xmlFormats)
	for n, text := range xqueryFormats {
		formats[n] = "XQuery [%v]: " + text
	}
	for n, text := range parsingFormats {
		formats[n] = "XML parsing: line %v, character %v, " + strings.ReplaceAll(text, "%", "%%")
	}
	for _, family := range []map[int32]string{xmlFormats, xqueryFormats, parsingFormats} {
		for n := range family {
			first := int(n) / 1000 * 1000
			severity := uint8(16)
			if n == 318 || n == 227 {
				severity = 15
			}
			if _, known := notListed[n]; !known {
				notListed[n] = struct {
					severity uint8
					doc      string
				}{severity, eventsPage(first, first+999)}
			}
		}
	}
}
